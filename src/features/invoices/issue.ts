import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { Period } from '../../engine/subscription/period.ts'
import { postingsOfInvoice } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { bigints, placesOf, positionsColumn } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import type { Account, Moment, Warn } from '../../kernel/context.ts'
import { type AccountSettings, getAccountSettings, takeInvoiceNumbers } from '../accounts/queries.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import type { CollectionMethod } from '../collection-terms/types.ts'
import { listLocales } from '../customers/queries.ts'
import { insertIssuedEvents, type IssuedInvoices } from '../events/issued-queries.ts'
import { sendNewWords } from '../finding/words.ts'
import { type HasUnapplied, post } from '../ledger/post.ts'
import { bracketsText, spreadText } from '../components/brackets.ts'
import { fillCollection } from '../collection-terms/fill.ts'
import { deleteDraft, deleteInvoiceTaxes, updateGross, updateIssued } from './draft-queries.ts'
import { isKeptAlike, writeKept } from './fields-wire.ts'
import {
  type ChargeRow,
  drawInvoiceIds,
  insertCharges,
  insertInvoices,
  insertInvoiceTaxes,
  type TaxRow,
} from './issue-queries.ts'
import type { LineAmounts, WrittenLine } from './lines.ts'
import type { InvoiceRow } from './types.ts'

/** The one door through which invoices are issued, whoever composed them, and the steps that follow. */

/** The identifier of an invoice that has none yet. */
export const UNDRAWN: InvoiceId = 0n

/** An invoice to be issued, or kept as a draft; the door gives it its identifier in place, because a run issues millions. */
export interface NewInvoice extends InvoiceRow {
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
  /** Collects the identifiers of the issued invoices, where given: the answer to a change lists them. */
  issued?: InvoiceId[]
  account: Account
  moment: Moment
  actor: string
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
  /** Left out: nothing is logged. */
  warn?: Warn
}

/** Invoices that one call issued, for the steps that follow. */
export interface Issued {
  invoices: readonly {
    id: InvoiceId
    customerId: CustomerId
    currency: string
    dueDate: IsoDate
    collectionMethod: CollectionMethod
    /** Whether the customer gets it by mail and can be reached, so that its row is dated already; left out where nobody has read that yet. */
    isMailWanted?: boolean
  }[]
  /** The customers of them that have unallocated money. */
  unapplied: readonly HasUnapplied[]
  isManual: boolean
}

/** A step after issuing, of a feature that stands above invoices or of invoices themselves. */
export type AfterIssue = (tx: Transaction, context: IssueContext, issued: Issued) => Promise<void>

export interface IssueOptions {
  /** The steps after issuing, in their order; they come after the credits. */
  afterIssue: readonly AfterIssue[]
  zeroCharges?: readonly ZeroCharge[]
  /** Makes the credits of the same operation, before older money is taken. */
  credits?: (ids: readonly InvoiceId[]) => Promise<void>
  /** A caller wrote the invoices. Rule: they take no unallocated money on their own. */
  isManual?: boolean
  /** The one invoice is a draft until now: its lines stay as they are stored. */
  draft?: { hasOwnTaxes: boolean }
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
  const { draft, afterIssue, zeroCharges = [], isManual = false } = options
  await fillCollection(tx, invoices, context.moment.today)
  if (context.account.hasTexts) await fillTexts(tx, invoices)
  if (draft) await settleDraft(tx, invoices[0] as NewInvoice, draft)
  else await insertLines(tx, invoices, zeroCharges)
  const unapplied = invoices.length === 0 ? [] : await insertIssued(tx, context, invoices, draft !== undefined)
  const ids = invoices.map(({ id }) => id)
  context.issued?.push(...ids)
  await options.credits?.(ids)
  if (invoices.length > 0) for (const step of afterIssue) await step(tx, context, { invoices, unapplied, isManual })
  return ids
}

