import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { searchRecords } from '../customers/search.ts'
import { search } from '../../platform/wire/search.ts'
import { checkDates } from '../../platform/http/query.ts'
import { currencyCode, date, reference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { type CreditFilter, type GivenFilter, type PaymentFilter } from './filter-queries.ts'
import { METHODS } from './payment-queries.ts'
import { GIVEN_STATUSES } from './types.ts'

/** Filters that the lists of payments and of credit notes share; their conditions stand in filter-queries.ts. */
const givenFilters = {
  q: optional(search()),
  startDate: optional(date()),
  endDate: optional(date()),
  status: optional(word(GIVEN_STATUSES, { anyCase: true })),
  customerID: optional(reference()),
  CurrencyCode: optional(currencyCode()),
} satisfies Properties

export const paymentFilters = {
  ...givenFilters,
  invoiceID: optional(reference()),
  Ref: optional(text({ takesNumbers: true })),
  Method: optional(word(METHODS, { anyCase: true })),
} satisfies Properties

export const creditFilters = {
  ...givenFilters,
  invoiceID: optional(reference()),
  CreditNumber: optional(text({ takesNumbers: true })),
} satisfies Properties

function givenFilterOf(query: BodyOf<typeof givenFilters>): GivenFilter {
  checkDates(query, 'startDate', 'endDate')
  const { customerID: customerId, startDate, endDate, status, CurrencyCode: currency } = query
  return { customerId, startDate, endDate, status, currency }
}

/** Turns a query into conditions of payments. Throws 400 where startDate lies after endDate. */
export const paymentFilterOf = async (
  query: BodyOf<typeof paymentFilters>,
  { account }: RequestContext,
  db: Queryable,
): Promise<PaymentFilter> => ({
  ...givenFilterOf(query),
  invoiceId: query.invoiceID,
  ref: query.Ref,
  method: query.Method,
  found: await searchRecords(db, account.id, query.q, { list: 'payments' }),
})

/** Turns a query into conditions of credit notes. Throws 400 where startDate lies after endDate. */
export const creditFilterOf = async (
  query: BodyOf<typeof creditFilters>,
  { account }: RequestContext,
  db: Queryable,
): Promise<CreditFilter> => ({
  ...givenFilterOf(query),
  invoiceId: query.invoiceID,
  numberKey: query.CreditNumber?.toLowerCase(),
  found: await searchRecords(db, account.id, query.q, { list: 'credits' }),
})
