import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { DutyDeps, GoOn } from '../duty.ts'
import { newestCopyAge, type NightlyCopies, nightlyCopyDuty } from './nightly.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perennial-copies-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

/** A duty whose lock is free or not, and what it logs. */
function dutyAt(now: () => string, given: Partial<NightlyCopies> & { isLocked?: boolean } = {}) {
  const lines: { level: string; facts: Record<string, unknown>; message: string }[] = []
  const note = (level: string) => (facts: Record<string, unknown>, message: string) =>
    void lines.push({ level, facts, message })
  const client = {
    query: async () => ({ rows: [{ got: given.isLocked !== true }] }),
    end: async () => {},
  } as unknown as pg.Client
  const duty = nightlyCopyDuty({
    folder,
    keep: 2,
    ending: '.tar',
    openOwner: async () => client,
    write: async (file) => writeFileSync(file, 'whole'),
    ...given,
  })
  const deps = { realClock: () => Date.parse(now()), log: { info: note('info'), warn: note('warn') } }
  return { lines, run: (goOn: GoOn = () => {}) => duty.run(deps as unknown as DutyDeps, goOn) }
}

test('one copy is made a night, from 01:00 UTC on, a missed one at the next start, and the oldest are deleted, nothing else', async () => {
  let now = '2026-11-20T12:00:00Z'
  const { run } = dutyAt(() => now)
  const after = async (at: string) => {
    now = at
    await run()
    return readdirSync(folder).toSorted()
  }
  const others = [
    'notes.txt',
    'perennial-20200101T000000Z.export.gz',
    'perennial-20200101T000000Z.tar.old',
    'perennial.tar',
  ]
  for (const name of others) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, 'perennial-20261119T010000Z.tar.4711.part'), 'killed')
  const first = 'perennial-20261120T120000Z.tar'
  expect(await after('2026-11-20T12:00:00Z')).toEqual([...others, first].toSorted())
  expect(await after('2026-11-21T00:59:59Z')).toEqual([...others, first].toSorted())
  const second = 'perennial-20261121T010000Z.tar'
  expect(await after('2026-11-21T01:00:00Z')).toEqual([...others, first, second].toSorted())
  expect(await after('2026-11-21T23:00:00Z')).toEqual([...others, first, second].toSorted())
  const third = 'perennial-20261124T093000Z.tar'
  expect(await after('2026-11-24T09:30:00Z')).toEqual([...others, second, third].toSorted())
  expect(await newestCopyAge(folder, Date.parse('2026-11-24T10:30:00Z'))).toBe(3600)
})

test('no copy is made while another worker makes one, nor a second of the night when that has ended', async () => {
  const now = () => '2026-11-21T01:00:00Z'
  await dutyAt(now, { isLocked: true }).run()
  expect(readdirSync(folder)).toEqual([])
  // The other one ends between the first look and the lock.
  const other = join(folder, 'perennial-20261121T010000Z.tar')
  const late = dutyAt(now, {
    openOwner: async () => {
      writeFileSync(other, 'of the other')
      return { query: async () => ({ rows: [{ got: true }] }), end: async () => {} } as unknown as pg.Client
    },
    write: () => expect.unreachable(),
  })
  await late.run()
  expect(late.lines).toEqual([])
})

test('a copy that fails is a warning that names the folder, deletes none of the older ones, and is made later', async () => {
  const old = ['20261118', '20261119', '20261120'].map((day) => `perennial-${day}T010000Z.tar`)
  for (const name of old) writeFileSync(join(folder, name), '')
  const now = () => '2026-11-21T01:00:00Z'
  let isFull = true
  const { run, lines } = dutyAt(now, {
    write: async (file) => {
      if (isFull) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write' })
      writeFileSync(file, 'whole')
    },
  })
  await run()
  expect(lines).toMatchObject([
    { level: 'warn', facts: { folder, reason: expect.stringContaining('the disk is full') } },
  ])
  expect(readdirSync(folder).toSorted()).toEqual(old)
  isFull = false
  await run()
  expect(readdirSync(folder)).toHaveLength(2)
})

test('a folder that is missing is made, but not where its parents are missing too', async () => {
  const now = () => '2026-11-21T01:00:00Z'
  const inside = join(folder, 'copies')
  await dutyAt(now, { folder: inside }).run()
  expect(readdirSync(inside)).toHaveLength(1)
  const astray = dutyAt(now, { folder: join(folder, 'not', 'mounted') })
  await astray.run()
  expect(astray.lines).toMatchObject([
    { level: 'warn', facts: { reason: expect.stringContaining('there is no such') } },
  ])
})

test('a worker that stops ends the copy without a warning', async () => {
  const { run, lines } = dutyAt(() => '2026-11-21T01:00:00Z', { write: async (_file, _client, goOn) => goOn() })
  const stop = () => {
    throw new Error('stopped')
  }
  await expect(run(stop)).rejects.toThrow('stopped')
  expect(lines).toEqual([])
})

test('a folder without copies, and one that cannot be read, have an infinite age', async () => {
  expect(await newestCopyAge(folder, 0)).toBe(Number.POSITIVE_INFINITY)
  expect(await newestCopyAge(join(folder, 'none'), 0)).toBe(Number.POSITIVE_INFINITY)
  mkdirSync(join(folder, 'closed'))
  chmodSync(join(folder, 'closed'), 0o000)
  expect(await newestCopyAge(join(folder, 'closed'), 0)).toBe(Number.POSITIVE_INFINITY)
  chmodSync(join(folder, 'closed'), 0o700)
})
