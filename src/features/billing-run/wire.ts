import { dateWithOffset } from '../../kernel/zone.ts'
import { instant } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { ClockMove } from './clock.ts'
import { failedRecordIds, type OrderOfDay } from './due-kind.ts'
import type { BillingRun, RunFailure } from './queries.ts'

export const RUN_STATES = ['waiting', 'running', 'done'] as const
export const RUN_CAUSES = ['schedule', 'request', 'command', 'clock'] as const

const failureOut = (order: OrderOfDay) =>
  outObject({
    ...Object.fromEntries(Object.keys(failedRecordIds(order)).map((field) => [field, orNull(outId())])),
    customerID: outId(),
    DueDate: outDate('Calendar date'),
    Reason: outText(),
  })

const runShapes = {
  billingRunID: outId(),
  Cause: outWord(RUN_CAUSES),
  State: outWord(RUN_STATES),
  Until: outDate('Calendar date: the last day that is billed'),
  CreatedDate: outDate('Instant, in real time'),
  StartedDate: orNull(outDate('Instant, in real time')),
  FinishedDate: orNull(outDate('Instant, in real time')),
  Done: outInteger(),
  Total: outInteger(),
  Invoices: outInteger(),
  Failed: outInteger(),
  Rate: orNull(outNumber('Records a second since the start')),
  TimeLeft: orNull(outInteger()),
}

/** Makes the shape of a run with its failures, which name records by the fields of the kinds. */
export const billingRunOut = (order: OrderOfDay) =>
  outObject({ ...runShapes, Failures: outList(failureOut(order)) }, 'BillingRun')
export const BillingRunsOut = outList(outObject(runShapes, 'BillingRunSummary'))

const failureToWire = (order: OrderOfDay, failure: RunFailure, timeZone: string) => ({
  ...failedRecordIds(order, failure),
  customerID: failure.customerId,
  DueDate: dateWithOffset(failure.dueOn, timeZone),
  Reason: failure.reason,
})

/** Rate and time left are of the moment of asking: a finished run has a rate, and nothing left. */
function pace(run: BillingRun, realNowMs: number): { Rate: string | null; TimeLeft: number | null } {
  if (run.startedAt === null) return { Rate: null, TimeLeft: null }
  const endMs = run.finishedAt === null ? realNowMs : Date.parse(run.finishedAt)
  const seconds = Math.max(endMs - Date.parse(run.startedAt), 1) / 1000
  const rate = run.done / seconds
  const left = run.finishedAt !== null ? 0 : rate > 0 ? Math.ceil(Math.max(run.total - run.done, 0) / rate) : null
  return { Rate: rate.toFixed(1), TimeLeft: left }
}

export const runToWire = (run: BillingRun, timeZone: string, realNowMs: number) => ({
  billingRunID: run.id,
  Cause: run.cause,
  State:
    run.finishedAt !== null ? ('done' as const) : run.startedAt !== null ? ('running' as const) : ('waiting' as const),
  Until: dateWithOffset(run.untilDate, timeZone),
  CreatedDate: run.createdAt,
  StartedDate: run.startedAt,
  FinishedDate: run.finishedAt,
  Done: run.done,
  Total: run.total,
  Invoices: run.invoices,
  Failed: run.failed,
  ...pace(run, realNowMs),
})

export const runWithFailuresToWire = (
  order: OrderOfDay,
  run: BillingRun,
  failures: readonly RunFailure[],
  timeZone: string,
  realNowMs: number,
): ShapeOf<ReturnType<typeof billingRunOut>> => ({
  ...runToWire(run, timeZone, realNowMs),
  Failures: failures.map((failure) => failureToWire(order, failure, timeZone)),
})

export const ClockOut = outObject({ Now: outDate('Instant') }, 'Clock')

export const ClockIn = objectOf(
  { Now: required(instant()) },
  { name: 'ClockInput', ignored: ['From', 'Days', 'Invoices', 'Renewals', 'Expired', 'Failed'] },
)

/** Makes the shape of a move of the clock, with the failures on its way. */
export const clockMoveOut = (order: OrderOfDay) =>
  outObject(
    {
      Now: outDate('Instant'),
      From: outDate('Instant'),
      Days: outInteger(),
      Invoices: outInteger(),
      Renewals: outInteger(),
      Expired: outInteger(),
      Failed: outList(failureOut(order)),
    },
    'ClockMove',
  )

export const clockMoveToWire = (
  order: OrderOfDay,
  { now, from, days, totals }: ClockMove,
  timeZone: string,
): ShapeOf<ReturnType<typeof clockMoveOut>> => ({
  Now: now,
  From: from,
  Days: days,
  Invoices: totals.invoices,
  Renewals: totals.renewals,
  Expired: totals.expired,
  Failed: totals.failures.map((failure) => failureToWire(order, failure, timeZone)),
})
