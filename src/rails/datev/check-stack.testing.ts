import { HIGH_LETTERS } from './code-page.ts'
import { isText, TITLES } from './columns.ts'

/** Check of a stack of bookings, from its bytes alone: every field by the form that DATEV describes. */

const TEXT = /^"(?:[^"\p{Cc}]|"")*"$/u
const BLANK = /^$/

/** Forms of the fields of the head, in their order. */
const HEAD: readonly RegExp[] = [
  /^"(?:EXTF|DTVF)"$/,
  /^700$/,
  /^21$/,
  /^"Buchungsstapel"$/,
  /^13$/,
  /^20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d\d{3}$/,
  BLANK,
  /^"[A-Z]{0,2}"$/,
  /^"\w{0,25}"$/,
  /^"\w{0,25}"$/,
  /^(?:100[1-9]|10[1-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-9]\d{4,6})$/,
  /^[1-9]\d{0,4}$/,
  /^20\d{2}(?:0[1-9]|1[0-2])01$/,
  /^[4-8]$/,
  /^20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/,
  /^20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/,
  /^"(?:[^"]|""){0,30}"$/,
  /^"(?:[A-Z]{2})?"$/,
  /^[12]?$/,
  /^(?:0|30|40|50|64)?$/,
  /^[01]$/,
  /^"[A-Z]{3}"$/,
  BLANK,
  /^""$/,
  BLANK,
  BLANK,
  /^"(?:\d{2,4})?"$/,
  /^\d{0,4}$/,
  BLANK,
  /^""$/,
  /^".{0,16}"$/,
]

/** Forms of the columns of a row that are written, counted from 1. */
const ROW: Readonly<Record<number, RegExp>> = {
  1: /^\d{1,10},\d{2}$/,
  2: /^"[SH]"$/,
  3: /^"[A-Z]{3}"$/,
  7: /^\d{1,9}$/,
  8: /^\d{1,9}$/,
  9: /^"(?:\d{4})?"$/,
  10: /^(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])$/,
  11: /^"[A-Za-z0-9$&%*+/-]{0,36}"$/,
  14: /^"(?:[^"\p{Cc}]|""){0,60}"$/u,
  40: /^"(?:[A-Z]{2}[A-Z0-9]{0,13})?"$/,
  41: /^(?:\d{1,2},\d{2})?$/,
}

/** Splits a line at its semicolons, those in quotes aside. */
export const fieldsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|;)("(?:[^"]|"")*"|[^;"]*)/g)].map(([, field]) => field ?? '')

export interface ReadStackRow {
  amount: bigint
  side: string
  account: string
  contra: string
  key: string
  day: string
  document: string
  text: string
  euVatNumber: string
  euRate: string
}

const contentOf = (field: string): string => field.slice(1, -1).replaceAll('""', '"')

/** Checks the head of a stack: its line alone. Returns its problems. */
export function checkHead(line: string): string[] {
  const fields = fieldsOf(line)
  if (fields.length !== HEAD.length) return [`the head has ${fields.length} fields`]
  return fields.flatMap((field, place) => (HEAD[place]?.test(field) ? [] : [`head ${place + 1}: ${field}`]))
}

function checkRow(line: string, number: number): string[] {
  const fields = fieldsOf(line)
  if (fields.length !== TITLES.length) return [`row ${number} has ${fields.length} fields`]
  return fields.flatMap((field, place) => {
    const form = ROW[place + 1] ?? (isText(place + 1) ? TEXT : BLANK)
    return form.test(field) ? [] : [`row ${number}, column ${place + 1}: ${field}`]
  })
}

/** Reads a file of bytes in Windows-1252. Returns its problems and its rows. */
export function readStack(bytes: Buffer): { problems: string[]; head: string[]; rows: ReadStackRow[] } {
  const high = [...HIGH_LETTERS]
  const text = bytes
    .toString('latin1')
    .replace(/[\u0080-\u009f]/g, (letter) => high[letter.charCodeAt(0) - 0x80] ?? letter)
  const lines = text.split('\r\n')
  const problems = lines.pop() === '' ? [] : ['the last line has no end']
  const [head = '', titles = '', ...rest] = lines
  problems.push(...checkHead(head))
  if (titles !== TITLES.join(';')) problems.push('the titles are others')
  if (rest.length > 99_999) problems.push(`${rest.length} rows`)
  problems.push(...rest.flatMap((line, place) => checkRow(line, place + 1)))
  const length = Number(fieldsOf(head)[13])
  const rows = rest.map((line) => {
    const field = fieldsOf(line)
    const at = (column: number) => field[column - 1] ?? ''
    for (const account of [at(7), at(8)])
      if (account.length > length + 1) problems.push(`account ${account} is longer than ${length + 1}`)
    return {
      amount: BigInt(at(1).replace(',', '')),
      side: contentOf(at(2)),
      account: at(7),
      contra: at(8),
      key: contentOf(at(9)),
      day: at(10),
      document: contentOf(at(11)),
      text: contentOf(at(14)),
      euVatNumber: contentOf(at(40)),
      euRate: at(41),
    }
  })
  return { problems, head: fieldsOf(head), rows }
}
