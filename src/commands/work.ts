import { workerDuties } from '../duties.ts'
import { fitForBulkWork } from '../platform/engine-flags.ts'
import { makeOutbound } from '../platform/outbound/outbound.ts'
import { type Drawing, makeDrawing } from '../features/documents/draw.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { callingFrom } from '../features/gateways/calling.ts'
import { readOwnSeal } from '../platform/seal/own.ts'
import { sendsMail } from '../platform/config.ts'
import { ChangedLevel, changeBySignal } from '../platform/log-level.ts'
import { startWorker, type Worker } from '../worker.ts'
import type { CommandContext } from './context.ts'
import { fontsAtStart } from './fonts.ts'
import { drain } from './draining.ts'
import { EXIT } from './exit-codes.ts'
import { mailingOf } from './mailing.ts'
import { nightlyCopiesOf } from './nightly-copy.ts'
import { printJson, printLine } from './output.ts'
import type { ProcessPresence } from '../platform/processes/presence.ts'
import { openForService, presenceOf, reportUnasked, sayLastWords, serviceLog } from './service.ts'
import { stopping } from './stopping.ts'
import { joinService, startFirstWorker, startWorkerProcesses, type WorkerProcess } from './worker-process.ts'

/**
 * `perennial work`: the worker alone, on the database of a running service or on a server. Any number of them may run. With `ofService` it is the one that a
 * service has started.
 */
export async function workCommand(context: CommandContext, { ofService = false, workers = 1 } = {}): Promise<number> {
  if (workers > 1) return workWithSeveral(context, workers)
  const stop = stopping({ isAskedOnce: ofService })
  fitForBulkWork()
  const ownLog = serviceLog(context.config.logLevel)
  const log = ofService ? ownLog.child({ process: 'worker' }) : ownLog
  const level = new ChangedLevel(log, Date.now)
  const service = ofService ? joinService(() => stop.ask('its service stops'), level) : undefined
  if (!ofService) changeBySignal(level)
  const ownSeal = readOwnSeal(context.config)
  const opened = await openForService(context, log, { ownership: 'join', stop, isBackground: ofService })
  let worker: Worker | undefined
  let drawing: Drawing | undefined
  let presence: ProcessPresence | undefined
  try {
    const envelope = await opened.openEnvelope()
    presence = presenceOf(context, opened, {
      kind: 'work',
      log,
      level,
      envelope,
      isAtRest: () => worker?.isAtRest() ?? true,
    })
    // A signal from then on is for what ends it in order: a row that is left keeps migrations waiting.
    stop.drains()
    await presence.begin()
    const { outboundAllow: allow, gatewayEndpoints: endpoints } = context.config
    const outbound = makeOutbound({ allow })
    const ways = callingFrom(opened.db, ['work'], { outbound, endpoints, measured: service?.gatewayCalled })
    const calling = {
      envelope,
      outbound,
      adapters: makeAdapters({ db: opened.db, envelope, calling: ways, onCardGone: reportLostCard }),
    }
    // The service has read the same fonts and warned of them.
    drawing = makeDrawing({ root: context.root, log, fonts: fontsAtStart(context.config, ofService ? undefined : log) })
    const mailing = mailingOf(context.config, { envelope, drawing })
    const copies = nightlyCopiesOf(context, opened)
    const hasMailServer = sendsMail(context.config)
    const onRunFinished = service?.runFinished ?? (() => {})
    const duties = workerDuties({ hasMailServer, mailing, drawing, ownSeal, copies, onRunFinished, ...calling })
    worker = await startWorker({ db: opened.db, log, realClock: Date.now }, duties)
    service?.works(() => ({ residentBytes: process.memoryUsage.rss(), connections: opened.db.poolState() }))
    if (context.isJson) printJson({ State: 'working' })
    else printLine('Perennial works')
    // The service reports it.
    if (!ofService) reportUnasked(opened, log)
    const { reason, isFailure } = await stop.asked
    if (isFailure) sayLastWords(reason)
    else log.info({ reason }, 'stopping')
    return isFailure ? EXIT.failed : EXIT.done
  } finally {
    await drain(async (waitFor) => {
      await presence?.become('draining')
      await waitFor('worker', worker?.stop())
      await waitFor('drawing', drawing?.close())
      await presence?.end()
      await waitFor('database', opened.close())
    }, log)
  }
}

/** Starts several workers as processes of their own, and does nothing else itself. */
async function workWithSeveral(context: CommandContext, count: number): Promise<number> {
  const log = serviceLog(context.config.logLevel)
  const stop = stopping()
  const workers: WorkerProcess[] = []
  changeBySignal(new ChangedLevel(log, Date.now), (isDebug) => workers.forEach((worker) => worker.showsDebug(isDebug)))
  const about = { root: context.root, log, onRunFinished: () => {}, onGatewayCalled: () => {} }
  // Alone at first: what is wrong with the settings or the database is written once, and ends the command as it would end one worker.
  const first = startFirstWorker(about)
  workers.push(first.worker)
  if (!(await first.works)) return EXIT.failed
  workers.push(startWorkerProcesses(count - 1, { ...about, onStatus: () => {} }))
  if (context.isJson) printJson({ State: 'working' })
  else printLine(`Perennial works with ${count} workers`)
  stop.drains()
  const { reason } = await stop.asked
  log.info({ reason }, 'stopping')
  await drain(async (waitFor) => waitFor('workers', Promise.all(workers.map((worker) => worker.stop()))), log)
  return EXIT.done
}
