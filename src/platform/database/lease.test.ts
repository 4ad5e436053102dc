import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import type { Transaction } from './database.ts'
import { type Lease, releaseLease, renewLease, takeLease } from './lease.ts'
import { clientConfig } from './open-database.ts'
import { APP_ROLE } from './roles.ts'
import { type Statement, sql } from './sql.ts'

/**
 * No lease has two holders at work, whatever their transactions wait for. The test sets `moment()`: as on one server, where it moves on while a
 * statement waits for a row, and as on an engine over several, which asks it before.
 */

const connection = await createTestDatabase()
const owner = new pg.Client(clientConfig(connection, undefined))
await owner.connect()
const ACCOUNT = 7n
const START = 1_800_000_000
await owner.query(`
  insert into accounts (account_id, name, mode, currency, time_zone, created_at) values (${ACCOUNT}, 'A', 'test', 'USD', 'UTC', now());
  create table clock_of_test (at bigint);
  insert into clock_of_test values (0);
  create sequence moving_clock_of_test;
  create table work_of_test (step integer primary key, holder uuid);
  grant select on clock_of_test, moving_clock_of_test to ${APP_ROLE};
  grant select, insert on work_of_test to ${APP_ROLE}`)

const CLOCKS = {
  'moves on while a statement waits': 'select last_value from moving_clock_of_test',
  'stands still while a statement waits': 'select at from clock_of_test',
}

const useClock = (at: string) =>
  owner.query(`
    create or replace function moment(after interval default '0') returns timestamptz
      language plpgsql stable as $$
    begin
      return to_timestamp((${at})) + after;
    end $$`)

async function connected(): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(connection, APP_ROLE))
  client.on('error', () => {})
  await client.connect()
  return client
}

type Work = (tx: Transaction) => Promise<() => void>

/** A process: what it holds, the next step of its work, and its transaction. */
class Process {
  client: pg.Client | undefined
  lease: Lease | undefined
  next = 0
  /** Under way: what was sent last, whether its answer is there, and what holds once it is committed. */
  doing:
    | { tx: Transaction; answered: Promise<void>; isAnswered: boolean; after: () => void; askedAt: number }
    | undefined

  /** Sends what is to be done in the transaction that is open, or in a new one. */
  async send(now: number, work: Work): Promise<void> {
    const tx = this.doing?.tx ?? (await this.begin())
    const doing: Process['doing'] = {
      tx,
      answered: Promise.resolve(),
      isAnswered: false,
      after: () => {},
      askedAt: now,
    }
    this.doing = doing
    doing.answered = work(tx)
      .then((after) => void (doing.after = after))
      .finally(() => (doing.isAnswered = true))
    doing.answered.catch(() => {})
  }

  async begin(): Promise<Transaction> {
    this.client ??= await connected()
    const { client } = this
    await client.query(`begin; select set_config('app.account_id', '${ACCOUNT}', true)`)
    const rows = async ({ text, values }: Statement) => (await client.query(text, values)).rows
    const first = async (statement: Statement) => (await rows(statement))[0]
    return { account: ACCOUNT, rows, first } as unknown as Transaction
  }

  async commit(): Promise<void> {
    await this.client?.query('commit')
    this.doing?.after()
    this.doing = undefined
  }

