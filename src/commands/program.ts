import { Argument, Command, Option } from 'commander'
import type { Instant, IsoDate } from '../kernel/calendar.ts'
import type { Id } from '../kernel/ids.ts'
import { LEVEL_MINUTES, LOG_LEVELS, type LogLevel } from '../platform/log-level.ts'
import { commandContext } from './context.ts'
import {
  comingInstantValue,
  countValue,
  currencyValue,
  dateValue,
  idValue,
  instantValue,
  mailAddressValue,
  momentText,
  nameValue,
  processValue,
} from './option-values.ts'
import { addFailover, addGateways } from './program-failover.ts'
import { addMethods } from './program-methods.ts'
import { addUpgrading } from './program-upgrading.ts'
import { account, json, type Run, type Runner } from './shared-options.ts'

/** The words of the command line. A command's own code is loaded when it is called: serving must start fast, and help needs no database. */

export interface ProgramDeps {
  root: string
  version: string
  /** Told the exit code of the command that ran. */
  ended(code: number): void
  /** JSON output is wanted: the caller reports a wrong command line as JSON, so nothing is written here for people. */
  isJson?: boolean
}

const EPILOGUE = `
Settings come from the environment (.env.example lists them). A command uses the database of a running
service, or starts it for its own duration; with DATABASE_URL it uses that server.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done, but some records could not be billed.`

export function buildProgram(deps: ProgramDeps): Command {
  const program = new Command('perennial')
    .description('Self-hosted recurring billing: exact to the cent, explainable line by line.')
    .version(deps.version)
    .addHelpText('after', EPILOGUE)
    .showHelpAfterError('Run the command with --help to see what it takes.')
    .exitOverride()
  if (deps.isJson) program.configureOutput({ writeErr: () => {} })
  const run = (options: { json?: boolean }, work: Run): Promise<void> =>
    work(commandContext(deps.root, deps.version, options.json === true)).then(deps.ended)
  addServing(program, run)
  addUpgrading(program, run)
  addBilling(program, run)
  addChecking(program, run, deps)
  addRunning(program, run)
  addProcesses(program, run)
  addFailover(program, run)
  addLog(program, run)
  addTransfer(program, run)
  addBackup(program, run)
  addInvoices(program, run)
  addAccounts(program, run)
  addKeys(program, run)
  addEncryption(program, run)
  addSeal(program, run)
  addGateways(program, run)
  addMethods(program, run)
  addMail(program, run)
  addResultFiles(program, run)
  addSeeding(program, run)
  return program
}

const WORKERS_MAX = 16
const LEVEL_MINUTES_MAX = 1_440

const workers = () =>
  new Option('--workers <n>', 'do the scheduled work in as many processes, which share a large billing run')
    .argParser(countValue(WORKERS_MAX))
    .default(1)

function addServing(program: Command, run: Runner): void {
  program
    .command('serve')
    .description('serve the API and do the scheduled work, until a stop signal')
    .option('--no-worker', 'leave the scheduled work to "perennial work"')
    .addOption(workers())
    .addOption(json())
    .action((options: { worker: boolean; workers: number; json?: boolean }) =>
      run(options, async (context) => (await import('./serve.ts')).serveCommand(context, options)),
    )
  program
    .command('work')
    .description('do the scheduled work alone, beside a running service or on the server of DATABASE_URL')
    .addOption(workers())
    .addOption(json())
    .addOption(new Option('--of-service').hideHelp())
    .action((options: { json?: boolean; workers: number; ofService?: boolean }) =>
      run(options, async (context) => (await import('./work.ts')).workCommand(context, options)),
    )
  program
    .command('distribute')
    .description('spread the tables of accounts over the workers of Citus, while no process of the service is live')
    .option('--dry-run', 'list the tables and change nothing')
    .addOption(json())
    .action((options: { json?: boolean; dryRun?: boolean }) =>
      run(options, async (context) => (await import('./distribute.ts')).distributeCommand(context, options)),
    )
}

