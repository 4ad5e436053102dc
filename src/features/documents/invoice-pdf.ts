import { sumMinor } from '../../kernel/money.ts'
import { ink, QUIET } from '../../platform/pdf/sheet.ts'
import { drawTable, fittedColumns, type Row, type TableColumn } from '../../platform/pdf/table.ts'
import type { DocumentLine, InvoiceDocument } from './document.ts'
import { drawNotice, drawParties, drawSums, drawTexts, type Letter, openLetter, taxLine } from './letter.ts'
import { supplyFact } from './words.ts'

/** Draws an invoice as a tagged PDF. Drafts and cancelled ones are marked across each page and in words. */
export function renderInvoice(invoice: InvoiceDocument): Buffer {
  const letter = openLetter(invoice, {
    title: (words) => (invoice.account.vatNumber ? words.taxInvoice : words.invoice),
    number: invoice.number,
    watermark: (words) =>
      invoice.state === 'draft' ? words.draft : invoice.state === 'cancelled' ? words.cancelled : null,
  })
  const { words, formats } = letter
  if (invoice.state === 'draft') drawNotice(letter, words.draftNotice)
  if (invoice.state === 'cancelled') drawNotice(letter, words.cancelledNotice)
  drawParties(letter, invoice, words.to, [
    [words.invoiceNumber, invoice.number],
    [words.invoiceDate, formats.longDate(invoice.invoiceDate)],
    [words.dueDate, formats.longDate(invoice.dueDate)],
    supplyFact(letter, invoice.supply),
    [words.reference, invoice.reference],
    [words.poNumber, invoice.poNumber],
    [words.currency, invoice.currency],
  ])
  drawLines(letter, invoice)
  drawTotals(letter, invoice)
  drawApplied(letter, invoice)
  drawTexts(letter, [
    [words.notes, invoice.notes],
    [words.terms, invoice.terms],
    [words.bankDetails, invoice.bankDetails],
  ])
  return letter.sheet.finish()
}

function drawLines({ sheet, words, formats }: Letter, { lines, currency }: InvoiceDocument): void {
  const columns: TableColumn[] = [
    { title: words.description, width: sheet.width },
    { title: words.quantity, width: 80, align: 'right' },
    { title: words.unitPrice, width: 95, align: 'right' },
    { title: words.amountIn(currency), width: 125, align: 'right' },
  ]
  const plain = ink(9)
  const rowOf = ({ name, description, quantity, unitPrice, netMinor }: DocumentLine): Row => ({
    cells: [
      [
        ...(name ? [{ text: name, ink: ink(9, 'bold') }] : []),
        ...(description ? [{ text: description, ink: ink(8, 'regular', QUIET) }] : []),
      ],
      [{ text: formats.number(quantity), ink: plain }],
      [{ text: formats.price(unitPrice, currency), ink: plain }],
      [{ text: formats.amount(netMinor, currency), ink: plain }],
    ],
  })
  const rows = lines.map(rowOf)
  drawTable(sheet, fittedColumns(columns, rows, sheet.width), rows, { x: sheet.left })
  sheet.y += 10
}

function drawTotals(letter: Letter, { lines, taxes, currency, totalMinor }: InvoiceDocument): void {
  const { words, formats } = letter
  const netMinor = sumMinor(lines, 'netMinor')
  drawSums(letter, [
    ...(taxes.length > 0 ? [{ name: words.subtotal, value: formats.amount(netMinor, currency) }] : []),
    ...taxes.map((tax) => taxLine(letter, tax, currency)),
    { name: words.total, value: formats.money(totalMinor, currency), isStrong: true },
  ])
}

function drawApplied(letter: Letter, invoice: InvoiceDocument): void {
  const { applied, appliedAfterMinor, balanceMinor, writtenOffMinor, currency, state } = invoice
  const { sheet, words, formats } = letter
  if (applied.length > 0) {
    sheet.y += 16
    sheet.need(70)
    sheet.paragraph('H2', words.paidSoFar, ink(8.5, 'bold', QUIET))
    sheet.y += 2
    const columns: TableColumn[] = [
      { title: words.date, width: 100 },
      { title: words.kind, width: 130 },
      { title: words.reference, width: sheet.width - 350 },
      { title: words.amountIn(currency), width: 120, align: 'right' },
    ]
    const rowOf = (cells: readonly string[]): Row => ({ cells: cells.map((text) => [{ text, ink: ink(8.5) }]) })
    const rows = applied.map(({ date, kind, reference, method, isPending, amountMinor }): Row => {
      const kindText = isPending ? `${words.applied[kind]} (${words.pending})` : words.applied[kind]
      const by = reference ?? (method === null ? '' : words.methods[method])
      const cells = [formats.date(date), kindText, by, formats.amount(-amountMinor, currency)]
      return rowOf(cells)
    })
    if (appliedAfterMinor !== 0n)
      rows.push(rowOf(['', words.appliedAfter, '', formats.amount(-appliedAfterMinor, currency)]))
    drawTable(sheet, columns, rows, { x: sheet.left })
  }
  if (state !== 'issued') return
  sheet.y += 10
  drawSums(letter, [{ name: words.balanceDue, value: formats.money(balanceMinor, currency), isStrong: true }])
  if (writtenOffMinor > 0n) drawTexts(letter, [[null, words.writtenOff(formats.money(writtenOffMinor, currency))]])
}
