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
  outDate,
  outId,
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
  Current: outNumber(),
  Days1To30: outNumber(),
  Days31To60: outNumber(),
  Days61To90: outNumber(),
  Days91To120: outNumber(),
  DaysOver120: outNumber(),
})

function ageingToWire(ageing: Ageing, digits: number): ShapeOf<typeof AgeingOut> {
  const entries = AGES.map((age) => [age, minorDigits(ageing[age], digits)] as const)
  return Object.fromEntries(entries) as ShapeOf<typeof AgeingOut>
}

export const customerBalanceShape = recordShape<CurrencyBalance>()('CustomerBalance', {
  CurrencyCode: [outText(), ({ currency }) => currency],
  Balance: amountColumn((b) => b.receivableMinor - b.unappliedMinor, 'Owed less given; negative is in credit'),
  Overdue: amountColumn(({ ageing }) => overdueOf(ageing)),
  Pending: amountColumn((b) => b.clearingMinor, 'Payments whose outcome is not known'),
  Unallocated: amountColumn((b) => b.unappliedMinor - b.passedUnallocatedMinor),
  PendingPassed: amountColumn(
    (b) => b.pendingPassedMinor,
    'Lines of batches whose day has passed without being submitted: what they were to pay is open',
  ),
  Held: amountColumn(
    ({ heldMinor }) => heldMinor,
    'Of the unallocated money, held for refunds whose outcome is not known',
  ),
  Ageing: [AgeingOut, ({ ageing, currency }) => ageingToWire(ageing, digitsOf(currency))],
})

const MovementOut = outObject({
  Date: outDate('Calendar date'),
  Type: outWord(MOVEMENT_TYPES),
  ID: outId(),
  Number: orNull(outText()),
  Description: outText(),
  Debit: orNull(outNumber()),
  Credit: orNull(outNumber()),
  Balance: outNumber(),
})

export const StatementOut = outObject(
  {
    customerID: outId(),
    CurrencyCode: outText(),
    From: outDate('Calendar date'),
    To: outDate('Calendar date'),
    OpeningBalance: outNumber(),
    Movements: outList(MovementOut),
    Debits: outNumber(),
    Credits: outNumber(),
    ClosingBalance: outNumber(),
    RecordedLater: outNumber('What is dated after To'),
    Ageing: AgeingOut,
    Unallocated: outNumber(),
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
  from: optional(date()),
  to: optional(date()),
  currency: optional(currencyCode()),
  format: optional(word(['json', 'pdf'] as const, { anyCase: true })),
})

export const keptStatementShape = recordShape<StatementRow>()('KeptStatement', {
  statementID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  From: dayColumn(({ from }) => from),
  To: dayColumn(({ to }) => to),
  CreatedDate: [outDate('Instant'), ({ createdAt }) => createdAt],
  ClosingBalances: [
    outList(outObject({ CurrencyCode: outText(), ClosingBalance: outNumber() })),
    ({ sections }) =>
      sections.map(({ currency, closingMinor }) => ({
        CurrencyCode: currency,
        ClosingBalance: minorDigits(BigInt(closingMinor), digitsOf(currency)),
      })),
  ],
})
