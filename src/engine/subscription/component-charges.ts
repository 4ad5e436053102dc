import { earlier, type IsoDate } from '../../kernel/calendar.ts'
import { compare, type Decimal, ONE, subtract, ZERO } from '../../kernel/decimal.ts'
import { amountOf, minorToDecimal, roundToMinor } from '../../kernel/money.ts'
import { type ChargeKind, type PlannedCharge, shareByDays } from './charges.ts'
import { nextCycle, usageFrom } from './component-cycles.ts'
import { type ComponentState, type PricedVersion, type CycleUsage, type OwedRise, versionFor } from './components.ts'
import type { Period } from './period.ts'
import { exactDifference, exactPrice, type PricedBrackets, priceQuantity } from './pricing.ts'

/** The lines of components. Rule: one line a bracket where each is price × quantity, else one line of the exact amount rounded once. */

interface LineFacts {
  kind: ChargeKind
  part: number
  piece: Period
  whole: Period
  digits: number
}

/** Returns the charges of the next cycle in advance, by the day if it is cut. A quantity of 0 gives a charge of 0, so that the cycle counts as billed. */
export function inAdvanceCharges(
  component: ComponentState,
  end: IsoDate | null,
  isProRata: boolean,
  digits: number,
): PlannedCharge[] {
  const { piece, whole } = nextCycle(component, end, isProRata)
  const version = versionFor(component, piece.from)
  return quantityCharges(component, version, component.quantity, { kind: 'component', part: 0, piece, whole, digits })
}

/** Returns the charges for the usage of a cycle on the day it ends. They are never cut by the day, because brackets count units. */
export function meteredCharges(component: ComponentState, piece: Period, digits: number): PlannedCharge[] {
  const { total, isFree } = usageFrom(component, piece.from)
  const facts: LineFacts = { kind: 'metered', part: 0, piece, whole: piece, digits }
  if (isFree) return [freeCharge(component, facts)]
  return quantityCharges(component, versionFor(component, piece.from), total, facts)
}

/** Rule: price(new) − price(highest) for the remaining days; undefined when the end leaves none. */
export function riseCharge(
  component: ComponentState,
  rise: OwedRise,
  cutOn: IsoDate | null,
  digits: number,
): PlannedCharge | undefined {
  const until = [cutOn, rise.cutOn ?? null].reduce<IsoDate>(
    (day, cut) => (cut === null ? day : earlier(day, cut)),
    rise.wholeUntil,
  )
  if (rise.from >= until) return undefined
  const { scheme, list } = versionFor(component, rise.cycleFrom)
  const facts: LineFacts = {
    kind: 'rise',
    part: rise.part,
    piece: { from: rise.from, until },
    whole: { from: rise.wholeFrom, until: rise.wholeUntil },
    digits,
  }
  return bracketsCharge(component, { scheme, list, quantity: rise.quantity, before: rise.before }, facts)
}

/**
 * Rule: price(all its usage) − price(what was invoiced), exact, rounded once; negative for a correction downward. What was charged on a
 * cancelled invoice is left out of both: it is not charged again, and nothing of it is given back. Nor is what was credited of a line given back once more.
 */
export function lateCharge(component: ComponentState, cycle: CycleUsage, digits: number): PlannedCharge {
  const piece = { from: cycle.from, until: cycle.until }
  const facts: LineFacts = { kind: 'late_usage', part: cycle.nextPart, piece, whole: piece, digits }
  if (cycle.isFree) return freeCharge(component, facts)
  const { scheme, list } = versionFor(component, cycle.from)
  const brackets = { scheme, list, quantity: cycle.total, before: cycle.invoiced }
  return bracketsCharge(component, withoutGivenBack(brackets, cycle, digits), facts)
}

/** Returns the difference as far as it lies beyond what stands, and what was charged on cancelled invoices; what was credited of lines does not stand. */
function withoutGivenBack(
  brackets: PricedBrackets,
  { standingMinor, cancelledMinor }: CycleUsage,
  digits: number,
): PricedBrackets {
  if (standingMinor == null || cancelledMinor == null) return brackets
  const difference = exactDifference(brackets)
  const isRise = difference.coefficient > 0n
  const charged = minorToDecimal(isRise ? standingMinor + cancelledMinor : standingMinor, digits)
  const open = subtract(exactPrice(brackets.scheme, brackets.list, brackets.quantity), charged)
  // Never beyond the difference itself, and never of the other sign.
  const due = isRise ? least(most(open, ZERO), difference) : most(least(open, ZERO), difference)
  const leftOut = subtract(difference, due)
  return leftOut.coefficient === 0n ? brackets : { ...brackets, leftOut }
}

const least = (a: Decimal, b: Decimal): Decimal => (compare(a, b) < 0 ? a : b)
const most = (a: Decimal, b: Decimal): Decimal => (compare(a, b) > 0 ? a : b)

function quantityCharges(
  component: ComponentState,
  { scheme, list }: PricedVersion,
  quantity: Decimal,
  facts: LineFacts,
): PlannedCharge[] {
  const isCut = facts.piece.from !== facts.whole.from || facts.piece.until !== facts.whole.until
  if (isCut || scheme === 'stairstep' || quantity.coefficient === 0n)
    return [bracketsCharge(component, { scheme, list, quantity, before: null }, facts)]
  return priceQuantity(scheme, list, quantity).map((line, place) => ({
    ...lineOf(component, facts),
    ...(place === 0 && list.length > 1 ? { spreadBy: { scheme, list } } : {}),
    bracketIndex: line.bracketIndex,
    price: line.price,
    quantity: line.quantity,
    unitPrice: line.price,
    netMinor: amountOf(line.price, line.quantity, 1n, 1n, facts.digits),
  }))
}

/** Returns a line for an exact amount that comes from several brackets, a flat price or a difference. */
function bracketsCharge(component: ComponentState, brackets: PricedBrackets, facts: LineFacts): PlannedCharge {
  const price = exactDifference(brackets)
  const { piece, whole, digits } = facts
  const isCut = piece.from !== whole.from || piece.until !== whole.until
  const netMinor = isCut ? shareByDays(price, piece, whole, digits) : roundToMinor(price, digits)
  return { ...lineOf(component, facts), brackets, price, unitPrice: minorToDecimal(netMinor, digits), netMinor }
}

const freeCharge = (component: ComponentState, facts: LineFacts): PlannedCharge => lineOf(component, facts)

const lineOf = (
  { componentId, name, stretch }: ComponentState,
  { kind, part, piece, whole }: LineFacts,
): PlannedCharge => ({
  kind,
  itemId: componentId,
  part,
  bracketIndex: 0,
  stretch,
  from: piece.from,
  until: piece.until,
  wholeFrom: whole.from,
  wholeUntil: whole.until,
  price: ZERO,
  quantity: ONE,
  brackets: null,
  name,
  unitPrice: ZERO,
  netMinor: 0n,
})
