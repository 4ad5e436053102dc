import { described } from '../../platform/wire/described.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, type Columns, type RecordShape, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outText, outWord } from '../../platform/wire/write.ts'
import { amountCell, type CsvColumn, idCell, textCell } from './csv.ts'
import { SALES_KINDS } from './line-queries.ts'
import { periodQuery } from './query.ts'
import { REVENUE_BY, type RevenueBy, type RevenueOfPeriod } from './revenue-queries.ts'

const netOf = ({ turnoverMinor, turnoverTakenBackMinor }: RevenueOfPeriod): bigint =>
  turnoverMinor - turnoverTakenBackMinor

const head = {
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }: RevenueOfPeriod) => currency],
  Kind: [
    described(
      outWord(SALES_KINDS),
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
  [code]: [
    described(orNull(outText()), `The code of the ${what}, unique within the account.`),
    ({ code: written }) => written,
  ],
  Name: [orNull(outText({ description: `Of the ${what}, as it is now` })), ({ name }) => name],
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
  month: { Month: [outText({ description: 'YYYY-MM' }), ({ month }) => month] },
}

const TITLES: Readonly<Record<RevenueBy, string>> = {
  package: 'RevenueByPackage',
  component: 'RevenueByComponent',
  country: 'RevenueByCountry',
  month: 'RevenueByMonth',
}

const itemCells = (id: string, code: string): readonly CsvColumn<RevenueOfPeriod>[] => [
  [id, ({ itemId }) => idCell(itemId)],
  [code, ({ code: written }) => textCell(written)],
  ['Name', ({ name }) => textCell(name)],
]

const CELLS: Readonly<Record<RevenueBy, readonly CsvColumn<RevenueOfPeriod>[]>> = {
  package: itemCells('packageID', 'packageCode'),
  component: itemCells('componentID', 'ComponentCode'),
  country: [['countryID', ({ itemId }) => idCell(itemId)]],
  month: [['Month', ({ month }) => textCell(month)]],
}

const formOf = (by: RevenueBy) => ({
  shape: recordShape<RevenueOfPeriod>()(TITLES[by], {
    ...head,
    ...KEYS[by],
    ...amounts,
  }) as RecordShape<RevenueOfPeriod>,
  csv: [
    ['CurrencyCode', ({ currency }: RevenueOfPeriod) => textCell(currency)],
    ['Kind', ({ kind }: RevenueOfPeriod) => textCell(kind)],
    ...CELLS[by],
    ['Turnover', amountCell(({ turnoverMinor }: RevenueOfPeriod) => turnoverMinor)],
    ['TurnoverTakenBack', amountCell(({ turnoverTakenBackMinor }: RevenueOfPeriod) => turnoverTakenBackMinor)],
    ['NetTurnover', amountCell(netOf)],
  ] satisfies CsvColumn<RevenueOfPeriod>[],
})

/** Answers by what is asked for, as JSON and as CSV. */
export const REVENUE_FORMS: Readonly<Record<RevenueBy, ReturnType<typeof formOf>>> = {
  package: formOf('package'),
  component: formOf('component'),
  country: formOf('country'),
  month: formOf('month'),
}

export const RevenueQuery = periodQuery(REVENUE_BY)
