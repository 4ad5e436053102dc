import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { BankKind, MethodKind } from '../../kernel/rails.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { Figure } from '../../platform/metrics.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { RateKind } from '../../rails/nacha/codes.ts'
import type { GatewayType } from './facts.ts'

/** Fields of a gateway that a caller can set, Settings apart. */
export interface GatewayInput {
  name: string
  friendlyName: string
  isActive: boolean
  isFourEyes: boolean
  /** Null: those of the account. */
  currencies: string[] | null
  /** Kinds of bank accounts that it takes; null: all that its type takes. */
  debitMethods: BankKind[] | null
}

/** Reasons for which a gateway is held. */
export const HOLD_REASONS = ['restore', 'import', 'failover', 'by_hand'] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

/** Secret key that is not known to be accepted: the gateway refused it, or has not answered yet whether it takes it. */
export type KeyState = 'refused' | 'unanswered'

export interface Gateway extends GatewayInput {
  id: Id
  /** A random UUID, by which batches and reports of the gateway name it. */
  token: string
  type: GatewayType
  /** Sealed JSON, null where nothing is set. */
  settings: Buffer | null
  settingNames: string[]
  /** Kinds of methods for which it is the account's first choice. */
  primaryKinds: MethodKind[]
  accountCurrencies: string[]
  isOfTestAccount: boolean
  /** Why no money moves through it; null where it does. */
  heldFor: HoldReason | null
  /** When its last hold ended, or its key was accepted again. */
  releasedAt: Instant | null
  /** The account there that its secret key opens, as the gateway calls it; null where that is not known. */
  accountThere: string | null
  /** Null: its secret key is accepted as far as is known, or it has none. */
  keyState: KeyState | null
  /** The last four characters of its secret key; null where it has none. */
  keyEnding: string | null
  version: number
}

const columns = (account: AccountId): Fragment => fragment`
  g.gateway_id as "id", g.token, g.type, g.name, g.friendly_name as "friendlyName", g.is_active as "isActive", g.is_four_eyes as "isFourEyes",
  g.currencies, g.debit_methods as "debitMethods", g.settings, g.setting_names as "settingNames", g.version,
  g.held_for as "heldFor", g.released_at as "releasedAt", g.gateway_account as "accountThere",
  g.key_state as "keyState", g.key_ending as "keyEnding",
  array(select p.kind from gateway_primaries p where p.account_id = ${account} and p.gateway_id = g.gateway_id order by p.kind) as "primaryKinds",
  array(select c.currency from account_currencies c where c.account_id = ${account} order by c.currency collate "C") as "accountCurrencies",
  (select a.mode = 'test' from accounts a where a.account_id = ${account}) as "isOfTestAccount"`

export const findGateway = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Gateway>(sql`
    select ${columns(account)} from gateways g where g.account_id = ${account} and g.gateway_id = ${id}`)

/** Finds a gateway by its token, and keeps it from being deleted until the commit. */
export async function holdGatewayByToken(tx: Transaction, account: AccountId, token: string) {
  await tx.rows(sql`select 1 from gateways where account_id = ${account} and token = ${token}::uuid for key share`)
  return tx.first<Gateway>(sql`
    select ${columns(account)} from gateways g where g.account_id = ${account} and g.token = ${token}::uuid`)
}

