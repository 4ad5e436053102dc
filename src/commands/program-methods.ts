import type { Command } from 'commander'
import type { Id } from '../kernel/ids.ts'
import { idValue } from './option-values.ts'
import { account, json, type Runner } from './shared-options.ts'

/** The words of the command line about payment methods. */

interface ImportOptions {
  account?: Id
  gateway: Id
  dryRun?: boolean
  json?: boolean
}

export function addMethods(program: Command, run: Runner): void {
  program
    .command('method')
    .description('payment methods')
    .command('import')
    .description('bring the cards of a file that are stored at a gateway already, by their tokens there')
    .argument('<file>', 'CSV in UTF-8; its first line names the columns')
    .addOption(account())
    .requiredOption('--gateway <id>', 'the gateway that keeps them', idValue)
    .option('--dry-run', 'ask the gateway, and store nothing')
    .addOption(json())
    .action((file: string, options: ImportOptions) => {
      const wish = { file, account: options.account, gateway: options.gateway, isDryRun: options.dryRun === true }
      return run(options, async (context) => (await import('./method-import.ts')).importMethodsCommand(context, wish))
    })
}
