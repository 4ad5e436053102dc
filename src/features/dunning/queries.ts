import type { CustomerState, Dunning } from '../../engine/collection/dunning.ts'
import type { Action } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { arrayLiteral, type Fragment, fragment, ofQuery, sql } from '../../platform/database/sql.ts'
import type { CollectionMethod } from '../collection-terms/types.ts'

/** An invoice with how far its dunning has come, and the facts of it and its customer that decide what a day brings. */
export interface DunnedInvoice {
  id: InvoiceId
  customerId: CustomerId
  number: bigint
  currency: string
  dueDate: IsoDate
  openMinor: bigint
  isOpen: boolean
  isHeld: boolean
  customer: CustomerState
  hasOpenTry: boolean
  collectionMethod: CollectionMethod
  gatewayId: Id | null
  paymentMethodId: Id | null
  isMethodRequested: boolean
  /** NextTryDate as it is written; with `hasLine` the day of a line that waits. */
  nextTryDate: IsoDate | null
  hasLine: boolean
  dueOn: IsoDate | null
  dunning: Dunning
}

interface Row extends Omit<DunnedInvoice, 'dunning'>, Omit<Dunning, 'extra' | 'pending'> {
  extraOn: IsoDate | null
  isExtraForMethod: boolean
  pendingActions: Action[] | null
  pendingOn: IsoDate | null
}

const COLUMNS = (account: AccountId): Fragment => fragment`
  d.invoice_id as "id", d.customer_id as "customerId", i.number, i.currency, i.due_date as "dueDate",
  i.total_minor - i.negative_minor - i.paid_minor - i.pending_minor as "openMinor",
  i.cancelled_at is null and i.total_minor > i.negative_minor + i.paid_minor + i.pending_minor as "isOpen",
  i.is_collection_hold or c.is_collection_hold as "isHeld",
  case when c.archived_at is not null then 'archived' when c.suspended_at is null then 'active'
       when c.is_suspended_by_rule then 'suspended_by_rule' else 'suspended_by_hand' end as "customer",
  exists (select 1 from collection_tries t where t.account_id = ${account} and t.invoice_id = d.invoice_id and t.state = 'open') as "hasOpenTry",
  i.collection_method as "collectionMethod", i.gateway_id as "gatewayId", i.payment_method_id as "paymentMethodId",
  i.is_method_requested as "isMethodRequested", i.next_try_date as "nextTryDate", i.has_line as "hasLine", d.due_on as "dueOn", d.newest_step as "newest", d.counted_from as "countedFrom",
  d.not_before as "notBefore", d.extra_on as "extraOn", d.is_extra_for_method as "isExtraForMethod",
  d.pending_actions as "pendingActions", d.pending_on as "pendingOn", d.was_tried as "wasTried", d.was_unknown as "wasUnknown",
  d.is_stopped as "isStopped", d.is_untried as "isUntried", d.is_settled as "isSettled"`

const joined = (account: AccountId): Fragment => fragment`
  join invoices i on i.account_id = ${account} and i.invoice_id = d.invoice_id
  join customers c on c.account_id = ${account} and c.customer_id = d.customer_id`

const dunnedOf = (row: Row): DunnedInvoice => ({
  ...row,
  dunning: {
    newest: row.newest,
    countedFrom: row.countedFrom,
    notBefore: row.notBefore,
    extra: row.extraOn === null ? null : { on: row.extraOn, isForMethod: row.isExtraForMethod },
    pending:
      row.pendingActions === null || row.pendingOn === null ? null : { actions: row.pendingActions, on: row.pendingOn },
    wasTried: row.wasTried,
    wasUnknown: row.wasUnknown,
    isStopped: row.isStopped,
    isUntried: row.isUntried,
    isSettled: row.isSettled,
  },
})

/** Lists the invoices of a customer that something may come to by a day, the oldest first. */
export const listDueOfCustomer = async (tx: Transaction, customerId: CustomerId, day: IsoDate) =>
  (
    await tx.rows<Row>(sql`
      select ${COLUMNS(tx.account)} from dunning d ${joined(tx.account)}
       where d.account_id = ${tx.account} and d.customer_id = ${customerId} and d.due_on <= ${day}
       order by d.invoice_id`)
  ).map(dunnedOf)

/** Lists the dunned invoices of a customer that are not settled for good. */
export const listDunnedOfCustomer = async (tx: Transaction, customerId: CustomerId) =>
  (
    await tx.rows<Row>(sql`
      select ${COLUMNS(tx.account)} from dunning d ${joined(tx.account)}
       where d.account_id = ${tx.account} and d.customer_id = ${customerId} and i.cancelled_at is null
         and i.total_minor > i.negative_minor + i.paid_minor
       order by d.invoice_id`)
  ).map(dunnedOf)