/** Returns whether no money moves through a gateway now: it is held, or its key is not accepted. */
export const isHeldNow = async (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  (await db.first(sql`
    select 1 from gateways where account_id = ${account} and gateway_id = ${id} and (held_for is not null or key_state is not null)`)) !==
  undefined

/** Notes that a gateway took nothing, and why; empty where the same was noted within a day. */
export const noteRefusal = (tx: Transaction, id: Id, reason: string) =>
  tx.rows(sql`
    update gateways set refused_at = moment(), refused_for = ${reason}
     where account_id = ${tx.account} and gateway_id = ${id}
       and (refused_for is distinct from ${reason} or refused_at < moment('-1 day')) returning 1 as "noted"`)

/** Notes that the gateway does not accept its secret key; empty where that was known. It is asked again hourly. */
export const noteKeyRefused = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update gateways set key_state = 'refused', key_asks = 0, key_ask_at = moment('1 hour')
     where account_id = ${tx.account} and gateway_id = ${id} and key_state is distinct from 'refused' returning 1 as "noted"`)

/** Notes that nobody has answered yet whether a secret key is accepted. It is asked again in a minute. */
export const noteKeyUnanswered = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update gateways set key_state = 'unanswered', key_asks = 0, key_ask_at = moment('1 minute')
     where account_id = ${tx.account} and gateway_id = ${id}`)

/** Notes that the gateway accepts its secret key, and the account there that it opens, where none is known; empty where that was known. */
export const noteKeyAccepted = (tx: Transaction, id: Id, accountThere: string | null) =>
  tx.rows(sql`
    update gateways set key_state = null, key_ask_at = null, released_at = moment(), gateway_account = coalesce(gateway_account, ${accountThere})
     where account_id = ${tx.account} and gateway_id = ${id} and key_state is not null returning 1 as "noted"`)

/** A gateway that is to be asked about its secret key. */
export interface KeyToAsk {
  account: AccountId
  id: Id
  state: KeyState
  /** How often it was asked since then. */
  asks: number
}

/** Lists the gateways of all accounts that are to be asked about their secret keys. */
export const listKeysToAsk = (db: Database['unscoped']) =>
  db.rows<KeyToAsk>(sql`
    select account_id as "account", gateway_id as "id", key_state as "state", key_asks as "asks" from list_gateway_keys_to_ask()`)

/** Claims the asking about a key, until it is due again; empty where another has it, or the key is another by now. */
export const claimKey = (tx: Transaction, { id, state, asks }: KeyToAsk, seconds: number) =>
  tx.rows(sql`
    update gateways set key_asks = key_asks + 1, key_ask_at = moment(interval '1 second' * ${seconds}::integer)
     where account_id = ${tx.account} and gateway_id = ${id} and key_state = ${state} and key_asks = ${asks} and key_ask_at <= moment()
 returning 1 as "claimed"`)

/** Notes when a gateway reported, and by which way, to the minute. */
export const noteReported = (tx: Transaction, id: Id, way: 'webhook' | 'polling') =>
  tx.rows(sql`
    update gateways set reported_at = moment(), reported_by = ${way}
     where account_id = ${tx.account} and gateway_id = ${id}
       and (reported_by is distinct from ${way} or reported_at < moment('-1 minute'))`)

/** Holds a gateway; one that is held already keeps its reason. */
export const beginHold = (tx: Transaction, id: Id, reason: HoldReason) =>
  tx.rows(sql`
    update gateways set held_for = ${reason}, held_at = moment(), held_from = coalesce(reports_asked_at, reports_since, created_at)
     where account_id = ${tx.account} and gateway_id = ${id} and held_for is null returning 1 as "held"`)

/** Returns from when on a held gateway may have moved money that this database does not know of; of one held by a program before, since it is there. */
export const getHeldFrom = (db: Queryable, account: AccountId, id: Id): Promise<Instant> =>
  db.value<Instant>(sql`
    select coalesce(held_from, reports_since, created_at) as "from" from gateways where account_id = ${account} and gateway_id = ${id}`)

