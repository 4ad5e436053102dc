import { readFileSync } from 'node:fs'

/** A row of a golden table: cells by the heading of their column. Its first cell names it, its last says why. */
export type Row = Readonly<Record<string, string>>

/** Reads `name.txt` beside this file. Columns stand at least two spaces apart; `#` starts a remark; `-` is an empty cell. */
export function goldenRows(name: string): Row[] {
  const lines = readFileSync(new URL(`./${name}.txt`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.trim().split(/\s{2,}/))
  const headings = lines[0] ?? []
  return lines.slice(1).map((cells) => {
    if (cells.length !== headings.length) throw new Error(`${name}.txt: ${cells.length} cells in "${cells.join('  ')}"`)
    return Object.fromEntries(cells.map((cell, index) => [headings[index]!, cell]))
  })
}

/** "2027-01-01..2027-02-01" as its two days. */
export function daysOfCell(cell: string): [string, string] {
  const [from = '', until = ''] = cell.split('..')
  return [from, until]
}
