import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type DataFolder, giveToFolderOwner } from './data-folder.ts'
import { findProcess, findServersIn, isRunning, type ProcessMark } from './processes.ts'
import { errorCodeOf, folderFailure, StartFailure } from './start-failure.ts'

/** The one lock of a data folder. The descriptor is handed on to every process that works in the folder. */
export type FolderLock = {
  readonly descriptor: number
  /** The process that held it last and never let go of it, because it was killed or its machine went down. */
  readonly killedOwner: number | undefined
  release(): void
}

// Most waits are for a database that is already stopping; the others need not be quick.
const RETRY_MS = 25
const PROMPT_MS = 2000
const SLOW_RETRY_MS = 250
const ORPHAN_GRACE_MS = 200
const IMMEDIATE_STOP_MS = 60_000
const STRANGER_MS = 30_000
const GIVE_UP_MS = 120_000

/**
 * Takes the lock of the data folder, or throws a StartFailure that names its holder.
 * What a killed service left running is waited for; a server that does not end on its own is ended.
 */
export async function takeLock(folder: DataFolder, onWait: (message: string) => void): Promise<FolderLock> {
  const descriptor = openLock(folder)
  try {
    const wait = { since: performance.now(), hasAsked: false, hasInsisted: false }
    while (!tryLock(descriptor, folder)) {
      const owner = readOwner(folder)
      if (owner && isRunning(owner)) throw inUseBy(folder, owner.pid)
      endOrphan(folder, wait, onWait)
      await delay(performance.now() - wait.since < PROMPT_MS ? RETRY_MS : SLOW_RETRY_MS)
    }
    const killedOwner = readOwner(folder)?.pid
    writeOwner(descriptor, folder)
    return { descriptor, killedOwner, release: () => release(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Finds the live process that claims the folder; undefined if there is none. */
export function findOwner(folder: DataFolder): ProcessMark | undefined {
  const owner = readOwner(folder)
  return owner && isRunning(owner) ? owner : undefined
}

type Wait = { since: number; hasAsked: boolean; hasInsisted: boolean }

// The owner is dead, so whoever still holds the lock is its server, its guard, or lives where we cannot see it.
function endOrphan(folder: DataFolder, wait: Wait, onWait: (message: string) => void): void {
  const waitedMs = performance.now() - wait.since
  if (waitedMs < ORPHAN_GRACE_MS) return
  const servers = [...findServersIn(folder.cluster), ...findServersIn(folder.clusterInTheMaking)]
  if ((servers.length === 0 && !wait.hasAsked && waitedMs > STRANGER_MS) || waitedMs > GIVE_UP_MS) {
    throw new StartFailure(
      `The data folder ${folder.root} is in use by another service or container: stop that one, or set DATA_DIR to another folder.`,
    )
  }
  if (servers.length > 0 && !wait.hasAsked) {
    wait.hasAsked = true
    onWait(`ending the database process ${servers.join(', ')} that a killed service left behind`)
    for (const pid of servers) signal(folder, pid, 'SIGINT')
  }
  if (wait.hasAsked && !wait.hasInsisted && waitedMs > IMMEDIATE_STOP_MS) {
    wait.hasInsisted = true
    for (const pid of servers) signal(folder, pid, 'SIGQUIT')
  }
}

function signal(folder: DataFolder, pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It ended between being found and being asked.
    if (errorCodeOf(error) === 'ESRCH') return
    throw errorCodeOf(error) === 'EPERM' ? inUseBy(folder, pid) : error
  }
}

function openLock(folder: DataFolder): number {
  try {
    const descriptor = openSync(folder.lock, 'a+', 0o600)
    giveToFolderOwner(folder, folder.lock)
    return descriptor
  } catch (error) {
    throw folderFailure(folder.root, error)
  }
}

// Node has no flock; the program takes it on our open file, and the lock stays with the file when the program ends.
function tryLock(descriptor: number, folder: DataFolder): boolean {
  const { status, error } = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  if (errorCodeOf(error) === 'ENOENT') return findOwner(folder) === undefined
  if (error) throw error
  if (status === 0 || status === 1) return status === 0
  throw new StartFailure(
    `The data folder ${folder.root} cannot be locked (flock ended with ${status}): set DATA_DIR to a folder on a local disk.`,
  )
}

function writeOwner(descriptor: number, folder: DataFolder): void {
  const own = findProcess(process.pid)
  try {
    ftruncateSync(descriptor, 0)
    writeSync(descriptor, `${process.pid} ${own?.startedAt ?? ''}\n`)
  } catch (error) {
    throw folderFailure(folder.root, error)
  }
}

// A process that lives on after stopping its database must not look like the owner of the folder.
function release(descriptor: number): void {
  try {
    ftruncateSync(descriptor, 0)
  } finally {
    closeSync(descriptor)
  }
}

function readOwner(folder: DataFolder): ProcessMark | undefined {
  try {
    const match = /^(\d+) (\d*)\n/.exec(readFileSync(folder.lock, 'utf8'))
    return match ? { pid: Number(match[1]), startedAt: match[2] ?? '' } : undefined
  } catch {
    return undefined
  }
}

function inUseBy(folder: DataFolder, pid: number): StartFailure {
  return new StartFailure(
    `The data folder ${folder.root} is in use by process ${pid}: stop that one, or set DATA_DIR to another folder.`,
  )
}
