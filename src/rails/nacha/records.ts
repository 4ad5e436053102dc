import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import {
  BLOCK_RECORDS,
  entryHash,
  FILE_CONTROL,
  FILE_HEADER,
  type FieldPlace,
  FILLER,
  RECORD_LENGTH,
} from './layout.ts'

/** Writes the records that all NACHA files have, whatever is in them. */

type Values<Layout> = { readonly [Name in keyof Layout]?: string }

/** Writes a record: each value from the beginning of its place, blanks everywhere else. */
export function nachaRecord<Layout extends Readonly<Record<string, FieldPlace>>>(
  layout: Layout,
  values: Values<Layout>,
): string {
  const characters = Array<string>(RECORD_LENGTH).fill(' ')
  for (const [name, value] of Object.entries<string | undefined>(values)) {
    const place = layout[name]
    assert(place && value !== undefined, `a record has a place for ${name}`)
    const [from, to] = place
    assert(value.length <= to - from + 1, `${name} has at most ${to - from + 1} characters`)
    for (let index = 0; index < value.length; index++) characters[from - 1 + index] = value[index] as string
  }
  return characters.join('')
}

export const digits = (value: bigint | number, places: number): string => String(value).padStart(places, '0')
/** Writes a day as files have it: YYMMDD. */
export const dayText = (day: IsoDate): string => day.slice(2).replaceAll('-', '')

/** Sums of entries, as control records have them. */
export interface NachaSums {
  entries: number
  hash: bigint
  debits: bigint
  credits: bigint
}

export const NO_ENTRIES: NachaSums = { entries: 0, hash: 0n, debits: 0n, credits: 0n }

export const added = (some: NachaSums, others: NachaSums): NachaSums => ({
  entries: some.entries + others.entries,
  hash: some.hash + others.hash,
  debits: some.debits + others.debits,
  credits: some.credits + others.credits,
})

/** Writes the digits of sums that a control record of either kind has. */
export const sumFields = ({ hash, debits, credits }: NachaSums) => ({
  hash: digits(entryHash(hash), 10),
  debits: digits(debits, 12),
  credits: digits(credits, 12),
})

/** Writes the header of a file. */
export const nachaHeader = (
  values: Omit<Values<typeof FILE_HEADER>, 'recordType' | 'priority' | 'recordSize' | 'blocking' | 'format'>,
): string =>
  nachaRecord(FILE_HEADER, {
    ...values,
    recordType: '1',
    priority: '01',
    recordSize: '094',
    blocking: '10',
    format: '1',
  })

/** Adds the control record of a file of so many batch records, and fills it up to a multiple of ten by records of nines. */
export function withFileEnd(lines: readonly string[], batches: number, sums: NachaSums): string[] {
  const blocks = Math.ceil((lines.length + 1) / BLOCK_RECORDS)
  const control = nachaRecord(FILE_CONTROL, {
    ...sumFields(sums),
    recordType: '9',
    batches: digits(batches, 6),
    blocks: digits(blocks, 6),
    entries: digits(sums.entries, 8),
  })
  return [...lines, control, ...Array<string>(blocks * BLOCK_RECORDS - lines.length - 1).fill(FILLER)]
}
