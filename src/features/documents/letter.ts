import { type Formats, formatsOf } from '../../platform/locale/format.ts'
import { ink, QUIET, Sheet } from '../../platform/pdf/sheet.ts'
import { drawTable, fittedColumns, type Row } from '../../platform/pdf/table.ts'
import type { DocumentHead, DocumentTax, Party } from './document.ts'
import { reasonOfNoTax, type Words, wordsOf, type WordsAndFormats } from './words.ts'

/** Layout that all documents share: the head with logo, title, sender, receiver and facts, and the blocks of text at the end. */

export interface Letter {
  sheet: Sheet
  words: Words
  formats: Formats
}

interface About {
  /** "Invoice 17", of which the number may be missing. */
  title(words: Words): string
  number: string | null
  watermark?(words: Words): string | null
}

const LOGO_BOX: [number, number] = [170, 64]
const GUTTER = 14
const FACTS_WIDTH = 185

export function openLetter(document: DocumentHead, about: About): Letter {
  const formats = formatsOf(document.locale)
  const words = wordsOf(formats.language)
  const named = [about.title(words), about.number].filter((part) => part !== null).join(' ')
  const sheet = new Sheet({
    title: `${named} – ${document.account.name}`,
    author: document.account.name,
    language: formats.language,
    paper: document.paper,
    createdAt: document.createdAt,
    watermark: about.watermark?.(words) ?? null,
    runningHead: `${document.account.name} · ${named} · ${document.customer.name}`,
    pageWords: words.page,
  })
  drawTitle(sheet, document, about.title(words), about.number, words)
  return { sheet, words, formats }
}

/** Draws the head: logo or name on the left, the title on the right; the title is what is read first. */
function drawTitle(
  sheet: Sheet,
  { account, logo }: DocumentHead,
  title: string,
  number: string | null,
  words: Words,
): void {
  const top = sheet.y
  const half = sheet.width / 2
  const right = sheet.left + half + GUTTER
  sheet.paragraph('H1', number === null ? title : `${title} ${number}`, ink(20, 'bold'), {
    x: right,
    width: half - GUTTER,
    align: 'right',
  })
  const titleEnd = sheet.y
  sheet.y = top
  const shown = logo && sheet.picture(logo, words.logoOf(account.name), sheet.left, top, LOGO_BOX)
  if (shown === null || shown === undefined)
    sheet.paragraph('P', account.name, ink(15, 'bold'), { width: half - GUTTER })
  else sheet.y = top + shown
  sheet.y = Math.max(sheet.y, titleEnd) + 18
}

const partyLines = (party: Party, words: Words): string[] => [
  ...party.address,
  ...(party.registrationNumber ? [`${words.registrationNumber} ${party.registrationNumber}`] : []),
  ...(party.vatNumber ? [`${words.vatNumber} ${party.vatNumber}`] : []),
  ...[party.tel, party.email, party.webPage].filter((line) => line !== null),
]

/** Without a value it is not drawn. */
export type Fact = readonly [name: string, value: string | null | undefined]

/** Draws sender, receiver and facts beside each other. */
export function drawParties(
  { sheet, words }: Letter,
  { account, customer }: DocumentHead,
  toWord: string,
  facts: readonly Fact[],
): void {
  const top = sheet.y
  const column = (sheet.width - FACTS_WIDTH) / 2 - GUTTER
  const blocks = [
    [words.from, account],
    [toWord, customer],
  ] as const
  let end = top
  blocks.forEach(([heading, party], index) => {
    const place = { x: sheet.left + index * (column + GUTTER), width: column }
    sheet.y = top
    sheet.group('Sect', () => {
      sheet.paragraph('H2', heading, ink(7.5, 'bold', QUIET), place)
      sheet.y += 2
      sheet.paragraph('P', party.name, ink(9, 'bold'), place)
      const lines = partyLines(party, words)
      if (lines.length > 0) sheet.paragraph('P', lines.join('\n'), ink(9), place)
    })
    end = Math.max(end, sheet.y)
  })
  sheet.y = top
  drawFacts(sheet, words.details, facts, sheet.left + sheet.width - FACTS_WIDTH, FACTS_WIDTH)
  sheet.y = Math.max(end, sheet.y) + 20
}

function drawFacts(sheet: Sheet, heading: string, facts: readonly Fact[], x: number, width: number): void {
  sheet.group('Sect', () => {
    sheet.paragraph('H2', heading, ink(7.5, 'bold', QUIET), { x, width })
    const rows = facts
      .filter((fact): fact is readonly [string, string] => Boolean(fact[1]))
      .map(([name, value]): Row => ({
        cells: [[{ text: name, ink: ink(8, 'regular', QUIET) }], [{ text: value, ink: ink(9) }]],
      }))
    const columns = [
      { title: '', width: width * 0.5 },
      { title: '', width: width * 0.5, align: 'right' as const },
    ]
    drawTable(sheet, columns, rows, { x, hasRowHeads: true, isPlain: true })
  })
}

/** Draws named texts below each other, without a name alone; what is empty is left out. */
export function drawTexts({ sheet }: Letter, texts: readonly (readonly [name: string | null, text: Fact[1]])[]): void {
  for (const [heading, text] of texts) {
    if (!text) continue
    sheet.y += 16
    sheet.need(40)
    sheet.group('Sect', () => {
      if (heading !== null) sheet.paragraph('H2', heading, ink(8.5, 'bold', QUIET))
      sheet.y += 2
      sheet.paragraph('P', text, ink(8.5))
    })
  }
}

/** Draws a sentence across the page that nobody may miss. */
export function drawNotice({ sheet }: Letter, text: string): void {
  sheet.paragraph('P', text, ink(10, 'bold', '#a61b1b'))
  sheet.y += 12
}

export interface SumLine {
  name: string
  /** In small letters below the name. */
  details?: readonly (string | null)[]
  value: string
  isStrong?: boolean
}

const SUMS_WIDTH = 265

/** Sums in the right half of the page. */
export function drawSums({ sheet }: Letter, sums: readonly SumLine[]): void {
  const x = sheet.left + sheet.width - SUMS_WIDTH
  const rows = sums.map(({ name, details = [], value, isStrong = false }): Row => {
    const face = isStrong ? 'bold' : 'regular'
    const size = isStrong ? 10.5 : 9
    const small = details.filter((detail) => detail !== null).map((text) => ({ text, ink: ink(7.5, 'regular', QUIET) }))
    return {
      isSum: isStrong,
      cells: [[{ text: name, ink: ink(size, face) }, ...small], [{ text: value, ink: ink(size, face) }]],
    }
  })
  const columns = [
    { title: '', width: SUMS_WIDTH },
    { title: '', width: SUMS_WIDTH - 140, align: 'right' as const },
  ]
  // A total alone on a page would not show what it is the total of.
  drawTable(sheet, fittedColumns(columns, rows, SUMS_WIDTH), rows, { x, hasRowHeads: true, keptAtEnd: rows.length })
}

/** Returns a tax among the sums: its base, its number, and below one of 0 % the sentence why. */
export function taxLine({ words, formats }: WordsAndFormats, tax: DocumentTax, currency: string): SumLine {
  const { name, rate, taxNumber, baseMinor, amountMinor } = tax
  const why = reasonOfNoTax({ words, formats }, tax)
  return {
    name: words.taxLabel(name, formats.rate(rate)),
    details: [words.taxOn(formats.amount(baseMinor, currency)), taxNumber && words.taxNumber(taxNumber), why],
    value: formats.amount(amountMinor, currency),
  }
}
