import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type App, type AppDeps, buildApp } from '../app.ts'
import { createFirstAccount } from '../features/accounts/actions.ts'
import { anyAccountExists } from '../features/accounts/queries.ts'
import { isKnownHash } from '../features/api-keys/queries.ts'
import { secretHash } from '../features/api-keys/secret.ts'
import { type Config, sendsMail } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ChangedLevel, changeBySignal } from '../platform/log-level.ts'
import type { GatewayRequest } from '../platform/metrics.ts'
import { makeOutbound } from '../platform/outbound/outbound.ts'
import { readOwnSeal } from '../platform/seal/own.ts'
import { StartFailure } from '../platform/postgres/start-failure.ts'
import { CAN_BE_GUESSED, isWeakApiKey, REVOKE_GIVEN_KEY } from '../platform/weak-secrets.ts'
import { connectionBounds } from '../platform/http/connection-bounds.ts'
import { checkPortIsFree, startFailureOfListen } from '../platform/http/listen-failure.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { callingFrom } from '../features/gateways/calling.ts'
import type { GatewayDeps } from '../features/gateways/call.ts'
import { hasDatabase } from '../platform/postgres/data-folder.ts'
import type { CommandContext } from './context.ts'
import { fontsAtStart } from './fonts.ts'
import { drain } from './draining.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'
import type { ProcessPresence } from '../platform/processes/presence.ts'
import { openForService, presenceOf, reportUnasked, sayAtStart, sayLastWords, serviceLog } from './service.ts'
import { stopping } from './stopping.ts'
import { startWorkerProcesses, type WorkerProcess } from './worker-process.ts'

/** `perennial serve`: the API, and unless --no-worker is given the worker in a process of its own, or several, until a stop signal. */

/** Serves until SIGTERM or SIGINT, then lets running requests and jobs finish and answers the exit code. */
export async function serveCommand(
  context: CommandContext,
  options: { worker: boolean; workers: number },
): Promise<number> {
  const { config } = context
  let worker: WorkerProcess | undefined
  const ownSeal = readOwnSeal(config)
  const log = serviceLog(config.logLevel)
  const level = new ChangedLevel(log, Date.now)
  changeBySignal(level, (isDebug) => worker?.showsDebug(isDebug))
  const stop = stopping()
  const isNew = config.databaseUrl === undefined && !hasDatabase(config.dataDir)
  if (isNew) refuseWeakFirstKey(config)
  if (isNew) await checkPortIsFree(config)
  const opened = await openForService(context, log, { ownership: 'own', stop, hasCallers: true })
  let app: App | undefined
  let presence: ProcessPresence | undefined
  try {
    const isFirst = await isFirstStart(opened.db, log)
    if (isFirst) refuseWeakFirstKey(config)
    const envelope = await opened.openEnvelope()
    const outbound = makeOutbound({ allow: config.outboundAllow })
    const measured = (request: GatewayRequest) => app?.gatewayCalled(request)
    const ways = callingFrom(opened.db, ['serve'], { outbound, endpoints: config.gatewayEndpoints, measured })
    const calling = {
      envelope,
      outbound,
      adapters: makeAdapters({ db: opened.db, envelope, calling: ways, onCardGone: reportLostCard }),
    }
    presence = presenceOf(context, opened, {
      kind: 'serve',
      log,
      level,
      envelope,
      isAtRest: () => app?.isAtRest() ?? true,
    })
    const fonts = fontsAtStart(config, log)
    const serving = await appOf(context, opened.db, { ...calling, ownSeal, fonts }, log)
    app = serving
    // From the first request on there is something to finish.
    stop.drains()
    // A signal that came after it and before that would leave the row, which keeps migrations waiting.
    await presence.begin()
    await startFailureOfListen(config, () => serving.server.listen({ host: config.host, port: config.port }))
    const address = addressOf(config.host, serving.server.server.address() as AddressInfo)
    await greet(opened.db, context, { address, log, isFirst })
    reportUnasked(opened, log)
    const { runFinished: onRunFinished, workerStatus: onStatus, gatewayCalled: onGatewayCalled } = serving
    if (options.worker)
      worker = startWorkerProcesses(options.workers, {
        root: context.root,
        log,
        onRunFinished,
        onGatewayCalled,
        onStatus,
      })
    const { reason, isFailure } = await stop.asked
    if (isFailure) sayLastWords(reason)
    else log.info({ reason }, 'stopping')
    await leave(config, { reason, serving, worker, presence })
    return isFailure ? EXIT.failed : EXIT.done
  } finally {
    await drain(async (waitFor) => {
      await Promise.all([waitFor('requests', app?.close()), waitFor('worker', worker?.stop())])
      await presence?.end()
      await waitFor('database', opened.close())
    }, log)
  }
}

