import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { assert } from '../../kernel/assert.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { bigintList, bigints, dates } from '../../platform/database/columns.ts'
import { arrayLiteral, column, type Fragment, fragment, jsonRows, sql } from '../../platform/database/sql.ts'
import { asTexts } from '../../platform/database/text-rows.ts'
import { inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import { countNarrowed, narrowed } from '../finding/search.ts'
import { type AppliedDelta, applied } from '../invoices/state-queries.ts'
import { inserted as insertedAllocations } from './allocation-queries.ts'
import { paymentConditions, type PaymentFilter } from './filter-queries.ts'

export const METHODS = ['cash', 'cheque', 'credit_card', 'bank_account', 'eft', 'debit_order'] as const
export type PaymentMethodWord = (typeof METHODS)[number]

export interface Payment {
  id: Id
  customerId: CustomerId
  paidAt: Instant
  /** The day of that instant in the account's zone when it was recorded. */
  dated: IsoDate
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  /** Held for refunds whose outcome is not known: it is not allocated, and nothing else can take it. */
  heldMinor: bigint
  method: PaymentMethodWord
  /** Recorded by a caller, or begun at a gateway or in a batch, where it waits until it is settled. */
  origin: 'recorded' | 'gateway' | 'batch'
  /** Of a payment that a gateway processed, the gateway; else null. */
  gatewayId: Id | null
  /** The payment whose charge at the gateway it is: itself, or the one that it came back for. */
  chargeId: Id | null
  /** A line of the service in a batch that is open or failed: what it is allocated to an invoice counts as open wherever money is allocated. */
  givesWay: boolean
  settledOn: IsoDate | null
  failedOn: IsoDate | null
  failReason: string | null
  ref: string | null
  memo: string | null
  /** The gateway's name of the charge that the payment is, or came back of. */
  transactionId: string | null
  createdAt: Instant
}

const COLUMNS = fragment`
  payment_id as "id", customer_id as "customerId", paid_at as "paidAt", dated, currency, amount_minor as "amountMinor",
  applied_minor as "appliedMinor", held_minor as "heldMinor", method, origin, gateway_id as "gatewayId", charge_id as "chargeId",
  gives_way as "givesWay", settled_on as "settledOn", failed_on as "failedOn", fail_reason as "failReason",
  ref, memo, transaction_id as "transactionId", created_at as "createdAt"`

export const COUNTED_PAYMENTS = { list: 'payments', id: 'payment_id' } as const

export const findPayment = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Payment>(sql`select ${COLUMNS} from payments where account_id = ${account} and payment_id = ${id}`)

export const listPaymentsById = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<Payment>(
    sql`select ${COLUMNS} from payments where account_id = ${account} and payment_id = any(${bigintList(ids)}::bigint[])`,
  )

/** Lists payments in the order of creation. */
export async function listPayments(
  db: Queryable,
  account: AccountId,
  asked: PaymentFilter,
  from: PageStart,
  limit: number,
): Promise<Payment[]> {
  const { filter, start } = await narrowed(db, account, 'payments', asked, from, limit)
  return db.rows<Payment>(
    asTexts(sql`
    select ${COLUMNS} from payments
     where account_id = ${account} ${onward(start, 'payment_id')} ${paymentConditions(account, filter)}
     order by payment_id ${inPage(start, limit)}`),
  )
}

export const countPayments = (db: Queryable, account: AccountId, asked: PaymentFilter) =>
  countNarrowed(db, account, 'payments', asked, (filter) =>
    db.count(sql`
      select count(*) as "n" from payments where account_id = ${account} ${paymentConditions(account, filter)}`),
  )

export type NewPayment = Omit<
  Payment,
  | 'id'
  | 'appliedMinor'
  | 'heldMinor'
  | 'gatewayId'
  | 'chargeId'
  | 'givesWay'
  | 'settledOn'
  | 'failedOn'
  | 'failReason'
  | 'createdAt'
  | 'transactionId'
>

/** Charge at a gateway that a payment is: its own, or, where `chargeId` is given, the one of an earlier payment. */
export interface ChargeOfPayment {
  gatewayId: Id
  chargeId?: Id
  /** The gateway's name of it, where one is known. */
  transactionId?: string | null
}

/** Identifiers for a new payment and for its allocations. */
export interface DrawnIds {
  payment: Id
  allocations: readonly Id[]
}

/**
 * Draws identifiers ahead, so that all that a payment causes can be written without waiting. The same statement keeps the currency, where one is
 * given, from being deleted until the commit; `isHeld` is false where the account does not have it.
 */
export async function drawPaymentIds(
  tx: Transaction,
  allocationCount: number,
  currency: string | null = null,
): Promise<DrawnIds & { isHeld: boolean | null }> {
  const [drawn] = await tx.grouped<NewIds, DrawnIds & { isHeld: boolean | null }>(drawing, [
    { allocationCount, currency },
  ])
  assert(drawn, 'a payment has an identifier')
  return drawn
}

interface NewIds {
  allocationCount: number
  currency: string | null
}

const drawing: OfMany<NewIds> = (account, wanted) => sql`
    with held as materialized (
      select currency from account_currencies
       where account_id = ${account} and currency = any(${arrayLiteral([...new Set(wanted.map(({ currency }) => currency))])}::text[]) for key share)
    select nextval('payments_payment_id_seq') as "payment",
           array(select nextval('allocations_allocation_id_seq') from generate_series(1, w.count)) as "allocations",
           w.currency in (select currency from held) as "isHeld"
      from unnest(${column(wanted, 'allocationCount')}::integer[], ${column(wanted, 'currency')}::text[]) as w(count, currency)`

const inserted = (account: AccountId, payments: readonly Payment[]): Fragment => fragment`
    insert into payments (account_id, payment_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, gateway_id,
      charge_id, gives_way, ref, memo, transaction_id, created_at)
    select ${account}, r."id", r."customerId", r."paidAt", r.dated, r.currency, r."amountMinor", r."appliedMinor", r.method, r.origin, r."gatewayId",
           r."chargeId", r."givesWay", r.ref, r.memo, r."transactionId", r."createdAt"
      from json_to_recordset(${jsonRows(payments)}::json)
        as r("id" bigint, "customerId" bigint, "paidAt" timestamptz, dated date, currency text, "amountMinor" bigint, "appliedMinor" bigint, method text,
             origin text, "gatewayId" bigint, "chargeId" bigint, "givesWay" boolean, ref text, memo text, "transactionId" text, "createdAt" timestamptz) returning 1`

const insertion: OfMany<Payment> = (account, payments) => sql`${inserted(account, payments)}`

/** Writes a payment with what will be allocated of it. */
export const sendPayment = (tx: Transaction, row: Payment): void => tx.sendGrouped(insertion, [row])

/** New payment, the allocations of it, and what these move of invoices. */
interface PaymentOfInvoices {
  payment: Payment
  allocations: readonly AllocationState[]
  invoices: readonly AppliedDelta[]
  at: Instant
}

const withAllocations: OfMany<PaymentOfInvoices> = (account, all) => {
  const timed = <Row>(rowsOf: (one: PaymentOfInvoices) => readonly Row[]) =>
    all.flatMap((one) => rowsOf(one).map((row) => ({ ...row, at: one.at })))
  const ofInvoices = applied(
    account,
    timed(({ invoices }) => invoices),
  )
  return sql`
    with paying as (${inserted(
      account,
      all.map(({ payment }) => payment),
    )}),
    allocating as (${insertedAllocations(
      account,
      timed(({ allocations }) => allocations),
    )}),
    ${ofInvoices.changed} ${ofInvoices.noted}`
}

/** Writes a payment of invoices: its row, its allocations and what these move of the invoices are one statement. */
export const sendPaymentOfInvoices = (tx: Transaction, one: PaymentOfInvoices): void =>
  tx.sendGrouped(withAllocations, [one])

const updates: OfMany<Payment> = (account, rows) => sql`
    update payments p
       set paid_at = r.paid_at, dated = r.dated, currency = r.currency, amount_minor = r.amount, method = r.method, gateway_id = r.gateway,
           gives_way = r.gives_way, settled_on = r.settled_on, failed_on = r.failed_on, fail_reason = r.fail_reason, ref = r.ref, memo = r.memo,
           transaction_id = r.transaction_id
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(rows, 'paidAt')}::timestamptz[], ${dates(rows, 'dated')}::date[],
        ${column(rows, 'currency')}::text[], ${bigints(rows, 'amountMinor')}::bigint[], ${column(rows, 'method')}::text[],
        ${bigints(rows, 'gatewayId')}::bigint[], ${column(rows, 'givesWay')}::boolean[], ${dates(rows, 'settledOn')}::date[],
        ${dates(rows, 'failedOn')}::date[], ${column(rows, 'failReason')}::text[], ${column(rows, 'ref')}::text[], ${column(rows, 'memo')}::text[],
        ${column(rows, 'transactionId')}::text[])
        as r(id, paid_at, dated, currency, amount, method, gateway, gives_way, settled_on, failed_on, fail_reason, ref, memo, transaction_id)
     where p.account_id = ${account} and p.payment_id = r.id`

export const sendPaymentUpdate = (tx: Transaction, row: Payment): void => tx.sendGrouped(updates, [row])

/**
 * Lists payments that give way and are allocated to some of a customer's invoices, the newest first, and locks them. Whoever builds a batch
 * changes `gives_way` of its lines meanwhile, without the customer's lock: one that has stopped giving way is not among them.
 */
export const lockGivingWay = (tx: Transaction, invoiceIds: readonly InvoiceId[]) =>
  tx.rows<Payment>(sql`
    select ${COLUMNS} from payments
     where account_id = ${tx.account} and gives_way and payment_id in (
             select l.given_id from allocations l where l.account_id = ${tx.account} and l.owed_kind = 'invoice'
                and l.owed_id = any(${`{${invoiceIds.join(',')}}`}::bigint[]) and l.given_kind = 'payment' and l.ended_on is null)
     order by payment_id desc for update`)

/** Makes pending payments give way, or keep their place from now on: those of a batch that is built or whose building failed. */
export const updateGivesWay = (tx: Transaction, paymentIds: readonly Id[], givesWay: boolean) =>
  tx.rows(sql`
    update payments set gives_way = ${givesWay}
     where account_id = ${tx.account} and payment_id = any(${`{${paymentIds.join(',')}}`}::bigint[])`)

/** Gives the payments of a charge the gateway's name of it. */
export const sendTransactionId = (
  tx: Transaction,
  { gatewayId, chargeId }: { gatewayId: Id; chargeId: Id },
  name: string,
): void =>
  tx.send(sql`
    update payments set transaction_id = ${name}
     where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId}`)

/** Holds more of a payment for a refund, or less of it where the amount is negative. */
export const sendPaymentHeld = (tx: Transaction, id: Id, amountMinor: bigint): void =>
  tx.send(sql`
    update payments set held_minor = held_minor + ${amountMinor} where account_id = ${tx.account} and payment_id = ${id}`)

export const sendPaymentDelete = (tx: Transaction, id: Id): void => {
  tx.send(sql`delete from payments where account_id = ${tx.account} and payment_id = ${id}`)
  sendUncount(tx, 'payments', [id])
}
