import { readOperation } from '../../platform/http/operation.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import { amountColumn, recordShape } from '../../platform/wire/columns.ts'
import { decimalDigits, orNull, outId, outNumber, outText, outWord } from '../../platform/wire/write.ts'
import { salesOfPeriod, taxesOfPeriod, type SalesOfPeriod, type TaxOfPeriod } from './tax-queries.ts'
import { answerOf, periodOf, REPORT } from './answer.ts'
import { periodQuery } from './query.ts'

const CATEGORIES = [...TAX_CATEGORIES, 'unsettled'] as const
type Category = (typeof CATEGORIES)[number]

const category = [
  orNull(outWord(CATEGORIES, SHARED.Category)),
  (row: { category: string | null }) => row.category as Category | null,
] as const
const country = [
  orNull(outId('Country of the customer when the document was made; null where it is not known')),
  ({ countryId }: { countryId: bigint | null }) => countryId,
] as const

const netOf = ({ outputMinor, takenBackMinor, relievedMinor }: TaxOfPeriod): bigint =>
  outputMinor - takenBackMinor - relievedMinor
const netBaseOf = ({ baseMinor, baseTakenBackMinor }: TaxOfPeriod): bigint => baseMinor - baseTakenBackMinor

const taxShape = recordShape<TaxOfPeriod>()('TaxOfPeriod', {
  Name: [orNull(outText('Of the tax; null where no rule taxed, and of what is unsettled')), ({ name }) => name],
  Perc: [orNull(outNumber(SHARED.PercAnswered)), ({ rate }) => (rate === null ? null : decimalDigits(rate))],
  TaxNumber: [orNull(outText(SHARED.TaxNumber)), ({ taxNumber }) => taxNumber],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Base: amountColumn(
    ({ baseMinor }) => baseMinor,
    'What invoices of the period were taxed on, less those cancelled in it',
  ),
  OutputTax: amountColumn(({ outputMinor }) => outputMinor, 'What they charged'),
  TaxTakenBack: amountColumn(({ takenBackMinor }) => takenBackMinor, 'What credit notes gave back'),
  Net: amountColumn(netOf, 'OutputTax less TaxTakenBack and BadDebtRelief'),
  Category: [...category],
  countryID: [...country],
  countryStateID: [orNull(outId(identifies('subdivision of the country'))), ({ stateId }) => stateId],
  BaseTakenBack: amountColumn(
    ({ baseTakenBackMinor }) => baseTakenBackMinor,
    'Net amount that credit notes corrected; of what is unsettled, notes of the period that correct no invoice yet, less those that do now',
  ),
  NetBase: amountColumn(netBaseOf, 'Base less BaseTakenBack'),
  BadDebtRelief: amountColumn(({ relievedMinor }) => relievedMinor, 'Tax of bad debt that was relieved'),
  BaseRelieved: amountColumn(
    ({ baseRelievedMinor }) => baseRelievedMinor,
    'Net amount of that bad debt; NetBase does not count it',
  ),
})

const netTurnoverOf = ({ turnoverMinor, turnoverTakenBackMinor }: SalesOfPeriod): bigint =>
  turnoverMinor - turnoverTakenBackMinor

const salesShape = recordShape<SalesOfPeriod>()('SalesOfPeriod', {
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  Name: [outText('The name of the customer.'), ({ customerName }) => customerName],
  countryID: [...country],
  VatNo: [orNull(outText('Of the customer when the document was made')), ({ vatNumber }) => vatNumber],
  Category: [...category],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Turnover: amountColumn(
    ({ turnoverMinor }) => turnoverMinor,
    'Net amount of invoices of the period, less those cancelled in it',
  ),
  TurnoverTakenBack: amountColumn(
    ({ turnoverTakenBackMinor }) => turnoverTakenBackMinor,
    'Net amount that credit notes took back',
  ),
  NetTurnover: amountColumn(netTurnoverOf, 'Turnover less TurnoverTakenBack'),
  Tax: amountColumn(({ taxMinor }) => taxMinor, 'Charged less taken back and relieved'),
})

const TaxQuery = periodQuery(['rate', 'customer'])

export const taxReport = readOperation({
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
      ? answerOf(context, asked, `sales-${days}`, salesOfPeriod(db, period), salesShape)
      : answerOf(context, asked, `tax-${days}`, taxesOfPeriod(db, period), taxShape)
  },
})
