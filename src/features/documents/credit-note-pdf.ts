import { sumMinor } from '../../kernel/money.ts'
import { ink, QUIET } from '../../platform/pdf/sheet.ts'
import { drawTable, fittedColumns, type Row } from '../../platform/pdf/table.ts'
import type { CreditNoteDocument } from './document.ts'
import { drawNotice, drawParties, drawSums, drawTexts, type Letter, openLetter, taxLine } from './letter.ts'
import type { Words } from './words.ts'

/** Returns the title of a credit note: one that corrects no invoice is money alone. */
export const titleOfNote = (words: Words, { invoices }: Pick<CreditNoteDocument, 'invoices'>): string =>
  invoices.length > 0 ? words.correction : words.accountCredit

/** Draws a credit note as a tagged PDF: what it corrects, and nothing that its money does. */
export function renderCreditNote(note: CreditNoteDocument): Buffer {
  const letter = openLetter(note, { title: (words) => titleOfNote(words, note), number: note.number })
  const { words, formats } = letter
  const [only, ...others] = note.invoices
  if (!note.isSent) drawNotice(letter, words.provisional)
  if (!only) drawNotice(letter, words.correctsNone)
  else if (note.unsettledMinor > 0n)
    drawNotice(letter, words.unsettled(formats.money(note.unsettledMinor, note.currency)))
  drawParties(letter, note, words.creditedTo, [
    [words.creditNumber, note.number],
    [words.date, formats.longDate(note.date)],
    [
      words.forInvoice,
      only && others.length === 0 ? words.invoiceOf(only.number ?? '', formats.date(only.date)) : null,
    ],
    [words.currency, note.currency],
  ])
  drawLines(letter, note)
  drawTotals(letter, note)
  drawTexts(letter, [[words.reason, note.reason]])
  return letter.sheet.finish()
}

/** Draws the lines that are credited; without them the part of each invoice. */
function drawLines({ sheet, words, formats }: Letter, { lines, invoices, currency }: CreditNoteDocument): void {
  const parts = invoices.map(({ number, date, netMinor }) => ({
    name: words.partOfInvoice(number ?? '', formats.date(date)),
    description: null,
    netMinor,
  }))
  const drawn = lines.length > 0 ? lines : parts
  if (drawn.length === 0) return
  const columns = [
    { title: words.description, width: sheet.width },
    { title: words.amountIn(currency), width: 140, align: 'right' as const },
  ]
  const rows = drawn.map(({ name, description, netMinor }): Row => {
    const small = description ? [{ text: description, ink: ink(8, 'regular', QUIET) }] : []
    return {
      cells: [
        [{ text: name, ink: ink(9, 'bold') }, ...small],
        [{ text: formats.amount(netMinor, currency), ink: ink(9) }],
      ],
    }
  })
  drawTable(sheet, fittedColumns(columns, rows, sheet.width), rows, { x: sheet.left })
  sheet.y += 10
}

/** Draws the sums: net, taxes, and the total; of what corrects no invoice the total alone. */
function drawTotals(
  letter: Letter,
  { invoices, taxes, currency, totalMinor, unsettledMinor }: CreditNoteDocument,
): void {
  const { words, formats } = letter
  const total = { name: words.credited, value: formats.money(totalMinor, currency), isStrong: true }
  if (invoices.length === 0) return drawSums(letter, [total])
  const netMinor = totalMinor - unsettledMinor - sumMinor(taxes)
  const rest = { name: words.withoutInvoice, value: formats.amount(unsettledMinor, currency) }
  drawSums(letter, [
    { name: words.subtotal, value: formats.amount(netMinor, currency) },
    ...taxes.map((tax) => taxLine(letter, tax, currency)),
    ...(unsettledMinor > 0n ? [rest] : []),
    total,
  ])
}
