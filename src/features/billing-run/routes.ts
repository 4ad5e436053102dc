import { introduced } from '../../platform/http/tags.ts'
import type { Logger } from 'pino'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { type Warn, writingOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { longOperation, type Operation, lookupOperation, writeOperation } from '../../platform/http/operation.ts'
import { readableKind } from '../../platform/http/record.ts'
import { clockMoving, moveClock } from './clock.ts'
import { countFailing, listFailing } from './failing-queries.ts'
import { failingShape } from './failing-wire.ts'
import {
  announceRun,
  type BillingRun,
  countRuns,
  findClockMove,
  findRun,
  insertRun,
  listFailures,
  listRuns,
} from './queries.ts'
import type { RunDeps } from './chunk.ts'
import type { ClockMove } from './types.ts'
import {
  type AskedRun,
  ClockBegunOut,
  ClockIn,
  clockMoveShape,
  ClockOut,
  runShape,
  runSummaryShape,
  type RunWithFailures,
} from './wire.ts'

interface Deps extends RunDeps {
  /** The database on connections that long operations have for themselves. */
  longDb: Database
  forgetAccount(account: AccountId): void
  log: Pick<Logger, 'info' | 'warn'>
  /** Called after every run of a clock that this process has finished. */
  runFinished?: (invoices: number, failed: number, seconds: number) => void
}

function runs({ realClock, order }: Deps): Operation[] {
  const asked = <Run extends BillingRun>(run: Run): Run & AskedRun => ({ ...run, askedAtMs: realClock() })
  const kind = readableKind<RunWithFailures, 'billing_run'>({
    code: 'billing_run',
    name: 'billing run',
    param: 'billingRunID',
    path: '/v1/billingruns',
    out: runShape(order),
    idOf: ({ id }) => id,
    find: async (db, { account }, id) => {
      const [run, failures] = await Promise.all([findRun(db, account.id, id), listFailures(db, account.id, id)])
      return run && { ...asked(run), failures }
    },
  })
  return [
    listOperation({
      id: 'listBillingRuns',
      path: '/v1/billingruns',
      tag: introduced('Billing runs', 'Runs that bill what is due, and what they could not bill.'),
      summary: 'List billing runs of the last 90 days',
      out: runSummaryShape,
      rows: listRuns,
      count: countRuns,
      complete: async (_db, _context, rows) => rows.map(asked),
    }),
    kind.readOperation({
      id: 'getBillingRun',
      tag: 'Billing runs',
      summary: 'Read the progress of a billing run, and what it could not bill',
    }),
    writeOperation({
      id: 'startBillingRun',
      method: 'POST',
      path: '/v1/billingruns',
      tag: 'Billing runs',
      summary: 'Bill everything due today; the run goes on in the background',
      success: { status: 201, schema: kind.out.schema },
      write: async (tx, context) => {
        const run = await insertRun(tx, tx.account, {
          cause: 'request',
          untilDate: context.moment.today,
          createdAt: instantOf(realClock()),
        })
        await announceRun(tx)
        return kind.created({ ...asked(run), failures: [], result: null, failure: null }, context)
      },
    }),
  ]
}

const clock = (deps: Deps, moveOut = clockMoveShape(deps.order)): Operation[] => [
  lookupOperation({
    id: 'getClock',
    path: '/v1/clock',
    tag: introduced('Clock', 'The clock of a test account, which can be moved forward to see what happens later.'),
    summary: 'Read the moment that the account lives in',
    success: { status: 200, schema: ClockOut.schema },
    read: async (db, { account, moment }) => {
      const move = await findClockMove(db, account.id)
      const body = ClockOut.write({ Now: moment.now, Until: move?.until ?? null, billingRunID: move?.id ?? null })
      return { status: 200, body }
    },
  }),
  longOperation({
    id: 'moveClock',
    method: 'PUT',
    path: '/v1/clock',
    tag: 'Clock',
    summary: "Move a test account's clock forward; what falls due on the way is done day by day",
    body: ClockIn,
    success: { status: 200, schema: moveOut.schema, pending: ClockBegunOut.schema },
    refusals: { 409: 'The account is live, the clock would move backwards, or it is being moved' },
    longKind: 'clock',
    refusal: clockMoving,
    run: async (context, { body }, about) => {
      const { account, actor } = context
      try {
        const startedMs = performance.now()
        const warn: Warn = (facts, message) => deps.log.warn(facts, message)
        const { answerAhead, gone } = about
        const onBegun = (id: Id) =>
          answerAhead?.({
            status: 202,
            body: ClockBegunOut.write({ billingRunID: id }),
            headers: { location: `/v1/billingruns/${id}`, 'preference-applied': 'respond-async' },
          })
        const writeResult = (made: ClockMove) => moveOut.write(made, writingOf(context))
        const wish = { account: account.id, to: body.Now, actor, onDays: about.progress, gone, onBegun, writeResult }
        const move = await moveClock({ ...deps, db: deps.longDb, warn }, wish)
        const { done, invoices, failures } = move.totals
        const seconds = (performance.now() - startedMs) / 1000
        deps.runFinished?.(invoices, failures.length, seconds)
        const finished = {
          account: String(account.id),
          days: move.days,
          done,
          invoices,
          failed: failures.length,
          seconds,
        }
        if (failures.length > 0) deps.log.warn(finished, 'clock moved, but not every record was billed')
        else deps.log.info(finished, 'clock moved')
        return { status: 200, body: moveOut.write(move, writingOf(context)) }
      } finally {
        deps.forgetAccount(account.id)
      }
    },
  }),
]

const failing: Operation[] = [
  listOperation({
    id: 'listBillingFailures',
    path: '/v1/billingfailures',
    tag: 'Billing runs',
    summary: 'List subscriptions and recurring invoices of which what is due cannot be billed, until they are billed',
    out: failingShape,
    rows: listFailing,
    count: countFailing,
  }),
]

export const billingRunOperations = (deps: Deps): Operation[] => [...runs(deps), ...failing, ...clock(deps)]