/** Gives invoices the account's texts for the language of their customers, where it has some: the plain ones need not stand in their rows. */
async function fillTexts(tx: Transaction, invoices: readonly NewInvoice[]): Promise<void> {
  if (invoices.length === 0) return
  const settings = await getAccountSettings(tx, tx.account)
  const customerIds = [...new Set(invoices.map(({ customerId }) => customerId))]
  const localeOf = new Map((await listLocales(tx, customerIds)).map(({ id, locale }) => [id, locale]))
  for (const invoice of invoices) fillTextsOf(invoice, settings, localeOf.get(invoice.customerId) ?? null)
}

/** Gives an invoice the account's texts for a language, where they are not the plain ones; null is the account's own language. */
export function fillTextsOf(invoice: NewInvoice, settings: AccountSettings, locale: string | null): void {
  const own = paperTextsOf(settings, locale ?? settings.locale)
  if (own.notes !== settings.notes) invoice.notes ??= own.notes
  if (own.terms !== settings.terms) invoice.terms ??= own.terms
}

/** Writes event, ledger, number and row of invoices whose lines are written. Returns who has unallocated money. */
async function insertIssued(
  tx: Transaction,
  context: IssueContext,
  invoices: readonly NewInvoice[],
  isDraft: boolean,
): Promise<readonly HasUnapplied[]> {
  await recordIssued(tx, context, invoices)
  const unapplied = await post(tx, invoices.map(postedOf), context.moment.now)
  const firstNumber = await takeInvoiceNumbers(tx, tx.account, invoices.length)
  const about = { firstNumber, at: context.moment.now, accountVersion: context.account.version }
  if (isDraft) await updateIssued(tx, invoices[0] as NewInvoice, about)
  else await insertWithWords(tx, invoices, about)
  return unapplied
}

/** Writes the rows of invoices, and the words by which some are found: those that billing makes bear a purchase order number at most. */
async function insertWithWords(
  tx: Transaction,
  invoices: readonly NewInvoice[],
  about: Parameters<typeof insertInvoices>[2],
): Promise<void> {
  await insertInvoices(tx, invoices, about)
  const named = invoices.filter(({ reference, poNumber }) => reference !== null || poNumber !== null)
  sendNewWords(
    tx,
    'invoices',
    named.map(({ id, reference, poNumber }) => ({ id, texts: [reference, poNumber] })),
  )
}

/** Writes an invoice as a draft, which has no number and is owed by nobody. */
export async function insertDraft(tx: Transaction, context: IssueContext, invoice: NewInvoice): Promise<InvoiceId> {
  await insertLines(tx, [invoice], [])
  const { account, moment } = context
  await fillCollection(tx, [invoice], moment.today)
  const about = { firstNumber: null, at: moment.now, accountVersion: account.version }
  await insertWithWords(tx, [invoice], about)
  return invoice.id
}

/** Draws identifiers, and writes lines and taxes. */
async function insertLines(
  tx: Transaction,
  invoices: readonly NewInvoice[],
  zeroCharges: readonly ZeroCharge[],
): Promise<void> {
  const ids = invoices.length === 0 ? [] : await drawInvoiceIds(tx, invoices.length)
  const charges: ChargeRow[] = []
  const taxes: TaxRow[] = []
  for (const [place, invoice] of invoices.entries()) {
    invoice.id = ids[place] as InvoiceId
    for (let line = 0; line < invoice.lines.length; line += 1) charges.push(chargeRow(invoice, line))
    for (const tax of invoice.amounts.taxes) taxes.push(taxRow(tax, invoice.id))
  }
  for (const { subscriptionId, charge } of zeroCharges) charges.push(zeroChargeRow(charge, subscriptionId))
  if (charges.length > 0) await insertCharges(tx, charges)
  if (taxes.length > 0) await insertInvoiceTaxes(tx, taxes)
}

/** Fixes what was provisional of a draft's lines: their taxes, unless they are its own. */
async function settleDraft(
  tx: Transaction,
  { id, amounts }: NewInvoice,
  { hasOwnTaxes }: NonNullable<IssueOptions['draft']>,
): Promise<void> {
  await updateGross(tx, id, amounts.grossMinor)
  if (!hasOwnTaxes) await replaceTaxes(tx, id, amounts)
  await deleteDraft(tx, id)
}

