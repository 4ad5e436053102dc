import { described } from '../../platform/wire/described.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, type RecordShape, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outText, outWord } from '../../platform/wire/write.ts'
import { amountCell, type CsvColumn, idCell, textCell } from './csv.ts'
import { type Deferred, DEFERRED_BY, type DeferredBy } from './deferred.ts'
import { SALES_KINDS } from './line-queries.ts'
import { dateQuery } from './query.ts'

const amount = amountColumn<Deferred>(({ amountMinor }) => amountMinor, 'What belongs to days after the date, net')
const currencyCell: CsvColumn<Deferred> = ['CurrencyCode', ({ currency }) => textCell(currency)]
const deferredCell: CsvColumn<Deferred> = ['Deferred', amountCell(({ amountMinor }) => amountMinor)]

const ofMonths = recordShape<Deferred>()('DeferredByMonth', {
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Month: [outText({ description: 'Month that the amount belongs to, YYYY-MM' }), ({ month }) => month],
  Deferred: amount,
})

const ofPackages = recordShape<Deferred>()('DeferredByPackage', {
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Kind: [
    described(
      outWord(SALES_KINDS),
      'Where the revenue comes from: subscriptions, recurring invoices, invoices by hand, or notes that correct no invoice yet (unsettled).',
    ),
    ({ kind }) => kind,
  ],
  packageID: [orNull(outId('Null of lines that are for no package')), ({ packageId }) => packageId],
  packageCode: [described(orNull(outText()), SHARED.packageCode), ({ code }) => code],
  Name: [orNull(outText({ description: 'Of the package, as it is now' })), ({ name }) => name],
  Deferred: amount,
})

/** Answers by what is asked for, as JSON and as CSV. */
export const DEFERRED_FORMS: Readonly<
  Record<DeferredBy, { shape: RecordShape<Deferred>; csv: readonly CsvColumn<Deferred>[] }>
> = {
  month: { shape: ofMonths, csv: [currencyCell, ['Month', ({ month }) => textCell(month)], deferredCell] },
  package: {
    shape: ofPackages,
    csv: [
      currencyCell,
      ['Kind', ({ kind }) => textCell(kind)],
      ['packageID', ({ packageId }) => idCell(packageId)],
      ['packageCode', ({ code }) => textCell(code)],
      ['Name', ({ name }) => textCell(name)],
      deferredCell,
    ],
  },
}

export const DeferredQuery = dateQuery(DEFERRED_BY)