/** Lets the worker and the other processes know, and goes on answering for as long as a balancer takes to notice. */
async function leave(
  config: Config,
  {
    reason,
    serving,
    worker,
    presence,
  }: { reason: string; serving: App; worker: WorkerProcess | undefined; presence: ProcessPresence },
): Promise<void> {
  serving.beginDraining()
  // Its end is waited for with all else.
  void worker?.stop()
  await presence.become('draining')
  // Whoever presses Ctrl-C has no balancer.
  if (reason === 'SIGTERM') await delay(drainSeconds(config) * 1_000)
}

const DRAIN_SECONDS = 8

/** Returns how long requests are still answered after the signal: as long as a balancer takes to notice, where there may be one. */
const drainSeconds = (config: Pick<Config, 'drainSeconds' | 'databaseUrl'>): number =>
  config.drainSeconds ?? (config.databaseUrl === undefined ? 0 : DRAIN_SECONDS)

const appOf = async (
  { config, version, root }: CommandContext,
  db: Database,
  calling: GatewayDeps & Pick<AppDeps, 'outbound' | 'ownSeal' | 'fonts'>,
  log: Logger,
): Promise<App> =>
  buildApp({
    db,
    ...calling,
    log,
    realClock: Date.now,
    settings: {
      publicUrl: config.publicUrl,
      widgetOrigin: config.widgetOrigin,
      corsOrigins: config.corsOrigin ?? [],
      trustProxy: config.trustProxy,
      bounds: connectionBounds(config),
      rateLimitPerMinute: config.rateLimitPerMinute,
      slowRequestMs: config.slowRequestMs,
      hasMailServer: sendsMail(config),
      backupDir: config.backupDir,
      version,
      root,
    },
  })

function addressOf(host: string, { port }: AddressInfo): string {
  const isEverywhere = host === '0.0.0.0' || host === '::'
  return `http://${isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns whether there is no account yet. While a worker of a cluster is away nobody knows, and none is made. */
async function isFirstStart(db: Database, log: Logger): Promise<boolean> {
  const isEmpty = async () => !(await anyAccountExists(db.unscoped))
  const again = async () => {
    if (await isEmpty()) log.warn('there is no account yet: start the service again, which makes the first one')
  }
  return (await db.away.ask('whether there is an account', isEmpty, again)) ?? false
}

/** Makes the first account of an empty database and shows its key this once. */
async function greet(
  db: Database,
  { config, isJson }: CommandContext,
  { address, log, isFirst }: { address: string; log: Logger; isFirst: boolean },
): Promise<void> {
  const first =
    isFirst &&
    (await createFirstAccount(db, Date.now, {
      mode: config.bootstrapAccountMode,
      name: config.bootstrapAccountName,
      currency: config.bootstrapCurrency,
      clockAt: null,
      idStart: config.accountIdStart,
      ...(config.bootstrapApiKey ? { secret: config.bootstrapApiKey } : {}),
    }))
  if (!first) await warnOfGivenKey(db, config, log)
  if (isJson) {
    const key = first && !config.bootstrapApiKey ? { ApiKey: first.secret } : {}
    printJson({ Address: address, ...(first ? { AccountID: first.id } : {}), ...key })
    return
  }
  printLine(`Perennial serves at ${address}`)
  if (!first) return
  // A key that was given is known to whoever gave it, and would only lie about in a log.
  const isGiven = config.bootstrapApiKey !== undefined
  const key = isGiven ? '$BOOTSTRAP_API_KEY' : first.secret
  printLine(`
  Account   ${first.id} (${config.bootstrapAccountMode}, ${config.bootstrapCurrency})
  API key   ${isGiven ? 'the one given as BOOTSTRAP_API_KEY' : `${first.secret}\n            Keep it: it is shown this once.`}

  Try it:   curl -u "${first.id}:${key}" ${address}/v1/customers
  Read on:  ${address}/docs
`)
}

/** Throws a StartFailure where the key of the first account, which is to be made, can be guessed. */
function refuseWeakFirstKey({ bootstrapApiKey }: Config): void {
  if (bootstrapApiKey === undefined || !isWeakApiKey(bootstrapApiKey)) return
  throw new StartFailure(
    `BOOTSTRAP_API_KEY ${CAN_BE_GUESSED}: set it to one that was drawn, as "openssl rand -hex 32" does, or unset it to have one made.`,
  )
}

/**
 * Warns of a given key that does not count, because an account that was made before the first start has a key of its own, and of one that counts
 * and can be guessed.
 */
async function warnOfGivenKey(db: Database, { bootstrapApiKey }: Config, log: Logger): Promise<void> {
  if (bootstrapApiKey === undefined) return
  const warn = async () => {
    if (await isKnownHash(db.unscoped, secretHash(bootstrapApiKey))) {
      if (isWeakApiKey(bootstrapApiKey)) log.warn(`BOOTSTRAP_API_KEY ${CAN_BE_GUESSED}: ${REVOKE_GIVEN_KEY}`)
      return
    }
    sayAtStart(
      'BOOTSTRAP_API_KEY is a key of no account: there was an account before the first start. Use the key that "perennial account create" showed, or make one with "perennial key create".',
    )
  }
  await db.away.ask('whether BOOTSTRAP_API_KEY is a key of an account', warn, warn)
}