function addBilling(program: Command, run: Runner): void {
  program
    .command('billing')
    .description('bill what is due')
    .command('run')
    .description('bill what is due now instead of at midnight; what is billed already is never billed twice')
    .option('--account <id>', 'only this account; otherwise all', idValue)
    .option('--until <date>', 'the last day that is billed, at most today of the account', dateValue)
    .option('--dry-run', 'tell what would be billed, and bill nothing')
    .addOption(json())
    .action((options: { account?: Id; until?: IsoDate; dryRun?: boolean; json?: boolean }) => {
      const wish = { account: options.account, until: options.until, isDry: options.dryRun === true }
      return run(options, async (context) => (await import('./billing-run.ts')).billingRunCommand(context, wish))
    })
  program
    .command('clock')
    .description('the clock of a test account')
    .command('advance')
    .description('move the clock forward; what falls due on the way is done day by day')
    .addOption(account())
    .addOption(
      new Option('--to <date>', 'a day (its midnight in the zone of the account) or a moment')
        .argParser(momentText)
        .makeOptionMandatory(),
    )
    .addOption(json())
    .action((options: { account?: Id; to: string; json?: boolean }) => {
      const wish = { account: options.account, to: options.to }
      return run(options, async (context) => (await import('./clock.ts')).advanceClockCommand(context, wish))
    })
}

function addChecking(program: Command, run: Runner, deps: ProgramDeps): void {
  program
    .command('doctor')
    .description('look at every setting and at the surroundings, and say how to mend each; starts and changes nothing')
    .addOption(
      new Option('--workers <n>', 'workers that the database has to have connections for')
        .argParser(countValue(WORKERS_MAX))
        .default(1),
    )
    .option('--env-file <file>', 'judge the environment of a unit: its file of settings, or the unit itself')
    .addOption(json())
    // Not by "run", which ends with the first setting that cannot be read.
    .action(
      async ({ workers, envFile, json: isJson = false }: { workers: number; envFile?: string; json?: boolean }) => {
        const { doctorCommand } = await import('./doctor.ts')
        deps.ended(await doctorCommand({ root: deps.root, isJson, workers, envFile }, process.env))
      },
    )
  program
    .command('verify')
    .description('compute everything again from its facts and name each difference; changes nothing')
    .option('--account <id>', 'only this account; otherwise all', idValue)
    .addOption(json())
    .action((options: { account?: Id; json?: boolean }) =>
      run(options, async (context) => (await import('./verify.ts')).verifyCommand(context, options.account)),
    )
}

function addRunning(program: Command, run: Runner): void {
  program
    .command('running')
    .description(
      'list the long operations of all processes: who is busy with what, since when and how far, and how much waits',
    )
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./running.ts')).runningCommand(context)),
    )
}

function addProcesses(program: Command, run: Runner): void {
  program
    .command('processes')
    .description('list the live processes of the service on the database, on whichever machine')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./processes.ts')).processesCommand(context)),
    )
}

function addLog(program: Command, run: Runner): void {
  program
    .command('log')
    .description(
      'change how much live processes log for a while, on whichever machine; LOG_LEVEL counts again afterwards',
    )
    .addArgument(new Argument('<level>').choices(LOG_LEVELS))
    .option('--process <id>', 'only this one, as "processes" shows it; otherwise all', processValue)
    .addOption(
      new Option('--for <minutes>', 'how long').argParser(countValue(LEVEL_MINUTES_MAX)).default(LEVEL_MINUTES),
    )
    .addOption(json())
    .action((level: LogLevel, options: { process?: string; for: number; json?: boolean }) => {
      const wish = { level, process: options.process ?? null, minutes: options.for }
      return run(options, async (context) => (await import('./log.ts')).logCommand(context, wish))
    })
}

function addTransfer(program: Command, run: Runner): void {
  program
    .command('export')
    .argument('<file>', 'where to; it must not be there yet')
    .description(
      'write the whole database into a file, while the service runs, for "import"; the encryption key is not in it',
    )
    .addOption(json())
    .action((file: string, options: { json?: boolean }) =>
      run(options, async (context) => (await import('./transfer.ts')).exportCommand(context, file)),
    )
  program
    .command('import')
    .argument('<file>', 'what "export" wrote')
    .description('take an export into an empty database, of any version of PostgreSQL from 15 on, and verify it')
    .addOption(json())
    .action((file: string, options: { json?: boolean }) =>
      run(options, async (context) => (await import('./transfer.ts')).importCommand(context, file)),
    )
}

