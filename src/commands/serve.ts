import pino from 'pino'
import { buildApp } from '../app.ts'
import { createFirstAccount } from '../features/accounts/actions.ts'
import type { Config } from '../platform/config.ts'
import { openService } from '../platform/database/open.ts'
import { encryptionKey } from '../platform/encryption-key.ts'
import { startFailureOfListen } from '../platform/http/listen-failure.ts'

/** `perennial serve`: the API, and unless told otherwise the worker, until a stop signal. */

const DRAIN_MS_MAX = 30_000

export interface ServeOptions {
  config: Config
  root: string
  version: string
}

/** Serves until SIGTERM or SIGINT, then lets running requests and jobs finish and answers the exit code. */
export async function serve({ config, root, version }: ServeOptions): Promise<number> {
  const log = pino(
    { level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: false }),
  )
  const stopped = stopSignal()
  const opened = await openService(config, {
    root,
    ownership: 'own',
    log: {
      debug: (m) => log.debug(m),
      info: (m) => log.debug(m),
      warn: (m) => log.warn(m),
      error: (m) => log.error(m),
    },
    onDatabaseGone: () => stopped.now('the database has ended'),
  })
  const app = await buildApp({
    db: opened.db,
    log,
    realClock: Date.now,
    settings: {
      publicUrl: config.publicUrl,
      corsOrigins: config.corsOrigin ?? [],
      trustProxy: config.trustProxy,
      rateLimitPerMinute: config.rateLimitPerMinute,
      encryptionKey: encryptionKey(config),
      version,
      root,
    },
  })
  try {
    const address = await startFailureOfListen(config, () =>
      app.server.listen({ host: config.host, port: config.port }),
    )
    await greet(opened.db, config, address)
    log.info({ address }, 'serving')
    const reason = await stopped.signal
    log.info({ reason }, 'stopping')
    return 0
  } finally {
    await drain(() => app.close())
    await opened.close()
  }
}

/** Makes the first account of an empty database and shows its key this once. */
async function greet(db: Parameters<typeof createFirstAccount>[0], config: Config, address: string): Promise<void> {
  const first = await createFirstAccount(db, Date.now, {
    mode: config.bootstrapAccountMode,
    name: config.bootstrapAccountName,
    currency: config.bootstrapCurrency,
    clockAt: null,
    ...(config.bootstrapApiKey ? { secret: config.bootstrapApiKey } : {}),
  })
  process.stdout.write(`Perennial serves at ${address}\n`)
  if (!first) return
  const key = config.bootstrapApiKey ? '$BOOTSTRAP_API_KEY' : first.secret
  process.stdout.write(
    [
      '',
      `  Account   ${first.id} (${config.bootstrapAccountMode}, ${config.bootstrapCurrency})`,
      config.bootstrapApiKey ? '  API key   the one given as BOOTSTRAP_API_KEY' : `  API key   ${first.secret}`,
      ...(config.bootstrapApiKey ? [] : ['            Keep it: it is shown this once.']),
      '',
      `  curl -u ${first.id}:${key} ${address}/v1/customers`,
      '',
      '',
    ].join('\n'),
  )
}

function stopSignal(): { signal: Promise<string>; now(reason: string): void } {
  let now: (reason: string) => void = () => {}
  const signal = new Promise<string>((resolve) => {
    now = resolve
    process.once('SIGTERM', () => resolve('SIGTERM'))
    process.once('SIGINT', () => resolve('SIGINT'))
  })
  return { signal, now }
}

async function drain(close: () => Promise<void>): Promise<void> {
  const limit = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS_MAX).unref())
  await Promise.race([close(), limit])
}
