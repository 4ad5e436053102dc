import { ink, QUIET } from '../../platform/pdf/sheet.ts'
import { type TableColumn, drawTable, type Row } from '../../platform/pdf/table.ts'
import { AGES, type StatementLine } from '../../engine/money/statement.ts'
import type { PaymentMethodWord } from '../money/payment-queries.ts'
import type { StatementDocument, StatementSection } from './document.ts'
import { drawParties, drawTexts, type Letter, openLetter } from './letter.ts'

/** Draws a statement of account as a tagged PDF, a section for each currency. */
export function renderStatement(statement: StatementDocument): Buffer {
  const letter = openLetter(statement, { title: (words) => words.statement, number: null })
  const { words, formats } = letter
  drawParties(letter, statement, words.to, [
    [words.customerReference, statement.customerReference],
    [words.period, words.span(formats.date(statement.from), formats.date(statement.to))],
    [words.currency, statement.sections.map(({ currency }) => currency).join(', ')],
    ...statement.sections.map(
      ({ currency, closingMinor }) => [words.closingBalance, formats.money(closingMinor, currency)] as const,
    ),
  ])
  statement.sections.forEach((section, index) => {
    if (index > 0) letter.sheet.y += 26
    drawSection(letter, statement, section)
  })
  drawTexts(letter, [[words.bankDetails, statement.bankDetails]])
  return letter.sheet.finish()
}

const small = ink(8)
const strong = ink(8.5, 'bold')

function drawSection(letter: Letter, statement: StatementDocument, section: StatementSection): void {
  const { sheet, words } = letter
  sheet.group('Sect', () => {
    sheet.need(110)
    sheet.paragraph('H2', `${words.statement} (${section.currency})`, ink(11, 'bold'))
    sheet.y += 4
    drawMovements(letter, statement, section)
    if (section.lines.length === 0) {
      sheet.y += 4
      sheet.paragraph('P', words.nothingHappened, ink(8.5, 'regular', QUIET))
    }
    sheet.y += 16
    drawAgeing(letter, section)
  })
}

function drawMovements({ sheet, words, formats }: Letter, { from, to }: StatementDocument, section: StatementSection) {
  const { currency, lines, openingMinor, debitsMinor, creditsMinor, closingMinor } = section
  const amount = (minor: bigint) => formats.amount(minor, currency)
  const side = (minor: bigint) => (minor === 0n ? '' : amount(minor))
  const columns: TableColumn[] = [
    { title: words.date, width: 74 },
    { title: words.type, width: 76 },
    { title: words.number, width: 56 },
    { title: words.description, width: sheet.width - 412 },
    { title: words.debit, width: 66, align: 'right' },
    { title: words.credit, width: 66, align: 'right' },
    { title: words.balance, width: 74, align: 'right' },
  ]
  const rowOf = (texts: string[], how = small): Row => ({ cells: texts.map((text) => [{ text, ink: how }]) })
  const movementRow = ({
    dated,
    type,
    number,
    method,
    isPending,
    debitMinor,
    creditMinor,
    balanceMinor,
  }: StatementLine) =>
    rowOf([
      formats.date(dated),
      words.movements[type],
      number ?? '',
      [method === null ? null : words.methods[method as PaymentMethodWord], isPending ? `(${words.pending})` : null]
        .filter((text) => text !== null)
        .join(' '),
      side(debitMinor),
      side(creditMinor),
      amount(balanceMinor),
    ])
  const opening = rowOf([formats.date(from), '', '', words.openingBalance, '', '', amount(openingMinor)], strong)
  const closing = rowOf(
    [formats.date(to), '', '', words.closingBalance, amount(debitsMinor), amount(creditsMinor), amount(closingMinor)],
    strong,
  )
  const rows = [opening, ...lines.map(movementRow), { ...closing, isSum: true }]
  drawTable(sheet, columns, rows, { x: sheet.left, keptAtEnd: 1 })
}

/** Draws the open amounts by age, less the money that is not allocated yet and the debits whose day has passed: together the closing balance. */
function drawAgeing(
  { sheet, words, formats }: Letter,
  { ageing, unallocatedMinor, pendingPassedMinor, currency }: StatementSection,
): void {
  const isPassedShown = pendingPassedMinor !== 0n
  const titles = [
    ...AGES.map((age) => words.ages[age]),
    words.unallocated,
    ...(isPassedShown ? [words.pendingDebits] : []),
  ]
  const width = sheet.width / titles.length
  const columns = titles.map((title): TableColumn => ({ title, width, align: 'right' }))
  const values = [...AGES.map((age) => ageing[age]), -unallocatedMinor, ...(isPassedShown ? [-pendingPassedMinor] : [])]
  const cells = values.map((minor) => [{ text: formats.amount(minor, currency), ink: small }])
  sheet.need(60)
  sheet.paragraph('P', words.ageing, ink(8.5, 'bold', QUIET))
  sheet.y += 2
  drawTable(sheet, columns, [{ cells }], { x: sheet.left })
}
