import type { IsoDate } from '../../kernel/calendar.ts'
import { minorText } from '../../kernel/money.ts'
import { heldText } from './code-page.ts'
import { isText, TITLES } from './columns.ts'

/** A stack of bookings (EXTF, header 700, category 21, version 13) as text: semicolons, texts in quotes, CR LF. */

export interface StackHead {
  /** As 20240130140440439. */
  madeAt: string
  consultant: number
  client: number
  /** First day of the fiscal year. */
  yearStart: IsoDate
  accountLength: number
  from: IsoDate
  to: IsoDate
  /** At most 30 letters are written. */
  name: string
  initials: string | null
  /** Number of the standard chart of accounts, as 03; null: the program takes that of the client. */
  chart: string | null
  /** The bookings cannot be changed once they are read. */
  isFixed: boolean
}

const NAME_MAX = 30
const TEXT_MAX = 60

const quote = (text: string): string => `"${heldText(text).replaceAll('"', '""')}"`
const dayOf = (day: IsoDate): string => day.replaceAll('-', '')

/** Writes the line of the head, and that of the titles. */
export function writeHead(head: StackHead): string {
  const fields = [
    ...[quote('EXTF'), '700', '21', quote('Buchungsstapel'), '13', head.madeAt, '', quote('RE'), quote(''), quote('')],
    ...[String(head.consultant), String(head.client), dayOf(head.yearStart), String(head.accountLength)],
    ...[
      dayOf(head.from),
      dayOf(head.to),
      quote([...head.name].slice(0, NAME_MAX).join('')),
      quote(head.initials?.toUpperCase() ?? ''),
    ],
    ...[
      '1',
      '0',
      head.isFixed ? '1' : '0',
      quote('EUR'),
      '',
      quote(''),
      '',
      '',
      quote(head.chart ?? ''),
      '',
      '',
      quote(''),
      quote(''),
    ],
  ]
  return `${fields.join(';')}\r\n${TITLES.join(';')}\r\n`
}

export interface StackRow {
  amountMinor: bigint
  /** Side of the account: S is the debit. */
  side: 'S' | 'H'
  account: string
  contra: string
  /** Null: none. */
  key: string | null
  day: IsoDate
  document: string
  text: string
  /** Country and VAT number of a customer in another state of the EU, and the rate of tax there. */
  euVatNumber: string | null
  euRate: string | null
}

const KEY_DIGITS = 4
const BLANKS = TITLES.map((_, place) => (isText(place + 1) ? '""' : ''))
/** Columns of a row after the text of the booking, all blank but two. */
const BETWEEN = BLANKS.slice(14, 39).join(';')
const BEHIND = BLANKS.slice(41).join(';')

/** Writes a row. Its text is cut to what fits. */
export function writeRow(row: StackRow): string {
  const [, month = '', day = ''] = row.day.split('-')
  const fields = [
    ...[
      minorText(row.amountMinor, 2).replace('.', ','),
      quote(row.side),
      quote('EUR'),
      '',
      '',
      quote(''),
      row.account,
      row.contra,
    ],
    ...[
      quote(row.key === null ? '' : row.key.padStart(KEY_DIGITS, '0')),
      `${day}${month}`,
      quote(row.document),
      quote(''),
      '',
    ],
    ...[
      quote([...row.text].slice(0, TEXT_MAX).join('')),
      BETWEEN,
      quote(row.euVatNumber ?? ''),
      row.euRate ?? '',
      BEHIND,
    ],
  ]
  return `${fields.join(';')}\r\n`
}
