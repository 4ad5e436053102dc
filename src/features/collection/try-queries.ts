import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { DeclineClass, MethodKind } from '../../kernel/rails.ts'
import type { Action } from '../../engine/collection/rules.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigintList } from '../../platform/database/columns.ts'
import { isOver, UNTIL } from '../../platform/database/lease.ts'
import { CLAIMED, IS_FREE, LET_GO } from '../../platform/database/leased.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'

export type TryState = 'open' | 'succeeded' | 'declined' | 'returned' | 'not_sent'

/** A line that gave way to a try by card, as far as it is needed to make it again. */
export interface ReplacedLine {
  batchId: string
  gatewayId: string
  paymentMethodId: string
  kind: MethodKind
  step: number | null
  action: Action | null
  isExtra: boolean
  isByHand: boolean
  announcedOn: IsoDate | null
}

/** A card that a customer has entered to pay one invoice: no payment method of theirs unless that is paid and they want it. */
export interface NewCard {
  /** The gateway's name of it, which never leaves the service. */
  gatewayToken: string
  fingerprint: string | null
  cardBrand: CardBrand
  lastFour: string
  nameOnCard: string
  lastNameOnCard: string
  expiryMonth: number
  expiryYear: number
  /** Once it has paid it becomes the primary method; else it is removed at the gateway. */
  isWanted: boolean
}

/** A try of an invoice: what was asked of a gateway, and what it answered. */
export interface Try {
  paymentId: Id
  /** Of its reference at the gateway; null of lines, which have their own, and of tries of programs before. */
  nonce: string | null
  /** The gateway's name of it, null where none is kept. */
  gatewayReference: string | null
  /** Real time at which it was sent last; null: long ago. */
  sentAt: Instant | null
  invoiceId: InvoiceId
  customerId: CustomerId
  gatewayId: Id
  paymentMethodId: Id
  currency: string
  amountMinor: bigint
  step: number | null
  action: Action | null
  isExtra: boolean
  isByHand: boolean
  begunOn: IsoDate
  begunAt: Instant
  state: TryState
  class: DeclineClass | null
  code: string | null
  message: string | null
  knownOn: IsoDate | null
  wasCalled: boolean
  wasUnanswered: boolean
  attempts: number
  /** Since when, by the account's clock, its gateway has given no answer. */
  silentSince: Instant
  /** A line of a batch: the batch brings its result. */
  isLine: boolean
  /** A line whose place this try has taken: when it fails, that is made again. */
  replaced: ReplacedLine | null
  /** The gateway waits for the customer, who was present, to confirm the charge. */
  awaitsCustomer: boolean
  /** The gateway's address at which they confirm it; null: by another charge. */
  confirmUrl: string | null
  /** The card of an open try that is no payment method; `paymentMethodId` is then what it will be under if it becomes one. */
  newCard: NewCard | null
  /** Somebody may be asking the gateway at this moment: a call outlives its lease by less than a minute. */
  isAsked: boolean
}

/** Try as it is shown: with what its payment came to later. */
export interface ShownTry extends Try {
  /** Of money that was received and is lost again: by which class, and as the gateway put it. */
  lost: Pick<Try, 'class' | 'code' | 'message'> | null
  /** The batch of a line. */
  batchToken: string | null
}

const COLUMNS = fragment`
  payment_id as "paymentId", invoice_id as "invoiceId", customer_id as "customerId", gateway_id as "gatewayId",
  payment_method_id as "paymentMethodId", currency, amount_minor as "amountMinor", step, action, is_extra as "isExtra",
  is_by_hand as "isByHand", begun_on as "begunOn", begun_at as "begunAt", state, class, code, message, known_on as "knownOn",
  was_called as "wasCalled", was_unanswered as "wasUnanswered", attempts, silent_since as "silentSince", is_line as "isLine", replaced,
  awaits_customer as "awaitsCustomer", confirm_url as "confirmUrl", new_card as "newCard", nonce, gateway_reference as "gatewayReference",
  sent_at as "sentAt"`

/** After which a try whose outcome is not known is asked about again. */
export const ASK_AGAIN_SECONDS = 60

/** The condition that a try is being asked, also for a minute after its lease. */
const IS_ASKED = fragment`
  (leased_until is not null and leased_until > moment('-1 minute') and leased_until <= moment(interval '30 seconds' + '10 minutes')) as "isAsked"`

export const findTry = (db: Queryable, account: AccountId, paymentId: Id) =>
  db.first<Try>(sql`
    select ${COLUMNS}, ${IS_ASKED} from collection_tries where account_id = ${account} and payment_id = ${paymentId}`)

