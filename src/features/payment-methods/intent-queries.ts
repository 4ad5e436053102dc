import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { leasedRows, CLAIMED, IS_FREE, LET_GO } from '../../platform/database/leased.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Intents to store a card, and cards that are to be removed at their gateway. Instants are real time, by the database's clock. */

export interface CardIntent {
  id: Id
  /** Null: nobody knows yet whose card it will be. */
  customerId: CustomerId | null
  gatewayId: Id
  /** Random; what the gateway stores is found again by it. */
  reference: string
  isKeyed: boolean
  isOpen: boolean
  /** The card is entered into fields of the gateway's own. */
  hasFields: boolean
  /** The gateway's name of the storing. */
  gatewayReference: string | null
  /** The capture session, or the invoice, that the card is for. */
  sessionId: Id | null
  invoiceId: InvoiceId | null
  begunAt: Instant
}

const INTENT = fragment`
  i.card_intent_id as "id", i.customer_id as "customerId", i.gateway_id as "gatewayId", i.reference, i.is_keyed as "isKeyed",
  i.closed_at is null as "isOpen", i.fields_until is not null as "hasFields", i.gateway_reference as "gatewayReference",
  i.capture_session_id as "sessionId", i.invoice_id as "invoiceId", i.created_at as "begunAt"`

/** A request waits for its gateway no longer than this; until then nobody else looks after its intent. */
const HELD = fragment`moment('5 minutes')`

/** Writes an intent; with `invoiceId` it is to pay that invoice. */
export const insertIntent = (
  tx: Transaction,
  intent: Pick<CardIntent, 'customerId' | 'gatewayId' | 'reference' | 'isKeyed'>,
  invoiceId: InvoiceId | null = null,
): Promise<Id> =>
  tx.value<Id>(sql`
    insert into card_intents (account_id, customer_id, gateway_id, reference, is_keyed, invoice_id, held_until, created_at)
    values (${tx.account}, ${intent.customerId}, ${intent.gatewayId}, ${intent.reference}, ${intent.isKeyed}, ${invoiceId}, ${HELD}, moment())
    returning card_intent_id as "id"`)

/** Counts the cards that were entered to pay an invoice within the last 24 hours: one intent in fields of the gateway's takes another after each that was refused. */
export const countCardsOfInvoice = (tx: Transaction, invoice: InvoiceId) =>
  tx.count(sql`
    select coalesce(sum(greatest(1, refused_tries)), 0) as "n" from card_intents
     where account_id = ${tx.account} and invoice_id = ${invoice} and created_at > moment('-24 hours')`)

/** An intent whose card is entered into fields of the gateway's own: by a session, until its end by real time, or to pay an invoice. */
export type FieldsFor =
  | { sessionId: Id; endsAt: Instant | null; customerId: null }
  | { invoiceId: InvoiceId; customerId: CustomerId }

/** Builds the SQL of when a page with fields counts as left alone. */
const fieldsUntil = (of: FieldsFor) =>
  'endsAt' in of && of.endsAt !== null
    ? fragment`least(moment('1 hour'), ${of.endsAt}::timestamptz)`
    : fragment`moment('1 hour')`

/** Writes an intent whose card is entered into fields of the gateway's own. */
export const insertFieldsIntent = (
  tx: Transaction,
  of: FieldsFor,
  { gatewayId, reference }: Pick<CardIntent, 'gatewayId' | 'reference'>,
): Promise<CardIntent> =>
  tx.one<CardIntent>(sql`
    insert into card_intents as i (account_id, customer_id, gateway_id, reference, is_keyed, invoice_id, capture_session_id, held_until, created_at, fields_until)
    values (${tx.account}, ${of.customerId}, ${gatewayId}, ${reference}, true, ${'invoiceId' in of ? of.invoiceId : null},
            ${'sessionId' in of ? of.sessionId : null}, moment(), moment(), ${fieldsUntil(of)})
    returning ${INTENT}`)

/** Notes that somebody is at the page of an open intent. */
export const keepFieldsOpen = (tx: Transaction, id: Id, of: FieldsFor) =>
  tx.rows(sql`
    update card_intents set fields_until = ${fieldsUntil(of)} where account_id = ${tx.account} and card_intent_id = ${id}`)

