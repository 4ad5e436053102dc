import { isOutage } from './platform/database/failures.ts'
import type { Duty, DutyDeps } from './platform/duty.ts'
import { steadyClock } from './platform/steady-clock.ts'
import { within } from './platform/within.ts'

/**
 * The worker: does the duties that it is handed, each in a loop of its own, so that a long one delays no other. Any number of workers may
 * share one database.
 */

export interface Worker {
  /** Lets each duty end at its next step, and waits for them, 25 seconds at most; the rest waits for the next worker. */
  stop(): Promise<void>
}

const STOP_MS_MAX = 25_000

class Stopped extends Error {}

/** The outage of the database as all duties meet it: one line when it begins, and one when a round that began after that is done. */
class Outage {
  readonly #log: DutyDeps['log']
  #sinceMs: number | undefined

  constructor(log: DutyDeps['log']) {
    this.#log = log
  }

  /** Notes that a duty met it. What the duties meet after the first is written for `debug` only. */
  met(err: unknown, duty: string): void {
    if (this.#sinceMs !== undefined)
      return this.#log.debug({ err, duty }, 'a duty of the worker waits for the database')
    this.#sinceMs = steadyClock()
    this.#log.error({ err, duty }, 'the database cannot be reached; the worker goes on when it can')
  }

  /** Notes that a round that began at this moment of the steady clock is done. */
  isOver(beganAtMs: number): void {
    if (this.#sinceMs === undefined || beganAtMs < this.#sinceMs) return
    const seconds = Math.round((steadyClock() - this.#sinceMs) / 1000)
    this.#sinceMs = undefined
    this.#log.info({ seconds }, 'the database can be reached again; the worker goes on')
  }
}

/** Starts every duty at once. */
export async function startWorker(deps: DutyDeps, duties: readonly Duty[]): Promise<Worker> {
  const outage = new Outage(deps.log)
  const started = await Promise.all(duties.map((duty) => startDuty(deps, duty, outage)))
  return {
    stop: async () => {
      const running = new Set(started.map(({ name }) => name))
      const ends = started.map(async ({ name, stop }) => {
        await stop()
        running.delete(name)
      })
      await within(STOP_MS_MAX, Promise.all(ends))
      if (running.size > 0) deps.log.warn({ duties: [...running] }, 'the worker stops before all of its duties have')
    },
  }
}

async function startDuty(deps: DutyDeps, duty: Duty, outage: Outage) {
  let isStopping = false
  let isCalled = false
  let endSleep = () => {}
  // A call during a round counts for the sleep after it: the round may have looked too early.
  const wake = () => {
    isCalled = true
    endSleep()
  }
  const goOn = () => {
    if (isStopping) throw new Stopped()
  }
  const stopListening = duty.wakesOn === undefined ? undefined : await deps.db.listen(duty.wakesOn, wake)

  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, duty.everyMs)
      endSleep = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function loop(): Promise<void> {
    while (!isStopping) {
      isCalled = false
      const beganAtMs = steadyClock()
      try {
        if ((await duty.run(deps, goOn)) === 'again') isCalled = true
        outage.isOver(beganAtMs)
      } catch (error) {
        if (isOutage(error)) outage.met(error, duty.name)
        else if (!(error instanceof Stopped))
          deps.log.error({ err: error, duty: duty.name }, 'a duty of the worker failed; it is tried again')
      }
      if (!isStopping && !isCalled) await sleep()
    }
  }

  const looping = loop()
  return {
    name: duty.name,
    stop: async () => {
      isStopping = true
      wake()
      await looping
      await stopListening?.()
    },
  }
}
