import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  onServer,
  promote,
  serverFolders,
  signalServer,
  startPair,
  stopServers,
  urlOf,
} from '../test/program/servers.ts'
import { dataFolder } from './measure/database.ts'
import { median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellHost } from './measure/machine.ts'

/**
 * A primary that is frozen and its synchronous standby that is promoted three seconds later, beneath callers who repeat under their keys: when the first
 * write is acknowledged after the promotion, when the rate is what it was, and whether anything is lost or there twice.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const API_KEY = 'bench-key-0123456789-for-measuring'
const AUTHORIZATION = `Basic ${Buffer.from(`1:${API_KEY}`).toString('base64')}`
const FIRST_WRITE_MAX_S = 10
const FULL_RATE_MAX_S = 15
const PROMOTED_AFTER_MS = 3_000
const GIVEN_UP_MS = 120_000
/** The rate counts as full from this part of the one before on, over a second. */
const FULL = 0.8

interface Serving {
  address: string
  stop(): Promise<void>
}

async function serve(url: string, dataDir: string): Promise<Serving> {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'perennial.js'), 'serve', '--json', '--no-worker'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      HOST: '127.0.0.1',
      PORT: '0',
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'silent',
      DATA_DIR: dataDir,
      DATABASE_URL: url,
      BOOTSTRAP_API_KEY: API_KEY,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { Address } = JSON.parse(line) as { Address: string }
  return {
    address: Address,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Callers who add customers, each repeated under its key until it is acknowledged. */
class Callers {
  readonly acknowledged = new Map<string, number>()
  /** Moments of acknowledgements. */
  readonly moments: number[] = []
  #isOver = false
  readonly #all: Promise<void>[]

  constructor(address: string, count: number) {
    this.#all = Array.from({ length: count }, (_, n) => this.#call(address, `caller${n}`))
  }

  async #call(address: string, name: string): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const key = `${name}-${n}`
      while (!this.acknowledged.has(key)) {
        const response = await fetch(`${address}/v1/customers`, {
          method: 'POST',
          headers: { authorization: AUTHORIZATION, 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify({ Name: key, LastName: 'Body' }),
        })
        const { customerID } = (await response.json()) as { customerID: number }
        if (response.status === 201) {
          this.acknowledged.set(key, customerID)
          this.moments.push(performance.now())
        } else if (response.status !== 503 && response.status !== 409) throw new Error(`answered ${response.status}`)
        else if (this.#isOver) return
        else await delay(50)
      }
    }
  }

  /** Acknowledgements in the second that began at a moment. */
  rateFrom(moment: number): number {
    return this.moments.filter((one) => one >= moment && one < moment + 1_000).length
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#all)
  }
}

/** Seconds from the promotion on. */
interface Round {
  firstWrite: number
  fullRate: number
}

async function round(callerCount: number, warmUpMs: number): Promise<Round> {
  const { path, remove } = dataFolder()
  const [primary = '', standby = ''] = serverFolders(path, 2)
  const data = join(path, 'data')
  try {
    await startPair(primary, standby, {
      isSynchronous: true,
      prepare: async (url) => (await serve(url, data)).stop(),
    })
    const service = await serve(urlOf(primary, standby), data)
    const callers = new Callers(service.address, callerCount)
    await delay(warmUpMs)
    const before = callers.rateFrom(performance.now() - 1_000)
    signalServer(primary, 'SIGSTOP')
    await delay(PROMOTED_AFTER_MS)
    await promote(standby)
    const promotedAt = performance.now()
    const after = () => callers.moments.find((moment) => moment > promotedAt)
    let full: number | undefined
    while (full === undefined && performance.now() - promotedAt < GIVEN_UP_MS) {
      await delay(100)
      const from = performance.now() - 1_000
      if (after() !== undefined && from >= promotedAt && callers.rateFrom(from) >= FULL * before) full = from
    }
    await callers.end()
    await service.stop()
    const kept = await onServer(standby, 'select customer_id::int as id from perennial.customers')
    const [ids, acknowledged] = [new Set(kept.map(({ id }) => id)), [...callers.acknowledged.values()]]
    const lost = acknowledged.filter((id) => !ids.has(id)).length
    if (lost > 0 || new Set(acknowledged).size !== acknowledged.length || kept.length !== acknowledged.length)
      throw new Error(`${lost} lost of ${acknowledged.length}, ${kept.length} there`)
    const seconds = (moment: number | undefined) => ((moment ?? promotedAt + GIVEN_UP_MS) - promotedAt) / 1_000
    return { firstWrite: seconds(after()), fullRate: seconds(full) }
  } finally {
    await stopServers()
    remove()
  }
}

export async function benchFailover({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  tellHost()
  const rows: string[][] = []
  const verdicts = []
  for (const callers of isSmoke ? [2] : [6, 40]) {
    const rounds: Round[] = []
    for (let n = 0; n < times; n += 1) rounds.push(await round(callers, isSmoke ? 1_500 : 5_000))
    const first = rounds.map(({ firstWrite }) => firstWrite)
    const full = rounds.map(({ fullRate }) => fullRate)
    rows.push([`${callers} callers`, spread(first), spread(full)])
    verdicts.push(
      {
        goal: `${callers} callers: the first write within ${FIRST_WRITE_MAX_S} s of the promotion`,
        reached: `${median(first).toFixed(1)} s`,
        isMet: median(first) <= FIRST_WRITE_MAX_S,
      },
      {
        goal: `${callers} callers: the full rate within ${FULL_RATE_MAX_S} s`,
        reached: `${median(full).toFixed(1)} s`,
        isMet: median(full) <= FULL_RATE_MAX_S,
      },
    )
  }
  tell('0 acknowledged writes lost, none there twice')
  tellTable(['a frozen primary, its standby promoted', 'first write, s', 'full rate, s'], rows)
  tellVerdicts(verdicts, { isSmoke })
}
