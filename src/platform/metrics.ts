import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { DatabaseNode } from './database/away-nodes.ts'
import type { Database } from './database/database.ts'
import { answersSince } from './database/watch.ts'
import { LONG_KINDS } from './long/kinds.ts'
import { type SteadyClock, steadyClock } from './steady-clock.ts'
import { within } from './within.ts'

/** Metrics of the service for /metrics, without anything about an account. Labels take few values, all of them known beforehand. */
type PoolState = ReturnType<Database['poolState']>

/** How a worker is that is a process of its own. */
export interface WorkerStatus {
  residentBytes: number
  connections: PoolState
}

/** A request to a gateway: the type of the gateway, what was asked, and what kind of answer came. */
export interface GatewayRequest {
  type: string
  operation: string
  outcome: string
  seconds: number
}

export interface Metrics {
  measured(operation: string, status: number, seconds: number): void
  /** Counts names of a request that nobody knows. */
  ignoredNames(operation: string, count: number): void
  /** Counts a request that took long. */
  slowRequest(operation: string): void
  /** Counts writes that shared a transaction with others, and those that were to and were done alone. */
  writesGrouped(outcome: 'together' | 'alone', count: number): void
  /** A billing run has finished. */
  runFinished(invoices: number, failed: number, seconds: number): void
  /** Counts a request to a gateway. */
  gatewayCalled(request: GatewayRequest): void
  /** Takes how the worker is that this process has started; undefined where it has none. */
  workerStatus(status: WorkerStatus | undefined): void
  text(): Promise<string>
}

/** Figure that the database has for all accounts together; its label is empty if there is nothing to distinguish. */
export interface Figure {
  name: string
  label: string
  value: number
}

export interface MetricsDeps {
  db: Pick<Database, 'poolState' | 'readiness' | 'admission' | 'nodes'>
  /** Asks the database; /metrics needs no key, so whoever asks often gets what was found a moment ago. */
  readFigures(): Promise<Figure[]>
  /** Asks for the age of the newest nightly copy in seconds, infinite where there is none; left out: none is made. */
  readCopyAge?: () => Promise<number>
  clock: SteadyClock
  version: string
}

const FIGURES_KEPT_MS = 5_000
const FIGURES_WAIT_MS = 3_000

/** Figures of the database: the text of each, and the name of its label. Those with `always` are 0 if nothing was found. */
const SHOWN_FIGURES: Record<
  string,
  {
    metric: string
    help: string
    label?: string
    /** Further labels: the values of all stand with a space between them. */
    and?: readonly string[]
    always?: readonly string[]
  }
