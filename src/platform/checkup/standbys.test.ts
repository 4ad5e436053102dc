import { expect, test } from 'vitest'
import { type Standby, standbyFindings } from './standbys.ts'

const one = (fields: Partial<Standby> = {}): Standby => ({
  name: 'a',
  state: 'streaming',
  sync: 'sync',
  lagBytes: '0',
  lagSeconds: 0,
  ...fields,
})
const saysOf = (...given: Parameters<typeof standbyFindings>) =>
  standbyFindings(...given).map(({ state, text }) => `${state} ${text}`)
const ON = { commits: 'on', wait: true, hasLive: true }
const ALONE = { ...ON, wait: false }

test('standbys are listed, and what a failover would lose or one that is away would stop is doubtful', () => {
  expect(saysOf([one(), one({ name: 'b', sync: 'potential', lagBytes: '70', lagSeconds: 1.25 })], ON)).toEqual([
    'ok a (streaming, synchronous, 0 bytes and 0.0 s behind), b (streaming, synchronous when another is away, 70 bytes and 1.3 s behind)',
  ])
  expect(saysOf([one(), one({ name: 'b', sync: 'async' })], ON)).toEqual([
    expect.stringMatching(/^ok a .*, b \(streaming, asynchronous,/),
    expect.stringMatching(/exactly one is synchronous/),
  ])
  expect(saysOf([one({ sync: 'async' })], ON)[1]).toMatch(/nothing can be written/)
  expect(saysOf([], { ...ON, hasLive: false })).toEqual([expect.stringMatching(/nothing can be written/)])
  expect(saysOf([], ALONE)).toEqual([expect.stringMatching(/none is connected/)])
  expect(saysOf([], { ...ALONE, hasLive: false })).toEqual([])
  expect(saysOf([one({ state: null })], ON)).toEqual([expect.stringMatching(/hidden from this login/)])
  expect(saysOf([], { commits: 'local', wait: false, hasLive: false })).toEqual([
    expect.stringMatching(/synchronous_commit is local/),
  ])
})
