import { listAllAccounts } from '../features/accounts/queries.ts'
import { type Difference, differenceText } from '../platform/checks/difference.ts'
import { verifyAccount } from '../checks.ts'
import type { Verification } from '../features/verification/verify.ts'
import type { AccountId } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import type { Database } from '../platform/database/database.ts'
import { whilePresent } from '../platform/long/presence.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial verify`: computes again what is stored from what it follows from, and names every difference. */

/** Of one kind so many differences are named, and the rest counted: what is wrong everywhere is wrong for one reason. */
const NAMED_OF_A_KIND = 3_000

interface Kind {
  check: string
  what: string
  count: number
}

interface Outcome extends Verification {
  listed: Difference[]
  kinds: Kind[]
}

/**
 * Verifies one account, or every account if `account` is undefined, each in a snapshot of its own. Exit code 1 when there is a difference.
 */
export async function verifyCommand(context: CommandContext, account: AccountId | undefined): Promise<number> {
  const { code, json } = await withDatabase(context, (db) => verifyDatabase(context, db, account))
  if (context.isJson) printJson(json)
  return code
}

/** Verifies an open database as the command does. Returns the exit code, and what is printed where JSON is wanted. */
export async function verifyDatabase(context: CommandContext, db: Database, account: AccountId | undefined) {
  const outcomes: Outcome[] = []
  for (const id of await accountsOf(db, account)) outcomes.push(await verifyOne(context, db, id))
  const code = outcomes.some(({ differences }) => differences > 0) ? EXIT.failed : EXIT.done
  return { code, json: outcomes.map(outcomeAsJson) }
}

async function accountsOf(db: Database, named: AccountId | undefined): Promise<AccountId[]> {
  if (named !== undefined) return [(await chosenAccount(db, named)).id]
  return (await listAllAccounts(db.unscoped)).map(({ id }) => id)
}

async function verifyOne({ isJson }: CommandContext, db: Database, account: AccountId): Promise<Outcome> {
  const listed: Difference[] = []
  const kinds = new Map<string, Kind>()
  const report = (difference: Difference) => {
    const { check, what } = difference
    const name = `${check}, ${what}`
    const kind = kinds.get(name) ?? { check, what, count: 0 }
    kinds.set(name, kind)
    kind.count += 1
    if (kind.count > NAMED_OF_A_KIND) return
    if (isJson) listed.push(difference)
    else printLine(`Account ${account}, ${differenceText(difference)}.`)
  }
  const verification = await whilePresent(db, account, { kind: 'verification' }, ({ progress }) =>
    verifyAccount(db, account, report, { onChecks: progress }),
  )
  const { differences, invoices } = verification
  for (const { check, what, count } of isJson ? [] : kinds.values())
    if (count > NAMED_OF_A_KIND)
      printLine(`Account ${account}, ${check}, ${what}: and ${count - NAMED_OF_A_KIND} more of this kind.`)
  if (!isJson) printLine(`Account ${account}: ${plural(invoices, 'invoice')}, ${plural(differences, 'difference')}.`)
  return { ...verification, listed, kinds: [...kinds.values()] }
}

const outcomeAsJson = ({ account, invoices, differences, listed, kinds }: Outcome) => ({
  AccountID: account,
  Invoices: invoices,
  Differences: differences,
  List: listed.map(({ check, customerId, recordType, recordId, what, stored, expected }) => ({
    Check: check,
    customerID: customerId,
    RecordType: recordType,
    RecordID: recordId,
    What: what,
    Says: stored,
    Should: expected,
  })),
  More: kinds
    .filter(({ count }) => count > NAMED_OF_A_KIND)
    .map(({ check, what, count }) => ({ Check: check, What: what, Count: count - NAMED_OF_A_KIND })),
})
