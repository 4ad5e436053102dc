import { conflict, missing, type Problems } from '../../kernel/fault.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import type { EventType } from '../events/queries.ts'
import { type CustomValues, holdCustomLabels, listCustomLabels } from './custom-value-queries.ts'
import {
  type Customer,
  type CustomerInput,
  customerUses,
  type CustomerView,
  findCustomer,
  findCustomerView,
  insertCustomer,
  insertCustomerVersion,
  lockCustomer,
  updateCustomer,
  updateCustomerPause,
} from './queries.ts'
import { checkCustomer, customValuesOf, frozenOf, pauseAfter, placeOf } from './rules.ts'
import {
  type CustomerBody,
  customFieldsToWire,
  customerFromWire,
  CustomerOut,
  customerToWire,
  CustomerWithFieldsOut,
} from './wire.ts'

export const unknownCustomer = (id: bigint | string) =>
  missing('customer_unknown', `There is no customer ${id}.`, 'customerID')

export async function lockedCustomer(tx: Transaction, id: bigint): Promise<Customer> {
  const customer = await lockCustomer(tx, tx.account, id)
  if (!customer) throw unknownCustomer(id)
  return customer
}

/** The JSON text of a customer as it now is. */
export async function writtenCustomer(db: Queryable, context: RequestContext, id: bigint): Promise<string> {
  const { account, moment } = context
  const view = await findCustomerView(db, account.id, id, moment.today)
  assert(view, `customer ${id} exists`)
  return recordOf(db, context, view)
}

const wireOf = ({ account, moment }: RequestContext, view: CustomerView) =>
  customerToWire(view, { timeZone: account.timeZone, today: moment.today })

/** What an event keeps of a customer: the answered fields, and the custom ones where there are any. */
async function recordOf(db: Queryable, context: RequestContext, view: CustomerView): Promise<string> {
  if (view.customValues === null) return CustomerOut.write(wireOf(context, view))
  const labels = await listCustomLabels(db, context.account.id)
  return CustomerWithFieldsOut.write({ ...wireOf(context, view), CustomFields: customFieldsToWire(view, labels) })
}

/** The customer of a path; a missing one is a Fault. */
export async function foundCustomerId(db: Queryable, account: AccountId, params: PathParams): Promise<CustomerId> {
  const id = pathId(params, 'customerID', unknownCustomer)
  if (!(await findCustomer(db, account, id))) throw unknownCustomer(id)
  return id
}

/** The parent of lists that a customer has: adds its identifier to their conditions. */
export const ofCustomerInPath = async (db: Queryable, { account }: RequestContext, params: PathParams) => ({
  customerId: await foundCustomerId(db, account.id, params),
})

/** Checks that a body's customerID is one of this account, and holds that customer until the commit. */
export async function checkCustomerReference(
  tx: Transaction,
  id: CustomerId | null | undefined,
  problems: Problems,
): Promise<Customer | undefined> {
  if (id == null) return undefined
  const customer = await lockCustomer(tx, tx.account, id)
  if (!customer) problems.add('customer_unknown', 'customerID', `There is no customer ${id}.`)
  return customer
}

/** Checks a customer's fields and answers the custom values they ask for; undefined where those stay as they are. */
export async function checkCustomerBody(
  tx: Transaction,
  body: Partial<CustomerBody>,
  problems: Problems,
): Promise<CustomValues | null | undefined> {
  checkCustomer(body, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const labels = body.CustomFields?.length ? await holdCustomLabels(tx, tx.account) : []
  return customValuesOf(body, labels, problems)
}

const referenceTaken = (reference: string | null) => () =>
  conflict('reference_taken', `Another customer has the Reference ${JSON.stringify(reference)}.`, 'Reference')

export async function addCustomer(
  tx: Transaction,
  context: RequestContext,
  body: CustomerBody,
  customValues?: CustomValues | null,
): Promise<{ customer: Customer; json: string }> {
  const input = customerFromWire(body, { currency: context.account.currency, ...placeOf(body), customValues })
  const customer = await refuseOn(insertCustomer(tx, tx.account, input, context.moment), {
    customers_reference_key: referenceTaken(input.reference ?? 'made by the service'),
  })
  const view = { ...customer, activeSubscriptions: 0, balanceMinor: 0n }
  await recordEvent(tx, context, {
    type: 'customer.created',
    recordId: customer.id,
    customerId: customer.id,
    record: await recordOf(tx, context, view),
  })
  return { customer, json: CustomerOut.write(wireOf(context, view)) }
}

export async function editCustomer(
  tx: Transaction,
  context: RequestContext,
  present: Customer,
  body: CustomerBody,
  customValues: CustomValues | null | undefined,
): Promise<Customer> {
  const defaults = { currency: context.account.currency, ...placeOf(body), customValues }
  const wanted = customerFromWire(body, defaults, present)
  const edited: Customer = { ...present, ...wanted, reference: wanted.reference ?? present.reference }
  if (edited.currency !== present.currency) await checkCurrencyChange(tx, context, present)
  if (JSON.stringify(frozenOf(edited)) !== JSON.stringify(frozenOf(present))) {
    await insertCustomerVersion(tx, tx.account, present.id, present.version, frozenOf(present))
    edited.version = present.version + 1
  }
  await refuseOn(updateCustomer(tx, tx.account, present.id, edited, context.moment.today), {
    customers_reference_key: referenceTaken(edited.reference),
  })
  await recordCustomer(tx, context, 'customer.updated', present.id)
  return edited
}

async function checkCurrencyChange(
  tx: Transaction,
  context: RequestContext,
  present: CustomerInput & { id: bigint },
): Promise<void> {
  const uses = await customerUses(tx, tx.account, present.id, context.moment.today)
  if (!uses.hasMoney && !uses.hasRunning) return
  const reason = uses.hasMoney ? 'has money records' : 'has a running subscription or recurring invoice'
  throw conflict(
    'currency_fixed',
    `The currency of customer ${present.id} cannot change: it ${reason} in ${present.currency}.`,
    'CurrencyCode',
  )
}

export async function recordCustomer(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  id: bigint,
): Promise<void> {
  await recordEvent(tx, context, { type, recordId: id, customerId: id, record: await writtenCustomer(tx, context, id) })
}

const EVENT_OF = {
  suspend: 'customer.suspended',
  unsuspend: 'customer.unsuspended',
  archive: 'customer.archived',
  reopen: 'customer.reopened',
} as const

/** What happens to a customer's subscriptions when it is billed again; given by the feature that owns them. */
export type OnReturn = (tx: Transaction, context: RequestContext, customer: Customer, gapFrom: string) => Promise<void>

/** Suspends, unsuspends, archives or reopens a customer. One that is neither suspended nor archived any more is billed again from today. */
export async function changePause(
  tx: Transaction,
  context: RequestContext,
  customer: Customer,
  change: keyof typeof EVENT_OF,
  onReturn: OnReturn,
): Promise<void> {
  const pause = pauseAfter(customer, change, context.moment)
  if (pause.suspendedAt === customer.suspendedAt && pause.archivedAt === customer.archivedAt) return
  await updateCustomerPause(tx, tx.account, customer.id, pause, context.moment.today)
  await recordCustomer(tx, context, EVENT_OF[change], customer.id)
  if (customer.pausedOn !== null && pause.pausedOn === null)
    await onReturn(tx, context, { ...customer, ...pause }, customer.pausedOn)
}
