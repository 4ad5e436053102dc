import { readdirSync, readFileSync } from 'node:fs'
import { findServersIn } from '../../src/platform/postgres/processes.ts'

/** CPU time and memory of processes, from /proc. */

const TICKS_A_SECOND = 100

interface Stat {
  parent: number
  /** Seconds of its own, and of children that have ended and were waited for. */
  own: number
  reaped: number
}

function statOf(pid: number): Stat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const seconds = (index: number) => Number(fields[index]) / TICKS_A_SECOND
    return { parent: Number(fields[1]), own: seconds(11) + seconds(12), reaped: seconds(13) + seconds(14) }
  } catch {
    return undefined
  }
}

/** CPU-seconds of a process and everything that it started, ended or not. */
export function cpuOfTree(root: number): number {
  const stats = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    if (stat) stats.set(Number(name), stat)
  }
  const isInside = (pid: number): boolean => {
    for (let at = pid; at > 1; at = stats.get(at)?.parent ?? 0) if (at === root) return true
    return false
  }
  let sum = 0
  for (const [pid, stat] of stats) if (isInside(pid)) sum += stat.own + stat.reaped
  return sum
}

/** CPU-seconds of one process alone, all its threads included. */
export const cpuOfProcess = (pid: number): number => statOf(pid)?.own ?? 0

/** The worker of a service, which is a process that it has started; undefined where it has none. */
export const workerOf = (service: number): number | undefined => workersOf(service)[0]

/** Workers that a service, or a command for several, has started as processes of their own. */
export const workersOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent && isWorker(pid))

function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--of-service')
  } catch {
    return false
  }
}

/** The main process of the PostgreSQL that works in a folder. */
export function serverIn(folder: string): number {
  const [pid] = findServersIn(folder)
  if (pid === undefined) throw new Error(`no PostgreSQL works in ${folder}`)
  return pid
}

/** Memory of a process in MB (resident): now, or the most that it ever had. */
function memoryLine(pid: number, line: 'VmRSS' | 'VmHWM'): number {
  const kilobytes = new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}

export const memoryOf = (pid: number): number => memoryLine(pid, 'VmRSS')

/** The most memory that a process ever had at once, in MB (resident, high-water mark). */
export const peakMemoryOf = (pid: number): number => memoryLine(pid, 'VmHWM')
