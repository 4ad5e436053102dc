import { expect, test } from 'vitest'
import { Memory, type TimelineEnd } from './memory.ts'
import { steadyClock } from '../steady-clock.ts'
import { underWay } from './under-way.ts'

const SERVER = { system: 'one', startedAt: 'then', timeline: 1 }
const NOON = Date.parse('2027-03-01T12:00:00.000Z')

function dated(): Memory {
  const memory = new Memory()
  memory.noteExchange({ sentMs: 0, answeredMs: 1, databaseMs: NOON }, SERVER, '0/1000')
  return memory
}
const UNKNOWN: TimelineEnd = { replayedAtMs: null, replayedTo: null, lost: [] }
const endAt = (replayedAtMs: number): TimelineEnd => ({ ...UNKNOWN, replayedAtMs })
const change = (id: string) => ({ operation: 'addCustomer', type: 'customers', id, number: null })
const charge = (reference: string) => ({ account: 1n, operation: 'charge', gatewayId: 3n, reference })

test('any number of changes leaves the effects where they are, and the last changes', () => {
  const memory = dated()
  memory.beginEffect(charge('1'), 100).left()
  for (let id = 0; id < 10_500; id += 1) memory.noteCommit(1n, [change(String(id))], 200, 201)
  const found = memory.after(UNKNOWN)
  expect(found.filter(({ kind }) => kind === 'effect').map(({ id }) => id)).toEqual(['1'])
  const changes = found.filter(({ kind }) => kind === 'change')
  expect(changes).toHaveLength(10_000)
  expect(changes.at(-1)?.id).toBe('10499')
})

test('both kinds share the bounds of bytes: the one that takes more forgets', () => {
  const memory = dated()
  const long = 'x'.repeat(1_000)
  for (let id = 0; id < 1_000; id += 1) memory.beginEffect(charge(`${id} ${long}`), 100).left()
  for (let id = 0; id < 3_000; id += 1) memory.noteCommit(1n, [change(`${id} ${long}`)], 200, 201)
  const found = memory.after(UNKNOWN)
  const effects = found.filter(({ kind }) => kind === 'effect').length
  const changes = found.length - effects
  expect((changes + effects) * 1_120).toBeLessThan(2_000_000)
  expect(Math.abs(changes - effects)).toBeLessThan(30)
})

test('an effect is one that perhaps left from before its call on, until it is known that it did not', () => {
  const memory = dated()
  const [going, gone, stayed] = ['1', '2', '3'].map((reference) => memory.beginEffect(charge(reference), 100))
  gone?.left()
  stayed?.stayed()
  stayed?.left()
  const states = () => memory.after(endAt(NOON + 50)).map(({ id, state }) => [id, state])
  expect(states()).toEqual([
    ['2', 'lost'],
    ['1', 'perhaps'],
  ])
  going?.left()
  expect(states()).toEqual([
    ['2', 'lost'],
    ['1', 'lost'],
  ])
})

test('work counts as left unless its answer shows that it stayed, also after an exception', async () => {
  const memory = dated()
  const done = (reference: string, work: () => Promise<string>) =>
    underWay(memory.beginEffect(charge(reference), 100), work, (answer) => answer !== 'declined')
  expect(await done('1', async () => 'charged')).toBe('charged')
  expect(await done('2', async () => 'declined')).toBe('declined')
  const failing = done('3', () => {
    expect(memory.after(endAt(NOON + 50))).toContainEqual(expect.objectContaining({ id: '3', state: 'perhaps' }))
    throw new Error('broken off')
  })
  await expect(failing).rejects.toThrow('broken off')
  expect(memory.after(endAt(NOON + 50)).map(({ id, state }) => [id, state])).toEqual([
    ['1', 'lost'],
    ['3', 'lost'],
  ])
})

