import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { Period } from '../../engine/subscription/period.ts'
import { postingsOfInvoice } from '../../engine/money/postings.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral } from '../../platform/database/sql.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { insertLikeEvents } from '../events/queries.ts'
import { post } from '../ledger/post.ts'
import type { HasUnapplied } from '../ledger/queries.ts'
import { bracketsText, spreadText } from './brackets.ts'
import { deleteDraft, deleteInvoiceTaxes, updateGross, updateIssued } from './draft-queries.ts'
import { EDITABLE } from './fields.ts'
import { writeKept } from './fields-wire.ts'
import {
  type ChargeRow,
  drawInvoiceIds,
  insertCharges,
  insertInvoices,
  insertInvoiceTaxes,
  type InvoiceRow,
  type TaxRow,
} from './issue-queries.ts'
import type { LineAmounts, WrittenLine } from './lines.ts'

/** The one door through which invoices are issued, whoever composed them, and the steps that follow. */

/** An invoice to be issued, or kept as a draft. */
export interface NewInvoice extends Omit<InvoiceRow, 'id'> {
  /** Planned by the rules, none of them zero, or written by a caller. */
  lines: readonly (PlannedCharge | WrittenLine)[]
  /** The period that lines of a recurring invoice are for; null elsewhere: planned lines know their own. */
  period: Period | null
  amounts: LineAmounts
}

/** A charge on no invoice, billed at zero or turned into a credit: stored so that it counts as billed. */
export interface ZeroCharge {
  subscriptionId: SubscriptionId
  charge: PlannedCharge
}

export interface IssueContext {
  /** Where given, the identifiers of what is issued are added to it: a change tells what it made. */
  issued?: InvoiceId[]
  account: Account
  moment: Moment
  actor: string
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
}

/** What was issued by one call, for the steps that follow. */
export interface Issued {
  invoices: readonly { id: InvoiceId; customerId: CustomerId; currency: string }[]
  /** The customers of them that have unallocated money. */
  unapplied: readonly HasUnapplied[]
  isByHand: boolean
}

/** A step after issuing, of a feature that stands above invoices or of invoices themselves. */
export type AfterIssue = (tx: Transaction, context: IssueContext, issued: Issued) => Promise<void>

export interface IssueOptions {
  /** The steps after issuing, in their order; they come after the credits. */
  afterIssue: readonly AfterIssue[]
  zeroCharges?: readonly ZeroCharge[]
  /** Makes the credits of the same operation, before older money is taken. */
  credits?: (ids: readonly InvoiceId[]) => Promise<void>
  /** A caller wrote the invoices. Rule: they take no unallocated money by themselves. */
  isByHand?: boolean
  /** The draft that the one invoice is until now: its lines stay as they are stored. */
  draft?: { id: InvoiceId; hasOwnTaxes: boolean }
}

/**
 * Issues invoices and returns their identifiers in the given order: lines, taxes, event, ledger, number, row, then what follows from them.
 * Their customers are locked by the caller; the account's number counter is locked last, and held to the commit.
 */
export async function issue(
  tx: Transaction,
  context: IssueContext,
  invoices: readonly NewInvoice[],
  options: IssueOptions,
): Promise<InvoiceId[]> {
  const { draft, afterIssue, zeroCharges = [], isByHand = false } = options
  const ids = draft ? [draft.id] : invoices.length === 0 ? [] : await drawInvoiceIds(tx, invoices.length)
  if (draft) await settleDraft(tx, invoices[0] as NewInvoice, draft)
  else await insertLines(tx, invoices, ids, zeroCharges)
  const rows = withIds(invoices, ids)
  const unapplied = rows.length === 0 ? [] : await insertIssued(tx, context, rows, draft !== undefined)
  context.issued?.push(...ids)
  await options.credits?.(ids)
  if (rows.length > 0) for (const step of afterIssue) await step(tx, context, { invoices: rows, unapplied, isByHand })
  return ids
}

type Identified = NewInvoice & { id: InvoiceId }

/** Event, ledger, number and row of invoices whose lines are written. Returns who has unallocated money. */
async function insertIssued(
  tx: Transaction,
  context: IssueContext,
  invoices: readonly Identified[],
  isDraft: boolean,
): Promise<readonly HasUnapplied[]> {
  await recordIssued(tx, context, invoices)
  const unapplied = await post(tx, invoices.map(postedOf), context.moment.now)
  const firstNumber = await takeInvoiceNumbers(tx, tx.account, invoices.length)
  const about = { firstNumber, at: context.moment.now, accountVersion: context.account.version }
  if (isDraft) await updateIssued(tx, invoices[0] as Identified, about)
  else await insertInvoices(tx, invoices, about)
  return unapplied
}

/** Writes an invoice as a draft, which has no number and is owed by nobody. */
export async function insertDraft(tx: Transaction, context: IssueContext, invoice: NewInvoice): Promise<InvoiceId> {
  const ids = await drawInvoiceIds(tx, 1)
  await insertLines(tx, [invoice], ids, [])
  const { account, moment } = context
  const about = { firstNumber: null, at: moment.now, accountVersion: account.version }
  await insertInvoices(tx, withIds([invoice], ids), about)
  return ids[0] as InvoiceId
}

const withIds = (invoices: readonly NewInvoice[], ids: readonly InvoiceId[]): Identified[] =>
  invoices.map((invoice, place) => ({ ...invoice, id: ids[place] as InvoiceId }))

