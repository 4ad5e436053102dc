import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid, missing, type Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Sealer } from '../../platform/envelope/envelope.ts'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import {
  countEventsIn,
  deleteWaitingDeliveries,
  type EventRange,
  findDelivery,
  giveUpDeliveries,
  insertDeliveriesOf,
  insertDelivery,
} from '../events/delivery-queries.ts'
import { insertUnsentEvent } from '../events/queries.ts'
import { recordChange } from '../events/record.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import { webhookDisabledMail } from './webhook-template.ts'
import {
  countWebhooks,
  deleteWebhook,
  drawWebhookId,
  insertWebhook,
  lockWebhookCount,
  updateWebhook,
  updateWebhookSecrets,
  type Webhook,
  type WebhookInput,
} from './queries.ts'
import { webhookKind } from './record.ts'
import { DISABLING, type DisablingCause } from './rules.ts'
import { newWebhookSecret, rotatedSecrets, sealSecret } from './secret.ts'

/** Changes of webhooks, each in one transaction. */

/** Webhooks that an account may have. */
const WEBHOOKS_MAX = 20
/** Events that one replay of a time may send. */
const REPLAYED_MAX = 10_000

const HOUR_MS = 3_600_000

/** Notes why an address may not be called, as far as that shows before it is. */
export function checkUrl(outbound: Outbound, url: string | null | undefined, problems: Problems): void {
  const refusal = url == null ? undefined : outbound.refusalOf(new URL(url))
  if (refusal !== undefined) problems.add('url_not_allowed', 'Url', `Url must be ${refusal}.`)
}

/** Adds a webhook and returns it with its secret, here and never again. */
export async function addWebhook(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  input: Omit<WebhookInput, 'isActive'>,
): Promise<Webhook & { plainSecret: string }> {
  await lockWebhookCount(tx, tx.account)
  if ((await countWebhooks(tx, tx.account)) >= WEBHOOKS_MAX)
    throw invalid('too_many_webhooks', `An account may have at most ${WEBHOOKS_MAX} webhooks.`)
  const id = await drawWebhookId(tx)
  const plainSecret = newWebhookSecret()
  const secret = sealSecret(sealer, tx.account, id, plainSecret)
  const row = await insertWebhook(tx, { ...input, id, secret }, context.moment.now)
  await recordChange(tx, context, webhookKind, { type: 'webhook.created', row })
  return { ...row, plainSecret }
}

/**
 * Edits a locked webhook. One that is switched off is sent nothing that waits; one that is switched on or off, or moved, has failed never: only
 * one that the service has disabled is inactive and failing.
 */
export async function editWebhook(
  tx: Transaction,
  context: RequestContext,
  present: Webhook,
  input: WebhookInput,
): Promise<Webhook> {
  const isFresh = input.url !== present.url || input.isActive !== present.isActive
  const row = await updateWebhook(tx, present.id, { ...input, failingSince: isFresh ? null : present.failingSince })
  if (present.isActive && !input.isActive) await giveUpDeliveries(tx, present.id)
  await recordChange(tx, context, webhookKind, { type: 'webhook.updated', row })
  return row
}

export async function removeWebhook(tx: Transaction, context: RequestContext, row: Webhook): Promise<void> {
  await deleteWebhook(tx, row.id)
  await deleteWaitingDeliveries(tx, row.id)
  await recordChange(tx, context, webhookKind, { type: 'webhook.deleted', row })
}

/** Gives a webhook a new secret and returns it; the present one signs too for some hours of real time. */
export async function rotateSecret(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  present: Webhook,
  { hours, realNowMs }: { hours: number; realNowMs: number },
): Promise<{ row: Webhook; plainSecret: string }> {
  const plainSecret = newWebhookSecret()
  const oldUntil = instantOf(realNowMs + hours * HOUR_MS)
  const secrets = rotatedSecrets(sealer, tx.account, present, { fresh: plainSecret, oldUntil })
  const row = await updateWebhookSecrets(tx, present.id, secrets)
  await recordChange(tx, context, webhookKind, { type: 'webhook.rotated', row })
  return { row, plainSecret }
}

function refuseInactive({ id, isActive }: Webhook): void {
  if (!isActive) throw conflict('webhook_inactive', `Webhook ${id} is sent nothing: set isActive true first.`)
}

/** Sends a webhook an event of its own, whatever its Types are. */
export async function testWebhook(tx: Transaction, context: RequestContext, row: Webhook): Promise<void> {
  refuseInactive(row)
  const eventId = await insertUnsentEvent(tx, {
    type: 'webhook.tested',
    recordId: row.id,
    customerId: null,
    happenedAt: context.moment.now,
    actor: context.actor,
    reason: null,
    record: webhookKind.write(row, context),
  })
  await insertDelivery(tx, { webhookId: row.id, eventId })
}

/** Sends the event of a delivery again, as a delivery of its own. */
export async function replayDelivery(tx: Transaction, row: Webhook, deliveryId: Id): Promise<void> {
  const delivery = await findDelivery(tx, tx.account, row.id, deliveryId)
  if (!delivery) throw unknownDelivery(deliveryId)
  refuseInactive(row)
  await insertDelivery(tx, { webhookId: row.id, eventId: delivery.eventId })
}

export const unknownDelivery = (id: Id | string) =>
  missing('webhook_delivery_unknown', `There is no delivery ${id} of this webhook.`, 'deliveryID')

/** Sends a webhook the events of a time again, or for the first time. */
export async function replayEvents(tx: Transaction, row: Webhook, range: EventRange): Promise<void> {
  if (range.from >= range.before) throw invalid('period_empty', 'from must not lie after to.', 'from')
  refuseInactive(row)
  if ((await countEventsIn(tx, tx.account, range, REPLAYED_MAX + 1)) > REPLAYED_MAX)
    throw invalid('too_many_events', `A replay may send at most ${REPLAYED_MAX} events: ask for a shorter time.`, 'to')
  await insertDeliveriesOf(tx, row.id, range)
}

/** Disables a locked webhook that does not answer: what waits is given up, and a mail goes to the account's Email. */
export async function disableWebhook(
  tx: Transaction,
  context: RequestContext,
  present: Webhook,
  cause: DisablingCause,
): Promise<void> {
  const row = await updateWebhook(tx, present.id, { ...present, isActive: false })
  await giveUpDeliveries(tx, present.id)
  await recordChange(tx, context, webhookKind, { type: 'webhook.disabled', row, reason: DISABLING[cause] })
  const { email } = await getAccountSettings(tx, tx.account)
  if (email === null) return
  const { url } = row
  await queueDocumentMails(tx, context, [
    {
      customerId: null,
      locale: null,
      to: email,
      cc: null,
      template: 'webhook_disabled',
      document: null,
      write: (sender) => webhookDisabledMail({ ...sender, url, cause }),
    },
  ])
}
