import type { Instant, IsoDate } from '../kernel/calendar.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import type { Queryable, Transaction } from '../platform/database/database.ts'
import { fragment, sql } from '../platform/database/sql.ts'
import type { ChargeFate, Conduct, RefundFate } from './conduct.ts'

/** Whose book of the sandbox it is: each gateway of an account has its own. */
export interface Book {
  account: AccountId
  gatewayId: Id
}

export interface SandboxCard {
  token: string
  reference: string
  conduct: Conduct
  fingerprint: string
  brand: string
  lastFour: string
  expiryYear: number
  expiryMonth: number
  removedAt: Instant | null
  /** The day from which the console has removed it. */
  removedOn: IsoDate | null
}

const CARD = fragment`token, reference, conduct, fingerprint, brand, last_four as "lastFour", expiry_year as "expiryYear",
  expiry_month as "expiryMonth", removed_at as "removedAt", removed_on as "removedOn"`

export const findCard = (db: Queryable, { account, gatewayId }: Book, token: string) =>
  db.first<SandboxCard>(sql`
    select ${CARD} from sandbox_cards where account_id = ${account} and gateway_id = ${gatewayId} and token = ${token}`)

export const findCardByReference = (db: Queryable, { account, gatewayId }: Book, reference: string) =>
  db.first<SandboxCard>(sql`
    select ${CARD} from sandbox_cards
     where account_id = ${account} and gateway_id = ${gatewayId} and reference = ${reference}`)

/** Stores a card; undefined when one is stored under its reference. */
export const insertCard = (
  tx: Transaction,
  book: Book,
  card: Omit<SandboxCard, 'removedAt' | 'removedOn'>,
  now: Instant,
) =>
  tx.first<SandboxCard>(sql`
    insert into sandbox_cards (account_id, gateway_id, token, reference, conduct, fingerprint, brand, last_four, expiry_year,
                               expiry_month, stored_at)
    values (${book.account}, ${book.gatewayId}, ${card.token}, ${card.reference}, ${card.conduct}, ${card.fingerprint}, ${card.brand},
            ${card.lastFour}, ${card.expiryYear}, ${card.expiryMonth}, ${now})
    on conflict (account_id, gateway_id, reference) do nothing returning ${CARD}`)

export const updateCardRemoved = (tx: Transaction, { account, gatewayId }: Book, token: string, now: Instant) =>
  tx.rows(sql`
    update sandbox_cards set removed_at = ${now}
     where account_id = ${account} and gateway_id = ${gatewayId} and token = ${token} and removed_at is null`)

/** Notes the day from which a card is no more there; false where one is noted. */
export const updateCardRemovedOn = async (tx: Transaction, { account, gatewayId }: Book, token: string, on: IsoDate) =>
  (
    await tx.rows(sql`
      update sandbox_cards set removed_on = ${on}
       where account_id = ${account} and gateway_id = ${gatewayId} and token = ${token} and removed_on is null returning 1`)
  ).length > 0

export interface SandboxCharge {
  reference: string
  token: string
  amountMinor: bigint
  currency: string
  state: ChargeFate['state'] | 'cancelled'
  code: string | null
  chargedOn: IsoDate
  /** Of a debit the day of its result; null of a charge, whose result is known at once. */
  settlesOn: IsoDate | null
  knownFrom: Instant | null
  returnedOn: IsoDate | null
  returnedMinor: bigint | null
  wonOn: IsoDate | null
  refundedOn: IsoDate | null
  refundedMinor: bigint | null
}

const CHARGE = fragment`reference, token, amount_minor as "amountMinor", currency_code as "currency", state, code, charged_on as "chargedOn",
  settles_on as "settlesOn", known_from as "knownFrom", returned_on as "returnedOn", returned_minor as "returnedMinor", won_on as "wonOn",
  refunded_on as "refundedOn", refunded_minor as "refundedMinor"`

export const findCharge = (db: Queryable, { account, gatewayId }: Book, reference: string) =>
  db.first<SandboxCharge>(sql`
    select ${CHARGE} from sandbox_charges
     where account_id = ${account} and gateway_id = ${gatewayId} and reference = ${reference}`)

export const lockCharge = (tx: Transaction, { account, gatewayId }: Book, reference: string) =>
  tx.first<SandboxCharge>(sql`
    select ${CHARGE} from sandbox_charges
     where account_id = ${account} and gateway_id = ${gatewayId} and reference = ${reference} for update`)

/** Finds whether a charge of this card with the customer present has asked for an action. */
export const hasAskedForAction = async (db: Queryable, { account, gatewayId }: Book, token: string) =>
  (await db.first(sql`
    select 1 from sandbox_charges
     where account_id = ${account} and gateway_id = ${gatewayId} and token = ${token} and is_customer_present
       and state in ('requires_action', 'cancelled') limit 1`)) !== undefined

export interface NewCharge extends ChargeFate {
  reference: string
  token: string
  amountMinor: bigint
  currency: string
  isCustomerPresent: boolean
  chargedOn: IsoDate
  settlesOn: IsoDate | null
  knownFrom: Instant | null
}

/** Writes a charge into the book; undefined when one stands there under its reference. */
export const insertCharge = (tx: Transaction, book: Book, charge: NewCharge) =>
  tx.first<SandboxCharge>(sql`
    insert into sandbox_charges (account_id, gateway_id, reference, token, amount_minor, currency_code, state, is_customer_present,
                                 code, charged_on, settles_on, known_from, returned_on, returned_minor, won_on, refunded_on,
                                 refunded_minor)
    values (${book.account}, ${book.gatewayId}, ${charge.reference}, ${charge.token}, ${charge.amountMinor}, ${charge.currency},
            ${charge.state}, ${charge.isCustomerPresent}, ${charge.code}, ${charge.chargedOn}, ${charge.settlesOn}, ${charge.knownFrom},
            ${charge.returnedOn}, ${charge.returnedMinor}, ${charge.wonOn}, ${charge.refundedOn}, ${charge.refundedMinor})
    on conflict (account_id, gateway_id, reference) do nothing returning ${CHARGE}`)

