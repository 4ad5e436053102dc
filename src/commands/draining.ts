/** The clean-up of a long-running command: bounded in time, and never without a word about what it waits for. */

const DRAIN_MS_MAX = 30_000
const REPORT_EVERY_MS = 5_000

/** Names what a promise stands for while it is waited for. */
export type WaitFor = (what: string, work: Promise<unknown> | undefined) => Promise<void>

/** Lines about a clean-up; a pino logger fits. */
type DrainLog = Record<'info' | 'warn', (facts: object, message: string) => void>

/** Runs the clean-up for at most 30 seconds, after which it is left alone. What it waits for is logged every 5 seconds. */
export async function drain(cleanUp: (waitFor: WaitFor) => Promise<void>, log: DrainLog): Promise<void> {
  const waitedFor = new Set<string>()
  const waitFor: WaitFor = async (what, work) => {
    waitedFor.add(what)
    await work
    waitedFor.delete(what)
  }
  const report = setInterval(() => log.info({ waitsFor: [...waitedFor] }, 'still stopping'), REPORT_EVERY_MS)
  let limit: NodeJS.Timeout | undefined
  const isLate = new Promise<boolean>((resolve) => {
    limit = setTimeout(() => resolve(true), DRAIN_MS_MAX)
    limit.unref()
  })
  try {
    if (await Promise.race([cleanUp(waitFor).then(() => false), isLate]))
      log.warn({ waitsFor: [...waitedFor] }, 'not everything that ran could be finished in time')
    else log.info({}, 'stopped')
  } finally {
    clearInterval(report)
    clearTimeout(limit)
  }
}