test('every commit moves the last one, with something to remember or without', () => {
  const memory = dated()
  memory.noteCommit(1n, [], 300, 301)
  const { lastSentMs } = memory.evidence(2)
  expect(lastSentMs).toBeGreaterThan(NOON + 298)
  expect(lastSentMs).toBeLessThan(NOON + 300)
  memory.noteCommit(1n, [change('1')], 200, 201)
  expect(memory.evidence(2).lastSentMs).toBe(lastSentMs)
})

test('each has a number of its own, which an effect keeps when it has left', () => {
  const memory = dated()
  const going = memory.beginEffect(charge('1'), 100)
  memory.noteCommit(1n, [change('1'), change('2')], 200, 201)
  const positions = () => new Map(memory.after(UNKNOWN).map(({ kind, id, position }) => [`${kind} ${id}`, position]))
  const before = positions()
  expect(new Set(before.values()).size).toBe(3)
  going.left()
  expect(positions()).toEqual(before)
})

test('a change is lost if its commit is, whatever the clock says, until its timeline was left', () => {
  const memory = dated()
  const commit = (transaction: string, position: number) => ({ transaction, position })
  memory.noteCommit(1n, [change('1')], 10, 90, commit('701', 500))
  memory.noteCommit(1n, [change('2')], 10, 90, commit('702', 500))
  memory.noteCommit(1n, [change('3')], 10, 90, commit('703', 600))
  memory.noteCommit(1n, [change('4')], 10, 20)
  const found = () =>
    memory.after({ replayedAtMs: NOON + 50, replayedTo: 600, lost: ['702'] }).map(({ id, state }) => `${id} ${state}`)
  expect(found()).toEqual(['2 lost', '3 lost'])
  expect(memory.evidence(1).commits).toHaveLength(3)
  memory.forgetCommits()
  expect(memory.evidence(1).commits).toEqual([])
  expect(found()).toEqual(['1 perhaps', '2 perhaps', '3 perhaps'])
})

test('what is noted after the machine slept is no earlier than it may be, before the next answer of the watch and after it', () => {
  let aheadMs = 0
  const memory = new Memory(() => steadyClock() + aheadMs)
  const exchange = (atMs: number) =>
    memory.noteExchange({ sentMs: atMs, answeredMs: atMs + 1, databaseMs: NOON + atMs + aheadMs }, SERVER, null)
  exchange(0)
  exchange(2_000)
  aheadMs = 60_000
  memory.beginEffect(charge('1'), 2_500).left()
  memory.noteCommit(1n, [change('1')], 2_500, 2_501)
  exchange(3_000)
  memory.noteCommit(1n, [change('2')], 3_500, 3_501)
  const states = memory.after(endAt(NOON + 61_000)).map(({ kind, id, state }) => `${kind} ${id} ${state}`)
  expect(states.toSorted()).toEqual(['change 1 perhaps', 'change 2 lost', 'effect 1 perhaps'])
})

test('a log that ends before what was seen of it is noticed once, on the same timeline of the same system alone', () => {
  const memory = new Memory()
  const note = (position: string, over: Partial<typeof SERVER> = {}) =>
    memory.noteExchange({ sentMs: 0, answeredMs: 1, databaseMs: NOON }, { ...SERVER, ...over }, position)
  const noted = [note('0/FF000000'), note('1/10'), note('1/10'), note('0/FF000001'), note('0/FF000001')]
  expect(noted).toEqual([false, false, false, true, false])
  expect([note('0/10', { timeline: 2 }), note('0/9', { timeline: 2, system: 'another' })]).toEqual([false, false])
})

test('the last 2,000 commits are evidence', () => {
  const memory = dated()
  for (let n = 1; n <= 4_500; n += 1) memory.noteCommit(1n, [], 10, 20, { transaction: String(n), position: n })
  const positions = memory.evidence(1).commits.map(({ position }) => position)
  expect([positions.length, Math.min(...positions), Math.max(...positions)]).toEqual([2_000, 2_501, 4_500])
})
