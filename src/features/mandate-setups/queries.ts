import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { drawNonce } from '../gateways/references.ts'

export const SETUP_OUTCOMES = ['done', 'failed', 'expired'] as const
export type SetupOutcome = (typeof SETUP_OUTCOMES)[number]

export interface MandateSetup {
  id: Id
  customerId: CustomerId
  gatewayId: Id
  currency: string
  nonce: string
  returnUrl: string | null
  isPrimary: boolean
  createdAt: Instant
  /** By real time. */
  expiresAt: Instant
  /** The gateway's name of the storing; null: its page was never opened. */
  gatewayReference: string | null
  begunAt: Instant | null
  /** When the gateway was found to confirm what was given; null: not yet. */
  signedAt: Instant | null
  lookedAt: Instant | null
  outcome: SetupOutcome | null
  reason: string | null
  paymentMethodId: Id | null
  /** The gateway was not asked within the last ten seconds. */
  mayLook: boolean
}

/** So long the gateway is left in peace after a look. */
const PEACE = '-10 seconds'

const COLUMNS = fragment`
  s.mandate_setup_id as "id", s.customer_id as "customerId", s.gateway_id as "gatewayId", s.currency, s.nonce, s.return_url as "returnUrl",
  s.is_primary as "isPrimary", s.created_at as "createdAt", s.expires_at as "expiresAt", s.gateway_reference as "gatewayReference",
  s.begun_at as "begunAt", s.signed_at as "signedAt", s.looked_at as "lookedAt", s.outcome, s.reason, s.payment_method_id as "paymentMethodId",
  (s.looked_at is null or s.looked_at <= moment(${PEACE}::interval) or s.looked_at > moment('10 minutes')) as "mayLook"`

export const findSetup = (db: Queryable, account: AccountId, id: Id) =>
  db.first<MandateSetup>(
    sql`select ${COLUMNS} from mandate_setups s where s.account_id = ${account} and s.mandate_setup_id = ${id}`,
  )

/** Locks a set-up, after its customer. */
export async function lockSetup(tx: Transaction, id: Id): Promise<MandateSetup | undefined> {
  await tx.rows(
    sql`select 1 from mandate_setups where account_id = ${tx.account} and mandate_setup_id = ${id} for no key update`,
  )
  return findSetup(tx, tx.account, id)
}

export type NewSetup = Pick<
  MandateSetup,
  'customerId' | 'gatewayId' | 'currency' | 'returnUrl' | 'isPrimary' | 'createdAt'
>

export const insertSetup = (tx: Transaction, row: NewSetup): Promise<Id> =>
  tx.value<Id>(sql`
    insert into mandate_setups (account_id, customer_id, gateway_id, currency, nonce, return_url, is_primary, created_at, expires_at)
    values (${tx.account}, ${row.customerId}, ${row.gatewayId}, ${row.currency}, ${drawNonce()}, ${row.returnUrl}, ${row.isPrimary},
      ${row.createdAt}, moment('7 days')) returning mandate_setup_id as "id"`)

/** Keeps the gateway's name of a set-up, as it was begun first. */
export const noteSetupBegun = (tx: Transaction, id: Id, name: string) =>
  tx.rows(sql`
    update mandate_setups set gateway_reference = coalesce(gateway_reference, ${name}), begun_at = moment(), looked_at = null
     where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null`)

/** The channel on which workers learn of set-ups to look at. */
export const SETUP_CHANNEL = 'mandate_setup'

/** Asks for a look at a set-up. */
export async function wantLook(tx: Transaction, id: Id): Promise<void> {
  await tx.rows(sql`
    update mandate_setups set next_look_at = moment()
     where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null`)
  await tx.rows(sql`select pg_notify(${SETUP_CHANNEL}, '')`)
}

/** Claims a look: nobody else looks for ten seconds. False where another has it. */
export const claimLook = async (tx: Transaction, id: Id): Promise<boolean> =>
  (
    await tx.rows(sql`
      update mandate_setups set looked_at = moment(), next_look_at = null
       where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null
         and (looked_at is null or looked_at <= moment(${PEACE}::interval) or looked_at > moment('10 minutes')) returning 1 as "claimed"`)
  ).length > 0

/** Plans the next look at a set-up that is not closed. */
export const planLook = (tx: Transaction, id: Id, minutes: 1 | 10) =>
  tx.rows(sql`
    update mandate_setups set next_look_at = moment(interval '1 minute' * ${minutes}::integer)
     where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null`)

export const noteSigned = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update mandate_setups set signed_at = moment()
     where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null and signed_at is null`)

export const closeSetup = (
  tx: Transaction,
  id: Id,
  { outcome, reason, paymentMethodId }: Pick<MandateSetup, 'outcome' | 'reason' | 'paymentMethodId'>,
) =>
  tx.rows(sql`
    update mandate_setups set closed_at = moment(), next_look_at = null, outcome = ${outcome}, reason = ${reason},
      payment_method_id = ${paymentMethodId}
     where account_id = ${tx.account} and mandate_setup_id = ${id} and closed_at is null`)

/** Returns whether the time of a set-up is over. */
export const isOverdue = async (tx: Transaction, id: Id): Promise<boolean> =>
  (await tx.first(sql`
    select 1 from mandate_setups where account_id = ${tx.account} and mandate_setup_id = ${id} and expires_at <= moment()`)) !==
  undefined

/** Lists set-ups that are to be looked at, of all accounts. */
export const listSetupsAtWork = (db: Pick<Queryable, 'rows'>) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", mandate_setup_id as "id" from list_mandate_setups_at_work()`,
  )
