import { addDays, type IsoDate } from '../kernel/calendar.ts'

/** When what an invoice is for was supplied: on one day, or on the days that its lines cover, of which `to` is the last. */
export interface Supply {
  on: IsoDate | null
  from: IsoDate | null
  to: IsoDate | null
}

/** Days of a line, half-open. */
interface SuppliedLine {
  from: IsoDate | null
  until: IsoDate | null
}

/** Returns the days of a supply. Rule: a given day, else the days from the first to the last that lines cover, else the day of the invoice. */
export function supplyOf(
  { supplyDate, invoiceDate }: { supplyDate: IsoDate | null; invoiceDate: IsoDate | null },
  lines: readonly SuppliedLine[],
): Supply {
  if (supplyDate !== null) return { on: supplyDate, from: null, to: null }
  let [first, end]: [IsoDate | null, IsoDate | null] = [null, null]
  for (const { from, until } of lines) {
    if (from !== null && (first === null || from < first)) first = from
    if (until !== null && (end === null || until > end)) end = until
  }
  if (first === null || end === null) return { on: invoiceDate, from: null, to: null }
  return { on: null, from: first, to: addDays(end, -1) }
}
