import { Argument, type Command, Option } from 'commander'
import { countValue } from './option-values.ts'
import { json, type Runner } from './shared-options.ts'

/** The words of what an upgrade asks for: migrations, and maintenance. */

export function addUpgrading(program: Command, run: Runner): void {
  program
    .command('migrate')
    .description('bring the database up to date beside running processes, and start nothing')
    .addOption(
      new Option('--dry-run', 'list what is lacking, and whether the running processes can work beside it').conflicts(
        'maintenance',
      ),
    )
    .option('--maintenance', 'stop all work until it is done: for what no process of now can run beside')
    .addOption(json())
    .action((options: { dryRun?: boolean; maintenance?: boolean; json?: boolean }) =>
      run(options, async (context) => (await import('./migrate.ts')).migrateCommand(context, options)),
    )
  addMaintenance(program, run)
}

const MINUTES_MAX = 24 * 60

const MINUTES_DEFAULT = 60

function addMaintenance(program: Command, run: Runner): void {
  program
    .command('maintenance')
    .description('show whether the service is in maintenance, begin or end it: all of its processes take no work then')
    .addArgument(new Argument('[state]', 'begin it, or give it another end; or end it').choices(['on', 'off']))
    .addOption(
      new Option('--for <minutes>', `how long it lasts at most (default: ${MINUTES_DEFAULT})`).argParser(
        countValue(MINUTES_MAX),
      ),
    )
    .addOption(json())
    .action((state: 'on' | 'off' | undefined, options: { for?: number; json?: boolean }, command: Command) => {
      if (options.for !== undefined && state !== 'on') command.error("error: option '--for' needs 'on'")
      const minutes = options.for ?? MINUTES_DEFAULT
      return run(options, async (context) =>
        (await import('./maintenance.ts')).maintenanceCommand(context, { state, minutes }),
      )
    })
}
