import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import { postingsOfInvoice } from '../../engine/money/postings.ts'
import type { CustomerId, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList, bigints, dates, positionsColumn } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { sendNewWords } from '../customers/words.ts'
import { insertIssuedEvents } from '../events/issued-queries.ts'
import { postShapes } from '../ledger/post-shapes.ts'
import { fillCollection, isTried, type ToCollect } from './collection.ts'
import { writeKept } from './fields-wire.ts'
import { type AfterIssue, type IssueContext, type NewInvoice, keptPlaceOf, zeroChargeRow } from './issue.ts'
import {
  drawManyInvoiceIds,
  insertShapeInvoices,
  insertShapeZeroCharges,
  type StampedInvoices,
} from './issue-shape-queries.ts'
import { keepLines } from './kept-lines.ts'

/**
 * The door through which a run issues invoices that are alike but for who gets them: what is shared is written by the shape, and nothing is made
 * for each invoice here that the database can take from it. It leaves what `issue` leaves for the same invoices in the same order.
 */

/** An invoice that is nobody's, of an amount over 0, as all of a shape are but for who gets them, and whether their customers want them by mail. */
export interface InvoiceShape {
  invoice: NewInvoice
  isMailWanted: boolean
  /** Charges of the same subscription that stand on no invoice, because they are billed at zero. */
  zeroCharges: readonly PlannedCharge[]
}

/** Invoices to be issued, in their order: of each the customer, who has no other of them, the subscription, and the place of its shape. */
export interface ShapedInvoices {
  shapes: readonly InvoiceShape[]
  customerIds: readonly CustomerId[]
  subscriptionIds: readonly SubscriptionId[]
  /** Counted from 0. */
  shapeOf: readonly number[]
}

/** Issues invoices by their shapes. Their customers are locked by the caller; the account's number counter is locked last, and held to the commit. */
export async function issueShapes(
  tx: Transaction,
  context: IssueContext,
  shaped: ShapedInvoices,
  afterIssue: readonly AfterIssue[],
): Promise<void> {
  const { shapes, customerIds, subscriptionIds, shapeOf } = shaped
  if (shapeOf.length === 0) return
  const { now, today } = context.moment
  const own = await collectionOf(tx, shaped, today)
  const ids = await drawManyInvoiceIds(tx, shapeOf.length)
  const plain = shapes.map(({ invoice }) => invoice)
  const kept = await keepLines(tx, { shapes: plain, shapeOf, invoiceIds: ids, subscriptionIds })
  const rows: StampedInvoices = {
    ids: bigintList(ids),
    customerIds: bigintList(customerIds),
    subscriptionIds: bigintList(subscriptionIds),
    positions: positionsColumn(shapeOf.map((place) => place + 1)),
    kept: {
      shapeIds: bigints(kept, 'shapeId'),
      firstChargeIds: bigints(kept, 'firstChargeId'),
      firstTaxIds: bigints(kept, 'firstTaxId'),
    },
    collected: own && {
      gatewayIds: bigints(own, 'gatewayId'),
      methodIds: bigints(own, 'paymentMethodId'),
      nextTryDates: dates(own, 'nextTryDate'),
    },
  }
  await insertShapeZeroCharges(
    tx,
    rows,
    shapes.flatMap(({ zeroCharges }, index) =>
      zeroCharges.map((charge) => ({ ...zeroChargeRow(charge, null), shape: index + 1 })),
    ),
  )
  await recordIssued(tx, context, shaped, rows, own)
  const unapplied = await postShapes(tx, shapes.map(postedOf), { ids, customerIds, shapeOf }, now)
  const firstNumber = await takeInvoiceNumbers(tx, tx.account, ids.length)
  const about = { firstNumber, at: now, accountVersion: context.account.version }
  await insertShapeInvoices(
    tx,
    rows,
    plain.map((invoice, index) => ({ ...invoice, shape: index + 1 })),
    about,
  )
  sendOrderNumbers(tx, shaped, ids)
  const invoices = shapeOf.map((place, index) => {
    const { invoice, isMailWanted } = shapes[place] as InvoiceShape
    const { currency, dueDate, collectionMethod } = invoice
    const [id, customerId] = [ids[index] as InvoiceId, customerIds[index] as CustomerId]
    return { id, customerId, currency, dueDate, collectionMethod, isMailWanted }
  })
  for (const step of afterIssue) await step(tx, context, { invoices, unapplied, isManual: false })
}

const NOT_COLLECTED = { gatewayId: null, paymentMethodId: null, isMethodRequested: false, nextTryDate: null } as const

/** Finds gateway, method and first try day of each invoice; undefined where none of them is tried. */
async function collectionOf(
  tx: Transaction,
  { shapes, customerIds, shapeOf }: ShapedInvoices,
  today: string,
): Promise<readonly ToCollect[] | null> {
  if (!shapes.some(({ invoice }) => isTried(invoice.collectionMethod))) return null
  const all = shapeOf.map((place, index): ToCollect => {
    const { currency, dueDate, totalMinor, collectionMethod } = (shapes[place] as InvoiceShape).invoice
    const customerId = customerIds[index] as CustomerId
    return { ...NOT_COLLECTED, customerId, currency, dueDate, totalMinor, collectionMethod }
  })
  await fillCollection(tx, all, today)
  return all
}

/** Records that the invoices were issued; an event keeps the details of collection of its own invoice. */
function recordIssued(
  tx: Transaction,
  { moment, actor }: IssueContext,
  { shapes, shapeOf }: ShapedInvoices,
  { ids }: StampedInvoices,
  own: readonly ToCollect[] | null,
) {
  const kept = new Map<string, number>()
  const ofShapes = shapes.map(({ invoice }) => keptPlaceOf(kept, writeKept(invoice)))
  const keptOf = shapeOf.map((shape, index) => {
    const { gatewayId, paymentMethodId, nextTryDate } = own?.[index] ?? NOT_COLLECTED
    if (gatewayId === null && paymentMethodId === null && nextTryDate === null) return ofShapes[shape] as number
    const { invoice } = shapes[shape] as InvoiceShape
    return keptPlaceOf(kept, writeKept({ ...invoice, gatewayId, paymentMethodId, nextTryDate }))
  })
  return insertIssuedEvents(tx, {
    ids,
    kept: [...kept.keys()],
    keptOf: kept.size === 1 ? null : positionsColumn(keptOf),
    happenedAt: moment.now,
    actor,
  })
}

const postedOf = ({ invoice: { currency, invoiceDate, totalMinor, amounts } }: InvoiceShape) => ({
  currency,
  postings: postingsOfInvoice({ id: 0n, issuedOn: invoiceDate, cancelledOn: null, totalMinor, taxes: amounts.taxes }),
})

/** Writes the words by which invoices with a purchase order number are found. */
function sendOrderNumbers(tx: Transaction, { shapes, shapeOf }: ShapedInvoices, ids: readonly InvoiceId[]): void {
  if (shapes.every(({ invoice }) => invoice.poNumber == null)) return
  const named = shapeOf.flatMap((place, index) => {
    const { poNumber = null } = (shapes[place] as InvoiceShape).invoice
    return poNumber === null ? [] : [{ id: ids[index] as InvoiceId, texts: [null, poNumber] }]
  })
  sendNewWords(tx, 'invoices', named)
}