export const listDunned = async (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  (
    await db.rows<Row>(sql`
      select ${COLUMNS(account)} from dunning d ${joined(account)}
       where d.account_id = ${account} and d.invoice_id = any(${`{${ids.join(',')}}`}::bigint[])
       order by d.invoice_id`)
  ).map(dunnedOf)

/** Lists the next customers, in identifier order, with an invoice that something may come to by a day. */
export const listCustomersToCollect = (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  after: CustomerId,
  limit: number,
): Promise<CustomerId[]> =>
  db.values<CustomerId>(sql`
    select distinct customer_id as "id" from dunning
     where account_id = ${account} and due_on <= ${day} and customer_id > ${after} order by customer_id limit ${limit}`)

/** Finds the first day after another, up to a last one, on which something may come to an invoice. */
export const findDunnedDay = (db: Queryable, account: AccountId, day: IsoDate, until: IsoDate) =>
  db.value<IsoDate | null>(sql`
    select min(due_on) as "day" from dunning where account_id = ${account} and due_on > ${day} and due_on <= ${until}`)

/** True of an invoice that falls due since the version came that tries it: cards came before bank accounts. */
const isTriedSince = fragment`
  (i.due_date >= a.collects_since and (i.collection_method <> 'debit_order' or i.due_date >= a.debits_since))`

/** Dunning that begins: the first step is wanted on a day, and the invoice is looked at on another. */
export interface NewDunning {
  invoiceId: InvoiceId
  customerId: CustomerId
  wantedOn: IsoDate
  looksOn: IsoDate
}

/** Begins the dunning of invoices that this transaction issued, so that none of them has begun: to look whether one has costs a third of writing it. */
export const insertDunning = (tx: Transaction, rows: readonly NewDunning[]) =>
  tx.rows(
    ofQuery(sql`
    insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
    select ${tx.account}, r.invoice, r.customer, r.looks, r.wanted
      from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${bigints(rows, 'customerId')}::bigint[], ${dates(rows, 'looksOn')}::date[],
        ${dates(rows, 'wantedOn')}::date[]) as r(invoice, customer, looks, wanted)`),
  )

/** Begins the dunning of an invoice that is collected by hand; one that fell due before this version came gets no step on its own. */
export const insertDunningByHand = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`
    insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from, is_settled)
    select ${tx.account}, i.invoice_id, i.customer_id, i.due_date, i.due_date, not ${isTriedSince}
      from invoices i join accounts a on a.account_id = ${tx.account}
     where i.account_id = ${tx.account} and i.invoice_id = ${id}
    on conflict (account_id, invoice_id) do nothing
    returning 1`)

/** Begins the dunning of an invoice that is tried from now on; one that fell due before this version came is left to people. */
export const insertDunningLater = (tx: Transaction, id: InvoiceId, today: IsoDate) =>
  tx.rows(sql`
    insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
    select ${tx.account}, i.invoice_id, i.customer_id, ${today}, greatest(i.due_date, ${today}::date)
      from invoices i join accounts a on a.account_id = ${tx.account}
     where i.account_id = ${tx.account} and i.invoice_id = ${id} and ${isTriedSince}
    on conflict (account_id, invoice_id) do nothing
    returning 1`)

/** Writes how far the dunning of an invoice has come, and the day on which it is looked at next, without waiting. */
export const updateDunning = (tx: Transaction, id: InvoiceId, d: Dunning, dueOn: IsoDate | null): void =>
  tx.send(sql`
    update dunning set due_on = ${dueOn}, newest_step = ${d.newest}, counted_from = ${d.countedFrom}, not_before = ${d.notBefore},
      extra_on = ${d.extra?.on ?? null}, is_extra_for_method = ${d.extra?.isForMethod ?? false},
      pending_actions = ${d.pending === null ? null : arrayLiteral(d.pending.actions)}::text[], pending_on = ${d.pending?.on ?? null},
      was_tried = ${d.wasTried}, was_unknown = ${d.wasUnknown}, is_stopped = ${d.isStopped}, is_untried = ${d.isUntried},
      is_settled = ${d.isSettled}
     where account_id = ${tx.account} and invoice_id = ${id}`)

/** Wakes the dunning of all open invoices, because rules or gateways are other ones: the next pass plans each anew. */
export const wakeAll = (tx: Transaction, day: IsoDate) =>
  tx.rows(sql`
    update dunning d set due_on = ${day} from invoices i
     where d.account_id = ${tx.account} and i.account_id = ${tx.account} and i.invoice_id = d.invoice_id and i.cancelled_at is null
       and i.total_minor > i.negative_minor + i.paid_minor and not d.is_settled and (d.due_on is null or d.due_on > ${day})`)

/** Plans a try, beside the steps, of open invoices that could not be tried and are due on a day or later. */
export const planUntried = (tx: Transaction, { dueFrom, on }: { dueFrom: IsoDate; on: IsoDate }) =>
  tx.rows(sql`
    update dunning d set extra_on = ${on}, is_extra_for_method = true, due_on = least(d.due_on, ${on}) from invoices i
     where d.account_id = ${tx.account} and i.account_id = ${tx.account} and i.invoice_id = d.invoice_id and i.cancelled_at is null
       and i.total_minor > i.negative_minor + i.paid_minor and d.is_untried and not d.was_tried and d.extra_on is null
       and i.due_date >= ${dueFrom}`)

/** Begins the dunning of open invoices that nobody tries, as far as they fall due from a day on. */
export const insertUntriedDunning = (tx: Transaction, day: IsoDate) =>
  tx.rows(
    ofQuery(sql`
    insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
    select ${tx.account}, i.invoice_id, i.customer_id, i.due_date, i.due_date from invoices i
     where i.account_id = ${tx.account} and i.issued_at is not null and i.cancelled_at is null and i.due_date >= ${day}
       and i.total_minor > i.negative_minor + i.paid_minor
    on conflict (account_id, invoice_id) do nothing`),
  )

/** Wakes the dunning of invoices of which more is open than before, without waiting. */
export const sendWake = (tx: Transaction, ids: readonly InvoiceId[], day: IsoDate): void =>
  tx.sendGrouped(
    waking,
    ids.map((id) => ({ id, day })),
  )

const waking: OfMany<{ id: InvoiceId; day: IsoDate }> = (account, rows) => sql`
    update dunning d set due_on = w.day from unnest(${bigints(rows, 'id')}::bigint[], ${dates(rows, 'day')}::date[]) as w(id, day)
     where d.account_id = ${account} and d.invoice_id = w.id and d.due_on is null`
