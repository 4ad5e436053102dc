import { sumMinor } from '../../kernel/money.ts'
import { ink, QUIET } from '../../platform/pdf/sheet.ts'
import { drawTable, type Row } from '../../platform/pdf/table.ts'
import type { CreditNoteDocument } from './document.ts'
import { drawParties, drawSums, drawTexts, type Letter, openLetter } from './letter.ts'

/** Draws a credit note as a tagged PDF. */
export function renderCreditNote(note: CreditNoteDocument): Buffer {
  const letter = openLetter(note, { title: (words) => words.creditNote, number: note.number })
  const { words, formats } = letter
  drawParties(letter, note, words.creditedTo, [
    [words.creditNumber, note.number],
    [words.date, formats.longDate(note.date)],
    [words.forInvoice, note.invoiceNumber],
    [words.currency, note.currency],
  ])
  if (note.lines.length > 0) drawLines(letter, note)
  drawTotals(letter, note)
  drawUse(letter, note)
  drawTexts(letter, [[words.notes, note.memo]])
  return letter.sheet.finish()
}

function drawLines({ sheet, words, formats }: Letter, { lines, currency }: CreditNoteDocument): void {
  const columns = [
    { title: words.description, width: sheet.width - 130 },
    { title: words.amountIn(currency), width: 130, align: 'right' as const },
  ]
  const rows = lines.map(({ name, description, netMinor }): Row => {
    const small = description ? [{ text: description, ink: ink(8, 'regular', QUIET) }] : []
    return {
      cells: [
        [{ text: name, ink: ink(9, 'bold') }, ...small],
        [{ text: formats.amount(netMinor, currency), ink: ink(9) }],
      ],
    }
  })
  drawTable(sheet, columns, rows, { x: sheet.left })
  sheet.y += 10
}

/** Draws the sums. With lines, net and taxes add up to the total; without, the taxes are what the total contains. */
function drawTotals(letter: Letter, { lines, taxes, currency, totalMinor }: CreditNoteDocument): void {
  const { words, formats } = letter
  const total = { name: words.credited, value: formats.money(totalMinor, currency), isStrong: true }
  const label = lines.length > 0 ? words.taxLabel : words.containedTax
  const taxLines = taxes.map(({ name, rate, amountMinor }) => ({
    name: label(name, formats.rate(rate)),
    value: formats.amount(amountMinor, currency),
  }))
  if (lines.length === 0) return drawSums(letter, [total, ...taxLines])
  const netMinor = sumMinor(lines, 'netMinor')
  drawSums(letter, [{ name: words.subtotal, value: formats.amount(netMinor, currency) }, ...taxLines, total])
}

function drawUse(letter: Letter, { applied, unallocatedMinor, currency }: CreditNoteDocument): void {
  const { sheet, words, formats } = letter
  sheet.y += 16
  sheet.need(70)
  const columns = [
    { title: words.usedFor, width: sheet.width - 240 },
    { title: words.date, width: 110 },
    { title: words.amountIn(currency), width: 130, align: 'right' as const },
  ]
  const rowOf = (cells: string[]): Row => ({ cells: cells.map((text) => [{ text, ink: ink(8.5) }]) })
  const rows = applied.map(({ date, kind, reference, amountMinor }) =>
    rowOf([
      [words.movements[kind], reference].filter(Boolean).join(' '),
      formats.date(date),
      formats.amount(amountMinor, currency),
    ]),
  )
  if (unallocatedMinor > 0n) rows.push(rowOf([words.unallocated, '', formats.amount(unallocatedMinor, currency)]))
  if (rows.length > 0) drawTable(sheet, columns, rows, { x: sheet.left })
}
