import { setImmediate as turned } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Turns } from './turns.ts'

/** Notes in which turn of the event loop each piece was done. */
function noted() {
  const done: { name: string; turn: number }[] = []
  let turn = 0
  const wait = async (turns: number) => {
    for (const until = turn + turns; turn < until; turn += 1) await turned()
  }
  return { done, piece: (name: string) => () => void done.push({ name, turn }), wait }
}

/** Turns that two accounts share, by a clock that stands still. */
function shared(nowMs = () => 0): Turns {
  const turns = new Turns(nowMs)
  turns.note(1n)
  turns.note(2n)
  return turns
}

afterEach(() => vi.useRealTimers())

describe('a large piece of work', () => {
  test('is done at once while its account is alone', () => {
    const { done, piece } = noted()
    const turns = new Turns()
    turns.handOn(1n, piece('first'))
    turns.note(1n)
    turns.note(1n)
    expect(done.length).toBe(1)
  })

  test('has a turn of the event loop of its own while requests of several accounts come', async () => {
    const { done, piece, wait } = noted()
    const turns = shared()
    for (const name of ['a', 'b', 'c', 'd']) turns.handOn(1n, piece(name))
    expect(done).toEqual([])
    await wait(20)
    expect(done.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
    expect(new Set(done.map(({ turn }) => turn)).size).toBe(4)
  })

  test('waits for one of each other account and not for all of them', async () => {
    const { done, piece, wait } = noted()
    const turns = shared()
    for (let count = 0; count < 10; count += 1) turns.handOn(1n, piece('much'))
    turns.handOn(2n, piece('little'))
    await wait(30)
    expect(done.findIndex(({ name }) => name === 'little')).toBe(1)
    expect(done.length).toBe(11)
  })

  test('that took long is followed by a rest as long, but a bounded one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    let now = 0
    const { done, piece, wait } = noted()
    const turns = shared(() => now)
    for (const tookMs of [3, 900, 0]) turns.handOn(1n, () => (piece(`${tookMs}`)(), (now += tookMs)))
    const doneAfter = async (ms: number) => {
      vi.advanceTimersByTime(ms)
      await wait(10)
      return done.length
    }
    expect([await doneAfter(0), await doneAfter(2), await doneAfter(1)]).toEqual([1, 1, 2])
    expect([await doneAfter(4), await doneAfter(1)]).toEqual([2, 3])
  })

  test('shares turns with what waits for its next one', async () => {
    const { done, piece, wait } = noted()
    const turns = shared()
    void turns.of(1n).next().then(piece('waited'))
    turns.handOn(2n, piece('handed on'))
    await wait(20)
    expect(new Set(done.map(({ turn }) => turn)).size).toBe(2)
  })
})

describe('background work', () => {
  test('leaves the event loop to requests while they come, and rests no more a second after the last one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    let nowMs = 0
    const turns = new Turns(() => nowMs)
    await turns.leaveToRequests(25)
    turns.note(1n)
    nowMs = 999
    let isOver = false
    const left = turns.leaveToRequests(25).then(() => (isOver = true))
    await vi.advanceTimersByTimeAsync(24)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await left
    nowMs = 1000
    await turns.leaveToRequests(25)
  })
})