/** Lets money move through a gateway again. */
export const endHold = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update gateways set held_for = null, held_at = null, held_from = null, released_at = moment()
     where account_id = ${tx.account} and gateway_id = ${id} and held_for is not null returning 1 as "released"`)

/** Counts the debits with a trace that left through a gateway for some days, by the code with which they came back; null: they did not. */
export const listReturnCodes = (
  db: Queryable,
  account: AccountId,
  id: Id,
  { from, to }: { from: IsoDate; to: IsoDate },
) =>
  db.rows<{ code: string | null; count: number }>(sql`
    select coalesce(l.returned_code, l.result_code) as "code", count(*)::integer as "count"
      from payment_batches b
      join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id and l.sent_trace is not null
     where b.account_id = ${account} and b.gateway_id = ${id} and b.state in ('submitted', 'completed')
       and b.action_date between ${from} and ${to}
       and l.result_class is distinct from 'not_sent' and l.returned_class is distinct from 'not_sent'
     group by 1`)

/** The bound of each rate of returns that was reported last, and on which day of the account. */
export type RatesReported = Partial<Record<RateKind, { bound: 'half' | 'limit'; on: IsoDate }>>

/** Returns which rates of a gateway were reported, and keeps others from reporting them until the commit. */
export const lockRatesReported = (tx: Transaction, id: Id) =>
  tx.value<RatesReported | null>(sql`
    select return_rates_told as "reported" from gateways
     where account_id = ${tx.account} and gateway_id = ${id} for no key update`)

export const writeRatesReported = (tx: Transaction, id: Id, reported: RatesReported) =>
  tx.rows(sql`
    update gateways set return_rates_told = ${JSON.stringify(reported)}::jsonb
     where account_id = ${tx.account} and gateway_id = ${id}`)

/** A gateway through which no money moves. */
export interface HeldGateway {
  account: AccountId
  id: Id
  type: GatewayType
  heldFor: HoldReason
  heldAt: Instant
}

const HELD = fragment`account_id as "account", gateway_id as "id", type, held_for as "heldFor", held_at as "heldAt"`

/** Lists the gateways of all accounts that are held. */
export const listHeldGateways = (db: Database['unscoped']) =>
  db.rows<HeldGateway>(sql`select ${HELD} from list_held_gateways()`)

/** Lists the gateways of one account that are held. */
export const listHeldGatewaysOf = (db: Queryable, account: AccountId) =>
  db.rows<HeldGateway>(sql`
    select ${HELD} from gateways where account_id = ${account} and held_for is not null order by gateway_id`)

/** Counts held gateways for /metrics. */
export const listHoldFigures = (db: Database['unscoped']) =>
  db.rows<Figure>(sql`
    select 'gateways_held' as name, held_for as label, count(*)::double precision as value from list_held_gateways() group by held_for`)

/** Locks which gateway is the first choice for what: changes of the gateways of an account come one after the other. */
export const lockChoices = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`select 1 from accounts where account_id = ${account} for no key update`)

export async function lockGateway(tx: Transaction, account: AccountId, id: Id): Promise<Gateway | undefined> {
  await lockChoices(tx, account)
  await tx.rows(sql`select 1 from gateways where account_id = ${account} and gateway_id = ${id} for update`)
  return findGateway(tx, account, id)
}

export const listGateways = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<Gateway>(sql`
    select ${columns(account)} from gateways g where g.account_id = ${account} order by g.gateway_id ${inPage(start, limit)}`)

/** Lists all gateways of the account, the oldest first; there are few. */
export const listAllGateways = (db: Queryable, account: AccountId) =>
  db.rows<Gateway>(
    sql`select ${columns(account)} from gateways g where g.account_id = ${account} order by g.gateway_id`,
  )

export const countGateways = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from gateways where account_id = ${account}`)

/** Draws the identifier of a gateway to be: its Settings are sealed for it before it is written. */
export const drawGatewayId = (tx: Transaction): Promise<Id> =>
  tx.value<Id>(sql`select nextval('gateways_gateway_id_seq') as "id"`)

export interface StoredSettings {
  settings: Buffer | null
  settingNames: readonly string[]
  accountThere: string | null
  keyEnding: string | null
}

const list = (words: readonly string[] | null): string | null => (words === null ? null : arrayLiteral(words))

