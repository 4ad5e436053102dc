import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProcess } from '../../src/platform/postgres/processes.ts'

const MEMORY = '/dev/shm'
const ROOM_MIN_BYTES = 2 ** 30

/** Returns the folder for folders of tests: in memory when there is room for as much as that. */
export function roomyParent(room = ROOM_MIN_BYTES): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize > room) return MEMORY
  } catch {
    // Not every system has it.
  }
  return tmpdir()
}

/** Makes a folder there that is named after its kind, a word, and after this process, so that the next run knows when nobody works in it any more. */
export const roomyFolder = (kind: string, room?: number): string =>
  mkdtempSync(join(roomyParent(room), `perennial-${kind}-${process.pid}-`))

/**
 * Removes the folders of processes that were killed: what they left in memory is missing to all that run after them, most of all where nothing of it is left.
 * Those of other users stay.
 */
export function removeLeftBehind(parents: readonly string[] = [MEMORY, tmpdir()]): void {
  for (const parent of parents.filter(existsSync))
    for (const name of readdirSync(parent)) {
      const pid = /^perennial-[a-z]+-(\d+)-/.exec(name)?.[1]
      const path = join(parent, name)
      if (pid !== undefined && !findProcess(Number(pid)) && isOwn(path)) rmSync(path, { recursive: true, force: true })
    }
}

const isOwn = (path: string): boolean => process.getuid?.() === 0 || lstatSync(path).uid === process.getuid?.()
