import { setTimeout as delay } from 'node:timers/promises'
import { bundled, run } from './measure/children.ts'
import { dataFolder } from './measure/database.ts'
import { tell } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Acknowledged, Tally } from './measure/patient-client.ts'
import { type Service, startService, verify } from './measure/service.ts'
import { openFirms, openHostile, tradeAll } from './soak.ts'
import type { HostileSettings } from './subject/hostile.ts'
import { checkRecords, type Firm } from './trade.ts'

/**
 * kill -9 among good and hostile callers, again and again. Good callers repeat what was not answered under its key, as the documentation asks
 * them to; then everything acknowledged is there once, and everything acknowledged is answered the same once more.
 */

const SETTINGS = { BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'fatal' }
const LOAD_MS_MIN = 300
const LOAD_MS_MAX = 4_000
/** Once in so many kills it is the database that dies, and the service with it. */
const DATABASE_EVERY = 3

/** The service over its lives: callers wait for its address while it is down. */
class Lives {
  readonly folder = dataFolder()
  service: Service | undefined
  #address = this.#down()

  #down() {
    let up: (address: string) => void = () => {}
    const whenUp = new Promise<string>((resolve) => (up = resolve))
    return { whenUp, up }
  }

  get running(): Service {
    if (!this.service) throw new Error('the service does not run')
    return this.service
  }

  readonly address = (): Promise<string> => this.#address.whenUp

  async start(): Promise<Service> {
    this.service = await startService(SETTINGS, this.folder.path)
    this.#address.up(`http://127.0.0.1:${this.service.port}`)
    return this.service
  }

  async kill(victim: 'service' | 'database'): Promise<void> {
    this.#address = this.#down()
    await this.service?.kill(victim)
    this.service = undefined
  }
}

/** Starts hostile callers, and returns how to end them. */
async function attack(service: Service, settings: HostileSettings, turn: number): Promise<() => Promise<void>> {
  const { port } = service
  const here = (caller: HostileSettings['hostile']) => ({ ...caller, port })
  const shops = settings.shops.map(here)
  const given = { ...settings, hostile: here(settings.hostile), shops, firstDay: 1 + turn * DAYS_A_TURN }
  const hostile = run<object>(await bundled('subject/hostile.ts'), given)
  await hostile.said
  return async () => {
    hostile.process.send('stop')
    await hostile.ended
  }
}

const DAYS_A_TURN = 400
const REPEATERS = 8

/** Sends again all that was acknowledged, under its keys. */
async function repeatAll(written: readonly Acknowledged[]): Promise<void> {
  const left = [...written]
  const repeater = async () => {
    for (let one = left.pop(); one; one = left.pop()) await one.client.repeat(one)
  }
  await Promise.all(Array.from({ length: REPEATERS }, repeater))
}

interface Load {
  lives: Lives
  firms: readonly Firm[]
  tally: Tally
  settings: HostileSettings
}

/** Loads, kills, starts again and looks at everything; throws when something is not as it was acknowledged. */
async function killOnce({ lives, firms, tally, settings }: Load, turn: number): Promise<number> {
  const written: Acknowledged[] = []
  tally.acknowledged = (one) => written.push(one)
  const stopHostile = await attack(lives.running, settings, turn)
  let isOver = false
  const trading = tradeAll(firms, `turn ${turn}`, () => isOver)
  const loadMs = LOAD_MS_MIN + Math.random() * (LOAD_MS_MAX - LOAD_MS_MIN)
  await Promise.race([delay(loadMs), trading])
  const victim = turn % DATABASE_EVERY === 1 ? 'database' : 'service'
  isOver = true
  const before = written.length
  await lives.kill(victim)
  await stopHostile()
  await lives.start()
  await trading
  tally.acknowledged = () => {}
  await repeatAll(written)
  for (const firm of firms) await checkRecords(firm)
  if (tally.wrong.length > 0) throw new Error(tally.wrong.slice(0, 20).join('\n'))
  const seconds = (loadMs / 1000).toFixed(1)
  tell(
    `${turn + 1}: killed the ${victim} after ${seconds} s and ${before} writes; ${written.length} acknowledged, all there once`,
  )
  return written.length
}

/** Kills the service so many times; fails at the first write that was acknowledged and is lost, doubled, or answered otherwise again. */
export async function benchKills({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const lives = new Lives()
  try {
    const service = await lives.start()
    await tellMachine(service.connection)
    const tally = new Tally()
    const firms = await openFirms(service, { each: isSmoke ? 1 : 2, tally, address: lives.address, mayBreak: true })
    const settings = await openHostile(service, { isSmoke })
    let acknowledged = 0
    for (let turn = 0; turn < times; turn += 1) acknowledged += await killOnce({ lives, firms, tally, settings }, turn)
    const books = await verify(lives.folder.path)
    tell(books.out)
    if (!books.isClean) throw new Error('the books do not verify')
    const waits = JSON.stringify(Object.fromEntries(tally.waits))
    tell(
      `killed ${times} times: ${acknowledged} acknowledged writes, 0 lost, 0 doubled, the books verify; waits ${waits}`,
    )
  } finally {
    await lives.kill('service')
    lives.folder.remove()
  }
}
