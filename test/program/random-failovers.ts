import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'
import { hashOf, randomOf } from '../api/samples.ts'
import { MachineProcesses } from './machine-processes.ts'
import { type Asked, type Made, RepeatingCallers } from './repeating-callers.ts'
import {
  killServer,
  onServer,
  promote,
  replicate,
  serverFolders,
  signalServer,
  startReplicated,
  stopSending,
  stopServers,
  urlOf,
} from './servers.ts'

/**
 * Failovers one after the other beneath two services and callers who repeat under their keys, each of a random kind: synchronous or not, the primary killed
 * or frozen, services killed with it. After each, what was acknowledged is compared with what the new primary has. Knows no test runner.
 */

const API_KEY = 'a-key-of-random-failovers-0123456789'
const CALLERS = 6
const SERVES = ['serve0', 'serve1']
const SERVE = ['serve', '--json', '--no-worker']
/** Records that nobody acknowledged may have numbers, too. */
const MARGIN = 100
/** A copy takes the log with it. */
const SETTINGS: ServerSettings = { fsync: 'off', min_wal_size: '32MB', max_wal_size: '64MB' }

export interface RandomFailoversWish {
  /** An empty folder. */
  root: string
  /** A folder in which a service was started before, and the key of its first account; left out: one is started. */
  before?: { folder: string; key: string }
  /** Everything random follows from it. */
  seed: string
}

/** Circumstances of a failover. */
interface Plan {
  isSynchronous: boolean
  isFrozen: boolean
  /** Services that are killed with the primary. */
  dying: readonly string[]
  /** Records that are acknowledged before it; and then while the standby receives nothing. */
  records: number
  unsent: number
  /** From the end of the primary to the promotion. */
  pauseMs: number
}

/** Outcome of a failover. */
export interface FailoverTold {
  kind: string
  /** Acknowledged records that the new primary has not. */
  lost: number
  /** Of them those that nobody who lived had acknowledged. */
  unknown: number
}

function planOf(below: (most: number) => number): Plan {
  const isSynchronous = below(3) === 0
  const dying = [[], [], [], SERVES.slice(0, 1), SERVES.slice(1), SERVES][below(6)] ?? []
  // Where an operator has to say what those who died knew, nothing may be on its way that would be written before.
  const isFrozen = below(3) === 0 && (isSynchronous || dying.length === 0)
  const pauseMs = below(isFrozen ? 3_000 : 500)
  return { isSynchronous, isFrozen, dying, records: 10 + below(40), unsent: isSynchronous ? 0 : below(40), pauseMs }
}

const kindOf = ({ isSynchronous, isFrozen, dying }: Plan): string =>
  `${isSynchronous ? 'synchronous' : 'asynchronous'}, ${['primary', ...dying].join(' and ')} ${isFrozen && dying.length === 0 ? 'frozen' : isFrozen ? 'frozen and killed' : 'killed'}`

/** A change that is noted as lost, or as perhaps lost. */
interface Note {
  operation: string
  id: string | null
  number: string | null
  state: 'lost' | 'perhaps'
}

const OPERATIONS: Readonly<Record<string, Made['kind']>> = {
  addCustomer: 'customer',
  addInvoice: 'invoice',
  creditInvoice: 'credit',
}

/** Every record that callers can have made, with what only it has. */
const RECORDS = `
  select 'customer' as kind, customer_id::int as id, null as number, reference from perennial.customers where account_id = 1
  union all select 'invoice', invoice_id::int, number::text, reference from perennial.invoices where account_id = 1
  union all select 'credit', negative_adjustment_id::int, ref, reason from perennial.negative_adjustments where account_id = 1`

type There = Pick<Made, 'kind' | 'id' | 'number' | 'reference'>

export class RandomFailovers {
  readonly #wish: RandomFailoversWish
  readonly #processes: MachineProcesses
  #primary: string
  #standby: string
  #services: Asked[] = []
  #started = 0
  readonly #below: (most: number) => number
  #count = 0
  #callers!: RepeatingCallers
  /** Of acknowledged records whether they were there after the last failover. */
  readonly #isThere = new Map<Made, boolean>()

