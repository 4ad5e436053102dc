import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
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
  BatchToken: [described(outText(GUID), 'The token by which requests name the batch.'), ({ token }) => token],
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  GatewayToken: [
    described(outText(GUID), 'The token by which requests name the gateway.'),
    ({ gatewayToken }) => gatewayToken,
  ],
  CreatedDate: [described(outDate('Instant'), 'When it was added.'), ({ createdAt }) => createdAt],
  SubmitDate: [orNull(outDate('Instant; null until it is submitted')), ({ submittedAt }) => submittedAt],
  ActionDate: described(
    dayColumn(({ actionDate }) => actionDate),
    'The day of the debits.',
  ),
  State: [
    described(
      outWord(BATCH_STATES),
      'How far the batch is: open for changes, being built, failed, submitted, completed with a result for each line, or cancelled.',
    ),
    ({ state }) => state,
  ],
  BuildError: [
    described(orNull(outText()), 'Why the file could not be built; null unless the batch has failed.'),
    ({ buildError }) => buildError,
  ],
  NumberOfPayments: [outInteger({ description: 'Lines that were not deleted' }), ({ lineCount }) => lineCount],
  PaymentsTotal: [
    described(outText(), 'The sum of its lines, as a text with the decimals of the currency.'),
    ({ totalMinor, currency }) => totalText(totalMinor, currency),
  ],
  Notes: [described(orNull(outText()), 'Notes of your own.'), ({ notes }) => notes],
  isAwaitingRelease: [
    described(outFlag(), 'Whether the batch was submitted and another key has to release it.'),
    isAwaitingRelease,
  ],
  LastMoment: [
    orNull(
      outDate('Instant: until when it can be submitted for its ActionDate; null once it is submitted or cancelled'),
    ),
    ({ shownMoment }) => shownMoment,
  ],
  isDayPassed: [
    described(
      outFlag(),
      'Whether the last moment of its day has passed while it has lines that wait, and the service will not move it.',
    ),
    ({ isDayPassed }) => isDayPassed,
  ],
  Payments: [
    described(
      orNull(
        outList(
          outObject({
            paymentID: described(outId(), identifies('payment')),
            Amount: described(outNumber(), 'The amount that is debited.'),
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
  State: described(optional(word(BATCH_STATES)), 'Limits the list to batches in this state.', LEFT_OUT.all),
  GatewayToken: described(optional(guid()), 'Limits the list to batches of the gateway with this token.', LEFT_OUT.all),
  ActionDateFrom: described(
    optional(date()),
    'Limits the list to batches for this day or later.',
    'Left out, there is no first day.',
  ),
  ActionDateTo: described(
    optional(date()),
    'Limits the list to batches for this day or earlier.',
    'Left out, there is no last day.',
  ),
  isDayPassed: described(
    optional(flag()),
    'With true only batches with lines that nobody submitted by their last moment and that the service does not move, with false all others.',
    LEFT_OUT.all,
  ),
} satisfies Properties

const inputs = {
  CurrencyCode: described(required(currencyCode()), SHARED.CurrencyCode),
  GatewayToken: described(required(guid()), 'The token by which requests name the gateway.'),
  ActionDate: described(required(date()), 'The day of the debits: a bank day, as early as the gateway allows.'),
  Notes: described(optional(longText()), 'Notes of your own.', LEFT_OUT.none),
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
  BatchToken: described(required(guid()), 'The token by which requests name the batch.'),
} satisfies Properties

export const BatchIn = objectOf(inputs, { name: 'BatchAdd', ignored: ['BatchToken', ...COMPUTED] })
export const BatchEditIn = objectOf(
  { ...token, ...whenLeftOut(inputs, { Notes: LEFT_OUT.cleared }) },
  { name: 'BatchEdit', ignored: COMPUTED },
)
export type BatchBody = BodyOf<typeof inputs>

const submitting = {
  ...token,
  ActionDate: described(required(date()), 'The day of the debits: a bank day, as early as the gateway allows.'),
  Notes: described(optional(longText()), 'Notes of your own.', LEFT_OUT.keptOrCleared),
} satisfies Properties
export const SubmitIn = objectOf(submitting, { name: 'BatchSubmit' })
export const BatchNameIn = objectOf(token, { name: 'BatchName' })
