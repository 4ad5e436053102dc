import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchFolder } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { cpuOfTree } from './measure/processes.ts'

/** `perennial seed --demo` from the start of its process to its end, on a database that is there already. */

const SECONDS_MAX = 20
const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Run {
  seconds: number
  /** Of the program and of the database that it starts for its own duration. */
  cpuSeconds: number
  out: string
}

/** Runs the program to its end, in a process of its own as a person starts it. */
function perennial(words: readonly string[], dataDir: string): Promise<Run> {
  const startedMs = performance.now()
  // Children that have ended count as this process's own.
  const cpuBefore = cpuOfTree(process.pid)
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, 'bin', 'perennial.js'), ...words], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.once('close', (code) => {
      const seconds = (performance.now() - startedMs) / 1000
      if (code === 0) resolve({ seconds, cpuSeconds: cpuOfTree(process.pid) - cpuBefore, out })
      else reject(new Error(`perennial ${words.join(' ')} ended with ${code}`))
    })
  })
}

/** Makes `times` demos of so many customers, each in a process of its own, one after the other in one database. */
export async function benchSeed(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const folder = benchFolder()
  const runs: Run[] = []
  const starts: number[] = []
  try {
    await perennial(['migrate'], folder.path)
    for (let turn = 0; turn < options.times; turn += 1) {
      starts.push((await perennial(['account', 'list', '--json'], folder.path)).seconds)
      runs.push(await perennial(['seed', '--demo', '--json', '--customers', String(options.count)], folder.path))
    }
  } finally {
    folder.remove()
  }
  const seconds = runs.map((run) => run.seconds)
  const { Invoices } = JSON.parse(runs.at(-1)?.out ?? '{}') as { Invoices: number }
  tellTable(
    [`${options.count} customers, ${Invoices} invoices`, ''],
    [
      ['seconds, process start and end included', spread(seconds)],
      ['CPU-seconds of Node and PostgreSQL', spread(runs.map((run) => run.cpuSeconds))],
      ['seconds of a command that only starts and ends', spread(starts)],
    ],
  )
  if (isNoisy(starts)) tell('noisy: starting alone moved more than twofold')
  const reached = `${median(seconds).toFixed(1)} s`
  tellVerdicts([{ goal: `under ${SECONDS_MAX} s`, reached, isMet: median(seconds) < SECONDS_MAX }], options)
}
