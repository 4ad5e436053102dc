import { introduced } from '../../platform/http/tags.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { type RealClock, type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { pathId } from '../../platform/http/handle.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import { countDeliveries, listDeliveries } from '../events/delivery-queries.ts'
import {
  addWebhook,
  checkUrl,
  editWebhook,
  removeWebhook,
  replayDelivery,
  replayEvents,
  rotateSecret,
  testWebhook,
  unknownDelivery,
} from './actions.ts'
import { countWebhooks, listWebhooks, type Webhook } from './queries.ts'
import { webhookKind } from './record.ts'
import {
  deliveryShape,
  HOURS_PRESET,
  newWebhookShape,
  ReplayIn,
  RotatedSecretOut,
  RotateIn,
  webhookEtag,
  WebhookEditIn,
  webhookFromWire,
  WebhookIn,
  webhookShape,
} from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

pathParameter('deliveryID', identifies('delivery'))

const tag = introduced('Webhooks', 'Addresses that are called with each event of the types that they ask for.')

interface Deps {
  envelope: Envelope
  outbound: Outbound
  realClock: RealClock
}

const ACCEPTED = { status: 202 }
const PATH = '/v1/webhooks/{webhookID}'

/** Declares the record that a request about one webhook locks first; several at once on one of them come one after the other. */
const ofWebhook = { record: webhookKind.editing.record }

const answerNew = (row: Webhook & { plainSecret: string }, context: RequestContext): Answer => ({
  ...webhookKind.created(row, context),
  body: newWebhookShape.write(row, writingOf(context)),
  isSecret: true,
})

const reading: Operation[] = [
  listOperation({
    id: 'listWebhooks',
    path: '/v1/webhooks',
    tag,
    summary: 'List the webhooks of the account',
    out: webhookShape,
    rows: listWebhooks,
    count: countWebhooks,
  }),
  webhookKind.readOperation({ id: 'getWebhook', tag, summary: 'Read a webhook' }),
  listOperation({
    id: 'listWebhookDeliveries',
    path: `${PATH}/deliveries`,
    tag,
    summary: 'List what a webhook was sent in the last 30 days, and what waits for it',
    out: deliveryShape,
    parent: async (db, context, params) => ({ webhookId: (await webhookKind.found(db, context, params)).id }),
    rows: listDeliveries,
    count: countDeliveries,
  }),
]

const writing = ({ envelope, outbound, realClock }: Deps): Operation[] => [
  writeOperation({
    id: 'addWebhook',
    method: 'POST',
    path: '/v1/webhooks',
    tag,
    summary: 'Add a webhook: an address that events are sent to, signed with the Secret of the answer',
    body: WebhookIn,
    success: { status: 201, schema: newWebhookShape.schema },
    references: async (_tx, _context, { body }, problems) => checkUrl(outbound, body.Url, problems),
    write: async (tx, context, { body }) =>
      answerNew(
        await addWebhook(tx, context, envelope, {
          url: body.Url,
          types: body.Types ?? null,
          description: body.Description ?? null,
        }),
        context,
      ),
  }),
  writeOperation({
    ...webhookKind.editing,
    id: 'editWebhook',
    tag,
    summary: 'Change a webhook: only what is sent',
    body: WebhookEditIn,
    references: async (_tx, _context, { body }, problems) => checkUrl(outbound, body.Url, problems),
    write: async (tx, context, { body }, present) =>
      webhookKind.edited(await editWebhook(tx, context, present, webhookFromWire(body, present))),
  }),
  writeOperation({
    ...webhookKind.deleting,
    id: 'deleteWebhook',
    tag,
    summary: 'Delete a webhook, and what waits for it',
    write: async (tx, context, _input, row) => {
      await removeWebhook(tx, context, row)
      return noContent()
    },
  }),
  writeOperation({
    ...ofWebhook,
    id: 'rotateWebhookSecret',
    method: 'PUT',
    path: `${PATH}/rotate`,
    tag,
    summary: 'Give a webhook a new Secret; the present one signs too for some hours',
    body: RotateIn,
    isBodyOptional: true,
    success: { status: 200, schema: RotatedSecretOut.schema },
    etag: webhookEtag,
    write: async (tx, context, { body }, present) => {
      const wish = { hours: body.Hours ?? HOURS_PRESET, realNowMs: realClock() }
      const { row, plainSecret } = await rotateSecret(tx, context, envelope, present, wish)
      const answer = RotatedSecretOut.write({ Secret: plainSecret })
      return { status: 200, body: answer, etag: webhookEtag(row), isSecret: true }
    },
  }),
]

const sending: Operation[] = [
  writeOperation({
    ...ofWebhook,
    id: 'testWebhook',
    method: 'POST',
    path: `${PATH}/test`,
    tag,
    summary: 'Send a webhook an event of its own, whatever its Types are',
    success: ACCEPTED,
    refusals: { 409: 'The webhook is not active' },
    write: async (tx, context, _input, row) => {
      await testWebhook(tx, context, row)
      return ACCEPTED
    },
  }),
  writeOperation({
    ...ofWebhook,
    id: 'replayWebhookDelivery',
    method: 'POST',
    path: `${PATH}/deliveries/{deliveryID}/replay`,
    tag,
    summary: 'Send the event of a delivery again',
    success: ACCEPTED,
    refusals: { 409: 'The webhook is not active' },
    write: async (tx, _context, { params }, row) => {
      await replayDelivery(tx, row, pathId(params, 'deliveryID', unknownDelivery))
      return ACCEPTED
    },
  }),
  writeOperation({
    ...ofWebhook,
    id: 'replayWebhookEvents',
    method: 'POST',
    path: `${PATH}/replay`,
    tag,
    summary: 'Send a webhook the events of a time, 10,000 at most, in no order',
    body: ReplayIn,
    success: ACCEPTED,
    refusals: { 409: 'The webhook is not active' },
    write: async (tx, _context, { body }, row) => {
      await replayEvents(tx, row, { from: body.from, before: body.to, types: body.Types ?? row.types })
      return ACCEPTED
    },
  }),
]

/** Declares the operations of webhooks: addresses of an account's own servers that are sent its events. */
export const webhookOperations = (deps: Deps): Operation[] => [...reading, ...writing(deps), ...sending]
