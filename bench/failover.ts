import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RepeatingCallers } from '../test/program/repeating-callers.ts'
import {
  killServer,
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
 * A primary that is killed and its synchronous standby that is promoted at once, or one that is frozen and promoted three seconds later, beneath callers who
 * repeat under their keys: when the first write is acknowledged after the promotion, when the rate is what it was, and whether anything is lost or there twice.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const API_KEY = 'bench-key-0123456789-for-measuring'
const AUTHORIZATION = `Basic ${Buffer.from(`1:${API_KEY}`).toString('base64')}`

/** Ways in which a primary ends, how long after that its standby is promoted, and the goals from then on. */
const ENDS = {
  killed: { end: killServer, pauseMs: 0, firstWriteMaxS: 2, fullRateMaxS: 15 },
  frozen: {
    end: (folder: string) => signalServer(folder, 'SIGSTOP'),
    pauseMs: 3_000,
    firstWriteMaxS: 10,
    fullRateMaxS: 15,
  },
} as const
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

/** Seconds from the promotion on. */
interface Round {
  firstWrite: number
  fullRate: number
}

async function round(how: keyof typeof ENDS, count: number, warmUpMs: number): Promise<Round> {
  const { path, remove } = dataFolder()
  const [primary = '', standby = ''] = serverFolders(path, 2)
  const data = join(path, 'data')
  try {
    await startPair(primary, standby, {
      isSynchronous: true,
      prepare: async (url) => (await serve(url, data)).stop(),
    })
    const service = await serve(urlOf(primary, standby), data)
    const services = () => [{ name: 'service', address: service.address }]
    const callers = new RepeatingCallers({ name: 'caller', authorization: AUTHORIZATION, count, services })
    await delay(warmUpMs)
    const before = callers.rateFrom(performance.now() - 1_000)
    await ENDS[how].end(primary)
    await delay(ENDS[how].pauseMs)
    await promote(standby)
    const promotedAt = performance.now()
    const after = () => callers.made.find(({ at }) => at > promotedAt)?.at
    let full: number | undefined
    while (full === undefined && performance.now() - promotedAt < GIVEN_UP_MS) {
      await delay(100)
      const from = performance.now() - 1_000
      if (after() !== undefined && from >= promotedAt && callers.rateFrom(from) >= FULL * before) full = from
    }
    await callers.end()
    await service.stop()
    const kept = await onServer(standby, 'select customer_id::int as id from perennial.customers')
    const [ids, acknowledged] = [new Set(kept.map(({ id }) => id)), callers.made.map(({ id }) => id)]
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
  for (const how of Object.keys(ENDS) as (keyof typeof ENDS)[])
    for (const callers of isSmoke ? [2] : [6, 40]) {
      const rounds: Round[] = []
      for (let n = 0; n < times; n += 1) rounds.push(await round(how, callers, isSmoke ? 1_500 : 5_000))
      const first = rounds.map(({ firstWrite }) => firstWrite)
      const full = rounds.map(({ fullRate }) => fullRate)
      rows.push([`${how}, ${callers} callers`, spread(first), spread(full)])
      const { firstWriteMaxS, fullRateMaxS } = ENDS[how]
      verdicts.push(
        {
          goal: `${how}, ${callers} callers: the first write within ${firstWriteMaxS} s of the promotion`,
          reached: `${median(first).toFixed(1)} s`,
          isMet: median(first) <= firstWriteMaxS,
        },
        {
          goal: `${how}, ${callers} callers: the full rate within ${fullRateMaxS} s`,
          reached: `${median(full).toFixed(1)} s`,
          isMet: median(full) <= fullRateMaxS,
        },
      )
    }
  tell('0 acknowledged writes lost, none there twice')
  tellTable(['a primary, whose standby is promoted', 'first write, s', 'full rate, s'], rows)
  tellVerdicts(verdicts, { isSmoke })
}
