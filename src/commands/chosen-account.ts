import { findListedAccount, listAllAccounts, type ListedAccount } from '../features/accounts/queries.ts'
import { invalid, missing } from '../kernel/fault.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Database } from '../platform/database/database.ts'

/**
 * Returns the account that a command is about: the one that was named, which is looked up alone, else the only one there is. Throws a Fault
 * when there is no such account, or when the choice is not clear.
 */
export async function chosenAccount(db: Database, named: AccountId | undefined): Promise<ListedAccount> {
  if (named !== undefined) {
    const account = await findListedAccount(db.reader(named), named)
    if (!account)
      throw missing('account_unknown', `There is no account ${named}: "perennial account list" shows those there are.`)
    return account
  }
  const accounts = await listAllAccounts(db.unscoped)
  const [only, another] = accounts
  if (!only) throw missing('account_missing', 'There is no account yet: make one with "perennial account create".')
  if (another)
    throw invalid('account_not_named', `There are ${accounts.length} accounts: say which one with --account.`)
  return only
}
