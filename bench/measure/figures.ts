/** Figures of repeated measurements: the median, its range, and whether the machine was quiet enough to believe them. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** The value that so large a part (0 to 1) of all values does not exceed. */
export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)] ?? Number.NaN

const shown = (value: number): string => {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

/** "1,234 (1,100–1,300)". */
export const spread = (values: readonly number[]): string =>
  `${shown(median(values))} (${shown(Math.min(...values))}–${shown(Math.max(...values))})`

/** A floor that moved this much tells more about the machine than about the program. */
export const isNoisy = (floor: readonly number[]): boolean => Math.max(...floor) > 2 * Math.min(...floor)

/** Median of the ratios of neighbours: floor and subject ran seconds apart, so what disturbed one disturbed both. */
export const ratioOf = (dividends: readonly number[], divisors: readonly number[]): number[] =>
  dividends.map((value, index) => value / (divisors[index] ?? Number.NaN))

export interface Verdict {
  goal: string
  /** As it was measured, with the goal's unit. */
  reached: string
  isMet: boolean
}

export function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function tellTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows]
  const widths = head.map((_, place) => Math.max(...all.map((row) => row[place]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join(' | ')} |`
  tell(line(head))
  tell(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
  for (const row of rows) tell(line(row))
}

/** Prints goals and whether they were reached; a missed one makes the program fail, unless only its working was tried. */
export function tellVerdicts(verdicts: readonly Verdict[], { isSmoke }: { isSmoke: boolean }): void {
  for (const { goal, reached, isMet } of verdicts)
    tell(`${isSmoke ? 'not judged' : isMet ? 'met' : 'MISSED'}: ${goal}: ${reached}`)
  if (!isSmoke && verdicts.some(({ isMet }) => !isMet)) process.exitCode = 1
}
