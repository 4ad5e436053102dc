import { assert } from '../../kernel/assert.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import { listCustomLabels } from './custom-value-queries.ts'
import { type Customer, type CustomerView, findCustomer, findCustomerView, lockCustomer } from './queries.ts'
import { customerEtag, customerShape, customerWithFieldsShape } from './wire.ts'

export const customerKind = recordKind<CustomerView, 'customer', Customer>({
  code: 'customer',
  name: 'customer',
  param: 'customerID',
  path: '/v1/customers',
  out: customerShape,
  idOf: ({ id }) => id,
  find: (db, { account, moment }, id) => findCustomerView(db, account.id, id, moment.today),
  lock: (tx, { account }, id) => lockCustomer(tx, account.id, id),
  etag: customerEtag,
})

export const unknownCustomer = customerKind.unknown

/** Returns the identifier of the customer of a path, or throws its 404. */
export async function foundCustomerId(db: Queryable, account: AccountId, params: PathParams): Promise<CustomerId> {
  const id = customerKind.pathId(params)
  if (!(await findCustomer(db, account, id))) throw unknownCustomer(id)
  return id
}

/** Finds the parent of the lists that a customer has, and adds its identifier to their conditions. */
export const ofCustomerInPath = async (db: Queryable, { account }: RequestContext, params: PathParams) => ({
  customerId: await foundCustomerId(db, account.id, params),
})

/** Locks the customer that a body names until the commit; notes a problem where the account has none of that identifier. */
export async function checkCustomerReference(
  tx: Transaction,
  id: CustomerId | null | undefined,
  problems: Problems,
): Promise<Customer | undefined> {
  if (id == null) return undefined
  const customer = await lockCustomer(tx, tx.account, id)
  if (!customer) problems.found.push(...unknownCustomer(id).problems)
  return customer
}

/** Returns the JSON text that an event keeps of a customer: the fields of an answer, and the custom ones where it has any. */
export async function writeCustomerRecord(
  db: Queryable,
  context: RequestContext,
  id: CustomerId,
  known?: CustomerView,
): Promise<string> {
  const view = known ?? (await findCustomerView(db, context.account.id, id, context.moment.today))
  assert(view, `customer ${id} exists`)
  if (view.customValues === null) return customerKind.write(view, context)
  const labels = await listCustomLabels(db, context.account.id)
  return customerWithFieldsShape.write({ customer: view, labels }, writingOf(context))
}

/** Records a change of a customer with its fields as they now are; `known` saves reading them. Returns the text that its event keeps. */
export async function recordCustomerEvent(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `customer.${string}`,
  id: CustomerId,
  known?: CustomerView,
): Promise<string> {
  const record = await writeCustomerRecord(tx, context, id, known)
  await recordEvent(tx, context, { type, recordId: id, customerId: id, record })
  return record
}
