import { daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import { type Decimal, ONE } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { amountOf, sumMinor } from '../../kernel/money.ts'
import type { TaxAmount } from '../money/postings.ts'
import { settleAmount, settleGivenBack, type Settling, type SettlingInvoice } from '../money/settle.ts'
import type { ChargeKind } from './charges.ts'
import type { GivenBack, InvoicedCharge } from './coverage.ts'

/** Credit notes from what is given back, and where their money goes. */

/** Invoice with the amounts that can still be credited of it. */
export interface CreditableInvoice extends SettlingInvoice {
  invoiceId: Id
  /** Total less what credit notes settle of it and bad debt allocated to it. */
  leftMinor: bigint
}

/** Line of a credit note by value: its amount follows from these facts alone (`recomputeCredit`). */
export interface CreditLine {
  chargeId: Id
  kind: ChargeKind
  name: string
  /** Unused days, half-open; null for what covers no days. */
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  /** Exact price of the whole period. */
  price: Decimal
  creditedBeforeMinor: bigint
  /** The most that could be given back: what is left of the charge, or less where the invoice had less left. */
  mostMinor: bigint
  netMinor: bigint
}

export interface PlannedCreditNote {
  invoiceId: Id
  lines: CreditLine[]
  taxes: TaxAmount[]
  netMinor: bigint
  totalMinor: bigint
  /** Its taxes are those of the net given back, or of the gross amount to which that was cut. */
  basis: 'given_back' | 'amount'
}

/** Returns round(price × unused days ÷ days of the whole period), at most what is left; a line without days gives back its price. */
export function recomputeCredit(
  line: Pick<CreditLine, 'from' | 'until' | 'wholeFrom' | 'wholeUntil' | 'price' | 'mostMinor'>,
  digits: number,
): bigint {
  const { from, until, wholeFrom, wholeUntil } = line
  const part = from === null || until === null ? 1 : daysBetween(from, until)
  const whole = from === null || until === null ? 1 : daysBetween(wholeFrom ?? from, wholeUntil ?? until)
  return least(amountOf(line.price, ONE, BigInt(part), BigInt(whole), digits), line.mostMinor)
}

/** An amount (positive) that a correction of usage takes back of the charges of its cycle. */
export interface Correction {
  amountMinor: bigint
  charges: readonly InvoicedCharge[]
}

/**
 * Plans one credit note for each invoice credited, in the order in which the invoices are first met, whatever of an operation credits it: days
 * given back, and corrections of usage. Rules: a line gives back at most what of its charge is not yet credited; each tax is rounded once on the
 * sum of the lines, within the bounds of settlements; where they come to more than can be credited of the invoice, the note is for that gross
 * amount; at 0 no note is made. Charges without an invoice give nothing back.
 */
export function planCreditNotes(
  givenBack: readonly GivenBack[],
  invoices: readonly CreditableInvoice[],
  digits: number,
  corrections: readonly Correction[] = [],
): PlannedCreditNote[] {
  const lines = givenBack.map((back): InvoicedLine => [back.charge.invoiceId, creditLine(back, digits)])
  for (const { amountMinor, charges } of corrections)
    lines.push(...correctedLines(amountMinor, charges, lines, invoices))
  const byInvoice = new Map<Id, CreditLine[]>()
  for (const [invoiceId, line] of lines) {
    if (invoiceId === null || line.netMinor <= 0n) continue
    const found = byInvoice.get(invoiceId)
    if (found) found.push(line)
    else byInvoice.set(invoiceId, [line])
  }
  const notes: PlannedCreditNote[] = []
  for (const [invoiceId, of] of byInvoice) {
    const invoice = invoices.find((candidate) => candidate.invoiceId === invoiceId)
    const note = invoice && noteFor(invoice, of)
    if (note && note.totalMinor > 0n) notes.push(note)
  }
  return notes
}

/** Line with the invoice of its charge. */
type InvoicedLine = readonly [invoiceId: Id | null, line: CreditLine]

/**
 * Rule: when an invoice of the rules would be negative, its negative lines become credits of the charges of their cycles. Shares an amount
 * among those charges, the newest first, each at most what is left of it after the lines before; what none can take is dropped.
 */
function correctedLines(
  amountMinor: bigint,
  charges: readonly InvoicedCharge[],
  before: readonly InvoicedLine[],
  invoices: readonly CreditableInvoice[],
): InvoicedLine[] {
  const lines: InvoicedLine[] = []
  let left = amountMinor
  for (const charge of charges.toSorted((a, b) => (a.chargeId < b.chargeId ? 1 : -1))) {
    const given = sumMinor(
      before.flatMap(([, line]) => (line.chargeId === charge.chargeId ? [line] : [])),
      'netMinor',
    )
    const amount = least(left, charge.netMinor - charge.creditedMinor - given)
    if (charge.invoiceId === null || amount <= 0n) continue
    left -= amount
    const whole = creditLine({ charge, from: charge.from, until: charge.until }, 0)
    lines.push([
      charge.invoiceId,
      { ...whole, creditedBeforeMinor: charge.creditedMinor + given, mostMinor: amount, netMinor: amount },
    ])
  }
  const place = (id: Id | null) => invoices.findIndex(({ invoiceId }) => invoiceId === id)
  return lines.toSorted(([a], [b]) => place(a) - place(b))
}

function creditLine({ charge, from, until }: GivenBack, digits: number): CreditLine {
  const mostMinor = charge.netMinor - charge.creditedMinor
  const facts = {
    from,
    until,
    wholeFrom: from === null ? null : charge.wholeFrom,
    wholeUntil: from === null ? null : charge.wholeUntil,
    price: charge.price,
    mostMinor,
  }
  return {
    chargeId: charge.chargeId,
    kind: charge.kind,
    name: charge.name,
    ...facts,
    creditedBeforeMinor: charge.creditedMinor,
    netMinor: recomputeCredit(facts, digits),
  }
}

function noteFor(invoice: CreditableInvoice, lines: readonly CreditLine[]): PlannedCreditNote {
  const wanted = sumMinor(lines, 'netMinor')
  const byLines = settleGivenBack(invoice, wanted)
  const isWhole = byLines.grossMinor <= invoice.leftMinor
  const { netMinor, grossMinor, taxes } = isWhole ? byLines : cutToLeft(invoice, wanted)
  return {
    invoiceId: invoice.invoiceId,
    lines: isWhole ? [...lines] : cutLines(lines, netMinor),
    taxes,
    netMinor,
    totalMinor: grossMinor,
    basis: isWhole ? 'given_back' : 'amount',
  }
}

/**
 * Settles what of an invoice can be credited. Where more tax than its part was taken back before, that would come to more net than is given
 * back: then so much less.
 */
function cutToLeft(invoice: CreditableInvoice, wantedMinor: bigint): Settling {
  let grossMinor = invoice.leftMinor > 0n ? invoice.leftMinor : 0n
  for (;;) {
    const settling = settleAmount(invoice, grossMinor)
    if (settling.netMinor <= wantedMinor) return settling
    grossMinor -= settling.netMinor - wantedMinor
  }
}

/** Cuts lines to the net amount that their invoice has left: they get it in their order, and lines that get nothing are left out. */
function cutLines(lines: readonly CreditLine[], netMinor: bigint): CreditLine[] {
  const cut: CreditLine[] = []
  let left = netMinor
  for (const line of lines) {
    const amount = least(line.netMinor, left)
    if (amount === 0n) break
    cut.push(amount === line.netMinor ? line : { ...line, mostMinor: amount, netMinor: amount })
    left -= amount
  }
  return cut
}

export interface OpenInvoice {
  invoiceId: Id
  invoiceDate: IsoDate
  /** Open amount of the invoice, in minor units. */
  openMinor: bigint
}

export interface Placement {
  /** Index of the credit note in the given list. */
  note: number
  invoiceId: Id
  amountMinor: bigint
}

/**
 * Allocates the money of credit notes. Rule: to the invoice it credits as far as that is open; then, where unallocated money is
 * applied automatically, to the invoices made by the same operation, then to the customer's other open ones, oldest first; the rest
 * stays unallocated. `open` are the customer's open invoices of the currency, the credited ones among them, the made ones not.
 */
export function placeCredits(
  notes: readonly { invoiceId: Id; totalMinor: bigint }[],
  open: readonly OpenInvoice[],
  made: readonly OpenInvoice[],
  isAutoApply: boolean,
): { placements: Placement[]; unallocatedMinor: bigint[] } {
  const openMinor = new Map([...open, ...made].map((invoice) => [invoice.invoiceId, invoice.openMinor]))
  const left = notes.map(({ totalMinor }) => totalMinor)
  const placements: Placement[] = []
  const place = (note: number, invoiceId: Id): void => {
    const amountMinor = least(left[note]!, openMinor.get(invoiceId) ?? 0n)
    if (amountMinor <= 0n) return
    placements.push({ note, invoiceId, amountMinor })
    left[note]! -= amountMinor
    openMinor.set(invoiceId, openMinor.get(invoiceId)! - amountMinor)
  }
  notes.forEach(({ invoiceId }, note) => place(note, invoiceId))
  if (isAutoApply)
    for (const { invoiceId } of [...made.toSorted(byAge), ...open.toSorted(byAge)])
      notes.forEach((_, note) => place(note, invoiceId))
  return { placements, unallocatedMinor: left }
}

function byAge(a: OpenInvoice, b: OpenInvoice): number {
  if (a.invoiceDate !== b.invoiceDate) return a.invoiceDate < b.invoiceDate ? -1 : 1
  return a.invoiceId < b.invoiceId ? -1 : 1
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
