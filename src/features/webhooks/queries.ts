import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { Figure } from '../../platform/metrics.ts'

/** Fields of a webhook that a caller can set. */
export interface WebhookInput {
  url: string
  /** Types of events, or all of a resource as invoice.*; null: every event. */
  types: readonly string[] | null
  description: string | null
  isActive: boolean
}

/** Secrets as they are stored: sealed, each for its own column. */
export interface SealedSecrets {
  secret: Buffer
  /** Signs too until an instant of real time; null after a rotation is over. */
  oldSecret: Buffer | null
  oldSecretUntil: Instant | null
}

export interface Webhook extends WebhookInput, SealedSecrets {
  id: Id
  /** Real time of the first try that failed since one succeeded. */
  failingSince: Instant | null
  version: number
  createdAt: Instant
}

const COLUMNS = fragment`
  webhook_id as "id", url, types, description, is_active as "isActive", sealed_secret as "secret", sealed_old_secret as "oldSecret",
  old_secret_until as "oldSecretUntil", failing_since as "failingSince", version, created_at as "createdAt"`

export const findWebhook = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Webhook>(sql`select ${COLUMNS} from webhooks where account_id = ${account} and webhook_id = ${id}`)

/** Locks an endpoint and what waits for it: whoever takes, ends or adds deliveries in bulk does so one after the other. Writers of events go past. */
export const lockWebhook = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<Webhook>(sql`
    select ${COLUMNS} from webhooks where account_id = ${account} and webhook_id = ${id} for no key update`)

export const listWebhooks = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<Webhook>(sql`
    select ${COLUMNS} from webhooks where account_id = ${account} order by webhook_id ${inPage(start, limit)}`)

export const countWebhooks = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from webhooks where account_id = ${account}`)

/** Locks the number of the account's webhooks: two that are added at once are added one after the other. */
export const lockWebhookCount = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`select 1 from accounts where account_id = ${account} for no key update`)

/** Draws the identifier of a webhook to be: its secret is sealed for it before it is written. */
export const drawWebhookId = (tx: Transaction): Promise<Id> =>
  tx.value<Id>(sql`select nextval('webhooks_webhook_id_seq') as "id"`)

const listOrNull = (types: readonly string[] | null) => (types === null ? null : arrayLiteral(types))

export const insertWebhook = (
  tx: Transaction,
  w: Pick<Webhook, 'id' | 'url' | 'types' | 'description' | 'secret'>,
  createdAt: Instant,
) =>
  tx.one<Webhook>(sql`
    insert into webhooks (account_id, webhook_id, url, types, description, sealed_secret, created_at)
    values (${tx.account}, ${w.id}, ${w.url}, ${listOrNull(w.types)}::text[], ${w.description}, ${w.secret}, ${createdAt})
    returning ${COLUMNS}`)

export const updateWebhook = (tx: Transaction, id: Id, w: WebhookInput & Pick<Webhook, 'failingSince'>) =>
  tx.one<Webhook>(sql`
    update webhooks set url = ${w.url}, types = ${listOrNull(w.types)}::text[], description = ${w.description},
      is_active = ${w.isActive}, failing_since = ${w.failingSince}, version = version + 1
     where account_id = ${tx.account} and webhook_id = ${id} returning ${COLUMNS}`)

export const updateWebhookSecrets = (tx: Transaction, id: Id, { secret, oldSecret, oldSecretUntil }: SealedSecrets) =>
  tx.one<Webhook>(sql`
    update webhooks set sealed_secret = ${secret}, sealed_old_secret = ${oldSecret}, old_secret_until = ${oldSecretUntil},
      version = version + 1
     where account_id = ${tx.account} and webhook_id = ${id} returning ${COLUMNS}`)

export const updateFailingSince = (tx: Transaction, id: Id, since: Instant | null) =>
  tx.rows(sql`update webhooks set failing_since = ${since} where account_id = ${tx.account} and webhook_id = ${id}`)

export const deleteWebhook = (tx: Transaction, id: Id) =>
  tx.rows(sql`delete from webhooks where account_id = ${tx.account} and webhook_id = ${id}`)

/** Deliveries that /metrics counts; more are reported as this many. */
const COUNT_MAX = 10_000

/** Lists the figures of deliveries and endpoints of all accounts for /metrics. */
export const listWebhookFigures = (db: Pick<Queryable, 'rows'>, at: Instant) =>
  db.rows<Figure>(sql`select name, label, value from list_webhook_figures(${at}::timestamptz, ${COUNT_MAX}::bigint)`)