/** Ends a charge that waits for its customer, or makes it; undefined where it does not wait. */
const answerCharge =
  (state: 'cancelled' | 'succeeded') =>
  (tx: Transaction, { account, gatewayId }: Book, reference: string) =>
    tx.first<SandboxCharge>(sql`
      update sandbox_charges set state = ${state}
     where account_id = ${account} and gateway_id = ${gatewayId} and reference = ${reference} and state = 'requires_action'
 returning ${CHARGE}`)

export const updateChargeCancelled = answerCharge('cancelled')
export const updateChargeConfirmed = answerCharge('succeeded')

export interface SandboxRefund extends RefundFate {
  reference: string
  chargeReference: string
  amountMinor: bigint
  refundedOn: IsoDate
}

const REFUND = fragment`reference, charge_reference as "chargeReference", amount_minor as "amountMinor", state, code,
  refunded_on as "refundedOn", settles_on as "settlesOn", fails_on as "failsOn"`

export const findRefund = (db: Queryable, { account, gatewayId }: Book, reference: string) =>
  db.first<SandboxRefund>(sql`
    select ${REFUND} from sandbox_refunds
     where account_id = ${account} and gateway_id = ${gatewayId} and reference = ${reference}`)

/** Lists the refunds of a charge that took money out of it, whether or not it came back. */
export const listRefunds = (db: Queryable, { account, gatewayId }: Book, chargeReference: string) =>
  db.rows<SandboxRefund>(sql`
    select ${REFUND} from sandbox_refunds
     where account_id = ${account} and gateway_id = ${gatewayId} and charge_reference = ${chargeReference} and state = 'succeeded'`)

export const insertRefund = (tx: Transaction, { account, gatewayId }: Book, refund: SandboxRefund) =>
  tx.rows(sql`
    insert into sandbox_refunds (account_id, gateway_id, reference, charge_reference, amount_minor, state, refunded_on, code, settles_on,
                                 fails_on)
    values (${account}, ${gatewayId}, ${refund.reference}, ${refund.chargeReference}, ${refund.amountMinor}, ${refund.state},
            ${refund.refundedOn}, ${refund.code}, ${refund.settlesOn}, ${refund.failsOn})`)

export type ReportType =
  | 'charge.settled'
  | 'charge.returned'
  | 'charge.dispute_won'
  | 'charge.refunded'
  | 'refund.updated'
  | 'card.updated'

export interface NewReport {
  type: ReportType
  /** Of the charge or refund; of a card its token. */
  reference: string
  dueOn: IsoDate
}

export const insertReport = (tx: Transaction, { account, gatewayId }: Book, report: NewReport) =>
  tx.send(sql`
    insert into sandbox_reports (account_id, gateway_id, report_type, reference, due_on)
    values (${account}, ${gatewayId}, ${report.type}, ${report.reference}, ${report.dueOn})`)

export interface SandboxReport {
  id: Id
  gatewayId: Id
  type: ReportType
  reference: string
  dueOn: IsoDate
}

/** Reports of an account that are due and not taken yet, oldest first. */
export const listReportsDue = (db: Queryable, account: AccountId, today: IsoDate, limit: number) =>
  db.rows<SandboxReport>(sql`
    select sandbox_report_id as "id", gateway_id as "gatewayId", report_type as "type", reference, due_on as "dueOn"
      from sandbox_reports where account_id = ${account} and sent_at is null and due_on <= ${today}
     order by due_on, sandbox_report_id limit ${limit}`)

/** Lists reports of a book that are due, sent or not, behind one of them in the order in which they fall due. */
export const listReportsBehind = (
  db: Queryable,
  { account, gatewayId }: Book,
  today: IsoDate,
  behind: { dueOn: IsoDate; id: Id },
  limit: number,
) =>
  db.rows<SandboxReport>(sql`
    select sandbox_report_id as "id", gateway_id as "gatewayId", report_type as "type", reference, due_on as "dueOn"
      from sandbox_reports where account_id = ${account} and gateway_id = ${gatewayId} and due_on <= ${today}
       and (due_on, sandbox_report_id) > (${behind.dueOn}::date, ${behind.id}::bigint)
     order by due_on, sandbox_report_id limit ${limit}`)

/** Finds the earliest day after another on which a report falls due that is not taken yet. */
export const nextReportDay = async (db: Queryable, account: AccountId, after: IsoDate): Promise<IsoDate | null> =>
  (
    await db.first<{ dueOn: IsoDate }>(sql`
      select due_on as "dueOn" from sandbox_reports
       where account_id = ${account} and sent_at is null and due_on > ${after} order by due_on limit 1`)
  )?.dueOn ?? null

/** Lists accounts that follow real time and have a report due on their own day at an instant. */
export const listAccountsToReport = (db: Queryable, at: Instant) =>
  db.rows<{ account: AccountId }>(
    sql`select account_id as "account" from list_accounts_with_sandbox_reports(${at}::timestamptz)`,
  )

export const updateReportSent = (tx: Transaction, account: AccountId, id: Id, now: Instant) =>
  tx.rows(sql`update sandbox_reports set sent_at = ${now} where account_id = ${account} and sandbox_report_id = ${id}`)
