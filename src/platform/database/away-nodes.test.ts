import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AwayNodes } from './away-nodes.ts'
import { databaseFault, isOfWorkerAway } from './failures.ts'
import type { Queryable } from './database.ts'
import { sql } from './sql.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const refused = (name: string) =>
  Object.assign(
    new Error(
      `connection to the remote node perennial_app@${name} failed with the following error: Connection refused\n\tIs it running?`,
    ),
    { severity: 'ERROR', code: '08006' },
  )
/** The failure as callers of the database meet it. */
const met = () => databaseFault(refused('a:1'))

function cluster() {
  const up = new Map([
    ['a:1', true],
    ['b:2', true],
  ])
  let looks = 0
  let silences = 0
  const lines: string[] = []
  const write = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
  const away = new AwayNodes({
    list: async () => {
      looks += 1
      return [...up].map(([name, isUp]) => ({ name, isUp, reason: isUp ? null : 'Connection refused' }))
    },
    wasSilent: () => void (silences += 1),
    homeOf: async (account) => (account % 2n === 1n ? 'a:1' : 'b:2'),
    log: { info: write('info'), warn: write('warn'), error: write('error') },
  })
  return { up, lines, away, looks: () => looks, silences: () => silences }
}

const GONE = (name: string) =>
  `error the worker ${name} of Citus is not reached by the coordinator (Connection refused): its accounts get 503, and work over all accounts waits for it`

test('a thousand statements that meet a worker which is away are one line that names it, and its return is one; then nobody looks', async () => {
  const { up, lines, away, looks } = cluster()
  up.set('a:1', false)
  for (let n = 0; n < 1_000; n += 1) away.met(met())
  await vi.advanceTimersByTimeAsync(39_000)
  expect(lines).toEqual([GONE('a:1')])
  up.set('b:2', false)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(lines.slice(1)).toEqual([GONE('b:2')])
  expect(away.names).toEqual(['a:1', 'b:2'])
  up.set('a:1', true)
  up.delete('b:2')
  await vi.advanceTimersByTimeAsync(2_000)
  expect(lines.slice(2)).toEqual(['info the worker a:1 of Citus is reached again, 42 s after it was not'])
  const looked = looks()
  await vi.advanceTimersByTimeAsync(60_000)
  expect([away.names, looks()]).toEqual([[], looked])
})

test('a question about all accounts is asked at once, or once all workers are back, however often they go meanwhile', async () => {
  const { up, lines, away } = cluster()
  const question = async () => {
    if (![...up.values()].every(Boolean)) throw met() as Error
    return 'answer'
  }
  let asked = 0
  const again = async () => {
    await question()
    asked += 1
  }
  expect(await away.ask('first', question, again)).toBe('answer')
  up.set('a:1', false)
  expect(await away.ask('second', question, again)).toBeUndefined()
  // One that is known to be away is not asked.
  expect(await away.ask('third', () => Promise.reject(new Error('asked')), again)).toBeUndefined()
  await vi.advanceTimersByTimeAsync(10_000)
  expect([asked, away.unasked]).toEqual([0, ['second', 'third']])
  up.set('a:1', true)
  await vi.advanceTimersByTimeAsync(2_000)
  expect([asked, away.unasked]).toEqual([2, []])
  expect(lines.at(-1)).toBe('info all workers of Citus are back; asked now: second, third')
})

test('what fails otherwise than by a worker is the failure of whoever asks, and of a later question a line', async () => {
  const { up, lines, away } = cluster()
  const broken = async () => {
    throw new Error('relation is missing')
  }
  await expect(away.ask('first', broken, broken)).rejects.toThrow('relation is missing')
  up.set('a:1', false)
  away.met(met())
  await vi.advanceTimersByTimeAsync(0)
  await away.ask('second', broken, broken)
  up.set('a:1', true)
  await vi.advanceTimersByTimeAsync(2_000)
  expect([lines.at(-1), away.unasked]).toEqual(['error could not be asked: second: Error: relation is missing', []])
})

test('what a worker breaks off while all are reached is a line a minute, and none right after its return', async () => {
  const { up, lines, away } = cluster()
  const BROKEN =
    'warn a worker of Citus broke off what it was asked, and all of them are reached: connection to the remote node perennial_app@a:1 failed with the following error: Connection refused'
  for (let n = 0; n < 59; n += 1) {
    away.met(met())
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(lines).toEqual([BROKEN])
  await vi.advanceTimersByTimeAsync(1_000)
  away.met(met())
  await vi.advanceTimersByTimeAsync(0)
  expect(lines).toEqual([BROKEN, BROKEN])
  up.set('a:1', false)
  away.met(met())
  await vi.advanceTimersByTimeAsync(0)
  up.set('a:1', true)
  await vi.advanceTimersByTimeAsync(2_000)
  const count = lines.length
  await vi.advanceTimersByTimeAsync(58_000)
  away.met(met())
  await vi.advanceTimersByTimeAsync(0)
  expect(lines).toHaveLength(count)
})

test('an account of one that is known to be away is refused without a statement, and no other', async () => {
  const { up, away } = cluster()
  const sent: bigint[] = []
  const asked = (account: bigint) => {
    const lookup: Pick<Queryable, 'rows'> = {
      rows: async () => {
        sent.push(account)
        return []
      },
    }
    return away.guarded(account, lookup).rows(sql`select 1`)
  }
  await Promise.all([asked(1n), asked(2n)])
  up.set('a:1', false)
  away.met(met())
  await vi.advanceTimersByTimeAsync(0)
  await expect(asked(1n)).rejects.toSatisfy((error) => isOfWorkerAway(error))
  await asked(2n)
  up.set('a:1', true)
  await vi.advanceTimersByTimeAsync(2_000)
  await asked(1n)
  expect(sent).toEqual([1n, 2n, 2n, 1n])
})

test('a look-up without an answer makes all be looked at, and one that was silent is noted once: what waits for it is ended', async () => {
  const { up, lines, away, silences } = cluster()
  const asked = (ms: number) => {
    const lookup: Pick<Queryable, 'rows'> = {
      rows: () => new Promise((resolve) => setTimeout(() => resolve([]), ms)),
    }
    return away.guarded(1n, lookup).rows(sql`select 1`)
  }
  const slow = asked(10_000)
  await vi.advanceTimersByTimeAsync(10_000)
  await slow
  expect([lines, silences()]).toEqual([[], 0])
  up.set('a:1', false)
  const waiting = [asked(2_000), asked(60_000), asked(60_000)]
  await vi.advanceTimersByTimeAsync(2_900)
  expect(lines).toEqual([])
  await vi.advanceTimersByTimeAsync(100)
  expect([lines, silences()]).toEqual([[GONE('a:1')], 1])
  await vi.advanceTimersByTimeAsync(60_000)
  await Promise.all(waiting)
  expect(silences()).toBe(1)
})

test('nothing is looked at any more once it is closed', async () => {
  const { up, away, looks } = cluster()
  up.set('a:1', false)
  away.met(met())
  await vi.advanceTimersByTimeAsync(2_000)
  away.close()
  const looked = looks()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(looks()).toBe(looked)
})
