import type { NegativeKind, PositiveKind, TaxAmount } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { countOf, firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { PageStart } from '../../platform/http/paging.ts'
import { ALLOCATED_STATUS, conditionsOf, type GivenFilter } from './filter-queries.ts'

/** Adjustments: negative ones, of which a credit note is one kind, and positive ones. */

export interface NegativeAdjustment {
  id: Id
  customerId: CustomerId
  kind: NegativeKind
  dated: IsoDate
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  /** The number of a credit note. */
  ref: string | null
  memo: string | null
  /** The invoice that a credit note of the service credits; null for one of a caller. */
  invoiceId: InvoiceId | null
  subscriptionId: SubscriptionId | null
  createdAt: Instant
}

const NEGATIVE = fragment`
  negative_adjustment_id as "id", customer_id as "customerId", kind, dated, currency, amount_minor as "amountMinor",
  applied_minor as "appliedMinor", ref, memo, invoice_id as "invoiceId", subscription_id as "subscriptionId", created_at as "createdAt"`

export const findNegative = (db: Queryable, account: AccountId, id: Id) =>
  firstRow<NegativeAdjustment>(
    db,
    sql`select ${NEGATIVE} from negative_adjustments where account_id = ${account} and negative_adjustment_id = ${id}`,
  )

/** Lists credit notes in the order of creation. */
export const listCreditNotes = (
  db: Queryable,
  account: AccountId,
  filter: GivenFilter,
  { skip }: PageStart,
  limit: number,
) =>
  db.rows<NegativeAdjustment>(sql`
    select ${NEGATIVE} from negative_adjustments
     where account_id = ${account} and kind = 'credit_note' ${conditionsOf(filter, ALLOCATED_STATUS)}
     order by negative_adjustment_id offset ${skip} limit ${limit}`)

export const countCreditNotes = (db: Queryable, account: AccountId, filter: GivenFilter) =>
  countOf(
    db,
    sql`select count(*) as "n" from negative_adjustments
         where account_id = ${account} and kind = 'credit_note' ${conditionsOf(filter, ALLOCATED_STATUS)}`,
  )

export const creditNumberExists = async (tx: Transaction, numberKey: string): Promise<boolean> =>
  (
    await tx.rows(sql`
      select 1 from negative_adjustments where account_id = ${tx.account} and kind = 'credit_note' and ref_key = ${numberKey}`)
  ).length > 0

export type NewNegative = Omit<NegativeAdjustment, 'id' | 'appliedMinor' | 'createdAt'>

/** Inserts a negative adjustment of which nothing is allocated yet. Its document will show the account and the customer as they are now. */
export const insertNegative = async (tx: Transaction, row: NewNegative, at: Instant): Promise<Id> =>
  (
    await oneRow<{ id: Id }>(
      tx,
      sql`insert into negative_adjustments (account_id, customer_id, kind, invoice_id, subscription_id, ref, dated, currency, amount_minor, memo,
            created_at, account_version, customer_version)
          select ${tx.account}, c.customer_id, ${row.kind}, ${row.invoiceId}::bigint, ${row.subscriptionId}::bigint, ${row.ref}, ${row.dated}::date,
                 ${row.currency}, ${row.amountMinor}::bigint, ${row.memo}, ${at}::timestamptz, a.version, c.version
            from accounts a join customers c on c.account_id = a.account_id and c.account_id = ${tx.account}
           where a.account_id = ${tx.account} and c.customer_id = ${row.customerId}
          returning negative_adjustment_id as "id"`,
    )
  ).id

/** Updates the row of a negative adjustment. `writeEdit` decides whether that comes before its allocations or after them. */
export const updateNegative = (tx: Transaction, row: NegativeAdjustment) =>
  tx.rows(sql`
    update negative_adjustments set ref = ${row.ref}, dated = ${row.dated}, currency = ${row.currency}, amount_minor = ${row.amountMinor},
           memo = ${row.memo}
     where account_id = ${tx.account} and negative_adjustment_id = ${row.id}`)

/** Lists the taxes that credit notes of the service took back, each with the number that its settlement keeps: taxes of one name may differ in it. */
export const listCreditNoteTaxes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  db.rows<TaxAmount & { id: Id }>(sql`
    select c.credit_note_id as "id", c.name, c.rate, c.amount_minor as "amountMinor", t.tax_number as "taxNumber"
      from credit_note_taxes c
      left join settlements s on s.account_id = ${account} and s.negative_adjustment_id = c.credit_note_id
      left join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id and t.line = c.line
     where c.account_id = ${account} and c.credit_note_id = any(${arrayLiteral(noteIds)}::bigint[])
     order by c.credit_note_id, c.line`)

/** Lists what a credit note of the service gave back of charges; a caller's note has none. */
export const listCreditNoteCharges = (db: Queryable, account: AccountId, noteId: Id) =>
  db.rows<{ chargeId: Id; netMinor: bigint }>(sql`
    select charge_id as "chargeId", net_minor as "netMinor" from credit_note_lines
     where account_id = ${account} and credit_note_id = ${noteId} order by line`)

export const deleteNegative = (tx: Transaction, id: Id) =>
  tx.rows(sql`delete from negative_adjustments where account_id = ${tx.account} and negative_adjustment_id = ${id}`)

export interface PositiveAdjustment {
  id: Id
  customerId: CustomerId
  kind: PositiveKind
  dated: IsoDate
  dueDate: IsoDate
  currency: string
  amountMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
  ref: string | null
  memo: string | null
  createdAt: Instant
}

const POSITIVE = fragment`
  positive_adjustment_id as "id", customer_id as "customerId", kind, dated, due_date as "dueDate", currency, amount_minor as "amountMinor",
  paid_minor as "paidMinor", pending_minor as "pendingMinor", negative_minor as "negativeMinor", ref, memo, created_at as "createdAt"`

export const findPositive = (db: Queryable, account: AccountId, id: Id) =>
  firstRow<PositiveAdjustment>(
    db,
    sql`select ${POSITIVE} from positive_adjustments where account_id = ${account} and positive_adjustment_id = ${id}`,
  )

export type NewPositive = Omit<PositiveAdjustment, 'id' | 'paidMinor' | 'pendingMinor' | 'negativeMinor' | 'createdAt'>

export const insertPositive = async (tx: Transaction, row: NewPositive, at: Instant): Promise<Id> =>
  (
    await oneRow<{ id: Id }>(
      tx,
      sql`insert into positive_adjustments (account_id, customer_id, kind, dated, due_date, currency, amount_minor, ref, memo, created_at)
          values (${tx.account}, ${row.customerId}, ${row.kind}, ${row.dated}, ${row.dueDate}, ${row.currency}, ${row.amountMinor}, ${row.ref},
            ${row.memo}, ${at})
          returning positive_adjustment_id as "id"`,
    )
  ).id

/** Keeps of identifiers of positive adjustments those of refunds. */
export const listRefundIds = async (db: Transaction, some: readonly Id[]): Promise<Id[]> =>
  some.length === 0
    ? []
    : (
        await db.rows<{ id: Id }>(sql`
          select positive_adjustment_id as "id" from positive_adjustments
           where account_id = ${db.account} and kind = 'refund' and positive_adjustment_id = any(${`{${some.join(',')}}`}::bigint[])`)
      ).map(({ id }) => id)

export const updatePositive = (tx: Transaction, row: PositiveAdjustment) =>
  tx.rows(sql`
    update positive_adjustments set dated = ${row.dated}, due_date = ${row.dueDate}, amount_minor = ${row.amountMinor}, ref = ${row.ref},
           memo = ${row.memo}
     where account_id = ${tx.account} and positive_adjustment_id = ${row.id}`)

export const deletePositive = (tx: Transaction, id: Id) =>
  tx.rows(sql`delete from positive_adjustments where account_id = ${tx.account} and positive_adjustment_id = ${id}`)

/** Adjustment of either kind, as lists show it. */
export interface ListedAdjustment {
  type: 'positive' | 'negative'
  id: Id
  customerId: CustomerId
  kind: NegativeKind | PositiveKind
  dated: IsoDate
  dueDate: IsoDate | null
  currency: string
  amountMinor: bigint
  ref: string | null
  memo: string | null
}

export interface AdjustmentFilter {
  type: 'positive' | 'negative' | 'all'
  customerId: CustomerId | null
}

// Positive comes before negative where both were made at one moment.
const bothKinds = (account: AccountId, { type, customerId }: AdjustmentFilter): Fragment => {
  const ofCustomer = customerId === null ? NOTHING : fragment`and customer_id = ${customerId}`
  const positive = fragment`
    select 'positive' as "type", 1 as place, positive_adjustment_id as "id", customer_id as "customerId", kind, dated, due_date as "dueDate", currency,
           amount_minor as "amountMinor", ref, memo, created_at
      from positive_adjustments where account_id = ${account} ${ofCustomer}`
  const negative = fragment`
    select 'negative' as "type", 2 as place, negative_adjustment_id as "id", customer_id as "customerId", kind, dated, null::date as "dueDate", currency,
           amount_minor as "amountMinor", ref, memo, created_at
      from negative_adjustments where account_id = ${account} ${ofCustomer}`
  return type === 'all' ? fragment`${positive} union all ${negative}` : type === 'positive' ? positive : negative
}

/** Lists both kinds as one list in the order of creation. */
export const listAdjustments = (
  db: Queryable,
  account: AccountId,
  filter: AdjustmentFilter,
  { skip }: PageStart,
  limit: number,
) =>
  db.rows<ListedAdjustment>(sql`
    select "type", "id", "customerId", kind, dated, "dueDate", currency, "amountMinor", ref, memo from (${bothKinds(account, filter)}) a
     order by created_at, place, "id" offset ${skip} limit ${limit}`)

export const countAdjustments = (db: Queryable, account: AccountId, filter: AdjustmentFilter) =>
  countOf(db, sql`select count(*) as "n" from (${bothKinds(account, filter)}) a`)
