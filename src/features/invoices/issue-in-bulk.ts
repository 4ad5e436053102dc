import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import { postingsOfInvoice } from '../../engine/money/postings.ts'
import type { CustomerId, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList, bigints, columnOf, dates, placesOf, positionsColumn } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { column } from '../../platform/database/sql.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { isTried } from '../collection-terms/rules.ts'
import { insertIssuedEvents } from '../events/issued-queries.ts'
import { sendNewWords } from '../finding/words.ts'
import { type PostingTemplate, postingTemplate, postInBulk } from '../ledger/post-in-bulk.ts'
import { fillCollection, type ToCollect } from '../collection-terms/fill.ts'
import { withCollection, writePlainKept } from './fields-wire.ts'
import { type AfterIssue, type IssueContext, keptOnce, type NewInvoice, zeroChargeRow } from './issue.ts'
import {
  drawManyInvoiceIds,
  headOf,
  insertBulkInvoices,
  insertTemplateZeroCharges,
  type StampedInvoices,
} from './issue-in-bulk-queries.ts'
import { countsAsSent } from './send.ts'
import { keepTemplateLines, type TemplatedInvoice, type TemplateLines, templateLinesOf } from './template-lines.ts'

/**
 * The door through which a run issues invoices that are identical except for their customers: what is shared is written by the template, and nothing is made
 * for each invoice here that the database can take from it. It leaves what `issue` leaves for the same invoices in the same order.
 */

/**
 * An invoice that is nobody's, of an amount over 0, as all of a template are except for their customers. It has all that follows from the template alone, so that it is
 * made once however many transactions of an account issue it.
 */
export interface InvoiceTemplate {
  invoice: NewInvoice
  /** Charges of the same subscription that stand on no invoice, because they are billed at zero. */
  zeroCharges: readonly PlannedCharge[]
  lines: TemplateLines
  posting: PostingTemplate
  /** Text that the event of an invoice keeps of its plain fields, except for the order number. */
  kept: string
  /** Text of all that its row has, except for the total and what is a customer's own. */
  head: string
}

/** Returns the template of an invoice that is nobody's. */
export const invoiceTemplate = (invoice: NewInvoice, zeroCharges: readonly PlannedCharge[]): InvoiceTemplate => ({
  invoice,
  zeroCharges,
  lines: templateLinesOf(invoice),
  posting: postingTemplate(postedOf(invoice)),
  kept: writePlainKept(invoice),
  head: headOf(invoice),
})

/** A customer, as far as their invoice has something of them or of their subscription. */
interface BilledCustomer {
  customerId: CustomerId
  customerVersion: number
  vatNumber: string | null
  /** Purchase order number of the subscription. */
  poNumber: string | null
  /** They get invoices by mail and can be reached. */
  isMailWanted: boolean
}

/** Invoices to be issued, in their order: of each the customer, who has no other of them, the subscription, and the place of its template. */
export interface BulkInvoices {
  shapes: readonly InvoiceTemplate[]
  customers: readonly BilledCustomer[]
  subscriptionIds: readonly SubscriptionId[]
  /** Counted from 0. */
  shapeOf: readonly number[]
}

/** Issues invoices by their templates. Their customers are locked by the caller; the account's number counter is locked last, and held to the commit. */
export async function issueInBulk(
  tx: Transaction,
  context: IssueContext,
  shaped: BulkInvoices,
  afterIssue: readonly AfterIssue[],
): Promise<void> {
  const { shapes, customers, subscriptionIds, shapeOf } = shaped
  if (shapeOf.length === 0) return
  const { now, today } = context.moment
  const own = await collectionOf(tx, shaped, today)
  const ids = await drawManyInvoiceIds(tx, shapeOf.length)
  const heads = placesOf(shapes.map(({ head }) => head))
  const ofShapes = shapes.map((shape) => shape.lines)
  const { kept, lines } = await keepTemplateLines(tx, { shapes: ofShapes, shapeOf, invoiceIds: ids, subscriptionIds })
  const rows = columnsOf(shaped, ids, { heads: heads.places, kept, own, isDated: countsAsSent(context) })
  await insertTemplateZeroCharges(
    tx,
    rows,
    shapes.flatMap(({ zeroCharges }, index) =>
      zeroCharges.map((charge) => ({ ...zeroChargeRow(charge, null), shape: index + 1 })),
    ),
  )
  await recordIssued(tx, context, shaped, rows, own)
  const customerIds = customers.map(({ customerId }) => customerId)
  const postings = shapes.map(({ posting }) => posting)
  const unapplied = await postInBulk(tx, postings, { ids, customerIds, shapeOf, lines }, now)
  const firstNumber = await takeInvoiceNumbers(tx, tx.account, ids.length)
  const about = { firstNumber, at: now, accountVersion: context.account.version }
  const headRows = heads.firsts.map((first, place) => ({
    ...(shapes[first] as InvoiceTemplate).invoice,
    shape: place + 1,
  }))
  await insertBulkInvoices(tx, rows, headRows, about)
  if (rows.poNumbers !== null) sendOrderNumbers(tx, customers, ids)
  const invoices = issuedOf(shaped, ids)
  for (const step of afterIssue) await step(tx, context, { invoices, unapplied, isManual: false })
}

/** Returns invoices as the steps after issuing want them. */
const issuedOf = ({ shapes, customers, shapeOf }: BulkInvoices, ids: readonly InvoiceId[]) =>
  shapeOf.map((place, index) => {
    const { currency, dueDate, collectionMethod } = (shapes[place] as InvoiceTemplate).invoice
    const { customerId, isMailWanted } = customers[index] as BilledCustomer
    return { id: ids[index] as InvoiceId, customerId, currency, dueDate, collectionMethod, isMailWanted }
  })

