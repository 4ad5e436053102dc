import { createAccount } from '../features/accounts/actions.ts'
import { type ListedAccount, listAllAccounts } from '../features/accounts/queries.ts'
import type { Instant } from '../kernel/calendar.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial account …`: the accounts of the deployment, which no key of one account may see. */

export interface NewAccountOptions {
  mode: 'test' | 'live'
  name: string
  currency: string
  /** The instant at which the clock of a test account stands; null: it follows real time. */
  clockAt: Instant | null
}

/** Makes an account with one full key, which is shown this once. */
export async function createAccountCommand(context: CommandContext, wish: NewAccountOptions): Promise<number> {
  const { id, secret } = await withDatabase(
    context,
    (db) => createAccount(db, Date.now, { ...wish, idStart: context.config.accountIdStart }, 'command line'),
    { makes: true },
  )
  if (context.isJson) {
    printJson({ AccountID: id, ApiKey: secret })
    return EXIT.done
  }
  printLine(`Account   ${id} (${wish.mode}, ${wish.currency})`)
  printLine(`API key   ${secret}`)
  printLine('          Keep it: it is shown this once.')
  return EXIT.done
}

export async function listAccountsCommand(context: CommandContext): Promise<number> {
  const accounts = await withDatabase(context, (db) => listAllAccounts(db.unscoped))
  if (context.isJson) printJson(accounts.map(accountAsJson))
  else
    printTable(
      ['Account', 'Mode', 'Currency', 'Time zone', 'Clock', 'Name'],
      accounts.map(({ id, mode, currency, timeZone, clockAt, name }) => [
        String(id),
        mode,
        currency,
        timeZone,
        clockAt ?? 'real time',
        name,
      ]),
    )
  return EXIT.done
}

const accountAsJson = ({ id, name, mode, currency, timeZone, clockAt, createdAt }: ListedAccount) => ({
  AccountID: id,
  Name: name,
  Mode: mode,
  CurrencyCode: currency,
  TimeZone: timeZone,
  Clock: clockAt,
  CreatedDate: createdAt,
})
