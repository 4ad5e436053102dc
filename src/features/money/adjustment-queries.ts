import type { NegativeKind, PositiveKind, Recovery, TaxAmount } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, type Fragment, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import { countNarrowed, narrowed } from '../finding/search.ts'
import { sendNewWords } from '../finding/words.ts'
import { creditConditions, type CreditFilter } from './filter-queries.ts'
import type { NegativeAdjustment } from './types.ts'

/** Adjustments: negative ones, of which a credit note is one kind, and positive ones. */

const negativeColumns = (account: AccountId) => fragment`
  negative_adjustment_id as "id", customer_id as "customerId", kind, dated, currency, amount_minor as "amountMinor",
  applied_minor as "appliedMinor", ref, memo, reason, invoice_id as "invoiceId", subscription_id as "subscriptionId", created_at as "createdAt",
  closed_at as "closedAt", sent_at as "sentAt",
  case when kind = 'bad_debt' then (select max(s.dated) from settlements s
    where s.account_id = ${account} and s.negative_adjustment_id = negative_adjustments.negative_adjustment_id
      and s.ended_on is null) end as "reliefDate"`

export const findNegative = (db: Queryable, account: AccountId, id: Id) =>
  db.first<NegativeAdjustment>(sql`
    select ${negativeColumns(account)} from negative_adjustments where account_id = ${account} and negative_adjustment_id = ${id}`)

/** Lists credit notes in the order of creation. */
export async function listCreditNotes(
  db: Queryable,
  account: AccountId,
  asked: CreditFilter,
  from: PageStart,
  limit: number,
): Promise<NegativeAdjustment[]> {
  const { filter, start } = await narrowed(db, account, 'credits', asked, from, limit)
  return db.rows<NegativeAdjustment>(sql`
    select ${negativeColumns(account)} from negative_adjustments
     where account_id = ${account} ${onward(start, 'negative_adjustment_id')} ${creditConditions(account, filter)}
     order by negative_adjustment_id ${inPage(start, limit)}`)
}

export const countCreditNotes = (db: Queryable, account: AccountId, asked: CreditFilter) =>
  countNarrowed(db, account, 'credits', asked, (filter) =>
    db.count(sql`
      select count(*) as "n" from negative_adjustments
       where account_id = ${account} ${creditConditions(account, filter)}`),
  )

export type NewNegative = Omit<NegativeAdjustment, 'id' | 'appliedMinor' | 'createdAt' | 'sentAt' | 'reliefDate'>

/** Draws identifiers of a credit note, of its settlement and of an allocation ahead, so that all of them can be written without waiting. */
export const drawCreditIds = (tx: Transaction) =>
  tx.one<{ note: Id; settlement: Id; allocation: Id }>(sql`
    select nextval('negative_adjustments_negative_adjustment_id_seq') as "note", nextval('settlements_settlement_id_seq') as "settlement",
           nextval('allocations_allocation_id_seq') as "allocation"`)

/**
 * Inserts a negative adjustment; of one whose identifier is drawn with what will be allocated of it, of others with nothing. Its document will
 * show the account and the customer as they are now.
 */
export async function insertNegative(
  tx: Transaction,
  row: NewNegative,
  at: Instant,
  drawn?: { id: Id; appliedMinor: bigint },
): Promise<Id> {
  const { id } = await tx.one<{ id: Id }>(sql`
    insert into negative_adjustments (account_id, ${drawn ? fragment`negative_adjustment_id, ` : NOTHING}applied_minor, customer_id, kind, invoice_id, subscription_id, ref, dated, currency, amount_minor, memo, reason,
        closed_at, created_at, account_version, customer_version, customer_country_id, customer_state_id, customer_vat_number)
      select ${tx.account}, ${drawn ? fragment`${drawn.id}::bigint, ` : NOTHING}${drawn?.appliedMinor ?? 0n}::bigint,
             c.customer_id, ${row.kind}, ${row.invoiceId}::bigint, ${row.subscriptionId}::bigint, ${row.ref}, ${row.dated}::date,
             ${row.currency}, ${row.amountMinor}::bigint, ${row.memo}, ${row.reason}, ${row.closedAt}::timestamptz, ${at}::timestamptz,
             a.version, c.version, c.country_id, c.country_state_id, c.vat_number
        from accounts a join customers c on c.account_id = a.account_id and c.account_id = ${tx.account}
       where a.account_id = ${tx.account} and c.customer_id = ${row.customerId}
      returning negative_adjustment_id as "id"`)
  if (row.kind === 'credit_note') sendNewWords(tx, 'credits', [{ id, texts: [row.ref] }])
  return id
}

/** Updates the row of a negative adjustment. `writeEdit` decides whether that comes before its allocations or after them. */
export const updateNegative = (tx: Transaction, row: NegativeAdjustment) =>
  tx.rows(sql`
    update negative_adjustments set ref = ${row.ref}, dated = ${row.dated}, currency = ${row.currency}, amount_minor = ${row.amountMinor},
           memo = ${row.memo}, reason = ${row.reason}
     where account_id = ${tx.account} and negative_adjustment_id = ${row.id}`)

/**
 * Marks a credit note as sent at an instant: from then on what it corrects is fixed, and its document shows the account and the customer as they
 * were then. One that was sent before stays as it is.
 */