> = {
  runs: {
    metric: 'perennial_runs',
    help: 'Unfinished billing runs: worked on, or waiting for a worker',
    label: 'state',
    always: ['working', 'waiting'],
  },
  run_records_done: {
    metric: 'perennial_run_records_done',
    help: 'Records that unfinished billing runs are through with, by what started the run',
    label: 'cause',
  },
  run_records_total: {
    metric: 'perennial_run_records_expected',
    help: 'Records that unfinished billing runs have to do in all, by what started the run',
    label: 'cause',
  },
  run_records_per_second: {
    metric: 'perennial_run_records_per_second',
    help: 'Records a second since their start of billing runs that are worked on, by what started the run',
    label: 'cause',
  },
  run_oldest_seconds: {
    metric: 'perennial_run_oldest_age_seconds',
    help: 'Age of the oldest unfinished billing run',
    always: [''],
  },
  run_finished_at: {
    metric: 'perennial_run_last_finished_timestamp_seconds',
    help: 'When a billing run last ended: any, and one in which every record could be billed',
    label: 'outcome',
  },
  due: {
    metric: 'perennial_due_records',
    help: 'Records of accounts on real time that are due and not done, by kind; 10000 means that many or more',
    label: 'kind',
  },
  records_failing: {
    metric: 'perennial_records_failing',
    help: 'Subscriptions and recurring invoices of which what is due cannot be billed, by the mode of their account; 10000 means that many or more',
    label: 'mode',
    always: ['live', 'test'],
  },
  accounts_to_schedule: {
    metric: 'perennial_accounts_to_schedule',
    help: 'Accounts whose day has begun and that no worker has looked at',
    always: [''],
  },
  mails: {
    metric: 'perennial_outbox_mails',
    help: 'Mail that is not sent, by status; 10000 means that many or more',
    label: 'status',
    always: ['queued', 'sending', 'failed', 'unknown', 'held'],
  },
  mail_oldest_seconds: {
    metric: 'perennial_outbox_oldest_wait_seconds',
    help: 'How long ago the mail that waits longest should have been tried',
    always: [''],
  },
  batches: {
    metric: 'perennial_batches',
    help: 'Batches of debits that are being built, wait for their release, or could not be built, of accounts on real time',
    label: 'state',
    always: ['building', 'awaiting_release', 'failed'],
  },
  batch_build_oldest_seconds: {
    metric: 'perennial_batch_build_oldest_seconds',
    help: 'How long ago the batch that has been built longest was submitted, or released',
    always: [''],
  },
  batches_day_passed: {
    metric: 'perennial_batches_day_passed',
    help: 'Batches with lines whose last moment is past and which nobody submitted, of accounts on real time',
    always: [''],
  },
  gateways_held: {
    metric: 'perennial_gateways_held',
    help: 'Gateways through which no money moves until an operator releases them, by the reason',
    label: 'reason',
    always: ['restore', 'import', 'failover', 'by_hand'],
  },
  gateway_report_age: {
    metric: 'perennial_gateway_report_age_seconds',
    help: 'How long ago the reports of a gateway were read to their end, of the one that waits longest, of accounts on real time',
    label: 'type',
  },
  gateway_reports_waiting: {
    metric: 'perennial_gateway_reports_waiting',
    help: 'Reports of gateways that are not applied, of accounts on real time; 10000 means that many or more',
    always: [''],
  },
  webhook_deliveries: {
    metric: 'perennial_webhook_deliveries',
    help: 'Deliveries of the last 30 days that wait for an endpoint or were given up, by state; 10000 means that many or more',
    label: 'state',
    always: ['waiting', 'failed'],
  },
  webhook_oldest_seconds: {
    metric: 'perennial_webhook_oldest_wait_seconds',
    help: 'How long ago the delivery that waits longest should have been tried',
    always: [''],
  },
  webhooks: {
    metric: 'perennial_webhooks',
    help: 'Endpoints of webhooks by state: active, failing since their last delivery, disabled by the service, switched off by hand',
    label: 'state',
    always: ['active', 'failing', 'disabled', 'off'],
  },
  long_operations: {
    metric: 'perennial_long_operations',
    help: 'Long operations of all processes: those that run, and those that wait for a place or a worker',
    label: 'kind',
    and: ['state'],
    always: LONG_KINDS.flatMap((kind) => [`${kind} running`, `${kind} waiting`]),
  },
  long_operation_seconds: {
    metric: 'perennial_long_operation_seconds',
    help: 'How long the longest of the long operations of a kind has been running',
    label: 'kind',
    always: LONG_KINDS,
  },
  processes: {
    metric: 'perennial_processes',
    help: 'Live processes of the service on this database, on whichever machine',
    label: 'kind',
    and: ['version', 'state'],
  },
  replication_lag_bytes: {
    metric: 'perennial_replication_lag_bytes',
    help: 'How far the standby that is furthest behind is, in bytes of the log, where the server shows that',
  },
  verify_differences: {
    metric: 'perennial_verify_differences',
    help: 'Differences that the nightly verification found, each account as it was verified last',
  },
  verify_finished_at: {
    metric: 'perennial_verify_last_run_timestamp_seconds',
    help: 'When the account that waits longest was last verified',
  },
}

