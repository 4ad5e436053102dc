import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { type Fault, invalid } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'

/** Files of cards that are brought by their tokens: CSV in UTF-8, read line by line, however long they are. */

export const CARD_COLUMNS = ['customerID', 'Reference', 'Token', 'isPrimary', 'NameOnCard', 'LastNameOnCard'] as const
export type CardColumn = (typeof CARD_COLUMNS)[number]

/** A card of a file: texts as they stand there, blank ones left out. */
export interface CardRow {
  /** From 1, of the file. */
  line: number
  cells: Readonly<Partial<Record<CardColumn, string>>>
}

/** Characters that a line may have: what is longer has a quotation mark that nobody closed. */
const LINE_MAX = 10_000

/** Codes of a file that is missing, a folder, or somebody else's. */
const NOT_THERE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES']

const refused = (message: string): Fault => invalid('csv_invalid', message)

async function* textOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const bytes of createReadStream(path)) yield decoder.decode(bytes as Buffer, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw refused('The file is not UTF-8: save it as "CSV UTF-8".')
    const { code } = error as NodeJS.ErrnoException
    if (code !== undefined && NOT_THERE.includes(code))
      throw refused(`There is no file ${path} that can be read (${code}).`)
    throw error
  }
}

/** Reads the first line: which columns there are, in their order. Throws for an unknown, doubled or missing one. */
function columnsOf(header: readonly string[]): CardColumn[] {
  const columns = header.map((name) => {
    const known = CARD_COLUMNS.find((column) => column.toLowerCase() === name.toLowerCase())
    // Not repeated: where a first line is missing it holds a token.
    if (known === undefined)
      throw refused(`The first line has to name the columns, which can be ${sentenceList([...CARD_COLUMNS])}.`)
    return known
  })
  const count = (column: CardColumn) => columns.filter((one) => one === column).length
  const doubled = columns.find((column) => count(column) > 1)
  if (doubled) throw refused(`The first line names ${doubled} twice.`)
  if (count('Token') === 0) throw refused('The first line has to name the column Token.')
  if (count('customerID') + count('Reference') !== 1)
    throw refused('The first line has to name either customerID or Reference, which say whose card it is.')
  return columns
}

/** Reads the cards of a file. Throws a Fault, as soon as it is met, for what is no such file. */
export async function* readCardFile(path: string): AsyncGenerator<CardRow> {
  const records = Readable.from(textOf(path)).compose(
    parse({ bom: true, trim: true, skip_empty_lines: true, max_record_size: LINE_MAX, info: true }),
  )
  let columns: CardColumn[] | undefined
  try {
    for await (const { record, info } of records as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (columns === undefined) {
        columns = columnsOf(record)
        continue
      }
      const cells = columns.map((column, index) => [column, record[index] ?? ''] as const)
      yield { line: info.lines, cells: Object.fromEntries(cells.filter(([, text]) => text !== '')) }
    }
  } catch (error) {
    // Its own sentences quote what stands in the file.
    if (error instanceof CsvError)
      throw refused(`Line ${String(error['lines'])} is no line of CSV with as many cells as the first.`)
    throw error
  }
  if (columns === undefined) throw refused('The file is empty.')
}
