import { frozenOf } from './fields.ts'
import { sendWordsOfChange, sendWordsOfCustomer } from './words.ts'
import type { ReminderKind } from '../../engine/collection/rules.ts'
import { assert } from '../../kernel/assert.ts'
import { firstOfNextMonth } from '../../kernel/calendar.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { checkCurrencyHeld, noteUnknown } from '../currencies/held.ts'
import { drawCustomer, sendCustomer } from './add-queries.ts'
import { type CustomValues, holdCustomLabels } from './custom-value-queries.ts'
import {
  type Customer,
  customerUses,
  type CustomerView,
  holdGateway,
  insertCustomerVersion,
  updateCustomer,
  updateCustomerPause,
  updateSuspendedByRule,
} from './queries.ts'
import { recordCustomerEvent } from './record.ts'
import { checkCustomer, customValuesOf, pauseAfter, placeOf } from './rules.ts'
import { type CustomerBody, customerFromWire } from './wire.ts'

/** Notes what is wrong with a customer's fields. Returns the custom values that they ask for; undefined where those stay as they are. */
export async function checkCustomerBody(
  tx: Transaction,
  body: Partial<CustomerBody>,
  problems: Problems,
  present?: Customer,
): Promise<CustomValues | null | undefined> {
  checkCustomer(body, problems, present)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  if (body.PrimaryGatewayID && !(await holdGateway(tx, tx.account, body.PrimaryGatewayID)))
    problems.add('gateway_unknown', 'PrimaryGatewayID', `This account has no gateway ${body.PrimaryGatewayID}.`)
  const labels = body.CustomFields?.length ? await holdCustomLabels(tx, tx.account) : []
  return customValuesOf(body, labels, problems)
}

export interface CheckedCustomer {
  /** Undefined where there is a problem. */
  id: CustomerId | undefined
  customValues: CustomValues | null | undefined
}

/** Notes what is wrong with the fields of a new customer. Returns the identifier that was drawn for it, and its custom values. */
export async function checkNewCustomer(
  tx: Transaction,
  body: Partial<CustomerBody>,
  problems: Problems,
): Promise<CheckedCustomer> {
  if (problems.found.length > 0 || body.PrimaryGatewayID || body.CustomFields?.length) {
    const customValues = await checkCustomerBody(tx, body, problems)
    return { id: problems.found.length > 0 ? undefined : (await drawCustomer(tx, null)).id, customValues }
  }
  checkCustomer(body, problems)
  const currency = body.CurrencyCode ?? null
  const { id, isHeld } = await drawCustomer(tx, currency)
  if (currency !== null && isHeld !== true) noteUnknown(problems, currency)
  return { id, customValues: customValuesOf(body, [], problems) }
}

/** Refuses a gateway that is switched off, unless the customer has it already. */
async function refuseInactiveGateway(tx: Transaction, wanted: bigint | null, present: bigint | null): Promise<void> {
  if (wanted === null || wanted === present || (await holdGateway(tx, tx.account, wanted))?.isActive) return
  throw conflict('gateway_inactive', `The gateway ${wanted} is not active.`, 'PrimaryGatewayID')
}

const referenceTaken = (reference: string | null) => () =>
  conflict('reference_taken', `Another customer has the Reference ${JSON.stringify(reference)}.`, 'Reference')

/**
 * Adds a customer under an identifier that was drawn for it. A Fault (409) ends the transaction when another one has its reference. `written` is its text,
 * where its event keeps the same.
 */
export async function addCustomer(
  tx: Transaction,
  context: RequestContext,
  body: CustomerBody,
  { id, customValues }: CheckedCustomer,
): Promise<{ view: CustomerView; written?: string }> {
  assert(id !== undefined, 'a customer without problems has an identifier')
  const { now, today } = context.moment
  const wanted = customerFromWire(body, { currency: context.account.currency, ...placeOf(body), customValues })
  await refuseInactiveGateway(tx, wanted.primaryGatewayId, null)
  const input = { ...wanted, reference: wanted.reference ?? `C${id}` }
  const statementDueOn = input.autoSendStatement ? firstOfNextMonth(today) : null
  sendCustomer(
    tx,
    { ...input, id, createdAt: now, statementDueOn },
    { customers_reference_key: referenceTaken(wanted.reference ?? 'made by the service') },
  )
  sendWordsOfCustomer(tx, id, input)
  const view: CustomerView = { ...input, ...UNTOUCHED, id, createdAt: now }
  const record = await recordCustomerEvent(tx, context, 'customer.created', id, view)
  return view.customValues === null ? { view, written: record } : { view }
}