function addBackup(program: Command, run: Runner): void {
  program
    .command('backup')
    .description(
      'copy the database into a file, while the service runs, for "restore"; one on a server (DATABASE_URL) as "export" does',
    )
    .argument('<file>', 'where to; it must not be there yet')
    .option('--with-key', 'with the encryption key, so that whoever has the file can read every secret')
    .addOption(json())
    .action((file: string, options: { withKey?: boolean; json?: boolean }) => {
      const wish = { file, withKey: options.withKey === true }
      return run(options, async (context) => (await import('./backup.ts')).backupCommand(context, wish))
    })
  program
    .command('restore')
    .description('put a backup into an empty DATA_DIR')
    .argument('<file>', 'what "backup" wrote')
    .addOption(json())
    .action((file: string, options: { json?: boolean }) =>
      run(options, async (context) => (await import('./backup.ts')).restoreCommand(context, file)),
    )
}

const INVOICES_MAX = 1000

function addInvoices(program: Command, run: Runner): void {
  program
    .command('invoices')
    .description('list the newest invoices of an account, the newest first')
    .addOption(account())
    .addOption(new Option('--count <number>', 'how many').argParser(countValue(INVOICES_MAX)).default(20))
    .addOption(json())
    .action((options: { account?: Id; count: number; json?: boolean }) =>
      run(options, async (context) => (await import('./invoices.ts')).listInvoicesCommand(context, options)),
    )
}

interface AccountOptions {
  test?: boolean
  name: string
  currency: string
  clock?: Instant
  json?: boolean
}

function addAccounts(program: Command, run: Runner): void {
  const accounts = program.command('account').description('make and list accounts')
  accounts
    .command('create')
    .description('make an account and its first key, which is shown once')
    .addOption(new Option('--live', 'a live account, on real time (default)').conflicts(['test', 'clock']))
    .option('--test', 'a test account, whose clock can be moved')
    .option('--clock <date>', 'the moment at which the clock of a test account stands', instantValue)
    .option('--currency <code>', 'default currency (ISO 4217)', currencyValue, 'USD')
    .option('--name <text>', 'name of the account', nameValue, 'Perennial')
    .addOption(json())
    .action((options: AccountOptions, command: Command) => {
      if (options.clock && !options.test)
        command.error("error: option '--clock' needs '--test': live accounts run on real time")
      const { name, currency, clock } = options
      const wish = { mode: options.test ? 'test' : 'live', name, currency, clockAt: clock ?? null } as const
      return run(options, async (context) => (await import('./account.ts')).createAccountCommand(context, wish))
    })
  accounts
    .command('list')
    .description('list all accounts')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./account.ts')).listAccountsCommand(context)),
    )
}

interface KeyOptions {
  account?: Id
  name: string
  readOnly?: boolean
  strict?: boolean
  expires?: Instant
  json?: boolean
}

function addKeys(program: Command, run: Runner): void {
  const keys = program.command('key').description('make, list, change and revoke API keys')
  keys
    .command('create')
    .description('make a key, which is shown once')
    .addOption(account())
    .option('--name <text>', 'what the key is for', nameValue, 'key')
    .option('--read-only', 'a key that may read and change nothing')
    .option('--strict', 'a key whose requests may have no names that the service does not know')
    .option('--expires <date>', 'the moment from which it does not work any more (real time)', comingInstantValue)
    .addOption(json())
    .action((options: KeyOptions) => {
      const { name, expires } = options
      const permission = options.readOnly ? 'read' : 'full'
      const isStrict = options.strict === true
      const wish = { account: options.account, name, permission, isStrict, expiresAt: expires ?? null } as const
      return run(options, async (context) => (await import('./key.ts')).createKeyCommand(context, wish))
    })
  keys
    .command('list')
    .description('list the keys of an account, without their values')
    .addOption(account())
    .addOption(json())
    .action((options: { account?: Id; json?: boolean }) =>
      run(options, async (context) => (await import('./key.ts')).listKeysCommand(context, options.account)),
    )
  keys
    .command('set')
    .description('choose what becomes of names that the service does not know')
    .argument('<key>', 'its number, as "key list" shows it', idValue)
    .addOption(account())
    .addOption(new Option('--strict', 'they are refused').conflicts('tolerant'))
    .option('--tolerant', 'they are ignored, and every answer names them')
    .addOption(json())
    .action(
      (key: Id, options: { account?: Id; strict?: boolean; tolerant?: boolean; json?: boolean }, command: Command) => {
        const { strict, tolerant } = options
        if (!strict && !tolerant) command.error("error: one of the options '--strict' and '--tolerant' is needed")
        const wish = { account: options.account, key, isStrict: strict === true }
        return run(options, async (context) => (await import('./key.ts')).setKeyCommand(context, wish))
      },
    )
  keys
    .command('revoke')
    .description('end a key: within a second it works nowhere any more')
    .argument('<key>', 'its number, as "key list" shows it', idValue)
    .addOption(account())
    .option('--force', 'also when it is the last one that works')
    .addOption(json())
    .action((key: Id, options: { account?: Id; force?: boolean; json?: boolean }) => {
      const wish = { account: options.account, key, isForced: options.force === true }
      return run(options, async (context) => (await import('./key.ts')).revokeKeyCommand(context, wish))
    })
}

