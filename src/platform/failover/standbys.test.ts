import { expect, test } from 'vitest'
import { lackInWords, type StandbyPlace } from './standbys.ts'

const one = (about: Partial<StandbyPlace>): StandbyPlace => ({
  name: 'a',
  address: '10.0.0.3',
  isConnected: true,
  hasIt: true,
  ...about,
})

test.each([
  ['none, of one server', [], 1, undefined],
  ['none, of two servers', [], 2, 'No standby is connected: a failover now would undo this command.'],
  ['all have it', [one({}), one({ name: 'b' })], 1, undefined],
  [
    'one lacks it',
    [one({ hasIt: false }), one({ name: 'b' })],
    1,
    'Not yet on the standby a (10.0.0.3): a failover there now would undo this command.',
  ],
  [
    'two lack it, one of which is away',
    [one({ hasIt: false, address: null }), one({ name: 'b', isConnected: false, hasIt: false })],
    2,
    'Not yet on the standbys a, b (not connected): a failover there now would undo this command.',
  ],
  [
    'nobody may see it',
    [one({ hasIt: null })],
    2,
    'Whether the standbys have this already is hidden from this login: grant pg_monitor to it.',
  ],
])('what standbys lack is said: %s', (_, places, servers, words) => {
  expect(lackInWords(places, servers)).toBe(words)
})
