import { recordKind } from '../../platform/http/record.ts'
import { loadPayment, lockedPayment } from '../money/payments.ts'
import { moneyEtag } from '../money/records.ts'
import { paymentShape } from '../money/shapes.ts'

export const paymentKind = recordKind({
  code: 'payment',
  name: 'payment',
  param: 'paymentID',
  path: '/v1/payments',
  out: paymentShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => loadPayment(db, account.id, id),
  lock: (tx, _context, id) => lockedPayment(tx, id),
  etag: (row) => moneyEtag(paymentShape, row),
})
