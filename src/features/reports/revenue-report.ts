import { readOperation } from '../../platform/http/operation.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, type Columns, type RecordShape, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outText, outWord } from '../../platform/wire/write.ts'
import { revenueOfPeriod, REVENUE_BY, type RevenueBy, type RevenueOfPeriod } from './revenue-queries.ts'
import { answerOf, periodOf, REPORT } from './answer.ts'
import { SALES_KINDS } from './line-queries.ts'
import { periodQuery } from './query.ts'

const netOf = ({ turnoverMinor, turnoverTakenBackMinor }: RevenueOfPeriod): bigint =>
  turnoverMinor - turnoverTakenBackMinor

const head = {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }: RevenueOfPeriod) => currency],
  Kind: [
    outWord(
      SALES_KINDS,
      'Where the revenue comes from: subscriptions, recurring invoices, invoices by hand, or notes that correct no invoice yet (unsettled).',
    ),
    ({ kind }: RevenueOfPeriod) => kind,
  ],
} as const

const amounts = {
  Turnover: amountColumn<RevenueOfPeriod>(
    ({ turnoverMinor }) => turnoverMinor,
    'Net amount of lines of invoices of the period, less those cancelled in it',
  ),
  TurnoverTakenBack: amountColumn<RevenueOfPeriod>(
    ({ turnoverTakenBackMinor }) => turnoverTakenBackMinor,
    'Net amount that credit notes took of them; of what is unsettled, notes of the period that correct no invoice yet, less those that do now',
  ),
  NetTurnover: amountColumn<RevenueOfPeriod>(netOf, 'Turnover less TurnoverTakenBack'),
}

const item = (id: string, code: string, what: string): Columns<RevenueOfPeriod> => ({
  [id]: [orNull(outId(`Null of lines that are for no ${what}`)), ({ itemId }) => itemId],
  [code]: [orNull(outText(`The code of the ${what}, unique within the account.`)), ({ code: written }) => written],
  Name: [orNull(outText(`Of the ${what}, as it is now`)), ({ name }) => name],
})

/** Columns of what a row is of, by what is asked for. */
const KEYS: Readonly<Record<RevenueBy, Columns<RevenueOfPeriod>>> = {
  package: item('packageID', 'packageCode', 'package'),
  component: item('componentID', 'ComponentCode', 'component'),
  country: {
    countryID: [
      orNull(outId('Country of the customer when the document was made; null where it is not known')),
      ({ itemId }) => itemId,
    ],
  },
  month: { Month: [outText('YYYY-MM'), ({ month }) => month] },
}

const TITLES: Readonly<Record<RevenueBy, string>> = {
  package: 'RevenueByPackage',
  component: 'RevenueByComponent',
  country: 'RevenueByCountry',
  month: 'RevenueByMonth',
}

const shapeOf = (by: RevenueBy) =>
  recordShape<RevenueOfPeriod>()(TITLES[by], { ...head, ...KEYS[by], ...amounts }) as RecordShape<RevenueOfPeriod>

/** Records by what is asked for. */
const REVENUE_SHAPES: Readonly<Record<RevenueBy, RecordShape<RevenueOfPeriod>>> = {
  package: shapeOf('package'),
  component: shapeOf('component'),
  country: shapeOf('country'),
  month: shapeOf('month'),
}

const RevenueQuery = periodQuery(REVENUE_BY)

export const revenueReport = readOperation({
  ...REPORT,
  id: 'getRevenueReport',
  path: '/v1/reports/revenue',
  summary:
    'Read the net revenue of a period less credits, by package, component, country or month; invoices by hand and what credit notes have not settled apart; as JSON or CSV',
  query: RevenueQuery,
  success: {
    status: 200,
    schema: { anyOf: REVENUE_BY.map((by) => REVENUE_SHAPES[by].list.schema) },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const period = await periodOf(db, context, asked.query)
    const by = asked.query.by ?? 'package'
    const rows = revenueOfPeriod(db, period, by)
    return answerOf(context, asked, `revenue-${period.from}-${period.to}`, rows, REVENUE_SHAPES[by])
  },
})
