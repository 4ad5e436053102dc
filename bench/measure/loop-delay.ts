import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Loaded into the service before it starts: answers, to whoever started it, how late its event loop was since it was last asked. */

/** How late, in milliseconds. */
export interface LoopDelay {
  p99Ms: number
}

const RESOLUTION_MS = 5
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
process.on('message', () => {
  // From the first question on: benchmarks that do not ask are not to measure this.
  delay.enable()
  const p99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)
  process.send?.({ p99Ms } satisfies LoopDelay)
  delay.reset()
})
process.channel?.unref()