/** Lists the tries of an invoice, the oldest first. */
export const listTries = (db: Queryable, account: AccountId, invoiceId: InvoiceId) =>
  db.rows<Try>(sql`
    select ${COLUMNS}, ${IS_ASKED} from collection_tries where account_id = ${account} and invoice_id = ${invoiceId} order by payment_id`)

/**
 * Builds the SQL of whether the money of a try was received and is lost. Rule: its charge's payments that are received, less refunds that came back, come to less than
 * was tried; a dispute that is won makes it whole again.
 */
const isLost = (account: AccountId): Fragment => fragment`
  t.state = 'succeeded' and p.failed_on is not null and p.amount_minor > (
    select coalesce(sum(o.amount_minor), 0) from payments o
     where o.account_id = ${account} and o.gateway_id = p.gateway_id and o.charge_id = p.charge_id and o.failed_on is null and o.settled_on is not null
    ) - (
    select coalesce(sum(f.amount_minor), 0) from payment_refunds f join payments o on o.account_id = ${account} and o.payment_id = f.payment_id
     where f.account_id = ${account} and f.state = 'failed' and f.adjustment_id is not null
       and o.gateway_id = p.gateway_id and o.charge_id = p.charge_id)`

interface AttemptRow extends Try {
  batchToken: string | null
  isLost: boolean
  lostClass: DeclineClass | null
  lostCode: string | null
  lostMessage: string | null
}

/** Lists the tries of an invoice as they are shown, the oldest first. */
export const listAttempts = async (db: Queryable, account: AccountId, invoiceId: InvoiceId): Promise<ShownTry[]> =>
  (
    await db.rows<AttemptRow>(sql`
      select t.*, coalesce(t."gatewayReference", l.gateway_reference) as "gatewayReference", p.amount_minor as "amountMinor", case when t."isLine" then p.dated else t."begunOn" end as "begunOn", b.token::text as "batchToken", ${isLost(account)} as "isLost",
             coalesce(c.class, l.returned_class) as "lostClass", coalesce(c.code, l.returned_code) as "lostCode",
             coalesce(c.message, l.returned_reason, p.fail_reason) as "lostMessage"
        from (select ${COLUMNS}, ${IS_ASKED} from collection_tries where account_id = ${account} and invoice_id = ${invoiceId}) t
        join payments p on p.account_id = ${account} and p.payment_id = t."paymentId"
        left join batch_lines l on l.account_id = ${account} and l.payment_id = t."paymentId"
        left join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
        left join lateral (select class, code, message from charge_changes
             where account_id = ${account} and gateway_id = p.gateway_id and charge_id = p.charge_id and kind in ('returned', 'disputed') and not is_refund
             order by charge_change_id desc limit 1) c on true
       order by t."paymentId"`)
  ).map(({ isLost: isLostAgain, lostClass, lostCode, lostMessage, ...row }) => ({
    ...row,
    lost: isLostAgain ? { class: lostClass, code: lostCode, message: lostMessage } : null,
  }))

/** Try that begins: how far it has come is the same of all. */
export type NewTry = Omit<
  Try,
  | 'state'
  | 'class'
  | 'code'
  | 'message'
  | 'knownOn'
  | 'wasCalled'
  | 'wasUnanswered'
  | 'attempts'
  | 'silentSince'
  | 'awaitsCustomer'
  | 'confirmUrl'
  | 'isAsked'
  | 'gatewayReference'
  | 'sentAt'
>

/**
 * Writes a try without waiting, and returns it as it then is. One that is not a line is about to be made by whoever begins it: nobody else takes
 * it while the lease lasts.
 */
export function sendTry(tx: Transaction, t: NewTry): Try {
  tx.send(sql`
    insert into collection_tries (account_id, payment_id, invoice_id, customer_id, gateway_id, payment_method_id, currency, amount_minor, step,
      action, is_extra, is_by_hand, begun_on, begun_at, silent_since, is_line, replaced, new_card, was_called,
      nonce, leased_until, sent_at)
    values (${tx.account}, ${t.paymentId}, ${t.invoiceId}, ${t.customerId}, ${t.gatewayId}, ${t.paymentMethodId}, ${t.currency},
      ${t.amountMinor}, ${t.step}, ${t.action}, ${t.isExtra}, ${t.isByHand}, ${t.begunOn}, ${t.begunAt}, ${t.begunAt}, ${t.isLine},
      ${t.replaced === null ? null : JSON.stringify(t.replaced)}::jsonb, ${t.newCard === null ? null : JSON.stringify(t.newCard)}::jsonb, ${!t.isLine},
      ${t.nonce}, ${t.isLine ? fragment`null, null` : fragment`${UNTIL}, moment()`})`)
  const unknown = { state: 'open', class: null, code: null, message: null, knownOn: null } as const
  const uncalled = {
    wasUnanswered: false,
    attempts: 0,
    silentSince: t.begunAt,
    awaitsCustomer: false,
    confirmUrl: null,
    gatewayReference: null,
    sentAt: null,
  }
  return { ...t, ...unknown, ...uncalled, wasCalled: !t.isLine, isAsked: !t.isLine }
}

