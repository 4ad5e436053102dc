import { dateWithOffset } from '../../kernel/zone.ts'
import { type Columns, dayColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { instant } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
  outId,
  outInteger,
  outNumber,
  outObject,
  outText,
  outWord,
  type Shape,
} from '../../platform/wire/write.ts'
import type { Schema } from '../../platform/wire/schema.ts'
import type { ClockMove } from './types.ts'
import { failedRecordIds, type OrderOfDay } from './due-kind.ts'
import type { BillingRun, ClockOutcome, RunFailure } from './queries.ts'

export const RUN_STATES = ['waiting', 'running', 'done'] as const
export const RUN_CAUSES = ['schedule', 'request', 'command', 'clock'] as const

/** Declares the failures of runs, which name records by the fields of the kinds. */
const failureShape = (order: OrderOfDay) =>
  recordShape<RunFailure>()(undefined, {
    ...(Object.fromEntries(
      Object.keys(failedRecordIds(order)).map((field) => [
        field,
        [orNull(outId()), (failure: RunFailure) => failedRecordIds(order, failure)[field] ?? null],
      ]),
    ) as Columns<RunFailure>),
    customerID: [outId(), ({ customerId }) => customerId],
    DueDate: dayColumn(({ dueOn }) => dueOn),
    Reason: [outText(), ({ reason }) => reason],
  })

/** A run at the moment of asking, in real time: how fast it goes is measured until then. */
export interface AskedRun extends BillingRun {
  askedAtMs: number
}

export interface RunWithFailures extends AskedRun, ClockOutcome {
  failures: readonly RunFailure[]
}

/** Records a second since the start, over the whole of a finished run; null before it. */
function rateOf({ startedAt, finishedAt, done, askedAtMs }: AskedRun): number | null {
  if (startedAt === null) return null
  const endMs = finishedAt === null ? askedAtMs : Date.parse(finishedAt)
  return done / (Math.max(endMs - Date.parse(startedAt), 1) / 1000)
}

/** Seconds that the run still needs at its rate: none of a finished one; null while there is no rate. */
function secondsLeft(run: AskedRun): number | null {
  const rate = rateOf(run)
  if (rate === null) return null
  if (run.finishedAt !== null) return 0
  return rate > 0 ? Math.ceil(Math.max(run.total - run.done, 0) / rate) : null
}

const stateOf = ({ startedAt, finishedAt }: BillingRun) =>
  finishedAt !== null ? 'done' : startedAt !== null ? 'running' : 'waiting'

const runColumns = {
  billingRunID: [outId(), ({ id }) => id],
  Cause: [outWord(RUN_CAUSES), ({ cause }) => cause],
  State: [outWord(RUN_STATES), stateOf],
  Until: [
    outDate('Calendar date: the last day that is billed'),
    ({ untilDate }, { timeZone }) => dateWithOffset(untilDate, timeZone),
  ],
  CreatedDate: [outDate('Instant, in real time'), ({ createdAt }) => createdAt],
  StartedDate: [orNull(outDate('Instant, in real time')), ({ startedAt }) => startedAt],
  FinishedDate: [orNull(outDate('Instant, in real time')), ({ finishedAt }) => finishedAt],
  Done: [outInteger(), ({ done }) => done],
  Total: [outInteger(), ({ total }) => total],
  Invoices: [outInteger(), ({ invoices }) => invoices],
  Failed: [outInteger(), ({ failed }) => failed],
  Rate: [orNull(outNumber('Records a second since the start')), (run) => rateOf(run)?.toFixed(1) ?? null],
  TimeLeft: [orNull(outInteger()), secondsLeft],
} satisfies Columns<AskedRun>

export const runSummaryShape = recordShape<AskedRun>()('BillingRunSummary', runColumns)

export const runShape = (order: OrderOfDay) =>
  recordShape<RunWithFailures>()('BillingRun', {
    ...(runColumns as Columns<RunWithFailures>),
    Failures: recordsColumn(failureShape(order), ({ failures }) => failures),
    Result: [
      outKept(
        clockMoveShape(order).schema,
        'Of a run that moved a clock: what PUT answers; null before, and of other runs',
      ),
      ({ result }) => result,
    ],
    Failure: [
      outKept(
        ClockFailureOut.schema,
        'Of a run that moved a clock and could not finish: why, and the day that the clock has reached',
      ),
      ({ failure }) => failure,
    ],
  })

/** Declares JSON text that was written when it was kept: it goes out as it is. */
const outKept = (schema: Schema, description: string): Shape<string | null> => ({
  schema: { anyOf: [schema, { type: 'null' }], description },
  write: (text) => text ?? 'null',
})

/** The reason why a move of a clock stopped, and the day that it has reached. */
export const ClockFailureOut = outObject({ Code: outText(), Message: outText(), Reached: outDate('Calendar date') })

/** The record of the event of a moved clock. */
export const ClockMovedOut = outObject({ From: outDate('Instant'), Now: outDate('Instant') })

export const ClockOut = outObject(
  {
    Now: outDate('Instant'),
    Until: orNull(outDate('Instant that the clock is moved to; null while it stands')),
    billingRunID: orNull(outId('The run that moves it; null while it stands')),
  },
  'Clock',
)

export const ClockIn = objectOf(
  { Now: required(instant()) },
  {
    name: 'ClockInput',
    ignored: [
      'Until',
      'billingRunID',
      'From',
      'Days',
      'Invoices',
      'Renewals',
      'Expired',
      'Collected',
      'Declined',
      'Unknown',
      'Failed',
    ],
  },
)

/** The answer to a move that goes on in the background. */
export const ClockBegunOut = outObject({ billingRunID: outId() }, 'ClockBegun')

/** Declares the answer to a move of the clock, with the failures on its way. */
export const clockMoveShape = (order: OrderOfDay) =>
  recordShape<ClockMove>()('ClockMove', {
    Now: [outDate('Instant'), ({ now }) => now],
    From: [outDate('Instant'), ({ from }) => from],
    Days: [outInteger(), ({ days }) => days],
    Invoices: [outInteger(), ({ totals }) => totals.invoices],
    Renewals: [outInteger(), ({ totals }) => totals.renewals],
    Expired: [outInteger(), ({ totals }) => totals.expired],
    Collected: [
      outInteger({ description: 'Tries that were paid at once; results of debits show in their batches' }),
      ({ totals }) => totals.collected,
    ],
    Declined: [
      outInteger({ description: 'Tries that failed at once; results of debits show in their batches' }),
      ({ totals }) => totals.declined,
    ],
    Unknown: [outInteger({ description: 'Tries without an answer yet' }), ({ totals }) => totals.unknown],
    Failed: recordsColumn(failureShape(order), ({ totals }) => totals.failures),
  })
