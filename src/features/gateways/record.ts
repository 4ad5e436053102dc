import { recordKind } from '../../platform/http/record.ts'
import { findGateway, lockGateway } from './queries.ts'
import { gatewayEtag, gatewayShape } from './wire.ts'

export const gatewayKind = recordKind({
  code: 'gateway',
  name: 'gateway',
  param: 'gatewayID',
  path: '/v1/gateways',
  out: gatewayShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findGateway(db, account.id, id),
  lock: (tx, { account }, id) => lockGateway(tx, account.id, id),
  etag: gatewayEtag,
})