/** Lists open tries that nobody is at and whose wait is over, the oldest first; with `isAll` those that wait too. */
export const listOpenTries = (db: Queryable, account: AccountId, isAll: boolean, limit: number) =>
  db.rows<Try>(sql`
    select ${COLUMNS}, ${IS_ASKED} from collection_tries
     where account_id = ${account} and state = 'open' and not is_line ${isAll ? fragment`` : fragment`and ${IS_FREE}`}
     order by payment_id limit ${limit}`)

/** Open tries that may be claimed: nobody is at them; of those that are free the wait is over, too. `all`: whoever moves the clock holds the account. */
export type Claimable = 'all' | 'free' | 'idle'

const CLAIMABLE: Readonly<Record<Claimable, Fragment>> = {
  all: fragment``,
  free: fragment`and ${IS_FREE}`,
  idle: fragment`and ${isOver('leased_until')}`,
}

/** Claims an open try for this process; undefined where it has its outcome, or another is at it. */
export const claimTry = (tx: Transaction, paymentId: Id, which: Claimable) =>
  tx.first<Try>(sql`
    update collection_tries set ${CLAIMED}
     where account_id = ${tx.account} and payment_id = ${paymentId} and state = 'open' and not is_line ${CLAIMABLE[which]}
    returning ${COLUMNS}, true as "isAsked"`)

export const lockTry = (tx: Transaction, paymentId: Id) =>
  tx.first<Try>(sql`
    select ${COLUMNS}, ${IS_ASKED} from collection_tries where account_id = ${tx.account} and payment_id = ${paymentId} for update`)

/** Lets go of a try whose outcome is not known, until a wait is over. */
export const putOffTry = (
  tx: Transaction,
  paymentId: Id,
  to: Pick<Try, 'wasCalled' | 'wasUnanswered' | 'attempts' | 'silentSince'> & {
    waitSeconds: number
    awaitsCustomer?: boolean
    confirmUrl?: string | null
    /** It waits as long as it did before. */
    isWaitKept?: boolean
  },
) =>
  tx.rows(sql`
    update collection_tries set was_called = ${to.wasCalled}, was_unanswered = ${to.wasUnanswered}, attempts = ${to.attempts},
      silent_since = ${to.silentSince}, awaits_customer = ${to.awaitsCustomer ?? false},
      confirm_url = ${to.confirmUrl ?? null}, leased_until = null,
      next_try_at = ${to.isWaitKept ? fragment`next_try_at` : fragment`moment(interval '1 second' * ${to.waitSeconds}::integer)`}
     where account_id = ${tx.account} and payment_id = ${paymentId} and state = 'open'`)

/** Writes the outcome of a try, without waiting, and forgets its card. */
export const closeTry = (
  tx: Transaction,
  paymentId: Id,
  to: Pick<Try, 'state' | 'class' | 'code' | 'message' | 'knownOn'>,
): void =>
  tx.send(sql`
    update collection_tries set state = ${to.state}, class = ${to.class}, code = ${to.code}, message = ${to.message},
      known_on = ${to.knownOn}, new_card = null, confirm_url = null, ${LET_GO}, finished_at = moment()
     where account_id = ${tx.account} and payment_id = ${paymentId}`)

/** An open try by a line of a batch, with what is announced to its payer. */
export interface LineTry {
  paymentId: Id
  paymentMethodId: Id
  customerId: CustomerId
  kind: MethodKind
  invoice: { id: InvoiceId; number: bigint; currency: string; openMinor: bigint }
}