  get pid(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  /** Its connection is lost, and what it had begun with it. The process does not know of a lease that it took there. */
  async lose(): Promise<void> {
    const { client, doing } = this
    if (!client) return
    await owner.query(`select pg_terminate_backend(${this.pid}, 10000)`)
    this.client = this.doing = undefined
    await doing?.answered.catch(() => {})
    await client.end()
  }
}

interface Command {
  process: number
  kind: 'take' | 'step' | 'release' | 'commit' | 'lose' | 'clock'
  seconds: number
}

const commands = fc.array(
  fc.record<Command>({
    process: fc.constantFrom(0, 1),
    kind: fc.constantFrom(
      'take',
      'take',
      'step',
      'step',
      'commit',
      'commit',
      'commit',
      'clock',
      'clock',
      'release',
      'lose',
    ),
    seconds: fc.constantFrom(1, 9, 20, 31, 40, 120, 700, 7200, -5, -45, -400, -700, -7200),
  }),
  { minLength: 20, maxLength: 60 },
)

/** Does commands in a database where nobody holds anything. Returns each time at which somebody took what another held. */
async function live(all: readonly Command[]): Promise<string[]> {
  const processes = [new Process(), new Process()]
  const wrong: string[] = []
  let now = START
  // By how much the clock was stepped back, in all and when the lease was written.
  let [steppedBack, whenWritten] = [0, 0]
  const setClock = () =>
    owner.query(`update clock_of_test set at = ${now}; select setval('moving_clock_of_test', ${now})`)
  await owner.query('delete from leases; delete from work_of_test')
  await setClock()

  const committed = async () =>
    (
      await owner.query<{ holder: string; until: number }>(
        'select holder, extract(epoch from leased_until)::float8 as until from leases',
      )
    ).rows[0]

  /** Takes the lease, and notes where another held it by the clock that counts. */
  const take = (process: Process, begunAt: number, asked: number) => async (tx: Transaction) => {
    const lease = await takeLease(tx, 'work')
    if (!lease) return () => {}
    const before = await committed()
    const isOver = !before || before.until <= Math.max(begunAt, now) || steppedBack - whenWritten >= 600
    if (!isOver) wrong.push(`taken at ${now}, asked at ${begunAt}, held until ${before.until}`)
    const done = await tx.first<{ step: number }>(sql`select coalesce(max(step), 0) as step from work_of_test`)
    return () => {
      process.lease = lease
      process.next = (done?.step ?? 0) + 1
      whenWritten = asked
    }
  }

  /** Does the next step of the work, as its holder believes. The primary key refuses one that another has done. */
  const step = (process: Process, lease: Lease, asked: number) => async (tx: Transaction) => {
    if (!(await renewLease(tx, lease))) return () => (process.lease = undefined)
    await tx.rows(sql`insert into work_of_test (step, holder) values (${process.next}, ${lease.holder})`)
    return () => {
      process.next += 1
      whenWritten = asked
    }
  }

  const renew = (lease: Lease, after: () => void, asked: number) => async (tx: Transaction) => {
    const isRenewed = await renewLease(tx, lease)
    return () => {
      after()
      if (isRenewed) whenWritten = asked
    }
  }

  const release = (process: Process, lease: Lease) => async (tx: Transaction) => {
    await releaseLease(tx, lease)
    return () => (process.lease = undefined)
  }

  /** Waits until what was sent is answered or waits for a row. */
  const settle = async (process: Process) => {
    const { doing } = process
    while (doing && !doing.isAnswered) {
      const { rows } = await owner.query<{ n: number }>(`select cardinality(pg_blocking_pids(${process.pid})) as n`)
      if (rows[0]?.n !== 0) return
    }
    await doing?.answered
  }

  const send = async (process: Process, work: Work) => {
    await process.send(now, work)
    await settle(process)
  }

  const moveClock = async (seconds: number) => {
    const waiting = processes.flatMap(({ doing }) => (doing && !doing.isAnswered ? [doing.askedAt] : []))
    // No transaction lasts longer than ten minutes, so nothing waits for longer; that the clock steps back meanwhile is left out.
    if (waiting.some((askedAt) => seconds < 0 || now + seconds - askedAt >= 600)) return
    now += seconds
    if (seconds < 0) steppedBack -= seconds
    await setClock()
  }

  const does = async ({ process: at, kind, seconds }: Command) => {
    const process = processes[at] as Process
    if (kind === 'clock') return moveClock(seconds)
    if (kind === 'lose' || kind === 'commit') {
      if (kind === 'lose') await process.lose()
      else if (process.doing?.isAnswered) await process.commit()
      for (const other of processes) await settle(other)
    } else if (process.doing && !process.doing.isAnswered) return
    // A transaction may renew a lease more than once.
    else if (process.doing && process.lease) await send(process, renew(process.lease, process.doing.after, steppedBack))
    else if (process.doing) return
    else if (kind === 'take') await send(process, take(process, now, steppedBack))
    else if (process.lease) await send(process, (kind === 'step' ? step : release)(process, process.lease, steppedBack))
  }

  try {
    for (const command of all) await does(command)
  } finally {
    for (const process of processes) await process.lose()
  }
  return wrong
}

afterAll(() => owner.end())

describe.each(Object.entries(CLOCKS))('by a clock that %s', (_name, at) => {
  test('no lease has two holders at work', async () => {
    await useClock(at)
    await fc.assert(
      fc.asyncProperty(commands, async (all) => {
        expect(await live(all)).toEqual([])
      }),
      { numRuns: 12 },
    )
  })

  test('who waits for a lease while its holder renews it does not take it', async () => {
    await useClock(at)
    const one = (kind: Command['kind'], process: number, seconds = 0): Command => ({ process, kind, seconds })
    const wrong = await live([
      one('take', 0),
      one('commit', 0),
      one('clock', 0, 40),
      one('step', 0),
      one('take', 1),
      one('clock', 0, 9),
      one('step', 0),
      one('commit', 0),
      one('commit', 1),
    ])
    expect(wrong).toEqual([])
  })
})
