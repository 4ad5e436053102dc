import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { roomyFolder } from '../support/roomy-parent.ts'

/** The real program in a process of its own, as a person starts it: bin/perennial.js with an environment. */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Ended {
  code: number | null
  signal: string | null
  out: string
  err: string
}

export interface Running {
  child: ChildProcess
  /** Output that the program has written so far. */
  said: { out: string; err: string }
  /** Waits for a text on stdout that fits; fails when the program ends without it. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
}

type Env = Record<string, string | undefined>

/** Starts `perennial` with these words; settings that are not given have their defaults, whatever the tests themselves run with. */
export function startProgram(args: readonly string[], env: Env): Running {
  return startProcess(process.execPath, [join(ROOT, 'bin', 'perennial.js'), ...args], env)
}

/** On a cluster what programs execute is noted, see `cluster/noting.js`. */
function noted(): Env {
  const folder = inject('executed')
  if (folder === undefined) return {}
  return { NOTE_STATEMENTS: folder, NODE_OPTIONS: `--import ${new URL('../cluster/noting.js', import.meta.url).href}` }
}

/** Starts a process that ends with its test at the latest; tests that run at once hand in their own `atEnd`. */
export function startProcess(
  command: string,
  args: readonly string[],
  env: Env,
  atEnd: (stop: () => Promise<void>) => void = onTestFinished,
): Running {
  const child = spawn(command, args, {
    cwd: ROOT,
    // No balancer asks: nothing waits for one.
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      HOST: '127.0.0.1',
      PORT: '0',
      DRAIN_SECONDS: '0',
      ...noted(),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  const listeners = new Set<() => void>()
  let isOver = false
  const changed = () => listeners.forEach((listener) => listener())
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.out += text
    changed()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.err += text
    changed()
  })
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code, signal) => {
      isOver = true
      changed()
      resolve({ code, signal, ...said })
    }),
  )
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(said.out)
        if (match) resolve(match)
        else if (isOver) reject(new Error(`the program ended without ${pattern}; it said\n${said.out}${said.err}`))
        else return
        listeners.delete(look)
      }
      listeners.add(look)
      look()
    })
  atEnd(async () => {
    if (!isOver) child.kill('SIGKILL')
    await ended
  })
  return { child, said, says, ended }
}

/** Runs a command to its end. */
export const runProgram = (args: readonly string[], env: Env): Promise<Ended> => startProgram(args, env).ended

export interface Serving extends Running {
  address: string
  /** Of the first start in a folder, and of every start in a startedFolder(). */
  account: number | undefined
  key: string | undefined
}

/** Starts `perennial serve` and waits until it serves. */
export async function serve(env: Env, args: readonly string[] = []): Promise<Serving> {
  const running = startProgram(['serve', '--json', ...args], env)
  const [line] = await running.says(/^\{.*\}$/m)
  const told = JSON.parse(line) as { Address: string; AccountID?: number; ApiKey?: string }
  const before = startedBefore.get(env['DATA_DIR'] ?? '')
  return {
    ...running,
    address: told.Address,
    account: told.AccountID ?? before?.account,
    key: told.ApiKey ?? before?.key,
  }
}

/** A folder for one test, in memory when there is room for it; gone afterwards. One that several tests share hands in its own `atEnd`. */
export function testFolder(atEnd: (remove: () => void) => void = onTestFinished): string {
  const path = roomyFolder('program')
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Accounts of the folders that a test got with a start behind them. */
const startedBefore = new Map<string, { account: number; key: string }>()

/**
 * A folder for one test in which a service was started and stopped before, for tests that are not about the first start. All of a run are copies of one:
 * their databases have the same identity, key and first account.
 */
export function startedFolder(): string {
  const { path, account, key } = inject('started')
  const folder = testFolder()
  execFileSync('cp', ['-a', `${path}/.`, folder])
  startedBefore.set(folder, { account, key })
  return folder
}

export interface Answer {
  status: number
  headers: Headers
  body: any
}

export interface Credentials {
  account: number | undefined
  key: string | undefined
}

/** Calls the service over its real socket: by POST with a body and by GET without one, unless a method is named. */
export async function call(
  { address }: Pick<Serving, 'address'>,
  { account, key }: Credentials,
  path: string,
  body?: unknown,
  {
    method = body === undefined ? 'GET' : 'POST',
    headers = {},
  }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(address + path, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** The header by which a request that is sent again is answered as it was the first time. */
export const keyed = (idempotencyKey: string) => ({ headers: { 'idempotency-key': idempotencyKey } })

/** Returns whether an answer is that of an earlier request with the same key. */
export const isReplayed = ({ headers }: Answer): boolean => headers.get('idempotency-replayed') === 'true'
