import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { benchFolder } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'

/** From `npm start` to 200 of /readyz: with a folder that is not there yet, and again with its data. */

const FIRST_SECONDS = 10
const NEXT_SECONDS = 3
const ROOT = fileURLToPath(new URL('..', import.meta.url))

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )

/** Seconds until the service is ready. It is stopped again as a person stops it. */
async function start(dataDir: string): Promise<number> {
  const port = await freePort()
  const env = { ...process.env, HOST: '127.0.0.1', PORT: String(port), DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  const startedMs = performance.now()
  const child = spawn('npm', ['start', '--silent'], { cwd: ROOT, env, stdio: 'ignore', detached: true })
  let isOver = false
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      isOver = true
      resolve()
    }),
  )
  while (!(await isReady(port))) {
    if (isOver) throw new Error('the service ended before it was ready')
    await delay(5)
  }
  const seconds = (performance.now() - startedMs) / 1000
  // The group: npm hands a signal on, but npm 10 and 12 do so in different ways.
  process.kill(-(child.pid ?? 0), 'SIGTERM')
  await ended
  return seconds
}

/** Measures the cost of starting npm alone, here and now. */
function npmAlone(): Promise<number> {
  const startedMs = performance.now()
  return new Promise((resolve) =>
    spawn('npm', ['exec', '--offline', '--no', '--', 'node', '-e', '0'], { cwd: ROOT, stdio: 'ignore' }).once(
      'exit',
      () => resolve((performance.now() - startedMs) / 1000),
    ),
  )
}

export async function benchStart(options: { times: number; isSmoke: boolean }): Promise<void> {
  const first: number[] = []
  const next: number[] = []
  const npm: number[] = []
  for (let turn = 0; turn < options.times; turn += 1) {
    const folder = benchFolder()
    npm.push(await npmAlone())
    first.push(await start(folder.path))
    next.push(await start(folder.path))
    folder.remove()
  }
  tellTable(
    ['seconds to 200 of /readyz', ''],
    [
      ['first start', spread(first)],
      ['with existing data', spread(next)],
      ['npm and node alone', spread(npm)],
    ],
  )
  if (isNoisy(npm)) tell('noisy: starting npm alone moved more than twofold')
  tellVerdicts(
    [
      {
        goal: `first start under ${FIRST_SECONDS} s`,
        reached: `${median(first).toFixed(2)} s`,
        isMet: median(first) < FIRST_SECONDS,
      },
      {
        goal: `start with existing data under ${NEXT_SECONDS} s`,
        reached: `${median(next).toFixed(2)} s`,
        isMet: median(next) < NEXT_SECONDS,
      },
    ],
    options,
  )
}
