import { setFlagsFromString } from 'node:v8'

/** Work, in units of V8, after which it looks at a function again to compile it better: six times as much as it does by itself. */
const BUDGET = 400_000

/**
 * Lets this process compile its functions better later. Most of what a worker does is over in seconds, and is done by hundreds of functions, each run some
 * thousand times: compiling them took threads beside it half as long again as the work itself. What runs for minutes is still compiled.
 */
export const compileLater = (): void => setFlagsFromString(`--interrupt-budget=${BUDGET}`)
