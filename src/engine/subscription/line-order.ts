import { sumMinor } from '../../kernel/money.ts'
import { earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { ChargeKind, PlannedCharge } from './charges.ts'

/** The lines of a composed invoice: their order, the dates that follow from them, and what a negative one turns into. */

/** Rule: when an invoice would be negative, its negative lines all become credits; the others are invoiced. */
export function splitNegative(charges: readonly PlannedCharge[]): { kept: PlannedCharge[]; negative: PlannedCharge[] } {
  const netMinor = sumMinor(charges, 'netMinor')
  if (netMinor >= 0n) return { kept: [...charges], negative: [] }
  const isNegative = (charge: PlannedCharge): boolean => charge.netMinor < 0n
  return { kept: charges.filter((charge) => !isNegative(charge)), negative: charges.filter(isNegative) }
}

/** Rule: set-up, trial, package, components in advance, rises, metered, late usage; within each by component, period, bracket. */
const LINE_ORDER: readonly (readonly ChargeKind[])[] = [
  ['setup'],
  ['trial'],
  ['package', 'package_extension'],
  ['component', 'component_extension'],
  ['rise'],
  ['metered'],
  ['late_usage'],
]
const rankOf = (kind: ChargeKind): number => LINE_ORDER.findIndex((kinds) => kinds.includes(kind))

export function byLine(a: PlannedCharge, b: PlannedCharge): number {
  const [rankA, rankB] = [rankOf(a.kind), rankOf(b.kind)]
  if (rankA !== rankB) return rankA - rankB
  if (a.itemId !== b.itemId) return a.itemId < b.itemId ? -1 : 1
  if (a.from !== b.from) return (a.from ?? '') < (b.from ?? '') ? -1 : 1
  return a.bracketIndex - b.bracketIndex || a.part - b.part
}

const IN_ADVANCE: readonly ChargeKind[] = ['package', 'component']

/**
 * Returns the dates of an invoice. Payment terms count from the later of the invoice's date and the first day of its earliest period in
 * advance.
 */
export function datesOf(
  scheduledOn: IsoDate,
  today: IsoDate,
  charges: readonly PlannedCharge[],
): { invoiceDate: IsoDate; dueFrom: IsoDate } {
  const invoiceDate = later(scheduledOn, today)
  const first = earliest(...charges.filter(({ kind }) => IN_ADVANCE.includes(kind)).map(({ from }) => from))
  return { invoiceDate, dueFrom: first === null ? invoiceDate : later(invoiceDate, first) }
}
