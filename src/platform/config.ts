import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { serversOf, shownServer } from './database/addresses.ts'
import { LOG_LEVELS } from './log-level.ts'
import { isWithin } from './outbound/networks.ts'
import {
  oneOf,
  parseUrl,
  readAddress,
  readAnything,
  readApiKey,
  readCurrency,
  readDatabaseUrl,
  readDomains,
  readEndpoints,
  readFilePath,
  readHost,
  readKeys,
  readName,
  readNetworks,
  readOrigin,
  readOrigins,
  readPath,
  readPublicUrl,
  readSmtpUrl,
  readTrust,
  wholeNumber,
  UnfitText,
} from './setting-values.ts'

/** The environment cannot be meant as it is. Each problem is a sentence that names its variable, and never holds a secret's value. */
export class ConfigFailure extends Error {
  override name = 'ConfigFailure'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join(' '))
    this.problems = problems
  }
}

type Variable<Value> = {
  readonly name: string
  /** As it would be written in the environment; empty means unset. */
  readonly preset: string
  /** Description in one line, for `.env.example`. */
  readonly about: string
  readonly isSecret?: true
  /** Reads a text that is not empty; answers what it should have been where it cannot be read. */
  readonly read: (text: string) => Value | UnfitText
  readonly unset: Value
}

function optional<Value>(
  about: Pick<Variable<Value>, 'name' | 'about' | 'isSecret'>,
  read: (text: string) => Value | UnfitText,
): Variable<Value | undefined> {
  return { ...about, preset: '', read, unset: undefined }
}

function withDefault<Value>(
  preset: string,
  about: Pick<Variable<Value>, 'name' | 'about'>,
  read: (text: string) => Value | UnfitText,
): Variable<Value> {
  const unset = read(preset)
  if (unset instanceof UnfitText) throw new Error(`the default of ${about.name} must be ${unset.mustBe}`)
  return { ...about, preset, read, unset }
}

const ACCOUNT_MODES = ['test', 'live'] as const
const DRAIN_SECONDS_MAX = 300
const ACCOUNT_ID_START_MAX = 999_999_999
// The embedded server takes 75 connections; several processes, the command-line program and a backup share them.
const POOL_MAX = 50

