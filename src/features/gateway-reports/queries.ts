import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { CLAIMED, IS_FREE, leasedRows, LET_GO } from '../../platform/database/leased.ts'
import { arrayLiteral, column, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { ChargeChange, GatewayReport } from '../gateways/contract.ts'

/** Finds whose gateway a token names, of all accounts. */
export const findGatewayOfToken = (db: Queryable, token: string) =>
  db.first<{ account: AccountId; id: Id }>(sql`
    select account_id as "account", gateway_id as "id" from find_gateway_by_token(${token}::uuid)`)

/** A report as it is kept: whose it is, and what it is about. */
export interface KeptReport extends Pick<GatewayReport, 'about'> {
  id: Id
  gatewayId: Id
  /** Of the charge or refund; of a stored card its token. */
  reference: string
  /** The gateway's name of it, as the report gave it; null: it gave none. */
  name: string | null
}

const COLUMNS = fragment`gateway_report_id as "id", gateway_id as "gatewayId", about, reference, gateway_reference as "name"`

/** A report that is to be kept. */
export interface ArrivedReference extends Pick<KeptReport, 'about' | 'reference' | 'name'> {
  externalId: string
}

/** Keeps reports that are not known yet; returns whether there were any. */
export const insertGatewayReports = async (
  tx: Transaction,
  gatewayId: Id,
  all: readonly ArrivedReference[],
  realNow: Instant,
): Promise<boolean> =>
  (
    await tx.rows(sql`
      insert into gateway_reports (account_id, gateway_id, external_id, about, reference, gateway_reference, received_at)
      select ${tx.account}, ${gatewayId}, r.external_id, r.about, r.reference, r.name, ${realNow}
        from unnest(${column(all, 'externalId')}::text[], ${column(all, 'about')}::text[], ${column(all, 'reference')}::text[],
          ${column(all, 'name')}::text[]) as r(external_id, about, reference, name)
          on conflict (account_id, gateway_id, external_id) do nothing returning 1 as "kept"`)
  ).length > 0

/** A charge or refund that a gateway's name stands for here. */
export interface NamedHere {
  about: 'charge' | 'refund'
  name: string
  id: Id
  nonce: string | null
}

/** Finds the charges and refunds of a gateway by its names of them. */
export const findNamed = (db: Queryable, account: AccountId, gatewayId: Id, names: readonly string[]) => {
  const list = arrayLiteral(names)
  return db.rows<NamedHere>(sql`
    select 'charge' as "about", t.gateway_reference as "name", t.payment_id as "id", t.nonce from collection_tries t
     where t.account_id = ${account} and t.gateway_id = ${gatewayId} and t.gateway_reference = any(${list}::text[])
     union all
    select 'charge', s.gateway_reference, s.charge_id, s.nonce from capture_sales s
     where s.account_id = ${account} and s.gateway_id = ${gatewayId} and s.gateway_reference = any(${list}::text[])
       and s.gateway_reference <> 'by hand'
     union all
    select 'charge', l.gateway_reference, l.payment_id, l.nonce from batch_lines l
      join payments p on p.account_id = ${account} and p.payment_id = l.payment_id and p.gateway_id = ${gatewayId}
     where l.account_id = ${account} and l.gateway_reference = any(${list}::text[])
     union all
    select 'refund', r.gateway_reference, r.refund_id, r.nonce from payment_refunds r
      join payments p on p.account_id = ${account} and p.payment_id = r.payment_id and p.gateway_id = ${gatewayId}
     where r.account_id = ${account} and r.gateway_reference = any(${list}::text[]) and not r.is_from_gateway`)
}

/** Lists which of some tokens are of cards that a gateway keeps for this account. */
export const listKnownTokens = (db: Queryable, account: AccountId, gatewayId: Id, tokens: readonly string[]) =>
  db.values<string>(sql`
    select gateway_token as "token" from payment_methods
     where account_id = ${account} and gateway_id = ${gatewayId} and gateway_token = any(${arrayLiteral(tokens)}::text[])`)

/** Lists the debits without a result of batches that went to gateways of some types, for a day at the latest; null: for any. */
export const listOpenDebits = (db: Queryable, account: AccountId, types: readonly string[], until: IsoDate | null) =>
  db.rows<{ id: Id; nonce: string | null; gatewayId: Id; actionDate: IsoDate }>(sql`
    select l.payment_id as "id", l.nonce, b.gateway_id as "gatewayId", b.action_date as "actionDate"
      from payment_batches b
      join gateways g on g.account_id = ${account} and g.gateway_id = b.gateway_id and g.type = any(${arrayLiteral(types)}::text[])
      join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id
     where b.account_id = ${account} and b.state = 'submitted' and l.result is null
       ${until === null ? NOTHING : fragment`and b.action_date <= ${until}`}
     order by l.payment_id`)

/** Lists gateways of some types whose reports were not asked for in the last five minutes, of all accounts that follow real time. */
export const listGatewaysToPoll = (db: Queryable, types: readonly string[]) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", gateway_id as "id" from list_gateways_to_poll(${arrayLiteral(types)}::text[])`,
  )

/** The channel on which workers learn of reports. */
export const REPORT_CHANNEL = 'gateway_report'

export const announceReport = (tx: Transaction) => tx.rows(sql`select pg_notify(${REPORT_CHANNEL}, '')`)

