import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turned } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Turns } from '../turns.ts'
import { bodyOf } from './pieces.ts'

const KILOBYTE = 'x'.repeat(1024)
const turns = new Turns().of(1n)

/** Pieces of a kilobyte, and how many were asked for. */
function kilobytes(count: number, failsAt = Infinity) {
  const asked = { pieces: 0, isOver: false }
  async function* pieces() {
    try {
      for (let piece = 0; piece < count; piece += 1) {
        asked.pieces += 1
        if (piece === failsAt) throw new Error('broken')
        yield KILOBYTE
      }
    } finally {
      asked.isOver = true
    }
  }
  return { asked, pieces: pieces() }
}

async function streamOf(pieces: AsyncGenerator<string>) {
  const { body, over } = await bodyOf(pieces, turns)
  return { stream: body as Readable, over }
}

describe('the pieces of an answer', () => {
  test('are one text where they are short', async () => {
    const { body, over } = await bodyOf(kilobytes(256).pieces, turns)
    expect(body).toBe(KILOBYTE.repeat(256))
    await over
  })

  test('are a stream of the same text where they are long', async () => {
    const { stream, over } = await streamOf(kilobytes(1000).pieces)
    expect(await text(stream)).toBe(KILOBYTE.repeat(1000))
    await over
  })

  test('are not asked for while nobody reads', async () => {
    const { asked, pieces } = kilobytes(1000)
    const { stream } = await streamOf(pieces)
    stream.read(1)
    for (let turn = 0; turn < 50; turn += 1) await turned()
    expect(asked.pieces).toBeLessThan(400)
    stream.destroy()
  })

  test('stop when the caller has gone, before the first byte too', async () => {
    for (const reads of [0, 300]) {
      const { asked, pieces } = kilobytes(1000)
      const { stream, over } = await streamOf(pieces)
      for (let read = 0; read < reads; read += 1) if (stream.read(1024) === null) await once(stream, 'readable')
      stream.destroy()
      await over
      expect([asked.isOver, asked.pieces < 1000]).toEqual([true, true])
    }
  })

  test('that fail at first fail as a whole, later ones break the stream off', async () => {
    await expect(bodyOf(kilobytes(1000, 10).pieces, turns)).rejects.toThrow('broken')
    const { stream, over } = await streamOf(kilobytes(1000, 500).pieces)
    await expect(text(stream)).rejects.toThrow('broken')
    await over
  })

  test('that are short leave others their turns too, while there are others', async () => {
    const shared = new Turns()
    for (const account of [1n, 2n]) shared.note(account)
    let turns = 0
    const count = () => {
      turns += 1
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    const { body } = await bodyOf(kilobytes(256).pieces, shared.of(1n))
    clearImmediate(counting)
    expect([body, turns >= 7]).toEqual([KILOBYTE.repeat(256), true])
  })

  test('leave the event loop its turns', async () => {
    const { stream } = await streamOf(kilobytes(1000).pieces)
    let turns = 0
    let isRead = false
    const count = () => {
      turns += 1
      if (!isRead) setImmediate(count)
    }
    setImmediate(count)
    await text(stream)
    isRead = true
    expect(turns).toBeGreaterThan(500)
  })
})
