import { listAllAccounts } from '../features/accounts/queries.ts'
import { type Difference, differenceText } from '../features/verification/difference.ts'
import { verifyAccount, type Verification } from '../features/verification/verify.ts'
import type { AccountId } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import type { Database } from '../platform/database/database.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial verify`: computes again what is stored from what it follows from, and names every difference. */

/** As JSON all differences are one line, which has to end somewhere; their number is told in full. */
const DIFFERENCES_IN_JSON_MAX = 10_000

interface Outcome extends Verification {
  listed: Difference[]
}

/** `account` undefined: every account, each in a snapshot of its own. Exit code 1 when there is a difference. */
export async function verifyCommand(context: CommandContext, account: AccountId | undefined): Promise<number> {
  const outcomes = await withDatabase(context, async (db) => {
    const found: Outcome[] = []
    for (const id of await accountsOf(db, account)) found.push(await verifyOne(context, db, id))
    return found
  })
  if (context.isJson) printJson(outcomes.map(outcomeAsJson))
  return outcomes.some(({ differences }) => differences > 0) ? EXIT.failed : EXIT.done
}

async function accountsOf(db: Database, named: AccountId | undefined): Promise<AccountId[]> {
  if (named !== undefined) return [(await chosenAccount(db, named)).id]
  return (await listAllAccounts(db.unscoped)).map(({ id }) => id)
}

async function verifyOne({ isJson }: CommandContext, db: Database, account: AccountId): Promise<Outcome> {
  const listed: Difference[] = []
  const verification = await verifyAccount(db, account, (difference) => {
    if (!isJson) printLine(`Account ${account}, ${differenceText(difference)}.`)
    else if (listed.length < DIFFERENCES_IN_JSON_MAX) listed.push(difference)
  })
  const { differences, invoices } = verification
  if (!isJson) printLine(`Account ${account}: ${plural(invoices, 'invoice')}, ${plural(differences, 'difference')}.`)
  return { ...verification, listed }
}

const outcomeAsJson = ({ account, invoices, differences, listed }: Outcome) => ({
  AccountID: account,
  Invoices: invoices,
  Differences: differences,
  List: listed.map(({ check, customerId, recordType, recordId, what, says, should }) => ({
    Check: check,
    customerID: customerId,
    RecordType: recordType,
    RecordID: recordId,
    What: what,
    Says: says,
    Should: should,
  })),
})
