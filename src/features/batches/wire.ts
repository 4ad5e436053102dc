import { filter, LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { minorText } from '../../kernel/money.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, date, flag, guid, longText } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { type Batch, BATCH_STATES } from './queries.ts'
import { isAwaitingRelease } from './rules.ts'

/** A batch with its lines, or, in a list, without them. */
export interface BatchView extends Batch {
  lines: readonly { id: Id; amountMinor: bigint }[] | null
  /** Null once it was handed over or cancelled. */
  shownMoment: Instant | null
  isDayPassed: boolean
}

/** Writes a total with two decimals, or with those of its currency where it has more: "1000.00". */
export function totalText(totalMinor: bigint, currency: string): string {
  const digits = digitsOf(currency)
  const shownDigits = Math.max(2, digits)
  return minorText(totalMinor * 10n ** BigInt(shownDigits - digits), shownDigits)
}

const GUID = { format: 'uuid' } as const

export const batchShape = recordShape<BatchView>()('Batch', {
  BatchToken: [outText('The token by which requests name the batch.', GUID), ({ token }) => token],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  GatewayToken: [outText('The token by which requests name the gateway.', GUID), ({ gatewayToken }) => gatewayToken],
  CreatedDate: [outInstant('When it was added.'), ({ createdAt }) => createdAt],
  SubmitDate: [orNull(outDate('Instant; null until it is submitted')), ({ submittedAt }) => submittedAt],
  ActionDate: dayColumn(({ actionDate }) => actionDate, 'The day of the debits.'),
  State: [
    outWord(
      BATCH_STATES,
      'How far the batch is: open for changes, being built, failed, submitted, completed with a result for each line, or cancelled.',
    ),
    ({ state }) => state,
  ],
  BuildError: [
    orNull(outText('Why the file could not be built; null unless the batch has failed.')),
    ({ buildError }) => buildError,
  ],
  NumberOfPayments: [outInteger('Lines that were not deleted'), ({ lineCount }) => lineCount],
  PaymentsTotal: [
    outText('The sum of its lines, as a text with the decimals of the currency.'),
    ({ totalMinor, currency }) => totalText(totalMinor, currency),
  ],
  Notes: [orNull(outText('Notes of your own.')), ({ notes }) => notes],
  isAwaitingRelease: [outFlag('Whether the batch was submitted and another key has to release it.'), isAwaitingRelease],
  LastMoment: [
    orNull(
      outDate('Instant: until when it can be submitted for its ActionDate; null once it is submitted or cancelled'),
    ),
    ({ shownMoment }) => shownMoment,
  ],
  isDayPassed: [
    outFlag(
      'Whether the last moment of its day has passed while it has lines that wait, and the service will not move it.',
    ),
    ({ isDayPassed }) => isDayPassed,
  ],
  Payments: [
    described(
      orNull(
        outList(
          outObject({
            paymentID: outId(identifies('payment')),
            Amount: outNumber('The amount that is debited.'),
          }),
        ),
      ),
      'The lines of the batch; null in lists, which leave them out.',
    ),
    ({ lines, currency }) =>
      lines?.map(({ id, amountMinor }) => ({
        paymentID: id,
        Amount: minorDigits(amountMinor, digitsOf(currency)),
      })) ?? null,
  ],
})

/** Changes with whatever a PUT replaces. */
export const batchEtag = ({ currency, gatewayToken, actionDate, notes }: Batch): string =>
  etagOf(currency, gatewayToken, actionDate, notes)

export const batchFilters = {
  State: filter(word(BATCH_STATES), 'batches in this state'),
  GatewayToken: filter(guid(), 'batches of the gateway with this token'),
  ActionDateFrom: optional(
    date(),
    'Limits the list to batches for this day or later.',
    'Left out, there is no first day.',
  ),
  ActionDateTo: optional(
    date(),
    'Limits the list to batches for this day or earlier.',
    'Left out, there is no last day.',
  ),
  isDayPassed: optional(
    flag(),
    'With true only batches with lines that nobody submitted by their last moment and that the service does not move, with false all others.',
    LEFT_OUT.all,
  ),
} satisfies Properties

const inputs = {
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  GatewayToken: required(guid(), 'The token by which requests name the gateway.'),
  ActionDate: required(date(), 'The day of the debits: a bank day, as early as the gateway allows.'),
  Notes: optional(longText(), 'Notes of your own.', LEFT_OUT.none),
} satisfies Properties

const COMPUTED = [
  'CreatedDate',
  'SubmitDate',
  'State',
  'BuildError',
  'NumberOfPayments',
  'PaymentsTotal',
  'isAwaitingRelease',
  'LastMoment',
  'isDayPassed',
  'Payments',
]

const token = {
  BatchToken: required(guid(), 'The token by which requests name the batch.'),
} satisfies Properties

export const BatchIn = objectOf(inputs, { name: 'BatchAdd', ignored: ['BatchToken', ...COMPUTED] })
export const BatchEditIn = objectOf(
  { ...token, ...whenLeftOut(inputs, { Notes: LEFT_OUT.cleared }) },
  { name: 'BatchEdit', ignored: COMPUTED },
)
export type BatchBody = BodyOf<typeof inputs>

const submitting = {
  ...token,
  ActionDate: required(date(), 'The day of the debits: a bank day, as early as the gateway allows.'),
  Notes: optional(longText(), 'Notes of your own.', LEFT_OUT.keptOrCleared),
} satisfies Properties
export const SubmitIn = objectOf(submitting, { name: 'BatchSubmit' })
export const BatchNameIn = objectOf(token, { name: 'BatchName' })
