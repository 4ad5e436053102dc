import { type Config, ConfigFailure, readConfig, SETTINGS } from '../config.ts'
import { isWithin } from '../outbound/networks.ts'
import { CAN_BE_GUESSED, isWeakApiKey, REVOKE_GIVEN_KEY } from '../weak-secrets.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** Settings on their own: whether each can be read, whether one was misspelt, and what does not go together. */

type Env = Readonly<Record<string, string | undefined>>

const NEAR_LENGTH_MIN = 8
const NEAR_DISTANCE_MAX = 2
/** The address under which clouds hand out the credentials of a machine. */
const CLOUD_METADATA = '169.254.169.254'
const LOOPBACK = /^(127\.|::1$|localhost$)/

/**
 * Returns every finding, and the settings as far as they can be read: what cannot is as if it were unset, so that the rest can be looked
 * at.
 */
export function checkSettings(env: Env): { findings: Finding[]; config: Config } {
  const problems = problemsOf(env)
  const bad = new Set(SETTINGS.map(({ name }) => name).filter((name) => problems.some((text) => isAbout(text, name))))
  const readable = Object.fromEntries(
    Object.entries(env).filter(([name]) => ![...bad].some((setting) => name === setting || name === `${setting}_FILE`)),
  )
  const config = readConfig(readable)
  const set = SETTINGS.filter(({ name }) => isSet(env, name) && !bad.has(name)).map(({ name }) => name)
  const findings = problems.map((problem) =>
    broken(
      nameIn(problem),
      problem.slice(nameIn(problem).length).replace(/\.$/, '').trim(),
      'set it to that, or unset it',
    ),
  )
  if (set.length > 0) findings.push(fine('settings', `${set.join(', ')} can be read`))
  else if (problems.length === 0) findings.push(fine('settings', 'none is given, so each has its default'))
  return { findings: [...findings, ...misspelt(env), ...together(config)], config }
}

function problemsOf(env: Env): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigFailure) return error.problems
    throw error
  }
}

const nameIn = (problem: string): string => /^[A-Z0-9_]+/.exec(problem)?.[0] ?? 'settings'
const isAbout = (problem: string, name: string): boolean => [name, `${name}_FILE`].includes(nameIn(problem))
const isSet = (env: Env, name: string): boolean => [name, `${name}_FILE`].some((key) => (env[key]?.trim() ?? '') !== '')

/** Finds names that are nearly those of settings; their values are not shown. */
function misspelt(env: Env): Finding[] {
  const known = SETTINGS.flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name]))
  return Object.keys(env).flatMap((name) => {
    if (known.includes(name)) return []
    const meant = known.find((setting) => isNear(name, setting))
    if (meant === undefined) return []
    return [doubtful(name, `is no setting and is not read`, `if ${meant} is meant, rename it`)]
  })
}

function isNear(name: string, setting: string): boolean {
  const plain = name.toUpperCase().replace(/^PERENNIAL_?/, '')
  if (plain === setting || plain.replaceAll(/[-_]/g, '') === setting.replaceAll('_', '')) return true
  return setting.length >= NEAR_LENGTH_MIN && distance(plain, setting) <= NEAR_DISTANCE_MAX
}

/** Returns how many letters must be put in, taken out or changed to make one text of another. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

function together(config: Config): Finding[] {
  const { host, publicUrl, trustProxy, corsOrigin, gatewayEndpoints, logLevel, outboundAllow, bootstrapApiKey } = config
  const findings: Finding[] = []
  if (bootstrapApiKey !== undefined && isWeakApiKey(bootstrapApiKey))
    findings.push(
      doubtful(
        'BOOTSTRAP_API_KEY',
        CAN_BE_GUESSED,
        `before the first start give another; after it ${REVOKE_GIVEN_KEY}`,
      ),
    )
  const isOpen = !LOOPBACK.test(host)
  if (publicUrl?.startsWith('http://') && !isOfMachine(publicUrl))
    findings.push(doubtful('PUBLIC_URL', 'is http: keys travel readable for everybody on the way', 'serve it by https'))
  if (isOpen && publicUrl === undefined)
    findings.push(
      doubtful(
        'PUBLIC_URL',
        `is unset while HOST ${host} serves the network: links are relative`,
        'set it to the address that clients use',
      ),
    )
  if (trustProxy === true)
    findings.push(
      doubtful(
        'TRUST_PROXY',
        'is true: whoever reaches the service may claim any address',
        'set it to the addresses of your proxies',
      ),
    )
  if (corsOrigin?.includes('*'))
    findings.push(
      doubtful('CORS_ORIGIN', 'is *: any page in a browser may call the API', 'list the origins that need it'),
    )
  if (outboundAllow && isWithin(CLOUD_METADATA, outboundAllow))
    findings.push(
      doubtful(
        'OUTBOUND_ALLOW',
        `holds ${CLOUD_METADATA}: at a cloud, whoever adds a webhook may call for the machine's credentials`,
        'name the networks of the receivers alone',
      ),
    )
  if (gatewayEndpoints)
    findings.push(
      doubtful(
        'GATEWAY_ENDPOINTS',
        `puts simulators in the place of ${Object.keys(gatewayEndpoints).join(', ')}: gateways of live accounts of that type make no call`,
        'unset it where real money is to move',
      ),
    )
  if (logLevel === 'silent')
    findings.push(doubtful('LOG_LEVEL', 'is silent: nobody learns of a failure', 'set it to info or warn'))
  return [...findings, ...widgetFindings(config), ...mailFindings(config)]
}

const isOfMachine = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)

/** Finds frames of the capture widget that share an origin with the other pages, or travel readable; on the machine itself neither matters. */
function widgetFindings({ publicUrl, widgetOrigin }: Config): Finding[] {
  if (widgetOrigin?.startsWith('http://') && !isOfMachine(widgetOrigin))
    return [
      doubtful('WIDGET_ORIGIN', 'is http: cards travel readable for everybody on the way', 'serve the frames by https'),
    ]
  if (publicUrl === undefined || isOfMachine(publicUrl)) return []
  const mend = 'set it to another host name of this service'
  if (widgetOrigin === undefined)
    return [doubtful('WIDGET_ORIGIN', 'is unset: the frames that take cards share the origin of all other pages', mend)]
  return widgetOrigin === new URL(publicUrl).origin
    ? [doubtful('WIDGET_ORIGIN', 'is the origin of PUBLIC_URL: the frames that take cards share it', mend)]
    : []
}

function mailFindings({ smtpUrl, mailFrom, publicUrl }: Config): Finding[] {
  if (smtpUrl === undefined && mailFrom === undefined) return [fine('SMTP_URL', 'is unset: mail stays in the outbox')]
  if (smtpUrl === undefined)
    return [doubtful('SMTP_URL', 'is unset, though MAIL_FROM is set: mail stays in the outbox', 'name the mail server')]
  if (mailFrom === undefined)
    return [
      doubtful(
        'MAIL_FROM',
        'is unset, though SMTP_URL is set: mail stays in the outbox',
        'name the address of the sender',
      ),
    ]
  if (publicUrl === undefined)
    return [
      doubtful(
        'PUBLIC_URL',
        'is unset: mails carry no link, and customers cannot pay on a page',
        'set it to the address under which customers reach the service',
      ),
    ]
  return []
}
