import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { type Columns, dayColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { instant } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
  outDay,
  outId,
  outInstant,
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
      order.flat().flatMap(({ idField, recordType }) => {
        if (idField === undefined) return []
        const shape = orNull(outId(identifies(recordType.replaceAll('_', ' '))))
        return [[idField, [shape, (failure: RunFailure) => failedRecordIds(order, failure)[idField] ?? null]]]
      }),
    ) as Columns<RunFailure>),
    customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
    DueDate: dayColumn(({ dueOn }) => dueOn, 'The day of which it could not be billed.'),
    Reason: [outText('Why it could not be billed.'), ({ reason }) => reason],
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
  billingRunID: [outId(identifies('billing run')), ({ id }) => id],
  Cause: [
    outWord(RUN_CAUSES, 'What started the run: its day came, a request, a command, or a move of the clock.'),
    ({ cause }) => cause,
  ],
  State: [outWord(RUN_STATES, 'Whether the run waits for a worker, is worked on, or is done.'), stateOf],
  Until: [
    outDate('Calendar date: the last day that is billed'),
    ({ untilDate }, { timeZone }) => dateWithOffset(untilDate, timeZone),
  ],
  CreatedDate: [outDate('When the run was asked for. Instant, in real time.'), ({ createdAt }) => createdAt],
  StartedDate: [
    orNull(outDate('When a worker began the run; null while it waits. Instant, in real time.')),
    ({ startedAt }) => startedAt,
  ],
  FinishedDate: [
    orNull(outDate('When the run ended; null while it goes on. Instant, in real time.')),
    ({ finishedAt }) => finishedAt,
  ],
  Done: [outInteger('How many records the run is through with.'), ({ done }) => done],
  Total: [outInteger('How many records the run has to do in all.'), ({ total }) => total],
  Invoices: [outInteger('How many invoices were made.'), ({ invoices }) => invoices],
  Failed: [outInteger('How many records could not be billed.'), ({ failed }) => failed],
  Rate: [orNull(outNumber('Records a second since the start')), (run) => rateOf(run)?.toFixed(1) ?? null],
  TimeLeft: [
    orNull(outInteger('About how many seconds the run still takes; null before that can be estimated.')),
    secondsLeft,
  ],
} satisfies Columns<AskedRun>

export const runSummaryShape = recordShape<AskedRun>()('BillingRunSummary', runColumns)

export const runShape = (order: OrderOfDay) =>
  recordShape<RunWithFailures>()('BillingRun', {
    ...(runColumns as Columns<RunWithFailures>),
    Failures: recordsColumn(failureShape(order), ({ failures }) => failures, 'The records that could not be billed.'),
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
export const ClockFailureOut = outObject({
  Code: outText('The code of the refusal, or of the fault, that ended the move of the clock.'),
  Message: outText(SHARED.Problem),
  Reached: outDay('The day that the clock had reached.'),
})

/** The record of the event of a moved clock. */
export const ClockMovedOut = outObject({ From: outInstant(), Now: outInstant() })

export const ClockOut = outObject(
  {
    Now: outInstant('The moment that the account lives in.'),
    Until: orNull(outDate('Instant that the clock is moved to; null while it stands')),
    billingRunID: orNull(outId('The run that moves it; null while it stands')),
  },
  'Clock',
)

export const ClockIn = objectOf(
  { Now: required(instant(), 'The moment to which the clock is moved, later than the present one.') },
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
export const ClockBegunOut = outObject({ billingRunID: outId(identifies('billing run')) }, 'ClockBegun')

/** Declares the answer to a move of the clock, with the failures on its way. */
export const clockMoveShape = (order: OrderOfDay) =>
  recordShape<ClockMove>()('ClockMove', {
    Now: [outInstant('The moment that the account lives in.'), ({ now }) => now],
    From: [outInstant('The moment from which the clock was moved.'), ({ from }) => from],
    Days: [outInteger('How many days the clock was moved.'), ({ days }) => days],
    Invoices: [outInteger('How many invoices were made.'), ({ totals }) => totals.invoices],
    Renewals: [outInteger('How many terms began.'), ({ totals }) => totals.renewals],
    Expired: [outInteger('How many records came to their end automatically.'), ({ totals }) => totals.expired],
    Collected: [
      outInteger('Tries that were paid at once; results of debits show in their batches'),
      ({ totals }) => totals.collected,
    ],
    Declined: [
      outInteger('Tries that failed at once; results of debits show in their batches'),
      ({ totals }) => totals.declined,
    ],
    Unknown: [outInteger('Tries without an answer yet'), ({ totals }) => totals.unknown],
    Failed: recordsColumn(
      failureShape(order),
      ({ totals }) => totals.failures,
      'The records that could not be billed on the way.',
    ),
  })
