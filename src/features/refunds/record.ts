import { readableKind } from '../../platform/http/record.ts'
import { findPaymentRefund } from './queries.ts'
import { refundShape } from './wire.ts'

export const refundKind = readableKind({
  code: 'payment_refund',
  name: 'refund of this payment',
  identified: 'refund',
  param: 'refundID',
  path: '/v1/payments/{paymentID}/refunds',
  out: refundShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findPaymentRefund(db, account.id, id),
})
