import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import { amountColumn, recordShape } from '../../platform/wire/columns.ts'
import { decimalDigits, orNull, outId, outNumber, outText, outWord } from '../../platform/wire/write.ts'
import { amountCell, type CsvColumn, idCell, textCell } from './csv.ts'
import { periodQuery } from './query.ts'
import type { SalesOfPeriod, TaxOfPeriod } from './tax-queries.ts'

const CATEGORIES = [...TAX_CATEGORIES, 'unsettled'] as const
type Category = (typeof CATEGORIES)[number]

const category = [
  described(orNull(outWord(CATEGORIES)), SHARED.Category),
  (row: { category: string | null }) => row.category as Category | null,
] as const
const country = [
  orNull(outId('Country of the customer when the document was made; null where it is not known')),
  ({ countryId }: { countryId: bigint | null }) => countryId,
] as const

const netOf = ({ outputMinor, takenBackMinor, relievedMinor }: TaxOfPeriod): bigint =>
  outputMinor - takenBackMinor - relievedMinor
const netBaseOf = ({ baseMinor, baseTakenBackMinor }: TaxOfPeriod): bigint => baseMinor - baseTakenBackMinor

export const taxShape = recordShape<TaxOfPeriod>()('TaxOfPeriod', {
  Name: [
    orNull(outText({ description: 'Of the tax; null where no rule taxed, and of what is unsettled' })),
    ({ name }) => name,
  ],
  Perc: [
    described(orNull(outNumber('A fraction from 0 to 1')), SHARED.Perc),
    ({ rate }) => (rate === null ? null : decimalDigits(rate)),
  ],
  TaxNumber: [described(orNull(outText()), SHARED.TaxNumber), ({ taxNumber }) => taxNumber],
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Base: amountColumn(
    ({ baseMinor }) => baseMinor,
    'What invoices of the period were taxed on, less those cancelled in it',
  ),
  OutputTax: amountColumn(({ outputMinor }) => outputMinor, 'What they charged'),
  TaxTakenBack: amountColumn(({ takenBackMinor }) => takenBackMinor, 'What credit notes gave back'),
  Net: amountColumn(netOf, 'OutputTax less TaxTakenBack and BadDebtRelief'),
  Category: [...category],
  countryID: [...country],
  countryStateID: [described(orNull(outId()), identifies('subdivision of the country')), ({ stateId }) => stateId],
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

export const salesShape = recordShape<SalesOfPeriod>()('SalesOfPeriod', {
  customerID: [described(outId(), identifies('customer')), ({ customerId }) => customerId],
  Name: [described(outText(), 'The name of the customer.'), ({ customerName }) => customerName],
  countryID: [...country],
  VatNo: [orNull(outText({ description: 'Of the customer when the document was made' })), ({ vatNumber }) => vatNumber],
  Category: [...category],
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
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

export const taxCsv: readonly CsvColumn<TaxOfPeriod>[] = [
  ['Name', ({ name }) => textCell(name)],
  ['Perc', ({ rate }) => ({ number: rate === null ? null : decimalText(rate) })],
  ['TaxNumber', ({ taxNumber }) => textCell(taxNumber)],
  ['CurrencyCode', ({ currency }) => textCell(currency)],
  ['Base', amountCell(({ baseMinor }) => baseMinor)],
  ['OutputTax', amountCell(({ outputMinor }) => outputMinor)],
  ['TaxTakenBack', amountCell(({ takenBackMinor }) => takenBackMinor)],
  ['Net', amountCell(netOf)],
  ['Category', (row) => textCell(row.category)],
  ['countryID', ({ countryId }) => idCell(countryId)],
  ['countryStateID', ({ stateId }) => idCell(stateId)],
  ['BaseTakenBack', amountCell(({ baseTakenBackMinor }) => baseTakenBackMinor)],
  ['NetBase', amountCell(netBaseOf)],
  ['BadDebtRelief', amountCell(({ relievedMinor }) => relievedMinor)],
  ['BaseRelieved', amountCell(({ baseRelievedMinor }) => baseRelievedMinor)],
]

export const salesCsv: readonly CsvColumn<SalesOfPeriod>[] = [
  ['customerID', ({ customerId }) => idCell(customerId)],
  ['Name', ({ customerName }) => textCell(customerName)],
  ['countryID', ({ countryId }) => idCell(countryId)],
  ['VatNo', ({ vatNumber }) => textCell(vatNumber)],
  ['Category', (row) => textCell(row.category)],
  ['CurrencyCode', ({ currency }) => textCell(currency)],
  ['Turnover', amountCell(({ turnoverMinor }) => turnoverMinor)],
  ['TurnoverTakenBack', amountCell(({ turnoverTakenBackMinor }) => turnoverTakenBackMinor)],
  ['NetTurnover', amountCell(netTurnoverOf)],
  ['Tax', amountCell(({ taxMinor }) => taxMinor)],
]

export const TaxQuery = periodQuery(['rate', 'customer'])