/** Lets an open intent with fields count as left alone in a minute: its card is stored, and a form that is on its way still comes first. */
export const hastenFields = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update card_intents set fields_until = least(fields_until, moment('1 minute'))
     where account_id = ${tx.account} and card_intent_id = ${id}`)

/** Keeps the gateway's name of an open storing in place of the one that it has. Returns the name that it has then; null where it is closed, or has none. */
export async function keepStoringName(
  tx: Transaction,
  { id, gatewayReference: present }: Pick<CardIntent, 'id' | 'gatewayReference'>,
  name: string,
): Promise<string | null> {
  await tx.rows(sql`
    update card_intents set gateway_reference = ${name}
     where account_id = ${tx.account} and card_intent_id = ${id} and closed_at is null and gateway_reference is not distinct from ${present}::text`)
  const intent = await lockIntent(tx, id)
  return intent?.isOpen ? intent.gatewayReference : null
}

/** Locks the open intent with fields by which an invoice is to be paid. */
export const lockFieldsOfInvoice = (tx: Transaction, invoice: InvoiceId) =>
  tx.first<CardIntent>(sql`
    select ${INTENT} from card_intents i
     where i.account_id = ${tx.account} and i.invoice_id = ${invoice} and i.closed_at is null and i.fields_until is not null
     order by i.created_at desc limit 1 for update`)

export const countRefusedCard = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update card_intents set refused_tries = refused_tries + 1 where account_id = ${tx.account} and card_intent_id = ${id}`)

/** Finds the intent with fields that a gateway names by its reference, or by its own name of the storing. */
export const findReportedFields = (
  db: Queryable,
  account: AccountId,
  gatewayId: Id,
  { reference, name }: { reference: string; name: string | null },
) =>
  db.first<CardIntent>(sql`
    select ${INTENT} from card_intents i
     where i.account_id = ${account} and i.gateway_id = ${gatewayId} and i.fields_until is not null
       and (i.reference = ${reference} or i.gateway_reference = ${name})`)

/** Lists open intents with fields that were left alone, of all accounts. */
export const listLeftFields = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", card_intent_id as "id" from list_left_card_fields()`,
  )

/** Claims an open intent that was left alone; undefined where somebody has come back, or another is at it. */
export const claimLeftFields = (tx: Transaction, id: Id) =>
  tx.first<CardIntent>(sql`
    update card_intents i set held_until = ${HELD}
     where i.account_id = ${tx.account} and i.card_intent_id = ${id} and i.closed_at is null and i.fields_until <= moment()
       and (i.held_until <= moment() or i.held_until > moment('15 minutes'))
    returning ${INTENT}`)

/** Locks an intent; undefined for one that was forgotten. */
export const lockIntent = (tx: Transaction, id: Id) =>
  tx.first<CardIntent>(sql`
    select ${INTENT} from card_intents i where i.account_id = ${tx.account} and i.card_intent_id = ${id} for update`)

/** Holds an open intent for a request that goes on with it. */
export const holdIntent = (tx: Transaction, id: Id) =>
  tx.rows(sql`update card_intents set held_until = ${HELD} where account_id = ${tx.account} and card_intent_id = ${id}`)

export const closeIntent = (tx: Transaction, id: Id) =>
  tx.rows(sql`update card_intents set closed_at = moment() where account_id = ${tx.account} and card_intent_id = ${id}`)

/** Locks the open intents of a customer. */
export const lockIntentsOf = (tx: Transaction, customer: CustomerId) =>
  tx.rows<CardIntent>(
    sql`select ${INTENT} from card_intents i where i.account_id = ${tx.account} and i.customer_id = ${customer} and i.closed_at is null for update`,
  )

/** Lists open intents that nobody comes back for, of all accounts: 24 hours old, or without a key and no longer held. */
export const listAbandonedIntents = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", card_intent_id as "id" from list_abandoned_card_intents()`,
  )