/** Lists the open tries that stand in a batch. */
export const listLineTries = async (tx: Transaction, batchId: Id): Promise<LineTry[]> =>
  (
    await tx.rows<
      Omit<LineTry, 'invoice'> & { id: InvoiceId; number: bigint; currency: string; openMinor: bigint }
    >(sql`
      select l.payment_id as "paymentId", l.payment_method_id as "paymentMethodId", l.customer_id as "customerId", m.kind,
             i.invoice_id as "id", i.number, i.currency, p.amount_minor as "openMinor"
        from batch_lines l
        join collection_tries t on t.account_id = ${tx.account} and t.payment_id = l.payment_id and t.state = 'open'
        join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id
        join payment_methods m on m.account_id = ${tx.account} and m.payment_method_id = l.payment_method_id
        join invoices i on i.account_id = ${tx.account} and i.invoice_id = t.invoice_id
       where l.account_id = ${tx.account} and l.batch_id = ${batchId} order by l.payment_id`)
  ).map(({ id, number, currency, openMinor, ...t }) => ({ ...t, invoice: { id, number, currency, openMinor } }))

/** Deletes the try of a line that has left its batch: it was never made. */
export const deleteTry = (tx: Transaction, paymentId: Id) =>
  tx.rows(
    sql`delete from collection_tries where account_id = ${tx.account} and payment_id = ${paymentId} and is_line and state = 'open'`,
  )

/** Notes that the batch of lines has been handed over, and returns the invoices that they try. */
export const markSubmitted = (tx: Transaction, paymentIds: readonly Id[]): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`
    update collection_tries set was_called = true
     where account_id = ${tx.account} and payment_id = any(${bigintList(paymentIds)}::bigint[]) and state = 'open'
     returning invoice_id as "id"`)

/** Lists accounts on real time with something to collect, or to ask for. */
export const listAccountsToCollect = (
  db: Queryable,
  zones: readonly string[],
  days: readonly IsoDate[],
): Promise<AccountId[]> =>
  db.values<AccountId>(
    sql`select account_id as "id" from list_accounts_to_collect(${JSON.stringify(zones).replace('[', '{').replace(']', '}')}::text[], ${`{${days.join(',')}}`}::date[])`,
  )

/** Lists accounts with customers whom a rule has suspended. */
export const listAccountsToBringBack = (db: Queryable): Promise<AccountId[]> =>
  db.values<AccountId>(sql`select account_id as "id" from list_accounts_to_bring_back()`)

/** The channel on which workers learn of lines that may have to leave their batches. */
export const COLLECTION_CHANNEL = 'collection'

export const announceCollection = (tx: Transaction) => tx.rows(sql`select pg_notify(${COLLECTION_CHANNEL}, '')`)

/** The facts of a customer that a mail of collection needs. */
export interface MailedCustomer {
  name: string
  lastName: string | null
  isCompany: boolean
  email: string | null
  emailCc: string | null
  locale: string | null
}

export const findMailedCustomer = (tx: Transaction, id: CustomerId) =>
  tx.first<MailedCustomer>(sql`
    select name, last_name as "lastName", is_company as "isCompany", email, email_cc as "emailCc", locale
      from customers where account_id = ${tx.account} and customer_id = ${id}`)

/**
 * Builds the SQL of whether an invoice `i` keeps its customer `c` suspended: past its due date and not paid. What is on hold, on its own or with the
 * customer, does not count, and pending money does not pay. On the day of the suspension what is due that day counts: a step can come on it.
 */
const isOverdue = (today: IsoDate): Fragment => fragment`
  i.issued_at is not null and i.cancelled_at is null and not i.is_collection_hold and not c.is_collection_hold
  and i.due_date < greatest(${today}::date, c.paused_on + 1) and i.total_minor > i.negative_minor + i.paid_minor`

export const owesOverdue = async (tx: Transaction, customerId: CustomerId, today: IsoDate): Promise<boolean> =>
  (
    await tx.rows(sql`
      select 1 from invoices i join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
       where i.account_id = ${tx.account} and i.customer_id = ${customerId} and ${isOverdue(today)} limit 1`)
  ).length > 0

/** Lists the customers of an account whom a rule has suspended and who owe nothing overdue any more. */
export const listToComeBack = (db: Queryable, account: AccountId, today: IsoDate): Promise<CustomerId[]> =>
  db.values<CustomerId>(sql`
    select c.customer_id as "id" from customers c where c.account_id = ${account} and c.is_suspended_by_rule and c.suspended_at is not null
       and c.archived_at is null
       and not exists (select 1 from invoices i where i.account_id = ${account} and i.customer_id = c.customer_id and ${isOverdue(today)})
     order by c.customer_id limit 1000`)

export const hasOpenTry = async (db: Transaction, customerId: CustomerId): Promise<boolean> =>
  (
    await db.rows(
      sql`select 1 from collection_tries where account_id = ${db.account} and customer_id = ${customerId} and state = 'open' limit 1`,
    )
  ).length > 0
