import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { AGES, type Ageing, MOVEMENT_TYPES, overdueOf, type StatementLine } from '../../engine/money/statement.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, date } from '../../platform/wire/fields.ts'
import { objectOf, optional, word } from '../../platform/wire/read.ts'
import {
  type Arriving,
  minorDigits,
  orNull,
  outDay,
  outId,
  outInstant,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { StatementRow } from './kept-queries.ts'
import type { ArrivingStatement, CurrencyBalance } from './make.ts'

const AgeingOut = outObject({
  Current: outNumber('What is not due yet.'),
  Days1To30: outNumber('What has been due for 1 to 30 days.'),
  Days31To60: outNumber('What has been due for 31 to 60 days.'),
  Days61To90: outNumber('What has been due for 61 to 90 days.'),
  Days91To120: outNumber('What has been due for 91 to 120 days.'),
  DaysOver120: outNumber('What has been due for more than 120 days.'),
})

function ageingToWire(ageing: Ageing, digits: number): ShapeOf<typeof AgeingOut> {
  const entries = AGES.map((age) => [age, minorDigits(ageing[age], digits)] as const)
  return Object.fromEntries(entries) as ShapeOf<typeof AgeingOut>
}

export const customerBalanceShape = recordShape<CurrencyBalance>()('CustomerBalance', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Balance: amountColumn((b) => b.receivableMinor - b.unappliedMinor, 'Owed less given; negative is in credit'),
  Overdue: amountColumn(({ ageing }) => overdueOf(ageing), 'What is past its due date.'),
  Pending: amountColumn((b) => b.clearingMinor, 'Payments whose outcome is not known'),
  Unallocated: amountColumn(
    (b) => b.unappliedMinor - b.passedUnallocatedMinor,
    'How much of the money is not allocated yet.',
  ),
  PendingPassed: amountColumn(
    (b) => b.pendingPassedMinor,
    'Lines of batches whose day has passed without being submitted: what they were to pay is open',
  ),
  Held: amountColumn(
    ({ heldMinor }) => heldMinor,
    'Of the unallocated money, held for refunds whose outcome is not known',
  ),
  Ageing: [
    described(AgeingOut, 'What is owed, by how long it has been due.'),
    ({ ageing, currency }) => ageingToWire(ageing, digitsOf(currency)),
  ],
})

const MovementOut = outObject({
  Date: outDay('The day on which it counts.'),
  Type: outWord(MOVEMENT_TYPES, 'What happened.'),
  ID: outId(identifies('record that Type names')),
  Number: orNull(outText('The number of the document; null where it has none.')),
  Description: outText('What it is about, in the language of the customer.'),
  Debit: orNull(outNumber('The amount on the debit side.')),
  Credit: orNull(outNumber('The amount on the credit side.')),
  Balance: outNumber('What is owed after it.'),
})

export const StatementOut = outObject(
  {
    customerID: outId(identifies('customer')),
    CurrencyCode: outText(SHARED.CurrencyCode),
    From: outDay('The first day.'),
    To: outDay('The last day.'),
    OpeningBalance: outNumber('The balance before the first day.'),
    Movements: outList(MovementOut, 'What happened in these days, oldest first.'),
    Debits: outNumber('The sum of what added to what was owed in these days.'),
    Credits: outNumber('The sum of what took from what was owed in these days.'),
    ClosingBalance: outNumber('The balance after the last day.'),
    RecordedLater: outNumber('What is dated after To'),
    Ageing: described(AgeingOut, 'What is owed, by how long it has been due.'),
    Unallocated: outNumber('How much of the money is not allocated yet.'),
    PendingPassed: outNumber(
      'Lines of batches whose day has passed without being submitted: what they were to pay is open',
    ),
  },
  'Statement',
)

const WORDS = {
  invoice: 'Invoice',
  invoice_cancelled: 'Invoice cancelled',
  payment: 'Payment',
  credit_note: 'Credit note',
  bad_debt: 'Written off',
  bad_debt_recovered: 'Written off, since paid',
  refund: 'Refund',
  opening_balance: 'Opening balance',
  interest: 'Interest',
} as const

/** Describes a line in words: "Payment by eft, pending", "Payment by eft failed". */
export const describeMovement = ({
  type,
  method,
  isPending,
}: Pick<StatementLine, 'type' | 'method' | 'isPending'>): string => {
  const by = method === null ? '' : ` by ${method.replaceAll('_', ' ')}`
  if (type === 'payment_failed') return `${WORDS.payment}${by} failed`
  return `${WORDS[type]}${by}${isPending ? ', pending' : ''}`
}

function lineToWire(line: StatementLine, currency: string, timeZone: string): ShapeOf<typeof MovementOut> {
  const digits = digitsOf(currency)
  const amount = (minor: bigint) => minorDigits(minor, digits)
  return {
    Date: dateWithOffset(line.dated, timeZone),
    Type: line.type,
    ID: line.id,
    Number: line.number,
    Description: describeMovement(line),
    Debit: line.debitMinor === 0n ? null : amount(line.debitMinor),
    Credit: line.creditMinor === 0n ? null : amount(line.creditMinor),
    Balance: amount(line.balanceMinor),
  }
}

export function statementToWire(s: ArrivingStatement, timeZone: string): Arriving<ShapeOf<typeof StatementOut>> {
  const digits = digitsOf(s.currency)
  const amount = (minor: bigint) => minorDigits(minor, digits)
  async function* movements() {
    for await (const lines of s.lines) yield lines.map((line) => lineToWire(line, s.currency, timeZone))
  }
  return {
    customerID: s.customerId,
    CurrencyCode: s.currency,
    From: dateWithOffset(s.from, timeZone),
    To: dateWithOffset(s.to, timeZone),
    OpeningBalance: amount(s.openingMinor),
    Movements: movements(),
    Debits: amount(s.debitsMinor),
    Credits: amount(s.creditsMinor),
    ClosingBalance: amount(s.closingMinor),
    RecordedLater: amount(s.laterMinor),
    Ageing: ageingToWire(s.ageing, digits),
    Unallocated: amount(s.unallocatedMinor),
    PendingPassed: amount(s.pendingPassedMinor),
  }
}

export const StatementQuery = objectOf({
  from: optional(date(), 'The first day of the statement.', 'Left out, it is the first of this month.'),
  to: optional(date(), 'The last day of the statement.', LEFT_OUT.today),
  currency: optional(
    currencyCode(),
    'Limits the answer to one currency.',
    'Left out, it is that of the customer; a PDF has all.',
  ),
  format: optional(
    word(['json', 'pdf'] as const, { anyCase: true }),
    'The form of the answer.',
    'Left out, `Accept` decides, and else it is JSON.',
  ),
})

export const keptStatementShape = recordShape<StatementRow>()('KeptStatement', {
  statementID: [outId(identifies('statement')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  From: dayColumn(({ from }) => from, 'The first day.'),
  To: dayColumn(({ to }) => to, 'The last day.'),
  CreatedDate: [outInstant('When the statement was made.'), ({ createdAt }) => createdAt],
  ClosingBalances: [
    outList(
      outObject({
        CurrencyCode: outText(SHARED.CurrencyCode),
        ClosingBalance: outNumber('The balance after the last day.'),
      }),
      'What the customer owed on the last day, one entry for each currency.',
    ),
    ({ sections }) =>
      sections.map(({ currency, closingMinor }) => ({
        CurrencyCode: currency,
        ClosingBalance: minorDigits(BigInt(closingMinor), digitsOf(currency)),
      })),
  ],
})
