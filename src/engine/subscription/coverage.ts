import { earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { add, type Decimal, ONE, ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { minorToDecimal } from '../../kernel/money.ts'
import { type ChargeKind, type PlannedCharge, shareByDays } from './charges.ts'

/**
 * Which days of a subscription are paid for in advance, and by which charge. Credits give such days back, a change of package charges
 * them anew, and an end that moves later extends them.
 */

/** A charge as it was made, with what was given back of it since. */
export interface InvoicedCharge {
  chargeId: Id
  /** Null when it was billed at 0.00 or its invoice was cancelled: its days count as charged, and nothing can be given back. */
  invoiceId: Id | null
  /** Whether its invoice was cancelled: what it charged is then never charged again. */
  isInvoiceCancelled: boolean
  kind: ChargeKind
  itemId: Id
  name: string
  stretch: number
  part: number
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  /** Exact price of the whole period for all that this line charges: price × quantity, or what its brackets make (`wholePriceOf`). */
  price: Decimal
  netMinor: bigint
  /** Net amount that earlier credit notes gave back. */
  creditedMinor: bigint
  /** First day given back by an earlier operation, also when that came to 0.00; null when none was. */
  creditedFrom: IsoDate | null
}

/** Days of a charge that still count, half-open and never empty. */
export interface CoveredDays {
  charge: InvoicedCharge
  from: IsoDate
  until: IsoDate
  wholeFrom: IsoDate
  wholeUntil: IsoDate
}

/** Days given back of one charge: half-open, both null for the whole of a charge without days (the trial fee). */
export interface GivenBack {
  charge: InvoicedCharge
  from: IsoDate | null
  until: IsoDate | null
}

const PACKAGE_KINDS: readonly ChargeKind[] = ['package', 'package_extension']
const COMPONENT_KINDS: readonly ChargeKind[] = ['component', 'component_extension', 'rise']

export const isPackageKind = (kind: ChargeKind): boolean => PACKAGE_KINDS.includes(kind)
/** Returns whether a charge is made before it is used, so that it can be given back by the day. */
export const isInAdvance = (kind: ChargeKind): boolean => isPackageKind(kind) || COMPONENT_KINDS.includes(kind)

/** Returns the key under which later charges follow earlier ones: a package follows any package, a component only itself. */
const lineageOf = ({ kind, itemId }: InvoicedCharge): string => (isPackageKind(kind) ? 'package' : String(itemId))

/**
 * Returns the days that charges in advance still cover, in the order of the charges. Days given back are left out, and so are days that a
 * later stretch took over: the day on which a stretch begins belongs to it, whatever an earlier one had charged.
 */
export function coveredDays(charges: readonly InvoicedCharge[]): CoveredDays[] {
  const covered: CoveredDays[] = []
  for (const charge of charges) {
    const { from, until, wholeFrom, wholeUntil } = charge
    if (!isInAdvance(charge.kind) || from === null || until === null) continue
    const end = earlier(charge.creditedFrom ?? until, takenOverOn(charge, charges) ?? until)
    if (earlier(end, until) <= from) continue
    covered.push({
      charge,
      from,
      until: earlier(end, until),
      wholeFrom: wholeFrom ?? from,
      wholeUntil: wholeUntil ?? until,
    })
  }
  return covered
}

/** Returns the first day of the stretches after the one of a charge; null when there is none. */
function takenOverOn(charge: InvoicedCharge, charges: readonly InvoicedCharge[]): IsoDate | null {
  const lineage = lineageOf(charge)
  let first: IsoDate | null = null
  for (const other of charges) {
    if (other.stretch <= charge.stretch || other.from === null) continue
    if (!isInAdvance(other.kind) || lineageOf(other) !== lineage) continue
    if (first === null || other.from < first) first = other.from
  }
  return first
}

/** Rule: of what is invoiced the days from a day on are unused; the day itself belongs to what comes after. */
export const unusedFrom = (covered: readonly CoveredDays[], day: IsoDate): GivenBack[] =>
  covered
    .filter(({ until }) => until > day)
    .map(({ charge, from, until }) => ({ charge, from: later(from, day), until }))

/** Rule: a period invoiced ahead that has not begun is given back whatever kind of cancelling was asked for. */
export const notBegun = (covered: readonly CoveredDays[], today: IsoDate): GivenBack[] =>
  covered.filter(({ wholeFrom }) => wholeFrom > today).map(({ charge, from, until }) => ({ charge, from, until }))

/**
 * Rule: a cancellation with full credit gives back the running period or piece with its rises and extensions, and every later one,
 * in full; days charged by an earlier stretch, before a change of package, stay charged. During the trial the trial fee comes back too.
 */
export function runningAndLater(charges: readonly InvoicedCharge[], today: IsoDate, isInTrial: boolean): GivenBack[] {
  const covered = coveredDays(charges)
  const back: GivenBack[] = isInTrial
    ? charges.filter(({ kind }) => kind === 'trial').map((charge) => ({ charge, from: null, until: null }))
    : []
  for (const days of covered) {
    const isRunning = days.wholeFrom <= today && today < days.wholeUntil
    if (days.wholeFrom > today || (isRunning && days.charge.stretch === runningStretch(days.charge, covered, today)))
      // All its days, also those given back before: the rest of the line comes back to the cent.
      back.push({ charge: days.charge, from: days.from, until: days.charge.until })
  }
  return back
}

/** Returns the stretch that covers today, of the package or component of a charge. */
const runningStretch = (charge: InvoicedCharge, covered: readonly CoveredDays[], today: IsoDate): number | undefined =>
  covered.find(
    ({ charge: other, from, until }) => lineageOf(other) === lineageOf(charge) && from <= today && today < until,
  )?.charge.stretch

/** Extension by a later end: days of periods that an earlier end had cut or given back can be charged again. */
export interface Extension {
  /** Charges of the extension, a line for each period. */
  charges: PlannedCharge[]
  /** How far each item is charged now: a cursor that stands before that day moves to it. */
  until: { kind: ChargeKind; itemId: Id; until: IsoDate }[]
}

/**
 * Rule: when the end moves later or is dropped, whatever is uncovered again of every invoiced period is charged by the day at once, one
 * line a period; nothing for a period that was charged in full, and nothing again for days of a cancelled invoice. `startDate` keeps periods of an earlier life of the subscription out.
 * `end` is the new first day not covered, null for none.
 */
export function extendTo(
  charges: readonly InvoicedCharge[],
  startDate: IsoDate,
  end: IsoDate | null,
  digits: number,
): Extension {
  const extension: Extension = { charges: [], until: [] }
  for (const lines of invoicedPeriods(charges, startDate)) {
    const first = lines[0]!
    const takeover = takenOverOn(first, charges)
    const { from, price } = lastCovered(lines)
    let until = earlier(first.wholeUntil!, end ?? first.wholeUntil!)
    if (takeover !== null) until = earlier(until, takeover)
    if (from >= until) continue
    extension.charges.push(extensionCharge(lines, price, from, until, digits))
    extension.until.push({ kind: first.kind, itemId: first.itemId, until })
  }
  return extension
}

/** Groups the lines in advance by item, stretch and whole period. */
function invoicedPeriods(charges: readonly InvoicedCharge[], startDate: IsoDate): InvoicedCharge[][] {
  const periods = new Map<string, InvoicedCharge[]>()
  for (const charge of charges) {
    if (!isInAdvance(charge.kind) || charge.from === null || charge.from < startDate) continue
    const key = `${lineageOf(charge)}/${charge.itemId}/${charge.stretch}/${charge.wholeFrom}`
    const found = periods.get(key)
    if (found) found.push(charge)
    else periods.set(key, [charge])
  }
  return [...periods.values()]
}

/** Returns the day on which the covered part of a period ends, and the exact price of a whole period by the charge that covers it last. */
function lastCovered(lines: readonly InvoicedCharge[]): { from: IsoDate; price: Decimal } {
  const ends = lines.map((line) => ({
    line,
    from: line.from!,
    // Cancelling an invoice never reopens its days, also not those that were given back of it.
    end: line.isInvoiceCancelled ? line.until! : earlier(line.creditedFrom ?? line.until!, line.until!),
  }))
  const used = ends.filter(({ from, end }) => end > from)
  // All of it was given back: then everything that began with the period is charged again.
  const counted = used.length > 0 ? used : ends
  const from = counted
    .map(({ end }) => end)
    .reduce(used.length > 0 ? later : earlier, counted[0]?.end ?? lines[0]!.from!)
  const price = counted.filter(({ end }) => end === from).reduce((sum, { line }) => add(sum, line.price), ZERO)
  return { from, price }
}

function extensionCharge(
  lines: readonly InvoicedCharge[],
  price: Decimal,
  from: IsoDate,
  until: IsoDate,
  digits: number,
): PlannedCharge {
  const first = lines[0]!
  const whole = { from: first.wholeFrom!, until: first.wholeUntil! }
  const netMinor = shareByDays(price, { from, until }, whole, digits)
  return {
    kind: isPackageKind(first.kind) ? 'package_extension' : 'component_extension',
    itemId: first.itemId,
    part: lines.reduce((highest, { part }) => Math.max(highest, part), 0) + 1,
    bracketIndex: 0,
    stretch: first.stretch,
    from,
    until,
    wholeFrom: whole.from,
    wholeUntil: whole.until,
    price,
    quantity: ONE,
    brackets: null,
    name: first.name,
    unitPrice: minorToDecimal(netMinor, digits),
    netMinor,
  }
}
