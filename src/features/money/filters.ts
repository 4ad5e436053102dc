import { filter, LEFT_OUT, searchOfCustomers } from '../../platform/wire/left-out.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { searchRecords } from '../finding/search.ts'
import { checkDates, dayFilter } from '../../platform/http/query.ts'
import { currencyCode, reference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { type CreditFilter, type GivenFilter, type PaymentFilter } from './filter-queries.ts'
import { METHODS } from './payment-queries.ts'
import { GIVEN_STATUSES } from './types.ts'

/** Filters that the lists of payments and of credit notes share; their conditions stand in filter-queries.ts. */
const givenFilters = {
  q: searchOfCustomers(),
  ...dayFilter,
  status: filter(word(GIVEN_STATUSES, { anyCase: true }), 'records in this state'),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  CurrencyCode: filter(currencyCode(), 'records in this currency'),
} satisfies Properties

export const paymentFilters = {
  ...givenFilters,
  invoiceID: filter(reference(), 'payments of which something is allocated to this invoice'),
  Ref: filter(text({ takesNumbers: true }), 'records with this Ref'),
  Method: filter(word(METHODS, { anyCase: true }), 'payments made in this way'),
} satisfies Properties

export const creditFilters = {
  ...givenFilters,
  invoiceID: filter(reference(), 'credit notes that settle something of this invoice'),
  CreditNumber: filter(text({ takesNumbers: true }), 'the credit note with this number, in any letter case'),
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