const VARIABLES = {
  host: withDefault(
    '127.0.0.1',
    { name: 'HOST', about: 'Address to listen on; 0.0.0.0 or :: for every network.' },
    readHost,
  ),
  port: withDefault('3000', { name: 'PORT', about: 'Port to listen on; 0 takes a free one.' }, wholeNumber(0, 65_535)),
  publicUrl: optional(
    {
      name: 'PUBLIC_URL',
      about: 'Address under which clients see the service, for absolute links; unset: links are relative.',
    },
    readPublicUrl,
  ),
  widgetOrigin: optional(
    {
      name: 'WIDGET_ORIGIN',
      about: 'Origin of the frames that capture cards, another one of this service; unset: that of PUBLIC_URL.',
    },
    readOrigin,
  ),
  databaseUrl: optional(
    {
      name: 'DATABASE_URL',
      about:
        'A PostgreSQL 15 or newer to use (postgres://user:password@host/database; several servers as host1,host2: the one that takes writes); unset: an own database in DATA_DIR.',
      isSecret: true,
    },
    readDatabaseUrl,
  ),
  dataDir: withDefault(
    './data',
    { name: 'DATA_DIR', about: 'Folder of the own database and of the generated encryption key.' },
    readPath,
  ),
  smtpUrl: optional(
    {
      name: 'SMTP_URL',
      about:
        'Mail server (smtp://user:password@host:587 or smtps://…; ?requireTLS=true asks for STARTTLS, ?ignoreTLS=true for none); unset: mail stays in the outbox.',
      isSecret: true,
    },
    readSmtpUrl,
  ),
  mailFrom: optional(
    {
      name: 'MAIL_FROM',
      about: 'Address that mail is sent from and returned to; unset: mail stays in the outbox.',
    },
    readAddress,
  ),
  mailDomains: optional(
    {
      name: 'MAIL_DOMAINS',
      about:
        "Domains, separated by commas, in which an account's own MailFrom is the sender its customers see; elsewhere it is the address they answer to.",
    },
    readDomains,
  ),
  backupDir: optional(
    {
      name: 'BACKUP_DIR',
      about:
        'Folder, of this installation alone, into which the worker copies the database each night; unset: no copy.',
    },
    readPath,
  ),
  backupKeep: withDefault(
    '7',
    { name: 'BACKUP_KEEP', about: 'How many of the nightly copies are kept; older ones are deleted.' },
    wholeNumber(1, 3660),
  ),
  encryptionKeys: optional(
    {
      name: 'ENCRYPTION_KEY',
      about:
        'Key for stored secrets, 32 drawn bytes as hex or base64 (openssl rand -hex 32), or two as new,old; unset: generated once into DATA_DIR/encryption.key.',
      isSecret: true,
    },
    readKeys,
  ),
  sealP12: optional(
    {
      name: 'SEAL_P12',
      about: 'File (PKCS #12) with the RSA key and certificate that seal signed mandates; unset: a key made by itself.',
    },
    readFilePath,
  ),
  sealP12Password: optional(
    { name: 'SEAL_P12_PASSWORD', about: 'Password of the file of SEAL_P12; unset: it has none.', isSecret: true },
    readAnything,
  ),
  fontsDir: optional(
    {
      name: 'FONTS_DIR',
      about:
        'Folder of at most 20 fonts (TTF or OTF, 32 MiB each), asked in the order of their names for characters that the typeface of documents lacks; unset: none.',
    },
    readPath,
  ),
  logLevel: withDefault(
    'info',
    { name: 'LOG_LEVEL', about: `How much is logged: ${LOG_LEVELS.join(', ')}.` },
    oneOf(LOG_LEVELS),
  ),
  slowRequestMs: withDefault(
    '1000',
    {
      name: 'SLOW_REQUEST_MS',
      about: 'From so many milliseconds on a request is a line of the log, with where its time went; 0: none is.',
    },
    wholeNumber(0, 3_600_000),
  ),
  accountIdStart: withDefault(
    '1',
    {
      name: 'ACCOUNT_ID_START',
      about: 'Least identifier of accounts that are made; apart from each other for installations to be joined later.',
    },
    wholeNumber(1, ACCOUNT_ID_START_MAX),
  ),
  bootstrapAccountMode: withDefault(
    'test',
    {
      name: 'BOOTSTRAP_ACCOUNT_MODE',
      about: 'Mode of the account that the first start makes: test (movable clock) or live.',
    },
    oneOf(ACCOUNT_MODES),
  ),
  bootstrapAccountName: withDefault(
    'Perennial',
    { name: 'BOOTSTRAP_ACCOUNT_NAME', about: 'Name of the account that the first start makes.' },
    readName,
  ),
  bootstrapCurrency: withDefault(
    'USD',
    { name: 'BOOTSTRAP_CURRENCY', about: 'Currency of the account that the first start makes (ISO 4217).' },
    readCurrency,
  ),
  bootstrapApiKey: optional(
    {
      name: 'BOOTSTRAP_API_KEY',
      about:
        'API key of the account that the first start makes, of at least 32 characters, 8 of them different; unset: generated and printed once.',
      isSecret: true,
    },
    readApiKey,
  ),
  rateLimitPerMinute: withDefault(
    '0',
    { name: 'RATE_LIMIT_PER_MINUTE', about: 'Requests that one API key may make in a minute; 0: no limit.' },
    wholeNumber(0, 1_000_000),
  ),
  corsOrigin: optional(
    { name: 'CORS_ORIGIN', about: 'Browser origins that may call the API, separated by commas, or *; unset: none.' },
    readOrigins,
  ),
  trustProxy: withDefault(
    'false',
    {
      name: 'TRUST_PROXY',
      about: 'Whose X-Forwarded-For to believe: false, true, or addresses and networks separated by commas.',
    },
    readTrust,
  ),
  requestTimeoutSeconds: withDefault(
    '300',
    { name: 'REQUEST_TIMEOUT_SECONDS', about: 'How long a request with its body may take to arrive; then 408.' },
    wholeNumber(1, 3600),
  ),
  connectionsMax: withDefault(
    '2000',
    { name: 'CONNECTIONS_MAX', about: 'Connections of callers to one process; more are closed at once.' },
    wholeNumber(1, 1_000_000),
  ),
  connectionsPerAddress: withDefault(
    '500',
    {
      name: 'CONNECTIONS_PER_ADDRESS',
      about: 'Connections of one address that TRUST_PROXY does not name; more are closed at once. 0: no bound.',
    },
    wholeNumber(0, 1_000_000),
  ),
  outboundAllow: optional(
    {
      name: 'OUTBOUND_ALLOW',
      about:
        'Networks that webhooks may call although they are not public, and by plain http, separated by commas; unset: public https only.',
    },
    readNetworks,
  ),
  gatewayEndpoints: optional(
    {
      name: 'GATEWAY_ENDPOINTS',
      about:
        'Simulators in place of gateways, for test accounts alone: stripe=http://127.0.0.1:4010; within OUTBOUND_ALLOW. Unset: the gateways themselves. Where it names a type, live accounts call no gateway of it.',
    },
    readEndpoints,
  ),
  drainSeconds: optional(
    {
      name: 'DRAIN_SECONDS',
      about:
        'How long the service still answers after SIGTERM while /readyz is 503, so that a balancer sends nothing more; unset: 8 with DATABASE_URL, else 0.',
    },
    wholeNumber(0, DRAIN_SECONDS_MAX),
  ),
  databasePool: withDefault(
    '8',
    {
      name: 'DATABASE_POOL',
      about:
        'Database connections of one process for writes and work. Beside them `serve` opens up to 20, for reads, credentials, long operations and the watch, and `work` up to 4.',
    },
    wholeNumber(1, POOL_MAX),
  ),
}

/** Which settings there are. A secret may also lie in a file, named by the setting's name with _FILE at the end. */
export const SETTINGS: readonly { readonly name: string; readonly isSecret?: true }[] =
  Object.values<Variable<unknown>>(VARIABLES)

