import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** Processes of the program on several machines, each by its name. Knows no test runner. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOOK_EVERY_MS = 50

interface Process {
  child: ChildProcess
  said: { out: string; err: string }
  ended: Promise<number | null>
}

type Env = Readonly<Record<string, string>>

export class MachineProcesses {
  readonly #env: Env
  readonly #named = new Map<string, Process>()

  /** `env` are settings of all of them. */
  constructor(env: Env) {
    this.#env = env
  }

  /** Starts `perennial` with these words, by the words that lead to its machine, and returns the first line of JSON that it writes. */
  async start(
    name: string,
    words: readonly string[],
    env: Env,
    enter: readonly string[] = [],
  ): Promise<Record<string, unknown>> {
    const started = this.#spawn(words, env, enter)
    this.#named.set(name, started)
    for (;;) {
      const [line] = /^\{.*\}$/m.exec(started.said.out) ?? []
      if (line !== undefined) return JSON.parse(line) as Record<string, unknown>
      const { out, err } = started.said
      if (started.child.exitCode !== null) throw new Error(`${name} ended before it was ready: ${out}${err}`)
      await delay(LOOK_EVERY_MS)
    }
  }

  /** Returns the number of a process on this machine. */
  pid(name: string): number {
    return this.#named.get(name)?.child.pid ?? 0
  }

  /** Ends a process by a signal, and returns its exit code. */
  async end(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const process = this.#named.get(name)
    process?.child.kill(signal)
    return (await process?.ended) ?? null
  }

  /** Runs a command to its end, on the machine of the test. */
  async command(words: readonly string[], env: Env): Promise<{ code: number | null; out: string; err: string }> {
    const run = this.#spawn(words, env)
    return { code: await run.ended, ...run.said }
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#named.keys()].map((name) => this.end(name, 'SIGKILL')))
  }

  #spawn(words: readonly string[], env: Env, enter: readonly string[] = []): Process {
    const [program = '', ...args] = [...enter, process.execPath, join(ROOT, 'bin', 'perennial.js'), ...words]
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { child, said, ended }
  }
}
