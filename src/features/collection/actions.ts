import { afterMethodChanged, afterReturn, type Dunning } from '../../engine/collection/dunning.ts'
import { type Action, daysOfRules } from '../../engine/collection/rules.ts'
import { addDays } from '../../kernel/calendar.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { CollectionDetails } from '../collection-terms/types.ts'
import { type Way, wayOf, waysOf } from '../collection-terms/way.ts'
import { suspendByRule } from '../customers/actions.ts'
import { lockCustomer } from '../customers/queries.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import {
  type DunnedInvoice,
  insertDunningLater,
  listDunned,
  listDunnedOfCustomer,
  planUntried,
  wakeAll,
} from '../dunning/queries.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import type { Invoice } from '../invoices/queries.ts'
import { collectionMail, type DunningKind } from '../outbox/collection-templates.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import type { OnMethodChanged } from '../payment-methods/actions.ts'
import { dayFactsOf, saveDunning } from '../dunning/save.ts'
import { reviewLines } from './lines.ts'
import { announceCollection, findMailedCustomer } from './try-queries.ts'

/** Follows up steps and events: mails and suspensions, and the tries that a new method or a customer's return brings. */

export interface RunAction {
  action: Action
  invoice: DunnedInvoice
}

/** Runs the actions that a pass brings for one locked customer. Rule: mails of one kind are one, listing all invoices it is about. */
export async function runActions(
  tx: Transaction,
  context: RequestContext,
  customerId: CustomerId,
  due: readonly RunAction[],
): Promise<void> {
  const byAction = new Map<Action, DunnedInvoice[]>()
  for (const { action, invoice } of due) byAction.set(action, [...(byAction.get(action) ?? []), invoice])
  for (const [action, invoices] of byAction) {
    if (action === 'none') continue
    if (action !== 'suspend') await mail(tx, context, customerId, action, invoices)
    else if (await suspend(tx, context, customerId)) await mail(tx, context, customerId, 'account_suspended', invoices)
  }
}

/** Suspends a customer by a step of the rules. Returns false where they are suspended or archived already. */
async function suspend(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<boolean> {
  const customer = await lockCustomer(tx, tx.account, customerId)
  assert(customer, `customer ${customerId} exists`)
  if (customer.pausedOn !== null) return false
  await suspendByRule(tx, context, customer)
  await reviewLines(tx, context, customerId)
  return true
}

async function mail(
  tx: Transaction,
  context: RequestContext,
  customerId: CustomerId,
  kind: DunningKind,
  invoices: readonly DunnedInvoice[],
): Promise<void> {
  const customer = await findMailedCustomer(tx, customerId)
  if (!customer?.email) return
  await queueDocumentMails(tx, context, [
    {
      customerId,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: kind,
      document: null,
      links: invoices.map(({ id }) => id),
      write: ({ linkTo, linkBy: _none, ...sender }) =>
        collectionMail({
          ...sender,
          customerName: customerNameOf(customer),
          kind,
          items: invoices.map(({ id, number, currency, openMinor, dueDate }) => ({
            what: 'invoice',
            number,
            currency,
            openMinor,
            dueDate,
            reason: null,
            link: linkTo(id),
          })),
        }),
    },
  ])
}

/** Moves the dunning of all open invoices of a locked customer. */
async function moveAll(
  tx: Transaction,
  context: RequestContext,
  customerId: CustomerId,
  move: (invoice: DunnedInvoice, way: Way | undefined) => Dunning,
): Promise<void> {
  const { today } = context.moment
  const [rules, invoices, wayOfInvoice] = await Promise.all([
    getCollectionRules(tx, tx.account),
    listDunnedOfCustomer(tx, customerId),
    waysOf(tx, customerId),
  ])
  for (const invoice of invoices) {
    const way = await wayOfInvoice(invoice)
    const facts = dayFactsOf(invoice, { today, rules, way })
    await saveDunning(tx, { ...invoice, dunning: move(invoice, way) }, facts, false)
  }
}

/** Plans what follows when a customer is back: on the next day, what is due of them is tried. */
export const afterCustomerReturn = (tx: Transaction, context: RequestContext, customerId: CustomerId) =>
  moveAll(tx, context, customerId, ({ dunning, dueDate }) =>
    afterReturn(dunning, { dueDate, on: context.moment.today }),
  )

/** Plans what follows for the invoices that are tried with a method, after it came, changed, or became the primary one. */
export const afterMethodOfCustomer: OnMethodChanged = async (
  tx,
  context,
  { id, customerId },
  isOtherAccount = false,
) => {
  await reviewLines(tx, context, customerId, isOtherAccount ? id : null)
  const rules = await getCollectionRules(tx, tx.account)
  const on = context.moment.today
  await moveAll(tx, context, customerId, ({ dunning, dueDate }, way) =>
    way?.method.id === id ? afterMethodChanged(dunning, { dueDate, rules, on }) : dunning,
  )
}

/**
 * Plans what follows after a gateway came or changed. Rule: an invoice that could not be tried is tried on the day after a method fits, within the
 * days of the rules; where none does even now, that day brings nothing. The next pass plans every open invoice anew, because its way or the days of its
 * debit may be other ones; lines that wait for a gateway that is switched off leave, by a job right after the commit.
 */
export async function afterGatewayChanged(tx: Transaction, { moment }: RequestContext): Promise<void> {
  const on = addDays(moment.today, 1)
  await wakeAll(tx, moment.today)
  const rules = await getCollectionRules(tx, tx.account)
  await planUntried(tx, { on, dueFrom: addDays(on, -daysOfRules(rules)) })
  await announceCollection(tx)
}

/**
 * Looks anew at the open invoices of a customer, after they were held, suspended or archived, a hold was lifted, or their gateway is another one. Lines
 * that are not wanted any more leave their batches.
 */
export async function reviewCustomer(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<void> {
  await reviewLines(tx, context, customerId)
  await moveAll(tx, context, customerId, ({ dunning }) => dunning)
}

/**
 * Plans the tries of an issued invoice whose collection details or hold may have changed. Its customer is locked. Rule: one that is to be tried with
 * another method than before has a new method.
 */
export async function afterCollectionChanged(
  tx: Transaction,
  context: RequestContext,
  { id, customerId, collectionMethod }: Pick<Invoice, 'id' | 'customerId' | 'collectionMethod'>,
  before: CollectionDetails,
): Promise<void> {
  const { today } = context.moment
  if (collectionMethod === 'credit_card' || collectionMethod === 'debit_order') await insertDunningLater(tx, id, today)
  await reviewLines(tx, context, customerId)
  const [invoice] = await listDunned(tx, tx.account, [id])
  if (!invoice) return
  const rules = await getCollectionRules(tx, tx.account)
  const [was, way] = [await wayOf(tx, { ...invoice, ...before }), await wayOf(tx, invoice)]
  const { dueDate } = invoice
  const dunning =
    way && way.method.id !== was?.method.id
      ? afterMethodChanged(invoice.dunning, { dueDate, rules, on: today })
      : invoice.dunning
  await saveDunning(tx, { ...invoice, dunning }, dayFactsOf(invoice, { today, rules, way }), false)
}