/** Everything that can be set from outside, read and checked once. What is not set and has no default is undefined. */
export type Config = { readonly [Key in keyof typeof VARIABLES]: (typeof VARIABLES)[Key]['unset'] }

/** Returns whether mail leaves: there is a server for it, and a sender. */
export const sendsMail = ({ smtpUrl, mailFrom }: Pick<Config, 'smtpUrl' | 'mailFrom'>): boolean =>
  smtpUrl !== undefined && mailFrom !== undefined

/**
 * Returns every setting that is not its default, as it may be shown: addresses without user and password; of other secrets only the names. Settings that
 * cannot be read are left out.
 */
export function shownSettings(env: Readonly<Record<string, string | undefined>>): {
  settings: Record<string, string>
  secrets: string[]
} {
  const settings: Record<string, string> = {}
  const secrets: string[] = []
  for (const variable of Object.values<Variable<unknown>>(VARIABLES)) {
    const text = textOf(env, variable)
    if (text instanceof UnfitText || text === '' || text === variable.preset) continue
    if (!variable.isSecret) settings[variable.name] = text
    else if (variable.name.endsWith('_URL') && serversOf(text).every((server) => parseUrl(server)))
      settings[variable.name] = shownServer(text)
    else secrets.push(variable.name)
  }
  return { settings, secrets }
}

/**
 * Reads the configuration. An empty variable counts as unset, as compose files write it. A secret may lie in a file, which its name with
 * _FILE at the end names.
 * Throws a ConfigFailure that names every bad variable at once.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const values = Object.entries<Variable<unknown>>(VARIABLES).map(([key, variable]) => {
    const text = textOf(env, variable)
    if (text instanceof UnfitText) {
      problems.push(`${variable.name}_FILE must be ${text.mustBe}.`)
      return [key, variable.unset]
    }
    const value = text === '' ? variable.unset : variable.read(text)
    if (value instanceof UnfitText) problems.push(problemOf(variable, text, value))
    return [key, value]
  })
  const config = Object.fromEntries(values) as Config
  if (problems.length === 0) problems.push(...endpointsOutside(config))
  if (problems.length > 0) throw new ConfigFailure(problems)
  return config
}

/** Returns a problem where an address of GATEWAY_ENDPOINTS shows that it lies outside of OUTBOUND_ALLOW; a name is judged with each connection. */
function endpointsOutside({ gatewayEndpoints = {}, outboundAllow = [] }: Config): string[] {
  const outside = Object.values(gatewayEndpoints).filter((address) => {
    const host = new URL(address).hostname.replace(/^\[(.*)\]$/, '$1')
    return outboundAllow.length === 0 || (isIP(host) !== 0 && !isWithin(host, outboundAllow))
  })
  return outside.length === 0
    ? []
    : ['GATEWAY_ENDPOINTS must be addresses within the networks of OUTBOUND_ALLOW, which are for tests alone.']
}

/**
 * Returns the texts in the environment that may stand nowhere else: settings that hold secrets, whole, and the passwords in addresses among
 * them.
 */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.values<Variable<unknown>>(VARIABLES).flatMap((variable) => {
    const text = textOf(env, variable)
    if (!variable.isSecret || text instanceof UnfitText || text === '') return []
    // The servers of one address share user and password.
    const password = parseUrl(serversOf(text)[0] ?? text)?.password ?? ''
    const keys = variable.name === 'ENCRYPTION_KEY' ? text.split(',').map((key) => key.trim()) : []
    return [text, password, plainOf(password), ...keys].filter((secret) => secret !== '')
  })
}

function plainOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** Returns the text of `.env.example`: every variable with its default and a line about it. */
export function envExample(): string {
  const entries = Object.values<Variable<unknown>>(VARIABLES).map(
    ({ name, preset, about }) => `# ${about}\n${name}=${preset}\n`,
  )
  const head = `# Every setting with its default. An empty value counts as unset.
# DATABASE_URL_FILE, ENCRYPTION_KEY_FILE, SMTP_URL_FILE, SEAL_P12_PASSWORD_FILE, BOOTSTRAP_API_KEY_FILE: a file that holds the secret instead.
`
  return [head, ...entries].join('\n')
}

/** Returns the text of a variable, or that of the file which `…_FILE` names: containers hand secrets over like this. */
function textOf(
  env: Readonly<Record<string, string | undefined>>,
  { name, isSecret }: Pick<Variable<unknown>, 'name' | 'isSecret'>,
): string | UnfitText {
  const text = env[name]?.trim() ?? ''
  const path = env[`${name}_FILE`]?.trim() ?? ''
  if (text !== '' || !isSecret || path === '') return text
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return new UnfitText('the path of a file that can be read')
  }
}

function problemOf({ name, isSecret }: Variable<unknown>, text: string, { mustBe }: UnfitText): string {
  const mayHoldSecret = isSecret || text.includes('@')
  return mayHoldSecret ? `${name} must be ${mustBe}.` : `${name} must be ${mustBe}, not "${text}".`
}
