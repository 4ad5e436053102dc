import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { ownProgram } from '../../../test/support/own-program.ts'
import { roomyFolder } from '../../../test/support/roomy-parent.ts'

/** A small service in a process of its own, made to be killed: it starts the database, then commits number after number. */
export type KillableService = {
  readonly child: ChildProcess
  /** Lines that it has written so far: `log …`, `ready`, `ack <n>`, `refused <sentence>`, `ended <how the database did>`. */
  readonly said: readonly string[]
  /** Settles with the first line that fits; fails when the process ends without one. */
  said1(fits: (line: string) => boolean): Promise<string>
  readonly ended: Promise<void>
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

// Writing to a pipe is synchronous on Linux, so an acknowledgement that was said had been committed.
const CODE = `
import pg from 'pg'
import { startEmbeddedPostgres } from './supervisor.ts'
const say = (line) => process.stdout.write(line + '\\n')
const tell = (message) => say('log ' + message)
const log = { debug: tell, info: tell, warn: tell, error: tell }
try {
  const { connection, exited } = await startEmbeddedPostgres({ dataDir: process.argv[2], log })
  exited.then((end) => say('ended ' + JSON.stringify(end)))
  const client = new pg.Client(connection)
  client.on('error', () => undefined)
  await client.connect()
  await client.query('create table if not exists numbers (n int primary key)')
  const { rows } = await client.query('select coalesce(max(n), 0) as n from numbers')
  say('ready')
  for (let n = rows[0].n + 1; ; n++) {
    await client.query('insert into numbers values ($1)', [n])
    say('ack ' + n)
  }
} catch (error) {
  if (error.name === 'StartFailure') say('refused ' + error.message)
}
`

let program: string | undefined

/** Starts such a service; `as` runs it as another user, `through` runs it by another program (setpriv …). */
export function startKillableService(
  dataDir: string,
  given: { as?: { uid: number; gid: number }; through?: readonly string[] } = {},
): KillableService {
  program ??= ownProgram(CODE, import.meta.url)
  const node = [process.execPath, program, dataDir]
  const [command = '', ...rest] = [...(given.through ?? []), ...node]
  const child = spawn(command, rest, {
    ...given.as,
    cwd: ROOT,
    env: { PATH: process.env.PATH, TMPDIR: '/tmp' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return listenTo(child)
}

function listenTo(child: ChildProcess): KillableService {
  const said: string[] = []
  const listeners = new Set<() => void>()
  let isOver = false
  const changed = () => listeners.forEach((listener) => listener())
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(line)
      changed()
    })
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  void ended.then(() => {
    isOver = true
    changed()
  })
  const said1 = (fits: (line: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const line = said.find(fits)
        if (line !== undefined) resolve(line)
        else if (isOver) reject(new Error(`the service ended and had said:\n${said.join('\n')}`))
        else return
        listeners.delete(look)
      }
      listeners.add(look)
      look()
    })
  return { child, said, said1, ended }
}

/** The highest number that a service acknowledged before it was killed. */
export function lastAcknowledged(service: KillableService): number {
  const line = service.said.findLast((text) => text.startsWith('ack '))
  return Number(line?.slice(4) ?? 0)
}

/** A folder for one test, in memory when there is room for it. */
export function makeTestFolder(): { path: string; remove: () => void } {
  const path = roomyFolder('pg')
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Makes a data folder with a database that was started and stopped before, for what is not about making one. */
export function copyStarted(dataDir: string): void {
  execFileSync('cp', ['-a', inject('started').path, dataDir])
}

/** An ordinary user of this machine that is neither root nor the one that the database gets from root. */
export function findOrdinaryUser(): { uid: number; gid: number } | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const fields = lines.map((line) => line.split(':')).find(([name]) => name === 'games' || name === 'daemon')
  return fields && { uid: Number(fields[2]), gid: Number(fields[3]) }
}