  constructor(wish: RandomFailoversWish) {
    const [primary = '', standby = ''] = serverFolders(wish.root, 2)
    this.#wish = wish
    this.#primary = primary
    this.#standby = standby
    this.#below = randomOf(hashOf(`failovers of ${wish.seed}`))
    this.#processes = new MachineProcesses({
      DATA_DIR: join(wish.root, 'data'),
      DATABASE_URL: urlOf(primary, standby),
      DATABASE_POOL: '4',
      HOST: '127.0.0.1',
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'error',
      BOOTSTRAP_API_KEY: API_KEY,
    })
  }

  /** How many records were acknowledged until now. */
  get made(): number {
    return this.#callers.made.length
  }

  async start(): Promise<void> {
    const { root, before } = this.#wish
    if (before) {
      execFileSync('cp', ['-a', before.folder, this.#primary])
      mkdirSync(join(root, 'data'))
      copyFileSync(join(this.#primary, 'encryption.key'), join(root, 'data', 'encryption.key'))
    }
    const prepare = async (url: string) => {
      if (before) return
      await this.#processes.start('first', SERVE, { DATABASE_URL: url })
      await this.#processes.end('first', 'SIGTERM')
    }
    await startReplicated(this.#primary, [this.#standby], { settings: SETTINGS, prepare })
    await Promise.all(SERVES.map((name) => this.#startService(name)))
    const authorization = `Basic ${Buffer.from(`1:${before?.key ?? API_KEY}`).toString('base64')}`
    const services = () => this.#services
    const first = new RepeatingCallers({ name: 'first', authorization, count: 1, services })
    await first.untilMade(1)
    await first.end()
    await this.#untilReplayed()
    const customer = first.made[0]?.id ?? 0
    this.#callers = new RepeatingCallers({ name: 'caller', authorization, count: CALLERS, services, customer })
  }

  /** Lets the next failover happen. Throws an error that names it if anything is then wrong. */
  async failOver(): Promise<FailoverTold> {
    const plan = planOf(this.#below)
    this.#count += 1
    const kind = kindOf(plan)
    try {
      if (this.#count > 1) await this.#replaceStandby()
      const living = await this.#happen(plan)
      const made = [...this.#callers.made]
      const [there, notes] = await Promise.all([onServer(this.#primary, RECORDS), this.#notes()])
      return { kind, ...this.#judge(made, { there, notes, living, isSynchronous: plan.isSynchronous }) }
    } catch (error) {
      const { message } = error as Error
      throw new Error(`failover ${this.#count} of the seed ${this.#wish.seed} (${kind}): ${message}`, { cause: error })
    }
  }

  /** Lets all that belongs to a failover happen, and work go on. Returns the names of the services that lived through it. */
  async #happen(plan: Plan): Promise<readonly string[]> {
    const { isSynchronous, isFrozen, dying, records, unsent, pauseMs } = plan
    const callers = this.#callers
    await this.#beSynchronous(isSynchronous)
    await callers.untilMade(records)
    if (unsent > 0) await stopSending(this.#primary)
    await callers.untilMade(unsent)
    const ending = this.#services.filter(({ name }) => dying.some((one) => name.startsWith(one)))
    this.#services = this.#services.filter((one) => !ending.includes(one))
    const living = this.#services.map(({ name }) => name)
    const needsOperator = !isSynchronous && dying.length > 0
    const [former, next] = [this.#primary, this.#standby]
    const held = needsOperator ? callers.hold() : undefined
    await Promise.all([
      isFrozen ? signalServer(former, 'SIGSTOP') : killServer(former),
      ...dying.map((name) => this.#processes.end(name, 'SIGKILL')),
    ])
    await held
    await delay(pauseMs)
    await promote(next)
    this.#primary = next
    this.#standby = former
    if (needsOperator) await this.#tellNumbers(living.length === 0)
    callers.release()
    await Promise.all(dying.map((name) => this.#startService(name)))
    const names = this.#services.map(({ name }) => name)
    await Promise.all(names.map((name) => callers.untilMade(3, [name])))
    if (isFrozen) {
      signalServer(former, 'SIGCONT')
      await callers.untilMade(10)
    }
    return living
  }

  /** Tells, as whoever promoted does, which numbers callers know that no living process does. */
  async #tellNumbers(isLossy: boolean): Promise<void> {
    const next = (kind: Made['kind']) => {
      const numbers = this.#callers.made
        .filter((one) => one.kind === kind)
        .map(({ number }) => Number(number?.replace('CN-', '')))
      return Math.max(0, ...numbers) + MARGIN
    }
    const words = ['--numbers', `1=${next('invoice')}`, '--credit-numbers', `1=${next('credit')}`]
    const { code, err } = await this.#processes.command(
      ['after-failover', ...(isLossy ? ['--lossy'] : []), ...words],
      {},
    )
    if (code !== 0) throw new Error(`after-failover ended with ${code}: ${err}`)
  }

  /** Compares what was acknowledged, and what is said to be lost, with what is there. */
  #judge(
    made: readonly Made[],
    {
      there,
      notes,
      living,
      isSynchronous,
    }: { there: readonly There[]; notes: readonly Note[]; living: readonly string[]; isSynchronous: boolean },
  ): Pick<FailoverTold, 'lost' | 'unknown'> {
    const wrong: string[] = []
    const check = (isRight: boolean, what: string) => {
      if (!isRight) wrong.push(what)
    }
    const byId = new Map(there.map((one) => [`${one.kind} ${one.id}`, one]))
    const byNumber = new Map(there.map((one) => [`${one.kind} number ${one.number}`, one]))
    const seen = new Map<string, Made>()
    let [lost, unknown] = [0, 0]
    for (const one of made) {
      const { kind, id, number, reference, by } = one
      const names = [`${kind} ${id}`, ...(number === null ? [] : [`${kind} number ${number}`])]
      for (const name of names) {
        const same = byId.get(name) ?? byNumber.get(name)
        check(same === undefined || same.reference === reference, `${name} was "${reference}", is "${same?.reference}"`)
        check(!seen.has(name), `${name} was acknowledged as "${seen.get(name)?.reference}" and as "${reference}"`)
        seen.set(name, one)
      }
      const wasThere = this.#isThere.get(one)
      const isThere = byId.has(`${kind} ${id}`)
      this.#isThere.set(one, isThere)
      if (isThere || wasThere === false) continue
      lost += 1
      check(wasThere === undefined, `${kind} ${id} is lost, which was there after an earlier failover`)
      check(!isSynchronous, `${kind} ${id} is lost by a synchronous failover`)
      if (!living.includes(by)) unknown += 1
      else
        check(
          notes.some((note) => isAbout(note, one)),
          `${kind} ${id} is lost and not listed`,
        )
    }
    for (const { operation, id, number, state } of notes) {
      const kind = OPERATIONS[operation]
      const isThere = kind === 'credit' ? byNumber.has(`credit number ${number}`) : byId.has(`${kind} ${id}`)
      check(state === 'perhaps' || !isThere, `${operation} ${id} ${number} is listed as lost and is there`)
    }
    if (wrong.length > 0) throw new Error(wrong.slice(0, 20).join('\n'))
    return { lost, unknown }
  }

  #notes(): Promise<Note[]> {
    return onServer(
      this.#primary,
      `select operation, record_id as id, number, state from perennial.failover_notes
        where failover_id = (select max(failover_id) from perennial.failovers) and kind = 'change'`,
    )
  }

  async #startService(name: string): Promise<void> {
    const told = await this.#processes.start(name, SERVE, {})
    this.#started += 1
    this.#services.push({ name: `${name} ${this.#started}`, address: String(told['Address']) })
  }

  /** Lets commits wait for the standby, or not. */
  async #beSynchronous(is: boolean): Promise<void> {
    await this.#set('synchronous_standby_names', is ? '*' : '')
    const state = 'select sync_state as state from pg_stat_replication'
    while ((await onServer(this.#primary, state))[0]?.state !== (is ? 'sync' : 'async')) await delay(20)
  }

  async #set(name: string, value: string): Promise<void> {
    await onServer(this.#primary, `alter system set ${name} = '${value}'`)
    await onServer(this.#primary, 'select pg_reload_conf()')
  }

  async #untilReplayed(): Promise<void> {
    const same = 'select replay_lsn = pg_current_wal_lsn() as is from pg_stat_replication'
    while ((await onServer(this.#primary, same))[0]?.is !== true) await delay(20)
  }

  /** Makes what was the primary a copy of the new one, which has it as its standby. */
  async #replaceStandby(): Promise<void> {
    await killServer(this.#standby)
    await replicate(this.#primary, [this.#standby], { settings: SETTINGS })
  }

  async stop(): Promise<void> {
    await this.#callers?.end().catch(() => {})
    await this.#processes.killAll()
    await stopServers()
  }
}

function isAbout(note: Note, { kind, id, number }: Made): boolean {
  if (OPERATIONS[note.operation] !== kind) return false
  return kind === 'credit' ? note.number === number : note.id === String(id)
}
