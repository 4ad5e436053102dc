import { described } from '../../platform/wire/described.ts'
import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { searchRecords } from '../finding/search.ts'
import { search } from '../../platform/wire/search.ts'
import { checkDates } from '../../platform/http/query.ts'
import { currencyCode, date, reference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { type CreditFilter, type GivenFilter, type PaymentFilter } from './filter-queries.ts'
import { METHODS } from './payment-queries.ts'
import { GIVEN_STATUSES } from './types.ts'

/** Filters that the lists of payments and of credit notes share; their conditions stand in filter-queries.ts. */
const givenFilters = {
  q: described(
    optional(search()),
    'Limits the list to records that are found by these words, each the beginning of one of theirs, or, where no record bears them all itself, of its customer; letter case, accents and signs do not count.',
    LEFT_OUT.all,
  ),
  startDate: described(
    optional(date()),
    'Limits the list to records of this day or later.',
    'Left out, the list begins with the oldest.',
  ),
  endDate: described(
    optional(date()),
    'Limits the list to records of this day or earlier.',
    'Left out, the list ends with the newest.',
  ),
  status: described(
    optional(word(GIVEN_STATUSES, { anyCase: true })),
    'Limits the list to records in this state.',
    LEFT_OUT.all,
  ),
  customerID: described(optional(reference()), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  CurrencyCode: described(optional(currencyCode()), 'Limits the list to records in this currency.', LEFT_OUT.all),
} satisfies Properties

export const paymentFilters = {
  ...givenFilters,
  invoiceID: described(
    optional(reference()),
    'Limits the list to payments of which something is allocated to this invoice.',
    LEFT_OUT.all,
  ),
  Ref: described(optional(text({ takesNumbers: true })), 'Limits the list to records with this Ref.', LEFT_OUT.all),
  Method: described(
    optional(word(METHODS, { anyCase: true })),
    'Limits the list to payments made in this way.',
    LEFT_OUT.all,
  ),
} satisfies Properties

export const creditFilters = {
  ...givenFilters,
  invoiceID: described(
    optional(reference()),
    'Limits the list to credit notes that settle something of this invoice.',
    LEFT_OUT.all,
  ),
  CreditNumber: described(
    optional(text({ takesNumbers: true })),
    'Limits the list to the credit note with this number, in any letter case.',
    LEFT_OUT.all,
  ),
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