/** Fields of a customer who was added a moment ago. */
const UNTOUCHED = {
  suspendedAt: null,
  isSuspendedByRule: false,
  archivedAt: null,
  pausedOn: null,
  statementLastSentOn: null,
  version: 1,
  activeSubscriptions: 0,
  balanceMinor: 0n,
  primaryMethodId: null,
  primaryMethodToken: null,
} as const

/** Replaces the fields of a locked customer. Throws a Fault (409) when its reference is taken or its currency cannot change any more. */
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
  await refuseInactiveGateway(tx, edited.primaryGatewayId, present.primaryGatewayId)
  if (edited.currency !== present.currency) await checkCurrencyChange(tx, context, present)
  if (JSON.stringify(frozenOf(edited)) !== JSON.stringify(frozenOf(present))) {
    await insertCustomerVersion(tx, tx.account, present.id, present.version, frozenOf(present))
    edited.version = present.version + 1
  }
  await refuseOn(updateCustomer(tx, tx.account, present.id, edited, context.moment.today), {
    customers_reference_key: referenceTaken(edited.reference),
  })
  sendWordsOfChange(tx, present.id, present, edited)
  await recordCustomerEvent(tx, context, 'customer.updated', present.id)
  return edited
}

/** Stops a kind of reminders to a locked customer, or has them sent again. What is so already writes nothing. */
export async function changeStoppedReminders(
  tx: Transaction,
  context: RequestContext,
  customer: Customer,
  kind: ReminderKind,
  isStopped: boolean,
): Promise<void> {
  const others = customer.stoppedReminders.filter((stopped) => stopped !== kind)
  if (customer.stoppedReminders.includes(kind) === isStopped) return
  const stoppedReminders = isStopped ? [...others, kind] : others
  await updateCustomer(tx, tx.account, customer.id, { ...customer, stoppedReminders }, context.moment.today)
  await recordCustomerEvent(tx, context, 'customer.updated', customer.id)
}

async function checkCurrencyChange(tx: Transaction, context: RequestContext, present: Customer): Promise<void> {
  const uses = await customerUses(tx, tx.account, present.id, context.moment.today)
  if (!uses.hasMoney && !uses.hasRunning) return
  const reason = uses.hasMoney ? 'has money records' : 'has a running subscription or recurring invoice'
  throw conflict(
    'currency_fixed',
    `The currency of customer ${present.id} cannot change: it ${reason} in ${present.currency}.`,
    'CurrencyCode',
  )
}

const EVENT_OF = {
  suspend: 'customer.suspended',
  unsuspend: 'customer.unsuspended',
  archive: 'customer.archived',
  reopen: 'customer.reopened',
} as const

/** Resumes what bills a customer, from the first day of its pause on; given by the features that bill. */
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
  // A suspension by hand, also of one whom a rule has suspended, ends by hand alone.
  if (customer.isSuspendedByRule && (change === 'suspend' || change === 'unsuspend'))
    await updateSuspendedByRule(tx, customer.id, false)
  if (pause.suspendedAt === customer.suspendedAt && pause.archivedAt === customer.archivedAt) return
  await updateCustomerPause(tx, tx.account, customer.id, pause, context.moment.today)
  await recordCustomerEvent(tx, context, EVENT_OF[change], customer.id)
  if (customer.pausedOn !== null && pause.pausedOn === null)
    await onReturn(tx, context, { ...customer, ...pause }, customer.pausedOn)
}

/** Suspends a customer by a step of the rules of collection: paying brings them back. */
export async function suspendByRule(tx: Transaction, context: RequestContext, customer: Customer): Promise<void> {
  await changePause(tx, context, customer, 'suspend', async () => {})
  await updateSuspendedByRule(tx, customer.id, true)
}