export function makeMetrics({ db, readFigures, readCopyAge, clock, version }: MetricsDeps): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const {
    requests,
    latency,
    slow,
    ignored,
    grouped,
    invoiced,
    failed,
    runSeconds,
    moves,
    gatewayCalls,
    gatewaySeconds,
  } = counters(registers)
  const { pool, memory, workerMemory, workerPool, info, up, nodeUp, copyAge, clockOffset, standbyWait, maintenance } =
    gauges(registers)
  copyAge.remove()
  workerMemory.remove()
  const setFigures = figureGauges(registers)
  let countedMoves = 0
  let kept: { atMs: number; isPending: boolean; figures: Promise<Figure[]>; nodes: Promise<DatabaseNode[]> } | undefined

  function ask(): NonNullable<typeof kept> {
    const nodes = db.nodes().catch(() => [])
    const asked = { atMs: clock(), isPending: true, figures: readFigures(), nodes }
    asked.figures.then(
      () => (asked.isPending = false),
      () => {
        if (kept === asked) kept = undefined
      },
    )
    return asked
  }

  /** Reads the figures, one query at a time, also where that takes long. A result is kept for a moment, a failure is not. */
  async function figures(): Promise<{ found: Figure[] | undefined; nodes: DatabaseNode[] }> {
    if (!kept || (!kept.isPending && clock() - kept.atMs >= FIGURES_KEPT_MS)) kept = ask()
    const [found, nodes] = await Promise.all([
      within(FIGURES_WAIT_MS, kept.figures),
      within(FIGURES_WAIT_MS, kept.nodes),
    ])
    return { found, nodes: nodes ?? [] }
  }

  info.set({ version }, 1)
  return {
    measured(operation, status, seconds) {
      requests.inc({ operation, status: String(status) })
      latency.observe({ operation }, seconds)
    },
    ignoredNames(operation, count) {
      ignored.inc({ operation }, count)
    },
    slowRequest(operation) {
      slow.inc({ operation })
    },
    writesGrouped(outcome, count) {
      grouped.inc({ outcome }, count)
    },
    runFinished(invoices, failures, seconds) {
      invoiced.inc(invoices)
      failed.inc(failures)
      runSeconds.inc(seconds)
    },
    gatewayCalled({ type, operation, outcome, seconds }) {
      gatewayCalls.inc({ type, operation, outcome })
      gatewaySeconds.observe({ type, operation }, seconds)
    },
    workerStatus(status) {
      // A value that nobody renews would be taken for what is.
      workerMemory.remove()
      workerPool.reset()
      if (!status) return
      workerMemory.set(status.residentBytes)
      setPool(workerPool, status.connections)
    },
    async text() {
      setPool(pool, db.poolState())
      memory.set(process.memoryUsage.rss())
      // A folder that does not answer is as good as an empty one.
      if (readCopyAge) copyAge.set((await within(FIGURES_WAIT_MS, readCopyAge())) ?? Number.POSITIVE_INFINITY)
      const { found, nodes } = await figures()
      nodeUp.reset()
      for (const { name, isUp } of nodes) nodeUp.set({ node: name }, isUp ? 1 : 0)
      // What a process is too old to ask for is no outage, and neither are figures that lack those of one worker.
      const isInPart = db.admission.state === 'outdated' || nodes.some(({ isUp }) => !isUp)
      const answers = isInPart && answersSince(db.readiness(), steadyClock() - FIGURES_WAIT_MS)
      up.set(found || answers ? 1 : 0)
      maintenance.set(db.admission.state === 'maintenance' ? 1 : 0)
      const { clockOffsetMs, moves: moved, waitsForStandby } = db.readiness()
      clockOffset.set(clockOffsetMs / 1000)
      standbyWait.set(waitsForStandby ? 1 : 0)
      moves.inc(moved - countedMoves)
      countedMoves = moved
      setFigures(found)
      return registry.metrics()
    },
  }
}

function setPool(pool: Gauge<'state'>, { total, idle, waiting }: PoolState): void {
  pool.set({ state: 'used' }, total - idle)
  pool.set({ state: 'idle' }, idle)
  pool.set({ state: 'waited_for' }, waiting)
}

