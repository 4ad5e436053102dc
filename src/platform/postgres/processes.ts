import { spawnSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { errorCodeOf } from './start-failure.ts'

/** Mark that distinguishes a process from a later one with the same id. */
export type ProcessMark = { readonly pid: number; readonly startedAt: string }

/** Returns the running process of that id; undefined when there is none, or only a dead one that nobody has reaped. */
export function findProcess(pid: number): ProcessMark | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? { pid, startedAt: '' } : undefined
  const fields = statFieldsOf(pid)
  const state = fields?.[0]
  if (!fields || state === 'Z' || state === 'X') return undefined
  return { pid, startedAt: fields[19] ?? '' }
}

/** Returns true while the very process of the mark runs: same id, same start. */
export function isRunning(mark: ProcessMark): boolean {
  return findProcess(mark.pid)?.startedAt === mark.startedAt
}

/**
 * Lists the ids of the PostgreSQL main processes that work in the folder (Linux; elsewhere none are seen). A server's working folder is its
 * data folder for as long as it lives, so a killed service's server is found by it, whatever became of its pid file.
 */
export function findServersIn(folder: string): number[] {
  if (process.platform !== 'linux') return []
  const real = realpathOf(folder)
  const inside = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || !isPostgres(pid) || workingFolderOf(pid) !== real) continue
    const fields = statFieldsOf(pid)
    if (fields && fields[0] !== 'Z') inside.set(pid, Number(fields[1]))
  }
  return [...inside].filter(([, parent]) => !inside.has(parent)).map(([pid]) => pid)
}

/**
 * Gives a process of a PostgreSQL on this machine processor time after those of normal priority (Linux). Where the system does not let this process do that, it
 * stays as it is.
 */
export function comeAfterOthers(pid: number): void {
  if (process.platform !== 'linux' || !isPostgres(pid)) return
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended meanwhile, or is another user's.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCodeOf(error) === 'EPERM'
  }
}

// The fields after the name; the name itself may hold spaces and brackets, so the last bracket is looked for.
function statFieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function workingFolderOf(pid: number): string | undefined {
  const path = `/proc/${pid}/cwd`
  try {
    return readlinkSync(path)
  } catch (error) {
    return errorCodeOf(error) === 'EACCES' && process.getuid?.() === 0 ? askAsOwner(path) : undefined
  }
}

// Root in a container may not look into other users' processes, but may become the user to whom the process belongs.
function askAsOwner(path: string): string | undefined {
  try {
    const { uid, gid } = lstatSync(path)
    const { status, stdout } = spawnSync('readlink', [path], { uid, gid, cwd: '/', encoding: 'utf8' })
    return status === 0 ? stdout.replace(/\n$/, '') : undefined
  } catch {
    return undefined
  }
}

function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres'
  } catch {
    return false
  }
}

function realpathOf(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}
