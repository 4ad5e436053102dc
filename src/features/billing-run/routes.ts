import { missing } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  longOperation,
  type Operation,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import { clockMoving, moveClock } from './clock.ts'
import { announceRun, countRuns, findRun, insertRun, listFailures, listRuns } from './queries.ts'
import type { RunDeps } from './run.ts'
import {
  billingRunOut,
  BillingRunsOut,
  ClockIn,
  clockMoveOut,
  clockMoveToWire,
  ClockOut,
  runToWire,
  runWithFailuresToWire,
} from './wire.ts'

interface Deps extends RunDeps {
  /** The database on connections that long operations have for themselves. */
  longDb: Database
  publicUrl: string | undefined
  forgetAccount(account: AccountId): void
  /** Told of every run of a clock that this process has finished. */
  runFinished?: (invoices: number, failed: number, seconds: number) => void
}

const unknownRun = (id: bigint | string) =>
  missing('billing_run_unknown', `There is no billing run ${id}.`, 'billingRunID')

const runs = ({ realClock, publicUrl, order }: Deps, runOut = billingRunOut(order)): Operation[] => [
  readOperation({
    id: 'listBillingRuns',
    method: 'GET',
    path: '/v1/billingruns',
    tag: 'Billing runs',
    summary: 'List billing runs of the last 90 days',
    query: listQuery({}),
    success: { status: 200, schema: BillingRunsOut.schema },
    read: async (db, { account }, { query, url }) => {
      const page = pageOf(query)
      const rows = await listRuns(db, account.id, (page.page - 1) * page.size, page.size + 1)
      const write = (some: typeof rows) =>
        BillingRunsOut.write(some.map((run) => runToWire(run, account.timeZone, realClock())))
      return listAnswer({ rows, page, url, count: () => countRuns(db, account.id) }, write, publicUrl)
    },
  }),
  lookupOperation({
    id: 'getBillingRun',
    method: 'GET',
    path: '/v1/billingruns/{billingRunID}',
    tag: 'Billing runs',
    summary: 'Progress of a billing run, and what it could not bill',
    success: { status: 200, schema: runOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'billingRunID', unknownRun)
      const [run, failures] = await Promise.all([findRun(db, account.id, id), listFailures(db, account.id, id)])
      if (!run) throw unknownRun(id)
      return {
        status: 200,
        body: runOut.write(runWithFailuresToWire(order, run, failures, account.timeZone, realClock())),
      }
    },
  }),
  writeOperation({
    id: 'startBillingRun',
    method: 'POST',
    path: '/v1/billingruns',
    tag: 'Billing runs',
    summary: 'Bill everything due today; the run goes on in the background',
    success: { status: 201, schema: runOut.schema },
    write: async (tx, { account, moment }) => {
      const run = await insertRun(tx, account.id, {
        cause: 'request',
        untilDate: moment.today,
        createdAt: instantOf(realClock()),
      })
      await announceRun(tx)
      const body = runOut.write(runWithFailuresToWire(order, run, [], account.timeZone, realClock()))
      return { status: 201, body, headers: { location: `/v1/billingruns/${run.id}` } }
    },
  }),
]

const clock = (deps: Deps, moveOut = clockMoveOut(deps.order)): Operation[] => [
  lookupOperation({
    id: 'getClock',
    method: 'GET',
    path: '/v1/clock',
    tag: 'Clock',
    summary: 'The moment that the account lives in',
    success: { status: 200, schema: ClockOut.schema },
    read: async (_db, { moment }) => ({ status: 200, body: ClockOut.write({ Now: moment.now }) }),
  }),
  longOperation({
    id: 'moveClock',
    method: 'PUT',
    path: '/v1/clock',
    tag: 'Clock',
    summary: "Move a test account's clock forward; what falls due on the way is done day by day",
    body: ClockIn,
    success: { status: 200, schema: moveOut.schema },
    refusals: { 409: 'The account is live, the clock would move backwards, or it is being moved' },
    refusal: clockMoving,
    run: async ({ account, actor }, { body }) => {
      try {
        const startedMs = performance.now()
        const move = await moveClock({ ...deps, db: deps.longDb }, { account: account.id, to: body.Now, actor })
        const { invoices, failures } = move.totals
        deps.runFinished?.(invoices, failures.length, (performance.now() - startedMs) / 1000)
        return { status: 200, body: moveOut.write(clockMoveToWire(deps.order, move, account.timeZone)) }
      } finally {
        deps.forgetAccount(account.id)
      }
    },
  }),
]

export const billingRunOperations = (deps: Deps): Operation[] => [...runs(deps), ...clock(deps)]
