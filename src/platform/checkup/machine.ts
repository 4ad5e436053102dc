import { statSync } from 'node:fs'
import { readFileSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** The machine: Node, memory, shared memory and the clock. */

const MEGABYTE = 2 ** 20
const MEMORY_MIN_MB = 900
const SHARED_MIN_MB = 32
const CLOCK_BEHIND_MS = 60_000

/** Checks the machine. `root` is the package's folder, whose package.json names the versions of Node that are needed. */
export function checkMachine(root: string, nowMs: number): Finding[] {
  return [checkNode(root), checkMemory(), ...checkSharedMemory(), ...checkClock(root, nowMs)]
}

function checkNode(root: string): Finding {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  const wanted = engines.node.replace(/^>=\s*/, '')
  const present = process.versions.node
  return isAtLeast(present, wanted)
    ? fine('Node.js', `is ${present}`)
    : broken('Node.js', `is ${present}`, `install ${wanted} or newer`)
}

function isAtLeast(present: string, wanted: string): boolean {
  const [have, want] = [present, wanted].map((text) => text.split('.').map(Number))
  for (const [index, part] of want!.entries()) if ((have![index] ?? 0) !== part) return (have![index] ?? 0) > part
  return true
}

function checkMemory(): Finding {
  // A container may be given less than the machine has.
  const limit = process.constrainedMemory()
  const megabytes = Math.floor(Math.min(totalmem(), limit > 0 ? limit : Infinity) / MEGABYTE)
  return megabytes >= MEMORY_MIN_MB
    ? fine('memory', `${megabytes} MB`)
    : doubtful('memory', `${megabytes} MB is little for service and database together`, 'give it 1 GB or more')
}

function checkSharedMemory(): Finding[] {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    const megabytes = Math.floor((bavail * bsize) / MEGABYTE)
    if (megabytes >= SHARED_MIN_MB) return [fine('shared memory', `${megabytes} MB free in /dev/shm`)]
    return [
      doubtful(
        'shared memory',
        `${megabytes} MB free in /dev/shm`,
        'give a container more with --shm-size=64m, else remove what lies there',
      ),
    ]
  } catch {
    // Not every system has it, and then nothing needs it.
    return []
  }
}

/** Checks the clock. A clock that stands before the day on which the program was installed is wrong in any case. */
function checkClock(root: string, nowMs: number): Finding[] {
  const installedMs = statSync(join(root, 'package.json')).mtimeMs
  if (nowMs >= installedMs - CLOCK_BEHIND_MS) return []
  return [
    broken(
      'clock',
      `stands at ${new Date(nowMs).toISOString()}, before this program was installed`,
      'set the clock of the machine, best by a time service',
    ),
  ]
}