/** Lists reports that wait for a worker, of all accounts that follow real time. */
export const listWaitingReports = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", gateway_report_id as "id" from list_waiting_gateway_reports()`,
  )

/** Lists the reports of an account that are not finished, whoever is at them, from after one on. */
export const listUnfinished = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<KeptReport>(sql`
    select ${COLUMNS} from gateway_reports
     where account_id = ${account} and finished_at is null and gateway_report_id > ${after}
     order by gateway_report_id limit ${limit}`)

/** Lists the reports of a gateway that are not finished, whoever is at them. */
export const listUnfinishedOf = (db: Queryable, account: AccountId, gatewayId: Id) =>
  db.rows<KeptReport>(sql`
    select ${COLUMNS} from gateway_reports
     where account_id = ${account} and finished_at is null and gateway_id = ${gatewayId} order by gateway_report_id`)

export const isFinished = async (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  (await db.first(sql`
    select 1 from gateway_reports where account_id = ${account} and gateway_report_id = ${id} and finished_at is not null`)) !==
  undefined

/** Claims a report under a lease; undefined when another has it or it is done. */
export const claimReport = (tx: Transaction, id: Id) =>
  tx.first<KeptReport>(sql`
    update gateway_reports set ${CLAIMED} where account_id = ${tx.account} and gateway_report_id = ${id} and ${IS_FREE}
    returning ${COLUMNS}`)

/** Finishes a report: it was applied, or there is a reason why it could not be. */
export const finishReport = (tx: Transaction, id: Id, reason: string | null) =>
  tx.rows(sql`
    update gateway_reports set finished_at = moment(), reason = ${reason}, ${LET_GO}
     where account_id = ${tx.account} and gateway_report_id = ${id}`)

export const reports = leasedRows({ relation: 'gateway_reports', id: 'gateway_report_id' })

/** Forgets reports of the whole database that are older than promised, whatever became of them. */
export const deleteOldReports = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_gateway_reports(${before}::timestamptz) as "n"`)

/** A change of a charge that was applied. */
export interface AppliedChange extends Pick<ChargeChange, 'reference'> {
  kind: ChargeChange['kind'] | 'late_success'
  /** The payment that was failed or refunded, or whose money came back; null where nothing of it was booked. */
  paymentId: Id | null
  /** As it was booked; null of a change that a program before has applied. */
  amountMinor: bigint | null
  /** The reference of the change whose money came back. */
  undoes: string | null
  /** Why money was taken back; left out where it came back. */
  why?: Pick<ChargeChange, 'class' | 'code' | 'message'>
}

/** Refunds of a console are kept by words that programs before know, with a mark of their own. */
const KEPT_AS: Readonly<Record<string, string>> = { refunded: 'returned', refund_failed: 'dispute_won' }

/** Lists what was applied of a charge, in that order. Its customer is locked, so that nobody else applies more meanwhile. */
export const listAppliedChanges = (tx: Transaction, gatewayId: Id, chargeId: Id) =>
  tx.rows<AppliedChange>(sql`
    select case when is_refund then case kind when 'returned' then 'refunded' else 'refund_failed' end else kind end as "kind", reference,
           payment_id as "paymentId", amount_minor as "amountMinor", undoes
      from charge_changes
     where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId} order by charge_change_id`)

export const insertAppliedChange = (tx: Transaction, gatewayId: Id, chargeId: Id, change: AppliedChange) =>
  tx.rows(sql`
    insert into charge_changes (account_id, gateway_id, kind, is_refund, reference, charge_id, payment_id, amount_minor, undoes, class, code, message)
    values (${tx.account}, ${gatewayId}, ${KEPT_AS[change.kind] ?? change.kind}, ${change.kind in KEPT_AS}, ${change.reference}, ${chargeId},
      ${change.paymentId}, ${change.amountMinor}, ${change.undoes}, ${change.why?.class ?? null}, ${change.why?.code ?? null},
      ${change.why?.message ?? null})`)

/** Finds the charge of a capture session by its reference: the payment that it is, whether its outcome is open, and whether it can still become a payment. */
export const findSoldCharge = (db: Queryable, account: AccountId, gatewayId: Id, chargeId: Id) =>
  db.first<{ paymentId: Id | null; isOpen: boolean; isWaiting: boolean }>(sql`
    select (select min(payment_id) from payments
             where account_id = ${account} and gateway_id = ${gatewayId} and charge_id = ${chargeId}) as "paymentId",
           c.state = 'open' as "isOpen", c.state = 'open' or (c.state = 'charged' and c.refund_state is distinct from 'made') as "isWaiting"
      from capture_sales c where c.account_id = ${account} and c.gateway_id = ${gatewayId} and c.charge_id = ${chargeId}`)

/** Finds the payment that a charge was first. */
export const findPaymentOfCharge = async (db: Queryable, account: AccountId, gatewayId: Id, chargeId: Id) =>
  (
    await db.first<{ id: Id }>(sql`
      select payment_id as "id" from payments
       where account_id = ${account} and gateway_id = ${gatewayId} and charge_id = ${chargeId} order by payment_id limit 1`)
  )?.id

/** Lists the payments that a charge was, and became by money that came back, in the order of their making. */
export const listPaymentsOfCharge = (tx: Transaction, gatewayId: Id, chargeId: Id): Promise<Id[]> =>
  tx.values<Id>(sql`
    select payment_id as "id" from payments
     where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId} order by payment_id`)
