import { afterBegun, type Step } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type DunnedInvoice, listDunned, updateDunning } from '../dunning/queries.ts'
import { drawNonce } from '../gateways/references.ts'
import { sendTried, updateNextTry } from '../invoices/state-queries.ts'
import { applyUnallocatedTo } from '../money/apply-unallocated.ts'
import { listOwed } from '../money/open-queries.ts'
import { drawPaymentIds } from '../money/payment-queries.ts'
import { addPayment } from '../money/payments.ts'
import { refOfInvoice } from '../money/records.ts'
import { type NewCard, type ReplacedLine, sendTry, type Try } from './try-queries.ts'

/** Tries: the intent that is written before a gateway is asked, and what lines of batches share with it. Each works on a locked customer. */

/** A try as it is asked for: its step, and who asks. */
export interface Asking {
  step: Pick<Step, 'daysAfterDue' | 'action'> | null
  isByHand: boolean
  /** Left out: as the dunning has it. */
  isExtra?: boolean
  replaced?: ReplacedLine | null
  newCard?: NewCard | null
}

/**
 * Begins a try by card: takes the customer's unallocated money first, then writes the payment and what is to be asked. Returns undefined where
 * that money has paid the invoice.
 */
export async function beginTry(
  tx: Transaction,
  context: RequestContext,
  given: DunnedInvoice,
  way: { gateway: { id: Id }; method: { id: Id } },
  asking: Asking,
): Promise<Try | undefined> {
  const invoice = await afterUnallocated(tx, context, given)
  if (!invoice) return undefined
  const { moment } = context
  const target = { kind: 'invoice', id: invoice.id } as const
  const [drawn, owed] = await Promise.all([drawPaymentIds(tx, 1), listOwed(tx, tx.account, [target])])
  const payment = await addPayment(
    tx,
    context,
    {
      customerId: invoice.customerId,
      paidAt: moment.now,
      dated: moment.today,
      currency: invoice.currency,
      amountMinor: invoice.openMinor,
      method: 'credit_card',
      origin: 'gateway',
      ref: refOfInvoice(invoice.number),
      memo: null,
    },
    { list: [{ id: null, target, amountMinor: invoice.openMinor }], owed, isServiceMade: true },
    { drawn, charge: { gatewayId: way.gateway.id } },
  )
  return writeTry(tx, context, invoice, way, { paymentId: payment.id, lineOn: null }, asking)
}

/** Pays an invoice by unallocated money as far as there is some. Returns it as it is then; undefined where nothing of it is open. */
export async function afterUnallocated(
  tx: Transaction,
  context: RequestContext,
  given: DunnedInvoice,
): Promise<DunnedInvoice | undefined> {
  if (!(await applyUnallocatedTo(tx, context, [given]))) return given.isOpen ? given : undefined
  const [invoice] = await listDunned(tx, tx.account, [given.id])
  assert(invoice, `invoice ${given.id} is dunned`)
  return invoice.isOpen ? invoice : undefined
}

/** A payment that a try is written for. */
interface Written {
  paymentId: Id
  /** Day of the line that waits in a batch; null of a try by card, which is made now. */
  lineOn: IsoDate | null
}

/** Writes the try that a payment is, without waiting, and that nothing else comes on its own while it is open: its outcome wakes the invoice. */
export function writeTry(
  tx: Transaction,
  { moment }: RequestContext,
  invoice: DunnedInvoice,
  way: { gateway: { id: Id }; method: { id: Id } },
  { paymentId, lineOn }: Written,
  { step, isByHand, replaced = null, newCard = null, isExtra = isExtraDue(invoice, isByHand, moment.today) }: Asking,
): Try {
  const t = sendTry(tx, {
    paymentId,
    invoiceId: invoice.id,
    customerId: invoice.customerId,
    gatewayId: way.gateway.id,
    paymentMethodId: way.method.id,
    currency: invoice.currency,
    amountMinor: invoice.openMinor,
    step: step?.daysAfterDue ?? null,
    action: step?.action ?? null,
    isExtra,
    isByHand,
    begunOn: moment.today,
    begunAt: moment.now,
    isLine: lineOn !== null,
    replaced,
    newCard,
    nonce: lineOn === null ? drawNonce() : null,
  })
  updateDunning(tx, invoice.id, isByHand ? invoice.dunning : afterBegun(invoice.dunning), null)
  if (lineOn === null) sendTried(tx, [invoice.id])
  else updateNextTry(tx, invoice.id, lineOn, true)
  return t
}

const isExtraDue = ({ dunning }: DunnedInvoice, isByHand: boolean, today: IsoDate): boolean =>
  !isByHand && dunning.extra !== null && dunning.extra.on <= today
