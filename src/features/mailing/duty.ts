import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Duty, DutyDeps, GoOn } from '../../platform/duty.ts'
import { SmtpLine, type SmtpDeps } from '../../platform/smtp/connection.ts'
import { listAccountsWithMail } from '../outbox/sending-queries.ts'
import { type MailingDeps, sendPortion } from './send.ts'

/** The duty that sends mail: some connections to the mail server, over which accounts take turns. */

const LOOK_EVERY_MS = 1_000
const LINES = 2
/** After the server could not be reached: every look would use up a try of some mail. */
const AWAY_MS = 10_000

export type MailDutyDeps = Omit<MailingDeps, keyof DutyDeps | 'sinceMs'> & { server: SmtpDeps }

export function mailDuty({ server, ...about }: MailDutyDeps): Duty {
  let awayUntilMs = -Infinity
  let sinceMs: number | undefined
  return {
    name: 'mail',
    everyMs: LOOK_EVERY_MS,
    run: async (duty, goOn) => {
      sinceMs ??= duty.realClock()
      if (duty.realClock() < awayUntilMs) return
      const why = await sendAll({ ...about, ...duty, sinceMs }, server, goOn)
      if (why === null) return
      awayUntilMs = duty.realClock() + AWAY_MS
      duty.log.warn({ reason: why }, 'the mail server could not be reached; mail waits')
    },
  }
}

/** Sends until nothing is due. Returns why the server could not be reached; null where it could. */
async function sendAll(deps: MailingDeps, server: SmtpDeps, goOn: GoOn): Promise<string | null> {
  const turns = await listAccountsWithMail(deps.db.unscoped, instantOf(deps.realClock()))
  let away: string | null = null
  const work = async () => {
    const line = new SmtpLine(server)
    try {
      for (let account = turns.shift(); account !== undefined && away === null; account = turns.shift()) {
        goOn()
        const portion = await sendPortion(deps, line, account, goOn)
        away ??= portion.away
        if (portion.hadMail) turns.push(account)
      }
    } finally {
      line.close()
    }
  }
  const ended = await Promise.allSettled(linesFor(turns).map(work))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return away
}

/** Returns as many lines as are needed: an account with much mail is served by several. */
function linesFor(turns: AccountId[]): unknown[] {
  const [first] = turns
  if (first === undefined) return []
  while (turns.length < LINES) turns.push(first)
  return Array.from({ length: LINES })
}