export async function replaceTaxes(tx: Transaction, id: InvoiceId, amounts: LineAmounts): Promise<void> {
  await deleteInvoiceTaxes(tx, id)
  if (amounts.taxes.length > 0)
    await insertInvoiceTaxes(
      tx,
      amounts.taxes.map((tax) => taxRow(tax, id)),
    )
}

/** Records that invoices were issued. The event stores only the fields that can change after issue: all else is frozen in their own rows. */
function recordIssued(tx: Transaction, { moment, actor }: IssueContext, invoices: readonly NewInvoice[]) {
  let last = invoices[0] as NewInvoice
  let text = writeKept(last)
  const texts = invoices.map((invoice) => {
    // Neighbours mostly keep the same, which is written out once.
    if (!isKeptAlike(invoice, last)) text = writeKept((last = invoice))
    return text
  })
  return insertIssuedEvents(tx, {
    ids: bigints(invoices, 'id'),
    ...keptOnce(texts),
    methodIds: invoices.some(({ paymentMethodId }) => paymentMethodId !== null)
      ? bigints(invoices, 'paymentMethodId')
      : null,
    poNumbers: invoices.some(({ poNumber }) => poNumber !== null) ? column(invoices, 'poNumber') : null,
    happenedAt: moment.now,
    actor,
  })
}

/** Returns what events keep, each text once, and the place of that of each event, counted from 0; null where there is one for all. */
export function keptOnce(texts: readonly string[]): Pick<IssuedInvoices, 'kept' | 'keptOf'> {
  const { firsts, places } = placesOf(texts)
  const kept = firsts.map((first) => texts[first] as string)
  return { kept, keptOf: kept.length === 1 ? null : positionsColumn(places) }
}

const postedOf = ({ id, customerId, currency, invoiceDate, totalMinor, amounts }: NewInvoice) => ({
  customerId,
  currency,
  postings: postingsOfInvoice({ id, issuedOn: invoiceDate, cancelledOn: null, totalMinor, taxes: amounts.taxes }),
})

export function chargeRow(invoice: NewInvoice, index: number): ChargeRow {
  const line = invoice.lines[index] as NewInvoice['lines'][number]
  const grossMinor = invoice.amounts.grossMinor[index] as bigint
  if ('kind' in line) return plannedRow(line, invoice.id, invoice.subscriptionId, index + 1, grossMinor)
  const unitPrice = decimalText(line.unitPrice)
  const { from = null, until = null } = invoice.period ?? {}
  return {
    invoiceId: invoice.id,
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
}

const plannedRow = (
  charge: PlannedCharge,
  invoiceId: InvoiceId | null,
  subscriptionId: SubscriptionId | null,
  displayOrder: number,
  grossMinor: bigint,
): ChargeRow => ({
  invoiceId,
  recurringInvoiceId: null,
  displayOrder,
  kind: charge.kind,
  name: charge.name,
  description: null,
  quantity: decimalText(charge.quantity),
  unitPrice: decimalText(charge.unitPrice),
  netMinor: charge.netMinor,
  grossMinor,
  subscriptionId,
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

/** Returns the row of a charge that stands on no invoice. */
export const zeroChargeRow = (charge: PlannedCharge, subscriptionId: SubscriptionId | null): ChargeRow =>
  plannedRow(charge, null, subscriptionId, 0, charge.netMinor)

export const taxRow = (tax: LineAmounts['taxes'][number], invoiceId: InvoiceId): TaxRow => ({
  invoiceId,
  name: tax.name,
  rate: decimalText(tax.rate),
  taxNumber: tax.taxNumber,
  ruleId: tax.ruleId,
  category: tax.category === 'S' ? null : tax.category,
  reasonCode: tax.reasonCode,
  reason: tax.reason === null ? null : JSON.stringify(tax.reason),
  baseMinor: tax.baseMinor,
  amountMinor: tax.amountMinor,
  shares: tax.shares.length > 1 ? arrayLiteral(tax.shares) : null,
})
