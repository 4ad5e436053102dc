import type { RequestContext } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { recordKind } from '../../platform/http/record.ts'
import type { EventType } from '../events/types.ts'
import { recordChange } from '../events/record.ts'
import { findMethod, lockMethod, type StoredMethod } from './queries.ts'
import { fullView, methodEtag, methodShape, type MethodView } from './wire.ts'

export const methodKind = recordKind<MethodView, 'payment_method', StoredMethod>({
  code: 'payment_method',
  name: 'payment method',
  param: 'paymentMethodID',
  path: '/v1/paymentmethods',
  out: methodShape,
  idOf: ({ id }) => id,
  find: async (db, { account }, id) => {
    const method = await findMethod(db, account.id, id)
    return method && fullView(method)
  },
  lock: (tx, { account }, id) => lockMethod(tx, account.id, id),
  etag: methodEtag,
})

/** Records a change of a method as it now is, without number and token, and returns it. */
export async function recordMethod(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `payment_method.${string}`,
  id: Id,
  reason: string | null = null,
): Promise<MethodView> {
  const method = await findMethod(tx, tx.account, id)
  assert(method, `payment method ${id} exists`)
  const row = fullView(method)
  await recordChange(tx, context, methodKind, { type, row, customerId: row.customerId, reason })
  return row
}
