import { checkDates } from '../../platform/http/query.ts'
import { date, reference } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import type { GivenFilter } from './filter-queries.ts'
import { GIVEN_STATUSES } from './rules.ts'

/** Filters of the lists of payments and of credit notes; their conditions stand in filter-queries.ts. */
export const givenFilters = {
  startDate: optional(date()),
  endDate: optional(date()),
  status: optional(word(GIVEN_STATUSES, { anyCase: true })),
  customerID: optional(reference()),
} satisfies Properties

/** Turns a query into conditions. Throws 400 where startDate lies after endDate. */
export function givenFilterOf(query: BodyOf<typeof givenFilters>): GivenFilter {
  checkDates(query, 'startDate', 'endDate')
  const { customerID: customerId, startDate, endDate, status } = query
  return {
    customerId: customerId ?? null,
    startDate: startDate ?? null,
    endDate: endDate ?? null,
    status: status ?? null,
  }
}