/** Returns the columns of invoices; `heads` are the places of what is alike in their rows, by template. */
function columnsOf(
  { shapes, customers, subscriptionIds, shapeOf }: BulkInvoices,
  ids: readonly InvoiceId[],
  {
    heads,
    kept,
    own,
    isDated,
  }: {
    heads: readonly number[]
    kept: readonly TemplatedInvoice[]
    own: readonly Collection[] | null
    isDated: boolean
  },
): StampedInvoices {
  return {
    ids: bigintList(ids),
    customerIds: bigints(customers, 'customerId'),
    customerVersions: columnOf(
      customers.map(({ customerVersion }) => customerVersion),
      positionsColumn,
    ),
    vatNumbers: customers.some(({ vatNumber }) => vatNumber !== null) ? column(customers, 'vatNumber') : null,
    poNumbers: customers.some(({ poNumber }) => poNumber !== null) ? column(customers, 'poNumber') : null,
    areSent: isDated && customers.some(({ isMailWanted }) => isMailWanted) ? column(customers, 'isMailWanted') : null,
    totals: columnOf(
      shapeOf.map((place) => (shapes[place] as InvoiceTemplate).invoice.totalMinor),
      bigintList,
    ),
    heads: heads.every((place) => place === 0)
      ? null
      : positionsColumn(shapeOf.map((place) => (heads[place] as number) + 1)),
    subscriptionIds: bigintList(subscriptionIds),
    positions: positionsColumn(shapeOf.map((place) => place + 1)),
    kept: {
      shapeIds: columnOf(
        kept.map(({ shapeId }) => shapeId),
        () => bigints(kept, 'shapeId'),
      ),
      firstChargeIds: bigints(kept, 'firstChargeId'),
      firstTaxIds: bigints(kept, 'firstTaxId'),
    },
    collected: own && {
      gatewayIds: bigints(own, 'gatewayId'),
      methodIds: bigints(own, 'paymentMethodId'),
      nextTryDates: dates(own, 'nextTryDate'),
    },
  }
}

const NOT_COLLECTED = { gatewayId: null, paymentMethodId: null, nextTryDate: null } as const

/** Gateway, method and first try day of an invoice. */
type Collection = Pick<ToCollect, 'gatewayId' | 'paymentMethodId' | 'nextTryDate'>

/** Finds gateway, method and first try day of each invoice; null where none of them is tried. */
async function collectionOf(
  tx: Transaction,
  { shapes, customers, shapeOf }: BulkInvoices,
  today: string,
): Promise<readonly Collection[] | null> {
  const tried: ToCollect[] = []
  const all = shapeOf.map((place, index): Collection => {
    const { currency, dueDate, totalMinor, collectionMethod } = (shapes[place] as InvoiceTemplate).invoice
    if (!isTried(collectionMethod)) return NOT_COLLECTED
    const { customerId } = customers[index] as BilledCustomer
    const isMethodRequested = false
    const one = { customerId, currency, dueDate, totalMinor, collectionMethod, isMethodRequested, ...NOT_COLLECTED }
    tried.push(one)
    return one
  })
  if (tried.length === 0) return null
  await fillCollection(tx, tried, today)
  return all
}

/** Records that the invoices were issued. */
function recordIssued(
  tx: Transaction,
  { moment, actor }: IssueContext,
  { shapes, shapeOf }: BulkInvoices,
  { ids, poNumbers, collected }: StampedInvoices,
  own: readonly Collection[] | null,
) {
  const written = new Map<string, Map<string, string>>()
  const texts = shapeOf.map((place, index) => {
    const { invoice, kept } = shapes[place] as InvoiceTemplate
    const { gatewayId, paymentMethodId, nextTryDate } = own?.[index] ?? NOT_COLLECTED
    const { isCollectionHold } = invoice
    if (gatewayId === null && paymentMethodId === null && nextTryDate === null && !isCollectionHold) return kept
    // Those who are tried mostly keep the same, which is written out once. The text itself is looked up first: its hash is known, and that of a longer one would not be.
    const ofKept = written.get(kept) ?? new Map<string, string>()
    if (ofKept.size === 0) written.set(kept, ofKept)
    const key = `${gatewayId} ${paymentMethodId === null} ${nextTryDate} ${isCollectionHold}`
    const text = ofKept.get(key) ?? withCollection(kept, { gatewayId, paymentMethodId, nextTryDate, isCollectionHold })
    ofKept.set(key, text)
    return text
  })
  const methodIds = collected?.methodIds ?? null
  return insertIssuedEvents(tx, { ids, ...keptOnce(texts), methodIds, poNumbers, happenedAt: moment.now, actor })
}

const postedOf = ({ currency, invoiceDate, totalMinor, amounts }: NewInvoice) => ({
  currency,
  postings: postingsOfInvoice({ id: 0n, issuedOn: invoiceDate, cancelledOn: null, totalMinor, taxes: amounts.taxes }),
})

/** Writes the words by which invoices with a purchase order number are found. */
function sendOrderNumbers(tx: Transaction, customers: readonly BilledCustomer[], ids: readonly InvoiceId[]): void {
  const named = customers.flatMap(({ poNumber }, index) =>
    poNumber === null ? [] : [{ id: ids[index] as InvoiceId, texts: [null, poNumber] }],
  )
  sendNewWords(tx, 'invoices', named)
}
