import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { DECLINE_CLASSES } from '../../kernel/rails.ts'
import { date, flag, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, required } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outDay,
  outFlag,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { LineAttempt } from '../batches/line-queries.ts'
import type { Invoice } from '../invoices/queries.ts'
import type { ShownTry, TryState } from './try-queries.ts'

const OUTCOMES = ['pending', 'succeeded', 'declined', 'returned', 'not_sent'] as const

export const AttemptsOut = outList(
  outObject(
    {
      paymentID: outId(identifies('payment')),
      invoiceID: outId(identifies('invoice')),
      invoiceNum: orNull(outId(SHARED.invoiceNum)),
      Date: outDay('The day of the attempt.'),
      Amount: outNumber('The amount that was asked for.'),
      gatewayID: outId(identifies('gateway')),
      paymentMethodID: outId(identifies('payment method')),
      BatchToken: orNull(outText('The token by which requests name the batch.')),
      Outcome: outWord(OUTCOMES, 'How the attempt ended; `pending` while no answer is known.'),
      Class: orNull(
        outWord(
          DECLINE_CLASSES,
          'Why it failed, in one of a few words that are the same for every gateway; null where it has not failed.',
        ),
      ),
      Code: orNull(outText('The code of the gateway or bank for the failure; null without one.')),
      Message: orNull(outText('What the gateway or bank wrote about it; null without a text.')),
      isByHand: outFlag('Whether a person has settled it.'),
      transactionID: orNull(outText(SHARED.transactionID)),
    },
    'CollectionAttempt',
  ),
)

const outcomeOf = (state: TryState): (typeof OUTCOMES)[number] => (state === 'open' ? 'pending' : state)

type NumberedInvoice = Pick<Invoice, 'id' | 'number'>

export const attemptsToWire = (tries: readonly ShownTry[], { id, number }: NumberedInvoice, timeZone: string) =>
  tries.map((t) => ({
    paymentID: t.paymentId,
    invoiceID: id,
    invoiceNum: number,
    Date: dateWithOffset(t.begunOn, timeZone),
    Amount: minorDigits(t.amountMinor, digitsOf(t.currency)),
    gatewayID: t.gatewayId,
    paymentMethodID: t.paymentMethodId,
    BatchToken: t.batchToken,
    Outcome: t.lost ? ('returned' as const) : outcomeOf(t.state),
    Class: (t.lost ?? t).class,
    Code: (t.lost ?? t).code,
    Message: (t.lost ?? t).message,
    isByHand: t.isByHand,
    transactionID: t.gatewayReference,
  }))

type Attempt = ReturnType<typeof attemptsToWire>[number]

const outcomeOfLine = ({ result, returnedOn, resultClass }: LineAttempt): Attempt['Outcome'] => {
  if (returnedOn !== null) return 'returned'
  if (result === null) return 'pending'
  return result === 'success' ? 'succeeded' : resultClass === 'not_sent' ? 'not_sent' : 'declined'
}

/** Writes lines by hand as tries of an invoice that they were to pay: each with the amount that was for it. */
export const lineAttemptsToWire = (
  lines: readonly LineAttempt[],
  { id, number }: NumberedInvoice,
  timeZone: string,
): Attempt[] =>
  lines.map((line) => ({
    paymentID: line.id,
    invoiceID: id,
    invoiceNum: number,
    Date: dateWithOffset(line.actionDate, timeZone),
    Amount: minorDigits(line.amountMinor, digitsOf(line.currency)),
    gatewayID: line.gatewayId,
    paymentMethodID: line.paymentMethodId,
    BatchToken: line.batchToken,
    Outcome: outcomeOfLine(line),
    Class: line.returnedClass ?? line.resultClass,
    Code: line.returnedOn === null ? line.resultCode : line.returnedCode,
    Message: line.returnedReason ?? line.resultReason,
    isByHand: true,
    transactionID: line.gatewayReference,
  }))

export const TryResultIn = objectOf(
  {
    Success: required(flag(), 'Whether the money came.'),
    Reason: optional(text(), 'Why it did not; only with Success false.', LEFT_OUT.noReason),
    Date: optional(date(), 'The day on which it came or failed.', LEFT_OUT.today),
  },
  { name: 'PaymentResult' },
)
