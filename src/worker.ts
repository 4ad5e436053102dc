import { CLOCKS_APART_MS } from './platform/database/clock-offset.ts'
import { isRefusal } from './platform/database/admission.ts'
import { isCancelled, isOutage } from './platform/database/failures.ts'
import type { Duty, DutyDeps } from './platform/duty.ts'
import { Outage } from './platform/outage.ts'
import { steadyClock } from './platform/steady-clock.ts'
import { Underway } from './platform/underway.ts'
import { within } from './platform/within.ts'

/**
 * The worker: does the duties that it is handed, each in a loop of its own, so that a long one delays no other. Any number of workers may
 * share one database.
 */

export interface Worker {
  /** Whether no round of a duty is under way. */
  isAtRest(): boolean
  /** Lets each duty end at its next step, and waits for them, 25 seconds at most; the rest waits for the next worker. */
  stop(): Promise<void>
}

const STOP_MS_MAX = 25_000
/** Rounds of a duty whose rounds overlap: where the database does not answer they would become more and more. */
const ROUNDS_MAX = 8

class Stopped extends Error {}

/** Starts every duty at once. */
export async function startWorker(deps: DutyDeps, duties: readonly Duty[]): Promise<Worker> {
  // Before that nobody knows how far the clocks are apart.
  await deps.db.watched()
  const outage = new Outage({ log: deps.log, counted: 'rounds', away: deps.db.away })
  const underway = new Underway()
  const started = await Promise.all(duties.map((duty) => startDuty(deps, duty, { outage, underway })))
  return {
    isAtRest: () => underway.isNone,
    stop: async () => {
      outage.stop()
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

/** Returns whether the clocks agree well enough to know which day it is; if not, the watch has reported that. */
const areClocksClose = ({ db }: DutyDeps): boolean => Math.abs(db.readiness().clockOffsetMs) <= CLOCKS_APART_MS.duties

/** How often a duty looks whether work is taken again. */
const CLOSED_LOOK_MS = 1_000

async function startDuty(deps: DutyDeps, duty: Duty, { outage, underway }: { outage: Outage; underway: Underway }) {
  const isClosed = () => deps.db.admission.state !== undefined
  let isStopping = false
  let isCalled = false
  let endSleep = () => {}
  // A call during a round counts for the sleep after it: the round may have looked too early.
  const wake = () => {
    isCalled = true
    endSleep()
  }
  const goOn = () => {
    if (isStopping || isClosed()) throw new Stopped()
  }
  const stopListening = duty.wakesOn === undefined ? undefined : await deps.db.listen(duty.wakesOn, wake)

  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isClosed() ? Math.min(CLOSED_LOOK_MS, duty.everyMs) : duty.everyMs)
      endSleep = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function round(): Promise<void> {
    const isIdle = isClosed() || deps.db.readiness().waitsForStandby
    if (areClocksClose(deps) && !isIdle) await underway.during(runOnce)
  }

  async function runOnce(): Promise<void> {
    const beganAtMs = steadyClock()
    try {
      if ((await duty.run(deps, goOn)) === 'again') wake()
      // What a connection from before still does is no sign of one that can be made.
      if (deps.db.readiness().refusal === undefined) outage.isOver(beganAtMs)
    } catch (error) {
      // Whoever migrates ends connections on which something is still done.
      if ((isStopping || isClosed()) && (isOutage(error) || isCancelled(error) || isRefusal(error)))
        deps.log.info(
          { duty: duty.name },
          isStopping
            ? 'a statement of a duty was ended, because the worker stops'
            : 'a statement of a duty was ended, because the service takes no work',
        )
      else if (isOutage(error)) outage.met(error)
      else if (!(error instanceof Stopped))
        deps.log.error({ err: error, duty: duty.name }, 'a duty of the worker failed; it is tried again')
    }
  }

  async function loop(): Promise<void> {
    while (!isStopping) {
      isCalled = false
      await round()
      if (!isStopping && !isCalled) await sleep()
    }
  }

  async function overlappingLoop(): Promise<void> {
    const rounds = new Set<Promise<void>>()
    while (!isStopping) {
      isCalled = false
      const begun: Promise<void> = round().finally(() => rounds.delete(begun))
      rounds.add(begun)
      if (rounds.size >= ROUNDS_MAX) await Promise.race(rounds)
      if (!isStopping && !isCalled) await sleep()
    }
    await Promise.all(rounds)
  }

  const looping = duty.overlaps ? overlappingLoop() : loop()
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
