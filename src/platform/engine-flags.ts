import { setFlagsFromString } from 'node:v8'

/** Work, in units of V8, after which it looks at a function again to compile it better: 45 times as much as it does on its own. */
const BUDGET = 3_000_000

/** Memory that may be added to what was in use after a full collection, in percent, before the next one; V8 on its own lets it grow to four times as much. */
const GROWTH = 50

/**
 * Flags of Node that a worker is started with by whoever starts one as a process of its own: it collects garbage in its own thread. Threads beside it take more of
 * the processors than they save it.
 */
export const BULK_FLAGS: readonly string[] = ['--single-threaded-gc']

/**
 * Fits this process to bulk work, as far as that can be done while it runs.
 *
 * - It compiles its functions better later, on Node 20. Most of what a worker does is over in seconds, and is done by hundreds of functions, each run some
 *   thousand times: compiling them took threads beside it half as long again as the work itself. What runs for minutes is still compiled.
 * - It collects sooner what lived longer than a moment: a run of a million held 215 MB, of which a quarter was in use, and holds 149 with ten more
 *   collections of 4 ms.
 */
export function fitForBulkWork(): void {
  // Later versions of V8, from Node 22 on, count calls instead, and would write to stderr that they do not know this flag.
  if (Number.parseInt(process.versions.v8) < 12) setFlagsFromString(`--interrupt-budget=${BUDGET}`)
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`)
}
