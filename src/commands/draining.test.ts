import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { drain } from './draining.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Line = readonly [level: string, waitsFor: unknown]

function logOf(lines: Line[]) {
  const write = (level: string) => (facts: object) =>
    void lines.push([level, (facts as { waitsFor: unknown }).waitsFor])
  return { info: write('info'), warn: write('warn') }
}

describe('a clean-up', () => {
  test('that is done at once says only that it is', async () => {
    const lines: Line[] = []
    await drain((waitFor) => waitFor('requests', Promise.resolve()), logOf(lines))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lines).toEqual([['info', undefined]])
  })

  test('names what it still waits for every five seconds', async () => {
    const lines: Line[] = []
    let finish = () => {}
    const work = new Promise<void>((resolve) => (finish = resolve))
    const requests = new Promise<void>((resolve) => setTimeout(resolve, 7_000))
    const done = drain(
      async (waitFor) => void (await Promise.all([waitFor('requests', requests), waitFor('worker', work)])),
      logOf(lines),
    )
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lines).toEqual([
      ['info', ['requests', 'worker']],
      ['info', ['worker']],
    ])
    finish()
    await done
  })

  test('that takes longer than half a minute is left alone, with a warning', async () => {
    const lines: Line[] = []
    const done = drain((waitFor) => waitFor('database', new Promise(() => {})), logOf(lines))
    await vi.advanceTimersByTimeAsync(30_000)
    await done
    expect(lines.at(-1)).toEqual(['warn', ['database']])
  })

  test('that fails reports its failure', async () => {
    await expect(drain((waitFor) => waitFor('worker', Promise.reject(new Error('no'))), logOf([]))).rejects.toThrow(
      'no',
    )
  })
})