function counters(registers: Registry[]) {
  return {
    requests: new Counter({
      name: 'perennial_requests_total',
      help: 'Requests answered',
      labelNames: ['operation', 'status'],
      registers,
    }),
    latency: new Histogram({
      name: 'perennial_request_seconds',
      help: 'Time to answer',
      labelNames: ['operation'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    slow: new Counter({
      name: 'perennial_slow_requests_total',
      help: 'Requests that took SLOW_REQUEST_MS or longer',
      labelNames: ['operation'],
      registers,
    }),
    moves: new Counter({
      name: 'perennial_database_moves_total',
      help: 'Times that another database server, or the same one after a start, took the place of the one before',
      registers,
    }),
    ignored: new Counter({
      name: 'perennial_ignored_names_total',
      help: 'Names in bodies and queries that nobody knows, and that were ignored',
      labelNames: ['operation'],
      registers,
    }),
    grouped: new Counter({
      name: 'perennial_grouped_writes_total',
      help: 'Writes that came at once: done together in one transaction, or alone although they were to be',
      labelNames: ['outcome'],
      registers,
    }),
    invoiced: new Counter({
      name: 'perennial_run_invoices_total',
      help: 'Invoices made by billing runs of this process',
      registers,
    }),
    failed: new Counter({
      name: 'perennial_run_failures_total',
      help: 'Records that billing runs of this process could not bill',
      registers,
    }),
    gatewayCalls: new Counter({
      name: 'perennial_gateway_calls_total',
      help: 'Requests to gateways of this process and the workers that it has started, by what came of them',
      labelNames: ['type', 'operation', 'outcome'],
      registers,
    }),
    gatewaySeconds: new Histogram({
      name: 'perennial_gateway_call_seconds',
      help: 'Time to the answer of a gateway, with the wait for a place',
      labelNames: ['type', 'operation'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    runSeconds: new Counter({
      name: 'perennial_run_seconds_total',
      help: 'Time spent in billing runs by this process',
      registers,
    }),
  }
}

const gauges = (registers: Registry[]) => ({
  pool: new Gauge({
    name: 'perennial_database_connections',
    help: 'Database connections by state',
    labelNames: ['state'],
    registers,
  }),
  memory: new Gauge({ name: 'perennial_resident_bytes', help: 'Resident memory of this process', registers }),
  workerMemory: new Gauge({
    name: 'perennial_worker_resident_bytes',
    help: 'Resident memory of the workers that this process has started',
    registers,
  }),
  workerPool: new Gauge({
    name: 'perennial_worker_database_connections',
    help: 'Database connections of the workers that this process has started, by state',
    labelNames: ['state'],
    registers,
  }),
  info: new Gauge({ name: 'perennial_info', help: 'The version that runs', labelNames: ['version'], registers }),
  up: new Gauge({
    name: 'perennial_database_up',
    help: 'Whether the database answered just now: 1, or 0, and then its figures are missing',
    registers,
  }),
  nodeUp: new Gauge({
    name: 'perennial_database_node_up',
    help: 'Whether the coordinator of a Citus cluster reaches this worker: 1, else 0',
    labelNames: ['node'],
    registers,
  }),
  clockOffset: new Gauge({
    name: 'perennial_clock_offset_seconds',
    help: 'By how much the clock of the database server is ahead of that of this machine',
    registers,
  }),
  maintenance: new Gauge({
    name: 'perennial_maintenance',
    help: 'Whether the service is in maintenance and takes no work: 1, else 0',
    registers,
  }),
  standbyWait: new Gauge({
    name: 'perennial_database_waits_for_standby',
    help: 'Whether commits wait for a standby that does not acknowledge them, so that writes are refused: 1, else 0',
    registers,
  }),
  copyAge: new Gauge({
    name: 'perennial_backup_age_seconds',
    help: 'Age of the newest nightly copy in BACKUP_DIR; +Inf where there is none',
    registers,
  }),
})

/** Makes the gauges of the database's figures; without figures they are removed, because old values would be wrong. */
function figureGauges(registers: Registry[]): (figures: Figure[] | undefined) => void {
  const gauges = Object.entries(SHOWN_FIGURES).map(([name, { metric, help, label, and, always }]) => {
    const labels = [label, ...(and ?? [])].filter((one) => one !== undefined)
    const gauge = new Gauge({ name: metric, help, labelNames: labels, registers })
    const labelsOf = (about: string) => {
      const values = and ? about.split(' ') : [about]
      return Object.fromEntries(labels.map((one, place) => [one, values[place] ?? '']))
    }
    const set = (about: string, value: number) => (label ? gauge.set(labelsOf(about), value) : gauge.set(value))
    return { name, gauge, set, isPlain: label === undefined, always: always ?? [] }
  })
  return (figures) => {
    for (const { name, gauge, set, isPlain, always } of gauges) {
      gauge.reset()
      // After a reset a gauge without labels would show 0.
      if (isPlain) gauge.remove()
      if (!figures) continue
      for (const about of always) set(about, 0)
      for (const figure of figures) if (figure.name === name) set(figure.label, figure.value)
    }
  }
}