/** Forgets intents that were closed, and removals that were done, long ago. */
export const deleteOldIntents = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_card_intents(${before}::timestamptz) as "n"`)

/** A card to be removed at its gateway: by its token, or whatever is stored under the reference of an intent. */
export interface CardRemoval {
  id: Id
  gatewayId: Id
  gatewayToken: string | null
  reference: string | null
  /** The gateway's name of the storing, which is ended there; null: it has none. */
  gatewayReference: string | null
}

export const insertRemoval = (tx: Transaction, removal: Omit<CardRemoval, 'id'>) =>
  tx.rows(sql`
    insert into card_removals (account_id, gateway_id, gateway_token, reference, gateway_reference, created_at)
    values (${tx.account}, ${removal.gatewayId}, ${removal.gatewayToken}, ${removal.reference}, ${removal.gatewayReference}, moment())`)

/** The channel on which workers learn of cards to be removed. */
export const REMOVAL_CHANNEL = 'card_removal'

export const announceRemoval = (tx: Transaction) => tx.rows(sql`select pg_notify(${REMOVAL_CHANNEL}, '')`)

/** A card at a gateway. One gateway gives one card one token, however often it is stored; another gives a new one each time. */
export interface CardAtGateway {
  gatewayId: Id
  gatewayToken: string
}

/**
 * Locks a token until the end of the transaction: whoever begins to use it and whoever has it removed take turns. One that moves on in a single
 * transaction, from a session to a method, needs no lock.
 */
export const lockToken = (tx: Transaction, { gatewayId, gatewayToken }: CardAtGateway) =>
  tx.rows(
    sql`select pg_advisory_xact_lock(hashtextextended(${`card ${tx.account} ${gatewayId} ${gatewayToken}`}, 0))::text as "got"`,
  )

/**
 * Finds whether something is kept under a token: a method, what a session has captured, the card of a sale without an outcome, or that of a try.
 * One statement, because a card moves from one to the other.
 */
export const isTokenUsed = async (tx: Transaction, { gatewayId, gatewayToken }: CardAtGateway): Promise<boolean> => {
  const isIt = fragment`account_id = ${tx.account} and gateway_id = ${gatewayId}`
  const { isUsed } = await tx.one<{ isUsed: boolean }>(sql`
    select exists (select 1 from payment_methods where ${isIt} and gateway_token = ${gatewayToken})
        or exists (select 1 from capture_sessions where ${isIt} and gateway_token = ${gatewayToken})
        or exists (select 1 from capture_sales where ${isIt} and gateway_token = ${gatewayToken})
        or exists (select 1 from collection_tries where ${isIt} and new_card ->> 'gatewayToken' = ${gatewayToken}) as "isUsed"`)
  return isUsed
}

/**
 * Begins to use the token that a gateway answered for a locked intent. False where its card may be gone: the gateway was asked to remove what it
 * has under the same token while the intent was open. A removal without an answer may arrive for two minutes.
 */
export async function takeToken(
  tx: Transaction,
  { id, gatewayId }: Pick<CardIntent, 'id' | 'gatewayId'>,
  gatewayToken: string,
): Promise<boolean> {
  await lockToken(tx, { gatewayId, gatewayToken })
  const { isRemoved } = await tx.one<{ isRemoved: boolean }>(sql`
    select exists (select 1 from card_removals r join card_intents i on i.account_id = ${tx.account} and i.card_intent_id = ${id}
                    where r.account_id = ${tx.account} and r.gateway_id = ${gatewayId} and r.gateway_token = ${gatewayToken}
                      and r.asked_at is not null
                      and coalesce(r.finished_at, r.asked_at + interval '2 minutes') >= i.created_at) as "isRemoved"`)
  return !isRemoved
}

/** Notes that the gateway is about to be asked to remove the card of a claimed removal. */
export const noteRemoving = (tx: Transaction, removal: Id, { gatewayToken }: CardAtGateway) =>
  tx.rows(sql`
    update card_removals set gateway_token = ${gatewayToken}, asked_at = moment()
     where account_id = ${tx.account} and card_removal_id = ${removal}`)

/** Lists removals that wait for a worker, of all accounts. */
export const listWaitingRemovals = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", card_removal_id as "id" from list_waiting_card_removals()`,
  )

/** Claims a removal under a lease; undefined when another has it or it is done. */
export const claimRemoval = (tx: Transaction, id: Id) =>
  tx.first<CardRemoval>(sql`
    update card_removals set ${CLAIMED} where account_id = ${tx.account} and card_removal_id = ${id} and ${IS_FREE}
    returning card_removal_id as "id", gateway_id as "gatewayId", gateway_token as "gatewayToken", reference, gateway_reference as "gatewayReference"`)

/** Notes that nothing is left to be removed. The row stays for some days, because of the moment at which the gateway was asked. */
export const finishRemoval = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update card_removals set finished_at = moment(), ${LET_GO} where account_id = ${tx.account} and card_removal_id = ${id}`)

export const removals = leasedRows({ relation: 'card_removals', id: 'card_removal_id' })