export const insertGateway = (
  tx: Transaction,
  account: AccountId,
  g: GatewayInput & StoredSettings & { id: Id; type: GatewayType },
  createdAt: Instant,
) =>
  tx.rows(sql`
    insert into gateways (account_id, gateway_id, type, name, friendly_name, is_active, is_four_eyes, currencies, debit_methods, settings,
      setting_names, gateway_account, key_ending, created_at, reports_since)
    values (${account}, ${g.id}, ${g.type}, ${g.name}, ${g.friendlyName}, ${g.isActive}, ${g.isFourEyes}, ${list(g.currencies)}::text[],
      ${list(g.debitMethods)}::text[], ${g.settings}, ${arrayLiteral(g.settingNames)}::text[], ${g.accountThere}, ${g.keyEnding}, ${createdAt}, moment())`)

export const updateGateway = (
  tx: Transaction,
  account: AccountId,
  g: GatewayInput & StoredSettings & Pick<Gateway, 'id'>,
) =>
  tx.rows(sql`
    update gateways set name = ${g.name}, friendly_name = ${g.friendlyName}, is_active = ${g.isActive}, is_four_eyes = ${g.isFourEyes},
      currencies = ${list(g.currencies)}::text[], debit_methods = ${list(g.debitMethods)}::text[], settings = ${g.settings},
      setting_names = ${arrayLiteral(g.settingNames)}::text[], gateway_account = ${g.accountThere}, key_ending = ${g.keyEnding}, version = version + 1
    where account_id = ${account} and gateway_id = ${g.id}`)

/** Makes a gateway the first choice for these kinds and for no other: another's choices of these kinds end. */
export async function replacePrimaries(
  tx: Transaction,
  account: AccountId,
  id: Id,
  kinds: readonly MethodKind[],
): Promise<void> {
  await tx.rows(sql`
    delete from gateway_primaries where account_id = ${account} and gateway_id = ${id} and kind <> all (${arrayLiteral(kinds)}::text[])`)
  await tx.rows(sql`
    insert into gateway_primaries (account_id, kind, gateway_id)
    select ${account}, kind, ${id} from unnest(${arrayLiteral(kinds)}::text[]) as wanted(kind)
    on conflict (account_id, kind) do update set gateway_id = excluded.gateway_id returning 1`)
}

/**
 * Claims the asking of a gateway for its reports: nobody else asks for five minutes. Returns the place to read on from; undefined where another has it.
 * `isNow`: whoever moves the clock holds the account, and asks at once. One that is not ready is not asked, and has no age of its reports.
 */
export async function claimPoll(
  tx: Transaction,
  gatewayId: Id,
  { isNow, isReady }: { isNow: boolean; isReady: boolean },
) {
  const claimed = await tx.first<{ cursor: string | null; since: Instant; isUnread: boolean }>(sql`
    update gateways set reports_asked_at = moment() ${isReady ? fragment`` : fragment`, reports_read_at = null`}
     where account_id = ${tx.account} and gateway_id = ${gatewayId}
       and (${isNow}::boolean
            or reports_asked_at is null or reports_asked_at <= moment('-5 minutes') or reports_asked_at > moment('10 minutes'))
 returning report_cursor as "cursor", coalesce(reports_since, created_at) as "since", reports_read_at is null as "isUnread"`)
  if (claimed?.isUnread && isReady) await tx.rows(noteRead(tx, gatewayId))
  return claimed
}

const noteRead = (tx: Transaction, gatewayId: Id) => sql`
  update gateways set reports_read_at = moment() where account_id = ${tx.account} and gateway_id = ${gatewayId}`

/** Notes how far the reports of a gateway were read; `isEnd`: there are no more. */
export async function noteCursor(tx: Transaction, gatewayId: Id, cursor: string, isEnd: boolean): Promise<void> {
  await tx.rows(
    sql`update gateways set report_cursor = ${cursor} where account_id = ${tx.account} and gateway_id = ${gatewayId}`,
  )
  if (isEnd) await tx.rows(noteRead(tx, gatewayId))
}

