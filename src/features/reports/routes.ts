import { introduced } from '../../platform/http/tags.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { agedByCustomer, openItems } from './ageing-queries.ts'
import { agedCsv, agedShape, AgeingQuery, openItemCsv, openItemShape } from './ageing-wire.ts'
import { answerOf, asAtOf, periodOf } from './answer.ts'
import { DEFERRED_BY, deferredAsAt } from './deferred.ts'
import { DEFERRED_FORMS, DeferredQuery } from './deferred-wire.ts'
import { PlainPeriodQuery } from './query.ts'
import { REVENUE_BY, revenueOfPeriod } from './revenue-queries.ts'
import { REVENUE_FORMS, RevenueQuery } from './revenue-wire.ts'
import { salesOfPeriod, taxesOfPeriod } from './tax-queries.ts'
import { salesCsv, salesShape, taxCsv, TaxQuery, taxShape } from './tax-wire.ts'
import { trialBalance } from './trial-balance-queries.ts'
import { trialBalanceCsv, trialBalanceShape } from './trial-balance-wire.ts'

/** Properties of all reports. */
const REPORT = {
  hasStrictQuery: true,
  isExpensive: true,
  method: 'GET',
  tag: introduced('Reports', 'Figures of an account by day or period, which agree with the ledger.'),
} as const

const taxReport = readOperation({
  ...REPORT,
  id: 'getTaxReport',
  path: '/v1/reports/tax',
  summary:
    'Read the taxes of a period: charged, taken back, relieved, net; by rate, or as a list of sales by customer; as JSON or CSV',
  query: TaxQuery,
  success: {
    status: 200,
    schema: { anyOf: [taxShape.list.schema, salesShape.list.schema] },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const period = await periodOf(db, context, asked.query)
    const days = `${period.from}-${period.to}`
    return asked.query.by === 'customer'
      ? answerOf(context, asked, `sales-${days}`, salesOfPeriod(db, period), {
          list: salesShape.list,
          columns: salesCsv,
        })
      : answerOf(context, asked, `tax-${days}`, taxesOfPeriod(db, period), { list: taxShape.list, columns: taxCsv })
  },
})

const trialBalanceReport = readOperation({
  ...REPORT,
  id: 'getTrialBalance',
  path: '/v1/reports/trialbalance',
  summary:
    'Read the trial balance of a period: each ledger account with its opening, debits, credits and closing, each column of which balances; as JSON or CSV',
  query: PlainPeriodQuery,
  success: { status: 200, schema: trialBalanceShape.list.schema, media: ['text/csv'] },
  read: async (db, context, asked) => {
    const period = await periodOf(db, context, asked.query)
    const file = `trial-balance-${period.from}-${period.to}`
    const form = { list: trialBalanceShape.list, columns: trialBalanceCsv }
    return answerOf(context, asked, file, trialBalance(db, period), form)
  },
})

const ageingReport = readOperation({
  ...REPORT,
  id: 'getAgeingReport',
  path: '/v1/reports/ageing',
  summary:
    'Read what customers owed on a day, by how long it was past due (ageing), and their unallocated money; by customer, or by document as open items; as JSON or CSV',
  query: AgeingQuery,
  success: {
    status: 200,
    schema: { anyOf: [agedShape.list.schema, openItemShape.list.schema] },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const asAt = await asAtOf(db, context, asked.query)
    return asked.query.by === 'document'
      ? answerOf(context, asked, `open-items-${asAt.date}`, openItems(db, asAt), {
          list: openItemShape.list,
          columns: openItemCsv,
        })
      : answerOf(context, asked, `ageing-${asAt.date}`, agedByCustomer(db, asAt), {
          list: agedShape.list,
          columns: agedCsv,
        })
  },
})

const revenueReport = readOperation({
  ...REPORT,
  id: 'getRevenueReport',
  path: '/v1/reports/revenue',
  summary:
    'Read the net revenue of a period less credits, by package, component, country or month; invoices by hand and what credit notes have not settled apart; as JSON or CSV',
  query: RevenueQuery,
  success: {
    status: 200,
    schema: { anyOf: REVENUE_BY.map((by) => REVENUE_FORMS[by].shape.list.schema) },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const period = await periodOf(db, context, asked.query)
    const by = asked.query.by ?? 'package'
    const { shape, csv } = REVENUE_FORMS[by]
    const rows = revenueOfPeriod(db, period, by)
    return answerOf(context, asked, `revenue-${period.from}-${period.to}`, rows, { list: shape.list, columns: csv })
  },
})

const deferredReport = readOperation({
  ...REPORT,
  id: 'getDeferredReport',
  path: '/v1/reports/deferred',
  summary:
    'Read the deferred revenue of a day: what invoices until then charged for later days, less credits; by the months it belongs to, or by package; as JSON or CSV',
  query: DeferredQuery,
  success: {
    status: 200,
    schema: { anyOf: DEFERRED_BY.map((by) => DEFERRED_FORMS[by].shape.list.schema) },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const asAt = await asAtOf(db, context, asked.query)
    const by = asked.query.by ?? 'month'
    const { shape, csv } = DEFERRED_FORMS[by]
    const rows = deferredAsAt(db, asAt, by)
    return answerOf(context, asked, `deferred-${asAt.date}`, rows, { list: shape.list, columns: csv })
  },
})

export const reportOperations = (): Operation[] => [
  taxReport,
  trialBalanceReport,
  ageingReport,
  deferredReport,
  revenueReport,
]
