import type { Command } from 'commander'
import type { Id } from '../kernel/ids.ts'
import { furtherValue, idValue, type NextNumber, numbersValue } from './option-values.ts'
import { account, json, type Runner } from './shared-options.ts'

/** The words of the command line about gateways, and about what a failover has lost. */

export function addGateways(program: Command, run: Runner): void {
  const gateways = program.command('gateway').description('ask gateways, try them out, hold and release them')
  gateways
    .command('hold')
    .description('let no money move through a gateway until it is released')
    .argument('<gateway>', 'its gatewayID', idValue)
    .option('--account <id>', 'its account; otherwise all are asked for it', idValue)
    .addOption(json())
    .action((gateway: Id, options: { account?: Id; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./gateway-hold.ts')).holdGatewayCommand(context, { account: options.account, gateway }),
      ),
    )
  gateways
    .command('release')
    .description('let money move again through a gateway that is held, or through all that are')
    .argument('[gateway]', 'its gatewayID', idValue)
    .option('--account <id>', 'only of this account; otherwise of all', idValue)
    .addOption(json())
    .option('--anyway', 'also while something is listed that left before a failover')
    .action((gateway: Id | undefined, options: { account?: Id; anyway?: boolean; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./gateway-hold.ts')).releaseGatewaysCommand(context, {
          account: options.account,
          gateway,
          isAnyway: options.anyway === true,
        }),
      ),
    )
  gateways
    .command('try')
    .description(
      'charge, refund and report a card for tests at a gateway of a test account; nothing is written into the books',
    )
    .argument('<gateway>', 'its gatewayID', idValue)
    .addOption(account())
    .addOption(json())
    .action((gateway: Id, options: { account?: Id; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./gateway-try.ts')).tryGatewayCommand(context, { account: options.account, gateway }),
      ),
    )
  gateways
    .command('test')
    .description('ask whether a gateway, or each of an account, answers and accepts its Settings')
    .argument('[gateway]', 'its gatewayID', idValue)
    .addOption(account())
    .addOption(json())
    .action((gateway: Id | undefined, options: { account?: Id; json?: boolean }) =>
      run(options, async (context) =>
        (await import('./gateway.ts')).testGatewaysCommand(context, { account: options.account, gateway }),
      ),
    )
}

interface FailoverOptions {
  csv?: boolean
  skip?: bigint
  numbers: NextNumber[]
  creditNumbers: NextNumber[]
  lossy?: boolean
  json?: boolean
}

export function addFailover(program: Command, run: Runner): void {
  program
    .command('after-failover')
    .description('list what failovers have lost, and what was done about it')
    .option('--csv', 'the records as CSV')
    .option('--skip <n>', 'set every sequence so much further than the failover found it', furtherValue)
    .option('--numbers <account=n>', 'raise the next invoice number of an account', numbersValue, [])
    .option('--credit-numbers <account=n>', 'raise the next number of credit notes of an account', numbersValue, [])
    .option('--lossy', 'take it for lossy where no process could tell: sequences, numbers and holds are done')
    .addOption(json().conflicts('csv'))
    .action((options: FailoverOptions) => {
      const { csv: isCsv = false, skip, numbers, creditNumbers, lossy: isLossy = false } = options
      return run(options, async (context) =>
        (await import('./after-failover.ts')).afterFailoverCommand(context, {
          isCsv,
          skip,
          numbers,
          creditNumbers,
          isLossy,
        }),
      )
    })
}