async function insertLines(
  tx: Transaction,
  invoices: readonly NewInvoice[],
  ids: readonly InvoiceId[],
  zeroCharges: readonly ZeroCharge[],
): Promise<void> {
  const charges = [
    ...invoices.flatMap((invoice, place) => chargeRows(invoice, ids[place] as InvoiceId)),
    ...zeroCharges.map(({ subscriptionId, charge }) =>
      plannedRow(charge, { invoiceId: null, subscriptionId, displayOrder: 0, grossMinor: charge.netMinor }),
    ),
  ]
  if (charges.length > 0) await insertCharges(tx, charges)
  await insertTaxes(
    tx,
    invoices.flatMap(({ amounts }, place) => taxRows(amounts, ids[place] as InvoiceId)),
  )
}

export const insertTaxes = async (tx: Transaction, taxes: readonly TaxRow[]): Promise<void> => {
  if (taxes.length > 0) await insertInvoiceTaxes(tx, taxes)
}

/** Fixes what was provisional of a draft's lines: their taxes, unless they are its own. */
async function settleDraft(
  tx: Transaction,
  { amounts }: NewInvoice,
  { id, hasOwnTaxes }: NonNullable<IssueOptions['draft']>,
): Promise<void> {
  await updateGross(tx, id, amounts.grossMinor)
  if (!hasOwnTaxes) await replaceTaxes(tx, id, amounts)
  await deleteDraft(tx, id)
}

export async function replaceTaxes(tx: Transaction, id: InvoiceId, amounts: LineAmounts): Promise<void> {
  await deleteInvoiceTaxes(tx, id)
  await insertTaxes(tx, taxRows(amounts, id))
}

/** Records that invoices were issued. The event stores only the fields that can change after issue: all else is frozen in their own rows. */
function recordIssued(tx: Transaction, context: IssueContext, invoices: readonly Identified[]): Promise<void> {
  let last = invoices[0] as Identified
  let record = writeKept(last)
  const events = invoices.map((invoice) => {
    // Neighbours mostly keep the same, which is written out once.
    if (EDITABLE.some((name) => invoice[name] !== last[name])) record = writeKept((last = invoice))
    return { recordId: invoice.id, customerId: invoice.customerId, record }
  })
  const common = { type: 'invoice.issued', happenedAt: context.moment.now, actor: context.actor, reason: null } as const
  return insertLikeEvents(tx, common, events)
}

const postedOf = ({ id, customerId, currency, invoiceDate, totalMinor, amounts }: Identified) => ({
  customerId,
  currency,
  postings: postingsOfInvoice({ id, issuedOn: invoiceDate, cancelledOn: null, totalMinor, taxes: amounts.taxes }),
})

export const chargeRows = (invoice: NewInvoice, invoiceId: InvoiceId): ChargeRow[] =>
  invoice.lines.map((line, index) => {
    const grossMinor = invoice.amounts.grossMinor[index] as bigint
    const { subscriptionId } = invoice
    if ('kind' in line) return plannedRow(line, { invoiceId, subscriptionId, displayOrder: index + 1, grossMinor })
    const unitPrice = decimalText(line.unitPrice)
    const from = invoice.period?.from ?? null
    const until = invoice.period?.until ?? null
    return {
      invoiceId,
      recurringInvoiceId: invoice.recurringInvoiceId,
      displayOrder: index + 1,
      kind: 'manual',
      name: line.name,
      description: line.description,
      quantity: decimalText(line.quantity),
      unitPrice,
      netMinor: invoice.amounts.netMinor[index] as bigint,
      grossMinor,
      subscriptionId: null,
      stretch: null,
      itemId: null,
      part: null,
      bracketIndex: 0,
      from,
      until,
      wholeFrom: from,
      wholeUntil: until,
      price: unitPrice,
      brackets: null,
    }
  })

const plannedRow = (
  charge: PlannedCharge,
  on: Pick<ChargeRow, 'invoiceId' | 'subscriptionId' | 'displayOrder' | 'grossMinor'>,
): ChargeRow => ({
  invoiceId: on.invoiceId,
  recurringInvoiceId: null,
  displayOrder: on.displayOrder,
  kind: charge.kind,
  name: charge.name,
  description: null,
  quantity: decimalText(charge.quantity),
  unitPrice: decimalText(charge.unitPrice),
  netMinor: charge.netMinor,
  grossMinor: on.grossMinor,
  subscriptionId: on.subscriptionId,
  stretch: charge.stretch,
  itemId: charge.itemId,
  part: charge.part,
  bracketIndex: charge.bracketIndex,
  from: charge.from,
  until: charge.until,
  wholeFrom: charge.wholeFrom,
  wholeUntil: charge.wholeUntil,
  price: decimalText(charge.price),
  brackets: bracketsText(charge.brackets) ?? spreadText(charge.spreadBy),
})

const taxRows = ({ taxes }: LineAmounts, invoiceId: InvoiceId): TaxRow[] =>
  taxes.map(({ name, rate, taxNumber, baseMinor, amountMinor, shares }) => ({
    invoiceId,
    name,
    rate: decimalText(rate),
    taxNumber,
    baseMinor,
    amountMinor,
    shares: shares.length > 1 ? arrayLiteral(shares) : null,
  }))
