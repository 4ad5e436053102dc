import {
  type Ageing,
  ageOpen,
  balanceLines,
  makeStatement,
  type MovementsStatement,
  type StatementLine,
  sumOfAges,
} from '../../engine/money/statement.ts'
import { assert } from '../../kernel/assert.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { invalid } from '../../kernel/fault.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Snapshot } from '../../platform/database/database.ts'
import type { Portions } from '../../platform/wire/write.ts'
import { listOpenNow, listTotalsOf, movementsInOrder, readStatement } from './queries.ts'

/** Balances and statements of a customer, made from its documents when they are asked for. */

/** Of all currencies together: some 170 pages, drawn in a few seconds. */
export const PDF_MOVEMENTS_MAX = 10_000

const statementTooLong = () =>
  invalid(
    'statement_too_long',
    'A statement as PDF has at most 10,000 movements, and this one has more; ask for a shorter period, or for JSON (format=json).',
    'from',
  )

export const keptTooLong = () =>
  invalid(
    'statement_too_long',
    'A statement as PDF has at most 10,000 movements, and this one has more; read its days with the amounts of today at /v1/customers/{customerID}/statement, by from and to.',
    null,
  )

export interface CurrencyBalance {
  currency: string
  receivableMinor: bigint
  unappliedMinor: bigint
  clearingMinor: bigint
  /** Of the unallocated money, held for refunds whose outcome is not known. */
  heldMinor: bigint
  /** Lines of batches whose day has passed: what they were to pay is open, and what of them is not allocated is not unallocated money. */
  pendingPassedMinor: bigint
  passedUnallocatedMinor: bigint
  ageing: Ageing
}

/** Returns the balance of each currency, the customer's own first, also where it has none yet. A record counts from the moment it is recorded. */
export async function listCurrencyBalances(
  db: Queryable,
  account: AccountId,
  customer: { id: CustomerId; currency: string },
  { today, now }: { today: IsoDate; now: Instant },
): Promise<CurrencyBalance[]> {
  const [totals, open] = await Promise.all([
    listTotalsOf(db, account, customer.id, now),
    listOpenNow(db, account, customer.id, now),
  ])
  const none = {
    currency: customer.currency,
    receivableMinor: 0n,
    unappliedMinor: 0n,
    clearingMinor: 0n,
    heldMinor: 0n,
    pendingPassedMinor: 0n,
    passedUnallocatedMinor: 0n,
  }
  const own = totals.find(({ currency }) => currency === customer.currency) ?? none
  return [own, ...totals.filter((total) => total !== own)].map((total) => ({
    ...total,
    ageing: ageOpen(
      open.filter(({ currency }) => currency === total.currency),
      today,
    ),
  }))
}

export interface CustomerStatement extends MovementsStatement {
  customerId: CustomerId
  currency: string
  ageing: Ageing
  unallocatedMinor: bigint
  pendingPassedMinor: bigint
}

/** Makes a statement of one currency. Throws a Fault (400) where it has more than `movementsMax` movements. */
export async function statementOf(
  db: Queryable,
  account: AccountId,
  customerId: CustomerId,
  currency: string,
  { now, ...period }: { from: IsoDate; to: IsoDate; now: Instant },
  movementsMax?: number,
): Promise<CustomerStatement> {
  const { movements, open, unallocatedMinor, pendingPassedMinor, openingMinor, laterMinor } = await readStatement(
    db,
    { account, customerId, currency, now },
    period,
    movementsMax === undefined ? undefined : movementsMax + 1,
  )
  if (movementsMax !== undefined && movements.length > movementsMax) throw statementTooLong()
  const statement = makeStatement(period, movements, openingMinor, laterMinor)
  const ageing = ageOpen(open, period.to)
  checkClosing({ ageing, unallocatedMinor, pendingPassedMinor, closingMinor: statement.closingMinor })
  return { ...statement, customerId, currency, ageing, unallocatedMinor, pendingPassedMinor }
}

const checkClosing = (
  sums: Pick<CustomerStatement, 'ageing' | 'unallocatedMinor' | 'pendingPassedMinor' | 'closingMinor'>,
): void =>
  assert(
    sumOfAges(sums.ageing) - sums.unallocatedMinor - sums.pendingPassedMinor === sums.closingMinor,
    'what is open on the last day of a statement makes its closing balance',
  )

/** A statement whose lines are read while they are written. */
export interface ArrivingStatement extends Omit<CustomerStatement, 'lines'> {
  lines: Portions<StatementLine>
}

/** Of the movements of a statement that are sorted here, in one go; those of a longer one come in their order from the database. */
const SORTED_MAX = 10_000

/** Makes a statement of one currency of any length: its sums are read, its lines arrive. */
export async function arrivingStatementOf(
  db: Snapshot,
  account: AccountId,
  customerId: CustomerId,
  currency: string,
  { now, ...period }: { from: IsoDate; to: IsoDate; now: Instant },
): Promise<ArrivingStatement> {
  const named = { account, customerId, currency, now }
  const { movements, open, ...sums } = await readStatement(db, named, period, SORTED_MAX + 1)
  const closingMinor = sums.openingMinor + sums.debitsMinor - sums.creditsMinor
  const ageing = ageOpen(open, period.to)
  checkClosing({ ...sums, ageing, closingMinor })
  async function* lines() {
    if (movements.length <= SORTED_MAX) {
      yield makeStatement(period, movements, sums.openingMinor, sums.laterMinor).lines
      return
    }
    let balanceMinor = sums.openingMinor
    for await (const portion of movementsInOrder(db, named, period)) {
      const balanced = balanceLines(portion, balanceMinor)
      balanceMinor = balanced.at(-1)?.balanceMinor ?? balanceMinor
      yield balanced
    }
  }
  return { ...period, ...sums, closingMinor, ageing, customerId, currency, lines: lines() }
}
