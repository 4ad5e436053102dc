import { createRequire, syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BroadcastChannel, isMainThread, type Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * Loaded into the service before it starts: answers, to whoever started it, how late its event loop was and how little memory its threads had
 * in use, each since it was last asked, and how much the collector of garbage leaves in the event loop now.
 */

/** How late, in milliseconds. */
export interface LoopDelay {
  p99Ms: number
}

/**
 * Bytes of JavaScript and buffers by thread ("main" or the name of its program): the least that were in use at any look, which is what the
 * collector of garbage leaves.
 */
export type LeastInUse = Record<string, number>

const RESOLUTION_MS = 5
const LOOK_EVERY_MS = 500
const NAME = isMainThread ? 'main' : basename(process.argv[1] ?? '').replace(/\.\w+$/, '')
const port = new BroadcastChannel('perennial-bench memory')
port.unref()

const used = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

let collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  collectGarbage = runInNewContext('gc') as () => void
  collectGarbage()
}

/** Gives the threads that the service starts this file too; their own options load nothing. */
function enterThreads(): void {
  const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker }
  const here = ['--import', fileURLToPath(import.meta.url)]
  threads.Worker = class extends threads.Worker {
    constructor(program: string | URL, options?: WorkerOptions) {
      super(program, { ...options, execArgv: [...(options?.execArgv ?? []), ...here] })
    }
  }
  syncBuiltinESMExports()
}

function answerQuestions(): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  let least: LeastInUse = {}
  const note = (name: string, bytes: number) => {
    least[name] = Math.min(least[name] ?? Infinity, bytes)
  }
  port.addEventListener('message', (event) => {
    const { name, bytes } = (event as unknown as { data: { name: string; bytes: number } }).data
    note(name, bytes)
  })
  let looking: NodeJS.Timeout | undefined
  process.on('message', (question) => {
    if (question === 'leftByCollector') {
      collectGarbage()
      process.send?.(used())
      return
    }
    // From the first question on: benchmarks that do not ask are not to measure this.
    if (question === 'leastInUse') {
      looking ??= setInterval(() => note(NAME, used()), LOOK_EVERY_MS).unref()
      process.send?.(least)
      least = {}
      return
    }
    delay.enable()
    const p99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)
    process.send?.({ p99Ms } satisfies LoopDelay)
    delay.reset()
  })
  process.channel?.unref()
}

if (isMainThread) {
  enterThreads()
  answerQuestions()
} else setInterval(() => port.postMessage({ name: NAME, bytes: used() }), LOOK_EVERY_MS).unref()
