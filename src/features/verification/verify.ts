import { FailedAssertion } from '../../kernel/assert.ts'
import type { GoOn } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type Database, type Transaction, WHOLE_STATEMENT_MS } from '../../platform/database/database.ts'
import { isOfValues } from '../../platform/database/failures.ts'
import { allocations } from './allocations.ts'
import { balances } from './balances.ts'
import { batchedEntries } from './batched-entries.ts'
import { batchPlaces, postingBatches } from './posting-batches.ts'
import { appliedReturns, batches, batchLines, givingWay, resultFiles } from './debit-batches.ts'
import { ledgerChain } from './chain.ts'
import { orphans, zeroCharges } from './charges.ts'
import { counts } from './counts.ts'
import { coverage } from './coverage.ts'
import { cycles } from './cycles.ts'
import { creditedCharges, creditNotes } from './credits.ts'
import { deliveries } from './deliveries.ts'
import type { Check, Difference, Report } from './difference.ts'
import { emandates } from './emandates.ts'
import { eventSeals } from './event-seals.ts'
import { entriesBalance, ledgerEntries, unposted } from './entries.ts'
import { payments, positives } from './granted-records.ts'
import { invoices } from './invoices.ts'
import { issuedEvents } from './issued-events.ts'
import { type CheckReading, type Ends, NIGHTS, type Part } from './pages.ts'
import { ledgerDays } from './ledger-days.ts'
import { creditNumbers, invoiceNumbers } from './numbers.ts'
import { makeReadOnly } from './verify-queries.ts'
import { sales } from './sales.ts'
import { settlements } from './settlements.ts'
import { lineIdentifiers, shapes } from './shapes.ts'
import { taxDays } from './tax-days.ts'
import { usageEvents } from './usage-events.ts'
import { usageCycles } from './usage.ts'

/**
 * Verification: what is stored is computed again from what it follows from. It changes nothing, and all checks see one snapshot of the
 * account, so a service may go on working meanwhile.
 */

/** In the order in which they run; another check is one more file and one more name here. */
const CHECKS: readonly Check[] = [
  invoices,
  shapes,
  lineIdentifiers,
  zeroCharges,
  orphans,
  creditNotes,
  creditedCharges,
  settlements,
  payments,
  positives,
  batches,
  batchLines,
  givingWay,
  resultFiles,
  appliedReturns,
  sales,
  allocations,
  balances,
  entriesBalance,
  ledgerEntries,
  batchedEntries,
  unposted,
  ledgerDays,
  taxDays,
  ledgerChain,
  postingBatches,
  batchPlaces,
  invoiceNumbers,
  creditNumbers,
  coverage,
  cycles,
  usageCycles,
  counts,
  issuedEvents,
  eventSeals,
  usageEvents,
  deliveries,
  emandates,
]

export interface Verification {
  account: AccountId
  differences: number
  /** Invoices looked at. */
  invoices: number
  /** Nothing differs in the chains of the ledger, so that they may be sealed as they are. */
  isChained: boolean
  /** Everything was verified, not a part of it. */
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
  /** Everything is verified unless a part is named. */
  part?: Part | undefined
}

/** Verifies one account and reports each difference as it is found. */
export const verifyAccount = (
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  report: (difference: Difference) => void,
  how: Verifying = {},
): Promise<Verification> =>
  db.transaction(account, (tx) => runChecks(tx, report, how), {
    isolation: 'repeatable read',
    statementMs: WHOLE_STATEMENT_MS,
    boundMs: WHOLE_STATEMENT_MS,
  })

/** Checks of what a seal covers. */
const CHAINED: readonly Check[] = [ledgerChain, postingBatches, batchPlaces]

/** Checks that cannot be done in parts, each in its turn. */
const AT_ONCE = CHECKS.filter(({ isAtOnce }) => isAtOnce)

async function runChecks(
  tx: Transaction,
  report: (difference: Difference) => void,
  { goOn = () => {}, onChecks = () => {}, part }: Verifying,
): Promise<Verification> {
  await makeReadOnly(tx)
  const ends: Record<string, bigint> = {}
  const found = { account: tx.account, differences: 0, invoices: 0, isChained: true, isWhole: part === undefined, ends }
  for (const [place, check] of CHECKS.entries()) {
    onChecks(place, CHECKS.length)
    if (part && check.isAtOnce && AT_ONCE.indexOf(check) % NIGHTS !== part.turn) continue
    let lists = 0
    const reportOne: Report = (difference) => {
      found.differences += 1
      if (CHAINED.includes(check)) found.isChained = false
      report({ ...difference, account: tx.account, check: check.name })
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
      customerId: null,
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
