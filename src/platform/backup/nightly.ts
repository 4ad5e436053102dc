import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { Fault } from '../../kernel/fault.ts'
import { isOutage } from '../database/failures.ts'
import type { Duty, DutyDeps, GoOn } from '../duty.ts'
import { errorCodeOf } from '../postgres/start-failure.ts'
import { fileFailure } from './file.ts'

/**
 * Copies of the database that the service makes on its own, one a night, and the oldest of them deleted. Nights are those of UTC; one in which
 * no service ran is made up for at its next start.
 */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Before the verification of the night, and after most accounts of the east have begun their day. */
const NIGHT_BEGINS_MS = HOUR_MS

/** A lock of the database that one worker holds while it copies; the number means nothing. */
const COPY_LOCK = 7_302_551_904

/** Endings of the names: a backup of the embedded database, an export of one on a server. */
export type CopyEnding = '.tar' | '.export.gz'

const OWN_NAME = /^perennial-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(\.tar|\.export\.gz)$/
const OWN_PART = /^perennial-\d{8}T\d{6}Z(\.tar|\.export\.gz)(\.\d+)?\.part$/

export interface NightlyCopies {
  /** BACKUP_DIR. */
  folder: string
  /** BACKUP_KEEP. */
  keep: number
  ending: CopyEnding
  openOwner(): Promise<pg.Client>
  /** Writes a whole copy or none; the client is that of the lock. */
  write(file: string, client: pg.Client, goOn: GoOn): Promise<unknown>
}

interface Copy {
  name: string
  madeAtMs: number
}

/** Returns the copies in a folder that this duty has made, the newest first. Anything else in it is nobody's business here. */
export async function listCopies(folder: string): Promise<Copy[]> {
  const copies = (await readdir(folder)).flatMap((name) => {
    const [, ...parts] = OWN_NAME.exec(name) ?? []
    if (parts.length === 0) return []
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
    return [{ name, madeAtMs: Date.UTC(year, month - 1, day, hour, minute, second) }]
  })
  return copies.toSorted((a, b) => b.madeAtMs - a.madeAtMs)
}

/** Returns the age of the newest copy in seconds; infinite where there is none, or the folder cannot be read. */
export async function newestCopyAge(folder: string, nowMs: number): Promise<number> {
  const [newest] = await listCopies(folder).catch(() => [])
  return newest ? Math.max(0, Math.round((nowMs - newest.madeAtMs) / 1000)) : Number.POSITIVE_INFINITY
}

const nameOf = (nowMs: number, ending: CopyEnding): string =>
  `perennial-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z${ending}`

/** Returns the beginning of the newest night that has begun, in milliseconds. */
const nightBefore = (nowMs: number): number => Math.floor((nowMs - NIGHT_BEGINS_MS) / DAY_MS) * DAY_MS + NIGHT_BEGINS_MS

/** Reports whether the night has no copy yet. One that lies in the future was made before the clock stepped back, and counts for no night. */
async function isDue(folder: string, nowMs: number): Promise<boolean> {
  const copies = await listCopies(folder)
  return !copies.some(({ madeAtMs }) => madeAtMs >= nightBefore(nowMs) && madeAtMs <= nowMs)
}

/** Makes the duty that copies the database once a night. A copy that fails is a warning, and tried again after an hour. */
export const nightlyCopyDuty = (copies: NightlyCopies): Duty => ({
  name: 'nightly copy',
  everyMs: HOUR_MS,
  run: async (deps, goOn) => {
    try {
      await copyOnce(copies, deps, goOn)
    } catch (error) {
      // A wish to end the work is thrown again here.
      goOn()
      if (isOutage(error)) throw error
      const failure = fileFailure(copies.folder, error)
      const why = failure instanceof Fault ? { reason: failure.message } : { err: failure }
      deps.log.warn({ ...why, folder: copies.folder }, 'the nightly copy of the database failed; it is tried again')
    }
  },
})

/** Makes the folder where it alone is missing: one whose parents are missing too is mistyped, or not mounted. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCodeOf(error) !== 'EEXIST') throw error
  })
}

async function copyOnce(copies: NightlyCopies, { log, realClock }: DutyDeps, goOn: GoOn): Promise<void> {
  const { folder, keep, ending } = copies
  await makeFolder(folder)
  if (!(await isDue(folder, realClock()))) return
  const client = await copies.openOwner()
  try {
    const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [COPY_LOCK])
    // Another worker copies now, or has just done so.
    if (!rows[0]?.got || !(await isDue(folder, realClock()))) return
    await removeParts(folder)
    const beganAtMs = realClock()
    const name = nameOf(beganAtMs, ending)
    await copies.write(join(folder, name), client, goOn)
    const removed = await removeOldest(folder, keep, ending)
    const seconds = Math.round((realClock() - beganAtMs) / 1000)
    log.info({ file: name, seconds, removed }, 'the database was copied')
  } finally {
    await client.end().catch(() => {})
  }
}

/** Deletes what copies that were killed have left. */
async function removeParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (OWN_PART.test(name)) await rm(join(folder, name), { force: true })
}

/** Deletes all copies of this kind but the newest, and returns how many. */
async function removeOldest(folder: string, keep: number, ending: CopyEnding): Promise<number> {
  const old = (await listCopies(folder)).filter(({ name }) => name.endsWith(ending)).slice(keep)
  for (const { name } of old) await rm(join(folder, name), { force: true })
  return old.length
}
