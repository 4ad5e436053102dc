import { readOperation } from '../../platform/http/operation.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { type Age, AGES, MOVEMENT_TYPES, sumOfAges } from '../../engine/money/statement.ts'
import { amountColumn, type Column, dayColumn, optionalDayColumn, recordShape } from '../../platform/wire/columns.ts'
import { type Digits, orNull, outId, outText, outWord } from '../../platform/wire/write.ts'
import { agedByCustomer, openItems, type Aged, type OpenItem } from './ageing-queries.ts'
import { answerOf, asAtOf, REPORT } from './answer.ts'
import { dateQuery } from './query.ts'

const AGE_OF_OPEN: Readonly<Record<Age, string>> = {
  Current: 'Open and not past due, due that day included',
  Days1To30: 'Open and 1 to 30 days past due',
  Days31To60: 'Open and 31 to 60 days past due',
  Days61To90: 'Open and 61 to 90 days past due',
  Days91To120: 'Open and 91 to 120 days past due',
  DaysOver120: 'Open and more than 120 days past due',
}

const customerColumns = {
  customerID: [outId(identifies('customer')), ({ customerId }: Aged) => customerId],
  Name: [outText('Of the customer, as it is now'), ({ customerName }: Aged) => customerName],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }: Aged) => currency],
} as const

const amountColumns = {
  ...(Object.fromEntries(
    AGES.map((age) => [age, amountColumn<Aged>(({ [age]: minor }) => minor, AGE_OF_OPEN[age])]),
  ) as Record<Age, Column<Aged, Digits>>),
  Total: amountColumn<Aged>(sumOfAges, 'Open in all'),
  Unallocated: amountColumn<Aged>(({ unallocatedMinor }) => unallocatedMinor, 'Money given that was not allocated'),
  PendingPassed: amountColumn<Aged>(
    ({ pendingPassedMinor }) => pendingPassedMinor,
    'Lines of batches whose day has passed without being submitted: what they were to pay is open',
  ),
  Balance: amountColumn<Aged>(balanceOf, 'Total less Unallocated and PendingPassed'),
}

function balanceOf(aged: Aged): bigint {
  return sumOfAges(aged) - aged.unallocatedMinor - aged.pendingPassedMinor
}

const agedShape = recordShape<Aged>()('AgedByCustomer', { ...customerColumns, ...amountColumns })

const openItemShape = recordShape<OpenItem>()('OpenItem', {
  ...customerColumns,
  Type: [outWord(MOVEMENT_TYPES, 'What made it: an invoice, a payment, a note, or an adjustment.'), ({ type }) => type],
  DocumentID: [outId('Identifier of the document among those of its Type'), ({ id }) => id],
  Number: [orNull(outText('Number or reference of the document')), ({ number }) => number],
  Date: dayColumn(({ dated }) => dated, 'The day of the document.'),
  DueDate: optionalDayColumn(({ dueDate }) => dueDate, SHARED.DueDate),
  Amount: amountColumn(({ amountMinor }) => amountMinor, 'Of the whole document'),
  ...amountColumns,
})

const AgeingQuery = dateQuery(['customer', 'document'])

export const ageingReport = readOperation({
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
      ? answerOf(context, asked, `open-items-${asAt.date}`, openItems(db, asAt), openItemShape)
      : answerOf(context, asked, `ageing-${asAt.date}`, agedByCustomer(db, asAt), agedShape)
  },
})
