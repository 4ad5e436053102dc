import { filter } from '../wire/left-out.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { invalid, type Problems } from '../../kernel/fault.ts'
import { date, flag, instant, reference } from '../wire/fields.ts'
import { isJsonNumber, type Json, JsonNumber } from '../wire/json.ts'
import { type BodyOf, type Field, objectOf, optional, type Properties, REFUSED, shown, word } from '../wire/read.ts'

/** Query strings hold texts only: here their numbers and truth values become what fields expect, before the same checks as bodies. */

export const PAGE_SIZE_DEFAULT = 100
export const PAGE_SIZE_MAX = 200

const PLAIN_INTEGER = /^\d{1,30}$/
// No list is that long, and offsets stay exact.
const PAGE_MAX = 10 ** 12

/** Reads page and page_size: from 1; sizes over 200 are taken as 200. */
const pagingNumber = (): Field<number> => ({
  isBlankNull: false,
  schema: { type: 'integer', minimum: 1 },
  read(value, path, context) {
    const digits = typeof value === 'string' ? value : isJsonNumber(value) ? value.digits : ''
    if (PLAIN_INTEGER.test(digits) && Number(digits) >= 1) return Math.min(Number(digits), PAGE_MAX)
    context.problems.add(
      'out_of_range',
      path,
      `${path} must be a whole number from 1; ${shown(value, context)} was sent.`,
    )
    return REFUSED
  },
})

export const paging = {
  page: optional(pagingNumber(), 'The page of the list, counted from 1.'),
  page_size: optional(pagingNumber(), 'How many records a page has; more than 200 is taken as 200.'),
}

const listing = {
  ...paging,
  sort: optional(
    word(['id', '-id'] as const),
    'The order of the list: `id` from the oldest record to the newest, `-id` from the newest to the oldest.',
  ),
  total: optional(
    flag(),
    'With true the header `Total-Count` says how many records the list has; `10000+` where it is filtered and has more.',
  ),
}

/** The filter of lists by the days of their records, see `checkDates`. */
export const dayFilter = {
  startDate: optional(
    date(),
    'Limits the list to records of this day or later.',
    'Left out, the list begins with the oldest.',
  ),
  endDate: optional(
    date(),
    'Limits the list to records of this day or earlier.',
    'Left out, the list ends with the newest.',
  ),
} satisfies Properties

/** Declares the first moment of what an answer is about. */
export const fromFilter = <T>(moment: Field<T>) =>
  optional(moment, 'Limits the answer to what happened on this day or later.', 'Left out, it begins with the oldest.')

/** Declares the last. */
export const toFilter = <T>(moment: Field<T>) =>
  optional(moment, 'Limits the answer to what happened on this day or earlier.', 'Left out, it ends with the newest.')

/** The filter of lists that know when their records were updated. */
export const updateFilter = {
  updatedSince: filter(
    instant(),
    'records that were created or changed at this instant or later, in real time; money on invoices counts. It is at most 5 minutes ahead, which counts as now; send what the header `Perennial-Until` answered last',
  ),
  after: optional(
    reference(),
    'Begins the list after the record with this identifier, whatever stands before it. The `Link` of a list that was asked with `updatedSince` has it, so that no record is missed or comes twice while others are added and deleted.',
    'Left out, the page is found by its number.',
  ),
} satisfies Properties

export interface UpdateWish {
  updatedSince?: Instant | null
  /** The last record of the page before. */
  after?: bigint | null
}

export interface Page {
  page: number
  size: number
  isNewestFirst: boolean
}

/** Order, page and count that a request asks of a list. */
export interface ListWish {
  page?: number | null
  page_size?: number | null
  sort?: 'id' | '-id' | null
  total?: boolean | null
}

export const pageOf = (query: ListWish): Page => ({
  page: query.page ?? 1,
  size: Math.min(query.page_size ?? PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX),
  isNewestFirst: query.sort === '-id',
})

/** Returns whether a list is asked for its first page and nothing else: work bounded by the size of a page, whatever the account has. */
export const isFirstPage = ({
  page,
  page_size: _size,
  sort: _sort,
  total,
  ...filters
}: Record<string, unknown>): boolean =>
  (page ?? 1) === 1 && total !== true && Object.values(filters).every((value) => value == null)

/** Returns the paging parameters of every list, and its own filters. */
export const listQuery = <P extends Properties>(filters: P) => objectOf({ ...listing, ...filters })

/** Throws 400 where the first of two inclusive days of a query lies after the last. */
export function checkDates<First extends string, Last extends string>(
  days: { readonly [Name in First | Last]?: IsoDate | null },
  first: First,
  last: Last,
): void {
  const { [first]: from, [last]: to } = days
  if (from && to && from > to) throw invalid('dates_reversed', `${first} ${from} is after ${last} ${to}.`, first)
}

/** Query of operations without parameters: unknown ones are ignored as elsewhere, and refused in strict handling. */
export const NO_QUERY = objectOf({})

/** Texts of a query string as the JSON values that the declared fields read. */
export function queryAsJson(
  raw: Record<string, unknown>,
  field: Field<BodyOf<Properties>>,
  problems: Problems,
): { [name: string]: Json } {
  const properties = (field.schema['properties'] ?? {}) as Record<string, { type?: string | string[] }>
  const found = Object.create(null) as { [name: string]: Json }
  for (const [name, value] of Object.entries(raw)) {
    const known = field.spellings?.get(name) ?? (Object.hasOwn(properties, name) ? name : undefined)
    if (typeof value !== 'string') {
      if (known === undefined) {
        found[name] = ''
        continue
      }
      problems.add('repeated', name, `${name} may be given once.`)
      continue
    }
    // A name that is not known is looked at like one in a body: it may differ from a known one in letter case only.
    found[name] = known === undefined ? value : asJson(value, properties[known]?.type)
  }
  return found
}

function asJson(value: string, type: string | string[] | undefined): Json {
  const types = Array.isArray(type) ? type : [type]
  if (types.includes('string')) return value
  if (types.includes('boolean') && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  if ((types.includes('integer') || types.includes('number')) && /^-?\d{1,20}(\.\d{1,20})?$/.test(value))
    return new JsonNumber(value)
  return value
}
