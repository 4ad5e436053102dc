import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { BULK_FLAGS } from '../platform/engine-flags.ts'
import { LEVEL_MINUTES, type ChangedLevel } from '../platform/log-level.ts'
import type { GatewayRequest, WorkerStatus } from '../platform/metrics.ts'
import { steadyClock } from '../platform/steady-clock.ts'

/**
 * The worker of `serve` as a process of its own: what it computes delays no request. It speaks to the service by the channel between them, ends
 * when that ends, and is started again when it ends on its own.
 */

/** The option by which `work` knows that it is the worker of a service. */
const OF_SERVICE = '--of-service'

const AGAIN_MS_MIN = 1_000
const AGAIN_MS_MAX = 60_000
const REPORT_EVERY_MS = 5_000

/** Counts a run that a worker has finished: its invoices, its failures, and the seconds that it took. */
type RunFinished = (invoices: number, failed: number, seconds: number) => void

export interface WorkerProcess {
  /** Lets it finish its steps, and waits for its end. */
  stop(): Promise<void>
  /** Lets it log at debug for a while, or as it does otherwise. */
  showsDebug(isDebug: boolean): void
}

export interface WorkerProcessDeps {
  /** The program and its words before those of the worker; left out: this program. */
  command?: readonly [program: string, ...words: string[]]
  root: string
  log: Pick<Logger, 'error'>
  onRunFinished: RunFinished
  /** Counts a request of a worker to a gateway. */
  onGatewayCalled: (request: GatewayRequest) => void
  /** Takes how the worker is, and undefined where there is none. */
  onStatus: (status: WorkerStatus | undefined) => void
}

/** Starts as many workers, and takes how they are together. */
export function startWorkerProcesses(count: number, deps: WorkerProcessDeps): WorkerProcess {
  const statuses = new Map<number, WorkerStatus>()
  const workers = Array.from({ length: count }, (_, place) =>
    startWorkerProcess({
      ...deps,
      onStatus: (status) => {
        if (status) statuses.set(place, status)
        else statuses.delete(place)
        deps.onStatus(statuses.size === 0 ? undefined : [...statuses.values()].reduce(together))
      },
    }),
  )
  return {
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
    showsDebug: (isDebug) => workers.forEach((worker) => worker.showsDebug(isDebug)),
  }
}

/** Starts a worker. `works` settles once it works, or with false once it has ended without; then it is not started again, as what was refused would be again. */
export function startFirstWorker(deps: Omit<WorkerProcessDeps, 'onStatus'>): {
  worker: WorkerProcess
  works: Promise<boolean>
} {
  let settle: (works: boolean) => void = () => {}
  const works = new Promise<boolean>((resolve) => (settle = resolve))
  let hasWorked = false
  const worker = startWorkerProcess({
    ...deps,
    onStatus: (status) => {
      if (hasWorked) return
      hasWorked = status !== undefined
      // At once, while its next start is not planned yet.
      if (!hasWorked) void worker.stop()
      settle(hasWorked)
    },
  })
  return { worker, works }
}

const together = (a: WorkerStatus, b: WorkerStatus): WorkerStatus => ({
  residentBytes: a.residentBytes + b.residentBytes,
  connections: {
    total: a.connections.total + b.connections.total,
    idle: a.connections.idle + b.connections.idle,
    waiting: a.connections.waiting + b.connections.waiting,
  },
})

/**
 * Starts the worker of a service, and starts it again after an end that nobody asked for: after a second, then after twice as long each time, up to a
 * minute. One that has lived for a minute begins at a second anew.
 */
export function startWorkerProcess(deps: WorkerProcessDeps): WorkerProcess {
  const { root, log, onRunFinished, onGatewayCalled, onStatus } = deps
  // Only results are printed to stdout, and these are the service's.
  const [program, ...words] = deps.command ?? [process.execPath, ...BULK_FLAGS, join(root, 'bin', 'perennial.js')]
  let isStopping = false
  let againMs = AGAIN_MS_MIN
  let timer: NodeJS.Timeout | undefined
  let child = start()

  function start(): ChildProcess {
    const startedMs = steadyClock()
    const started = spawn(program, [...words, 'work', OF_SERVICE], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    let isOver = false
    // One that could not be started has no exit.
    const over = (how: object): void => {
      if (isOver) return
      isOver = true
      onStatus(undefined)
      if (isStopping) return
      if (steadyClock() - startedMs >= AGAIN_MS_MAX) againMs = AGAIN_MS_MIN
      log.error({ ...how, againInSeconds: againMs / 1000 }, 'the worker has ended; it is started again')
      timer = setTimeout(() => (child = start()), againMs)
      againMs = Math.min(2 * againMs, AGAIN_MS_MAX)
    }
    started.on('message', (message) => {
      const { status, runFinished, gatewayCalled } = message as Partial<Report>
      if (status && !isOver) onStatus(status)
      if (runFinished) onRunFinished(...runFinished)
      if (gatewayCalled) onGatewayCalled(gatewayCalled)
    })
    started.once('error', (err) => over({ err }))
    started.once('exit', (code, signal) => over({ code, signal }))
    return started
  }

  return {
    stop: async () => {
      isStopping = true
      clearTimeout(timer)
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
      const ended = once(child, 'exit')
      // Not by a signal: Ctrl-C and service managers have sent it theirs already.
      child.send(STOP, () => {})
      await ended
    },
    showsDebug: (isDebug) => {
      // One that has just ended begins anew with its own level.
      if (child.connected) child.send(isDebug ? DEBUG : OWN_LEVEL, () => {})
    },
  }
}

/** Words that the service sends its worker. */
const STOP = 'stop'
const DEBUG = 'debug'
const OWN_LEVEL = 'own level'

/** Messages of the worker to its service. */
interface Report {
  status: WorkerStatus
  runFinished: Parameters<RunFinished>
  gatewayCalled: GatewayRequest
}

/** The service of a worker, seen from the worker. */
export interface ServiceOfWorker {
  /** Begins to report how the worker is. */
  works(status: () => WorkerStatus): void
  runFinished: RunFinished
  gatewayCalled(request: GatewayRequest): void
}

/**
 * Ties this process to the service that started it. Where the service is gone the process ends at once, as a worker that was killed: what it was doing is
 * done again by the next one. The system gives it time after those who answer callers. `onStop` is called when the service stops it,
 * `level` changed with that of the service.
 */
export function joinService(onStop: () => void, level: Pick<ChangedLevel, 'change' | 'end'>): ServiceOfWorker {
  const end = () => process.exit(1)
  process.once('disconnect', end)
  if (!process.connected) end()
  process.on('message', (message) => {
    if (message === STOP) onStop()
    if (message === DEBUG) level.change('debug', LEVEL_MINUTES * 60_000)
    if (message === OWN_LEVEL) level.end()
  })
  // Sent to a whole group of processes it would come twice.
  process.on('SIGUSR2', () => {})
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not every system lets a process do that; it works without.
  }
  const send = (report: Partial<Report>): void => {
    // A channel that has just ended ends this process too.
    process.send?.(report, undefined, undefined, () => {})
  }
  return {
    works: (status) => {
      const report = () => send({ status: status() })
      report()
      setInterval(report, REPORT_EVERY_MS).unref()
    },
    runFinished: (...run) => send({ runFinished: run }),
    gatewayCalled: (request) => send({ gatewayCalled: request }),
  }
}
