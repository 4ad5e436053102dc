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
  BatchToken: [outText(GUID), ({ token }) => token],
  CurrencyCode: [outText(), ({ currency }) => currency],
  GatewayToken: [outText(GUID), ({ gatewayToken }) => gatewayToken],
  CreatedDate: [outDate('Instant'), ({ createdAt }) => createdAt],
  SubmitDate: [orNull(outDate('Instant; null until it is submitted')), ({ submittedAt }) => submittedAt],
  ActionDate: dayColumn(({ actionDate }) => actionDate),
  State: [outWord(BATCH_STATES), ({ state }) => state],
  BuildError: [orNull(outText()), ({ buildError }) => buildError],
  NumberOfPayments: [outInteger({ description: 'Lines that were not deleted' }), ({ lineCount }) => lineCount],
  PaymentsTotal: [outText(), ({ totalMinor, currency }) => totalText(totalMinor, currency)],
  Notes: [orNull(outText()), ({ notes }) => notes],
  isAwaitingRelease: [outFlag(), isAwaitingRelease],
  LastMoment: [
    orNull(
      outDate('Instant: until when it can be submitted for its ActionDate; null once it is submitted or cancelled'),
    ),
    ({ shownMoment }) => shownMoment,
  ],
  isDayPassed: [outFlag(), ({ isDayPassed }) => isDayPassed],
  Payments: [
    orNull(outList(outObject({ paymentID: outId(), Amount: outNumber() }))),
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
  State: optional(word(BATCH_STATES)),
  GatewayToken: optional(guid()),
  ActionDateFrom: optional(date()),
  ActionDateTo: optional(date()),
  isDayPassed: optional(flag()),
} satisfies Properties

const inputs = {
  CurrencyCode: required(currencyCode()),
  GatewayToken: required(guid()),
  ActionDate: required(date()),
  Notes: optional(longText()),
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

const token = { BatchToken: required(guid()) } satisfies Properties

export const BatchIn = objectOf(inputs, { name: 'BatchAdd', ignored: ['BatchToken', ...COMPUTED] })
export const BatchEditIn = objectOf({ ...token, ...inputs }, { name: 'BatchEdit', ignored: COMPUTED })
export type BatchBody = BodyOf<typeof inputs>

const submitting = { ...token, ActionDate: required(date()), Notes: optional(longText()) } satisfies Properties
export const SubmitIn = objectOf(submitting, { name: 'BatchSubmit' })
export const BatchNameIn = objectOf(token, { name: 'BatchName' })
