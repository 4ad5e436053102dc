import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const ROOM_MIN_BYTES = 2 ** 30

/** Returns the folder for folders of tests: in memory when there is room for as much as that. */
export function roomyParent(room = ROOM_MIN_BYTES): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize > room) return '/dev/shm'
  } catch {
    // Not every system has it.
  }
  return tmpdir()
}
