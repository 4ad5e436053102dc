import { recordKind } from '../../platform/http/record.ts'
import { findWebhook, lockWebhook } from './queries.ts'
import { webhookEtag, webhookShape } from './wire.ts'

export const webhookKind = recordKind({
  code: 'webhook',
  name: 'webhook',
  param: 'webhookID',
  path: '/v1/webhooks',
  out: webhookShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findWebhook(db, account.id, id),
  lock: (tx, { account }, id) => lockWebhook(tx, account.id, id),
  etag: webhookEtag,
})
