import { readOperation } from '../../platform/http/operation.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, type RecordShape, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outText, outWord } from '../../platform/wire/write.ts'
import { deferredAsAt, type Deferred, DEFERRED_BY, type DeferredBy } from './deferred.ts'
import { answerOf, asAtOf, REPORT } from './answer.ts'
import { SALES_KINDS } from './line-queries.ts'
import { dateQuery } from './query.ts'

const amount = amountColumn<Deferred>(({ amountMinor }) => amountMinor, 'What belongs to days after the date, net')
const ofMonths = recordShape<Deferred>()('DeferredByMonth', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Month: [outText('Month that the amount belongs to, YYYY-MM'), ({ month }) => month],
  Deferred: amount,
})

const ofPackages = recordShape<Deferred>()('DeferredByPackage', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Kind: [
    outWord(
      SALES_KINDS,
      'Where the revenue comes from: subscriptions, recurring invoices, invoices by hand, or notes that correct no invoice yet (unsettled).',
    ),
    ({ kind }) => kind,
  ],
  packageID: [orNull(outId('Null of lines that are for no package')), ({ packageId }) => packageId],
  packageCode: [orNull(outText(SHARED.packageCode)), ({ code }) => code],
  Name: [orNull(outText('Of the package, as it is now')), ({ name }) => name],
  Deferred: amount,
})

/** Records by what is asked for. */
const DEFERRED_SHAPES: Readonly<Record<DeferredBy, RecordShape<Deferred>>> = {
  month: ofMonths,
  package: ofPackages,
}

const DeferredQuery = dateQuery(DEFERRED_BY)

export const deferredReport = readOperation({
  ...REPORT,
  id: 'getDeferredReport',
  path: '/v1/reports/deferred',
  summary:
    'Read the deferred revenue of a day: what invoices until then charged for later days, less credits; by the months it belongs to, or by package; as JSON or CSV',
  query: DeferredQuery,
  success: {
    status: 200,
    schema: { anyOf: DEFERRED_BY.map((by) => DEFERRED_SHAPES[by].list.schema) },
    media: ['text/csv'],
  },
  read: async (db, context, asked) => {
    const asAt = await asAtOf(db, context, asked.query)
    const by = asked.query.by ?? 'month'
    const rows = deferredAsAt(db, asAt, by)
    return answerOf(context, asked, `deferred-${asAt.date}`, rows, DEFERRED_SHAPES[by])
  },
})