function addEncryption(program: Command, run: Runner): void {
  const encryption = program.command('encryption').description('the keys of ENCRYPTION_KEY')
  encryption
    .command('status')
    .description('count what each key wraps')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./encryption.ts')).encryptionStatusCommand(context)),
    )
  encryption
    .command('rotate')
    .description('wrap all data keys by the first key of ENCRYPTION_KEY, while the service runs')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./encryption.ts')).rotateEncryptionCommand(context)),
    )
}

function addSeal(program: Command, run: Runner): void {
  const seal = program.command('seal').description('the key that seals signed mandates')
  seal
    .command('status')
    .description('show whose certificate seals, and until when')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./seal.ts')).sealStatusCommand(context)),
    )
  seal
    .command('renew')
    .description('make another key, which seals from now on; what was sealed before stays valid')
    .addOption(json())
    .action((options: { json?: boolean }) =>
      run(options, async (context) => (await import('./seal.ts')).renewSealCommand(context)),
    )
}

function addResultFiles(program: Command, run: Runner): void {
  program
    .command('resultfiles')
    .description('files in which banks answer to debits')
    .command('to-send-again')
    .description('list the files whose bytes are to be sent once more after an upgrade')
    .option('--account <id>', 'only this account; otherwise all', idValue)
    .addOption(json())
    .action((options: { account?: Id; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./result-files.ts')).filesToSendAgainCommand(context, options.account),
      ),
    )
}

function addMail(program: Command, run: Runner): void {
  const mail = program.command('mail').description('the outbox, and the mail server')
  mail
    .command('status')
    .description('count the mail of each account by status')
    .addOption(account())
    .addOption(json())
    .action((options: { account?: Id; json?: boolean }) =>
      run(options, async (context) => (await import('./mail.ts')).mailStatusCommand(context, options.account)),
    )
  mail
    .command('release')
    .description('send all mail that is held, or one that is held, has failed, or whose fate is unknown')
    .argument('[mail]', 'its outboxID', idValue)
    .addOption(account())
    .addOption(json())
    .action((id: Id | undefined, options: { account?: Id; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./mail.ts')).releaseMailCommand(context, { account: options.account, mail: id }),
      ),
    )
  mail
    .command('test')
    .description('hand a mail to the mail server at once and show its reply')
    .argument('<address>', 'whom it goes to', mailAddressValue)
    .addOption(json())
    .action((address: string, options: { json?: boolean }) =>
      run(options, async (context) => (await import('./mail.ts')).testMailCommand(context, address)),
    )
}

interface SeedWords {
  customers: number
  seed: number
  json?: boolean
}

function addSeeding(program: Command, run: Runner): void {
  program
    .command('seed')
    .description('fill a new account with records; no other account is touched')
    .addOption(
      new Option('--demo', 'a test account with a year of a firm in it, billed up to today').makeOptionMandatory(),
    )
    .option('--customers <count>', 'how many customers it has in the end, up to 2000', countValue(2000), 200)
    .option('--seed <number>', 'another number tells another story, the same one the same', countValue(999_999), 1)
    .addOption(json())
    .action(({ customers, seed, json: isJson }: SeedWords) =>
      run({ json: isJson === true }, async (context) =>
        (await import('./seed.ts')).seedCommand(context, { customers, seed }),
      ),
    )
}
