import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeLog } from './log.ts'
import { ChangedLevel } from './log-level.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a level that is changed ends on its own, and each change is a line, also at levels that show no such line', () => {
  const lines: string[] = []
  const log = makeLog('error', [], { write: (line) => void lines.push(line) })
  const level = new ChangedLevel(log, Date.now)
  level.change('debug', 60_000)
  log.debug('shown')
  level.change('silent', 30_000)
  log.fatal('not shown')
  vi.advanceTimersByTime(30_000)
  expect([log.level, level.isChanged]).toEqual(['error', false])
  log.info('not shown')
  // The end of a change that was replaced changes nothing.
  vi.advanceTimersByTime(60_000)
  level.end()
  expect(lines.map((line) => JSON.parse(line)).map(({ msg, from, to }) => [msg, from, to])).toEqual([
    ['log level changed', 'error', 'debug'],
    ['shown', undefined, undefined],
    ['log level changed', 'debug', 'silent'],
    ['log level changed', 'silent', 'error'],
  ])
})
