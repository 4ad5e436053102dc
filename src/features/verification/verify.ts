import { FailedAssertion } from '../../kernel/assert.ts'
import type { GoOn } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type Database, type Transaction, WHOLE_STATEMENT_MS } from '../../platform/database/database.ts'
import { isOfValues } from '../../platform/database/failures.ts'
import type { Check, Difference, Report } from '../../platform/checks/difference.ts'
import { type CheckReading, type Ends, NIGHTS, type Part } from '../../platform/checks/pages.ts'
import { invoices } from './invoices.ts'
import { makeReadOnly } from './verify-queries.ts'

/**
 * Verification: what is stored is computed again from what it follows from. It changes nothing, and all checks see one snapshot of the
 * account, so a service may go on working meanwhile.
 */

export interface Verification {
  account: AccountId
  differences: number
  /** Invoices looked at. */
  invoices: number
  /** Nothing differs in the chains of the ledger, so that they may be sealed as they are. */
  isChained: boolean
  /** Everything was verified, not a portion of it. */
  isWhole: boolean
  /** Last record that was there of each list. */
  ends: Ends
}

/** How an account is verified. */
export interface Verifying {
  /** Called between pages; may throw to end the work. */
  goOn?: GoOn
  /** Learns how many of the checks are done. */
  onChecks?: (done: number, total: number) => void
  /** Everything is verified unless a portion is named. */
  part?: Part | undefined
}

/** Verifies one account and reports each difference as it is found. */
export type VerifyAccount = (
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  report: (difference: Difference) => void,
  how?: Verifying,
) => Promise<Verification>

/** Returns what verifies accounts by some checks, in their order. */
export const verifierBy =
  (checks: readonly Check[]): VerifyAccount =>
  (db, account, report, how = {}) =>
    db.transaction(account, (tx) => runChecks(tx, checks, report, how), {
      isolation: 'repeatable read',
      statementMs: WHOLE_STATEMENT_MS,
      boundMs: WHOLE_STATEMENT_MS,
    })

async function runChecks(
  tx: Transaction,
  checks: readonly Check[],
  report: (difference: Difference) => void,
  { goOn = () => {}, onChecks = () => {}, part }: Verifying,
): Promise<Verification> {
  await makeReadOnly(tx)
  const ends: Record<string, bigint> = {}
  const found = { account: tx.account, differences: 0, invoices: 0, isChained: true, isWhole: part === undefined, ends }
  // Those that cannot be done in portions, each in its turn.
  const atOnce = checks.filter(({ isAtOnce }) => isAtOnce)
  for (const [place, check] of checks.entries()) {
    onChecks(place, checks.length)
    if (part && check.isAtOnce && atOnce.indexOf(check) % NIGHTS !== part.turn) continue
    let lists = 0
    const reportOne: Report = (difference) => {
      found.differences += 1
      if (check.isOfSeals) found.isChained = false
      report({ customerId: null, ...difference, account: tx.account, check: check.name })
    }
    const looked = await runCheck(tx, check, reportOne, {
      goOn,
      part: check.isAtOnce ? undefined : part,
      endOf() {
        const list = `${check.name} ${lists++}`
        return { before: part?.ends[list], keep: (last) => (ends[list] = last) }
      },
    })
    if (check === invoices) found.invoices = looked
  }
  return found
}

/** Runs one check. Where something is stored that cannot even be read, that is a difference, and the other checks go on. Returns how many records it has looked at. */
async function runCheck(tx: Transaction, check: Check, report: Report, reading: CheckReading): Promise<number> {
  try {
    return await tx.savepoint(() => check.run(tx, report, reading))
  } catch (error) {
    if (!isOfStored(error)) throw error
    report({
      recordType: 'account',
      recordId: tx.account,
      what: 'what is stored',
      stored: `something that cannot be read (${errorFacts(error).message})`,
      expected: 'something that can',
    })
    return 0
  }
}

/** Returns whether a failure comes of values that no version of the service writes: PostgreSQL cannot convert them, or a rule of the code does not allow for them. */
const isOfStored = (error: unknown): boolean =>
  error instanceof FailedAssertion || error instanceof SyntaxError || error instanceof RangeError || isOfValues(error)