export const markSent = (tx: Transaction, id: Id, at: Instant) =>
  tx.rows(sql`
    update negative_adjustments n
       set sent_at = ${at}::timestamptz, closed_at = coalesce(n.closed_at, ${at}::timestamptz), account_version = a.version, customer_version = c.version
      from accounts a, customers c
     where n.account_id = ${tx.account} and n.negative_adjustment_id = ${id} and n.sent_at is null
       and a.account_id = ${tx.account} and c.account_id = ${tx.account} and c.customer_id = n.customer_id`)

/** Lists the taxes that credit notes of the service took back, each with the number that its settlement keeps: taxes of one name may differ in it. */
export const listCreditNoteTaxes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  db.rows<TaxAmount & { id: Id }>(sql`
    select c.credit_note_id as "id", c.name, c.rate, c.amount_minor as "amountMinor", t.tax_number as "taxNumber"
      from credit_note_taxes c
      left join settlements s on s.account_id = ${account} and s.negative_adjustment_id = c.credit_note_id
      left join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id and t.line = c.line
     where c.account_id = ${account} and c.credit_note_id = any(${arrayLiteral(noteIds)}::bigint[])
     order by c.credit_note_id, c.line`)

/** Lists what of bad debts was recovered after their books were closed, oldest first. */
export const listRecoveries = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<Recovery & { id: Id }>(sql`
    select negative_adjustment_id as "id", amount_minor as "amountMinor", dated from bad_debt_recoveries
     where account_id = ${account} and negative_adjustment_id = any(${arrayLiteral(ids)}::bigint[]) order by recovery_id`)

/** Writes that a part of a bad debt was recovered, without waiting. */
export function sendRecovery(tx: Transaction, id: Id, { amountMinor, dated }: Recovery): void {
  tx.send(sql`
    insert into bad_debt_recoveries (account_id, negative_adjustment_id, amount_minor, dated) values (${tx.account}, ${id}, ${amountMinor}, ${dated})`)
}

/** Lists what a credit note of the service gave back of charges; a caller's note has none. */
export const listCreditNoteCharges = (db: Queryable, account: AccountId, noteId: Id) =>
  db.rows<{ chargeId: Id; netMinor: bigint }>(sql`
    select charge_id as "chargeId", net_minor as "netMinor" from credit_note_lines
     where account_id = ${account} and credit_note_id = ${noteId} order by line`)

/** Deletes a negative adjustment. Settlements of it that an event ended stay as history; those that stand are deleted before. */
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
  db.first<PositiveAdjustment>(sql`
    select ${POSITIVE} from positive_adjustments where account_id = ${account} and positive_adjustment_id = ${id}`)

export type NewPositive = Omit<PositiveAdjustment, 'id' | 'paidMinor' | 'pendingMinor' | 'negativeMinor' | 'createdAt'>

export const insertPositive = (tx: Transaction, row: NewPositive, at: Instant): Promise<Id> =>
  tx.value<Id>(sql`
    insert into positive_adjustments (account_id, customer_id, kind, dated, due_date, currency, amount_minor, ref, memo, created_at)
    values (${tx.account}, ${row.customerId}, ${row.kind}, ${row.dated}, ${row.dueDate}, ${row.currency}, ${row.amountMinor}, ${row.ref},
      ${row.memo}, ${at})
    returning positive_adjustment_id as "id"`)

/** Keeps of identifiers of positive adjustments those of refunds. */
export const listRefundIds = async (db: Transaction, some: readonly Id[]): Promise<Id[]> =>
  some.length === 0
    ? []
    : await db.values<Id>(sql`
        select positive_adjustment_id as "id" from positive_adjustments
         where account_id = ${db.account} and kind = 'refund' and positive_adjustment_id = any(${`{${some.join(',')}}`}::bigint[])`)

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
  kind: NegativeKind | PositiveKind | null
  ref: string | null
}

// Positive comes before negative where both were made at one moment.
const bothKinds = (account: AccountId, { type, customerId, kind, ref }: AdjustmentFilter): Fragment => {
  const chosen = fragment`${onlyWith('customer_id', customerId)} ${onlyWith('kind', kind)} ${onlyWith('ref', ref)}`
  const positive = fragment`
    select 'positive' as "type", 1 as place, positive_adjustment_id as "id", customer_id as "customerId", kind, dated, due_date as "dueDate", currency,
           amount_minor as "amountMinor", ref, memo, created_at
      from positive_adjustments where account_id = ${account} ${chosen}`
  const negative = fragment`
    select 'negative' as "type", 2 as place, negative_adjustment_id as "id", customer_id as "customerId", kind, dated, null::date as "dueDate", currency,
           amount_minor as "amountMinor", ref, memo, created_at
      from negative_adjustments where account_id = ${account} ${chosen}`
  return type === 'all' ? fragment`${positive} union all ${negative}` : type === 'positive' ? positive : negative
}

/** Lists both kinds as one list in the order of creation. */
export const listAdjustments = (
  db: Queryable,
  account: AccountId,
  filter: AdjustmentFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<ListedAdjustment>(sql`
    select "type", "id", "customerId", kind, dated, "dueDate", currency, "amountMinor", ref, memo from (${bothKinds(account, filter)}) a
     order by created_at ${direction(start)}, place ${direction(start)}, "id" ${inPage(start, limit)}`)

export const countAdjustments = (db: Queryable, account: AccountId, filter: AdjustmentFilter) =>
  db.count(sql`select count(*) as "n" from (${bothKinds(account, filter)}) a`)