/** Lists by type how long ago the reports of a gateway were read, of the one that waits longest, for /metrics. */
export const listReportAges = (db: Database['unscoped'], types: readonly GatewayType[]) =>
  db.rows<Figure>(sql`
    select 'gateway_report_age' as name, type as label, seconds as value from list_gateway_report_ages(${arrayLiteral(types)}::text[])`)

export const deleteGateway = (tx: Transaction, account: AccountId, id: Id) =>
  tx.rows(sql`delete from gateways where account_id = ${account} and gateway_id = ${id}`)

/** Finds the uses of a gateway: methods that are kept there, and what names it by request, as far as it is open. */
export const gatewayUses = (db: Queryable, account: AccountId, id: Id, today: IsoDate) =>
  db.one<Record<'methods' | 'customers' | 'invoices' | 'subscriptions' | 'recurring' | 'batches', boolean>>(sql`
    select exists (select 1 from payment_methods where account_id = ${account} and gateway_id = ${id})
           or exists (select 1 from card_removals where account_id = ${account} and gateway_id = ${id} and finished_at is null)
           or exists (select 1 from card_intents where account_id = ${account} and gateway_id = ${id} and closed_at is null)
           or exists (select 1 from capture_sessions where account_id = ${account} and gateway_id = ${id})
           or exists (select 1 from mandate_setups where account_id = ${account} and gateway_id = ${id} and closed_at is null) as "methods",
           exists (select 1 from customers where account_id = ${account} and primary_gateway_id = ${id}) as "customers",
           exists (select 1 from invoices where account_id = ${account} and gateway_id = ${id} and is_method_requested
             and cancelled_at is null and total_minor > paid_minor + negative_minor) as "invoices",
           exists (select 1 from subscriptions where account_id = ${account} and gateway_id = ${id} and cancelled_on is null
             and (end_date is null or end_date > ${today})) as "subscriptions",
           exists (select 1 from recurring_invoices where account_id = ${account} and gateway_id = ${id} and cancelled_on is null
             and (end_date is null or end_date > ${today})) as "recurring",
           exists (select 1 from payment_batches where account_id = ${account} and gateway_id = ${id}
             and state not in ('completed', 'cancelled')) as "batches"`)

/** Returns whether anything of an account is kept at a gateway, or is under way there. */
export const keepsAnything = (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (select 1 from payment_methods where account_id = ${account} and gateway_id = ${id})
        or exists (select 1 from card_removals where account_id = ${account} and gateway_id = ${id} and finished_at is null)
        or exists (select 1 from card_intents where account_id = ${account} and gateway_id = ${id} and closed_at is null)
        or exists (select 1 from capture_sessions where account_id = ${account} and gateway_id = ${id})
        or exists (select 1 from mandate_setups where account_id = ${account} and gateway_id = ${id} and gateway_reference is not null and closed_at is null)
        or exists (select 1 from collection_tries where account_id = ${account} and gateway_id = ${id} and state = 'open')
        or exists (select 1 from payment_refunds r join payments p on p.account_id = ${account} and p.payment_id = r.payment_id
                    where r.account_id = ${account} and r.state = 'open' and p.gateway_id = ${id}) as "found"`)

/** Finds the token of the card that was stored last at a gateway and that the gateway has not given up. */
export const findNewestToken = async (db: Queryable, account: AccountId, id: Id): Promise<string | undefined> =>
  (
    await db.first<{ token: string }>(sql`
      select gateway_token as "token" from payment_methods
       where account_id = ${account} and gateway_id = ${id} and gateway_token is not null and state <> 'rejected'
       order by payment_method_id desc limit 1`)
  )?.token

/** Finds whether there are mandates of SEPA that may be collected through a gateway: those of customers who have no other one of their own. */
export const hasMandates = (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (select 1 from payment_methods m
      join customers c on c.account_id = ${account} and c.customer_id = m.customer_id
     where m.account_id = ${account} and m.kind = 'sepa' and m.mandate_reference is not null
       and (c.primary_gateway_id is null or c.primary_gateway_id = ${id})) as "found"`)
