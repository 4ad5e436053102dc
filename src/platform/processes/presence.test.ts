import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Admission } from '../database/admission.ts'
import type { Database } from '../database/database.ts'
import { ProcessPresence } from './presence.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const presenceOn = (rows: () => Promise<unknown[]>) => {
  const onWatch = { rows } as unknown as Database['onWatch']
  const facts = { id: '7', kind: 'serve', version: '1', schema: 1, settings: {} } as const
  const db = { onWatch, admission: new Admission(), listen: async () => async () => {} }
  const log = { debug: () => {}, info: () => {}, warn: () => {} }
  return new ProcessPresence({ db, log, isAtRest: () => true, level: { level: 'info', change: () => {} } }, facts)
}

test('a database that never answers holds up neither a change of state nor the end for more than seconds', async () => {
  const presence = presenceOn(() => new Promise(() => {}))
  let isOver = false
  const leaving = presence
    .become('draining')
    .then(() => presence.end())
    .then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(6_000)
  expect(isOver).toBe(true)
  await leaving
})

test('a database that refuses keeps no process from beginning or leaving', async () => {
  const presence = presenceOn(async () => Promise.reject(new Error('away')))
  await presence.begin()
  await presence.end()
})
