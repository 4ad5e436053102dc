import { earliest } from '../../kernel/calendar.ts'
import { momentOf, type Account, type Moment } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { AccountWork, piecesOf } from '../../platform/account-work.ts'
import { listAccountsToReport, nextReportDay } from '../../sandbox/queries.ts'
import { getAccount } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { applyReport, reportContext, type ReportDeps } from './apply.ts'
import { pollForMove } from './poll.ts'
import {
  claimReport,
  finishReport,
  type KeptReport,
  listUnfinished,
  listWaitingReports,
  REPORT_CHANNEL,
  reports,
} from './queries.ts'
import { type Verdict, WAITS } from './rules.ts'
import { askAboutDebits, nextDebitDay } from './debits.ts'
import { sendSandboxReports } from './sandbox-sender.ts'

/** The work on reports: by duties for accounts that follow real time, and for one whose clock is moved by whoever moves it. */

const LOOK_EVERY_MS = 20_000
/** The numbers of rows that a look returns at most. */
const REPORTS_A_LOOK = 100
const ACCOUNTS_A_LOOK = 100
/** Accounts whose gateways are asked at a time: one that is slow delays no other account until as many are. */
const ACCOUNTS_AT_ONCE = 8

type Worked = Omit<ReportDeps, 'db' | 'realClock'>

/** Applies reports, each under a lease; what waits is tried again, later each time. */
export function reportsDuty(about: Worked): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'reports of gateways',
    everyMs: LOOK_EVERY_MS,
    wakesOn: REPORT_CHANNEL,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const deps = { ...about, db, realClock }
      const found = await listWaitingReports(db.unscoped)
      const accounts = [...new Set(found.map(({ account }) => account))]
      const begun = await atWork.each(piecesOf(accounts), async ({ account: accountId }) => {
        for (const { id } of found.filter(({ account }) => account === accountId)) {
          goOn()
          await workOne(deps, accountId, id).catch((error: unknown) => {
            passOnOutage(error)
            log.error({ err: errorFacts(error), account: String(accountId) }, 'a report failed; it is tried again')
          })
        }
      })
      // Reports that came while those of their account were at work are found by the round behind these.
      return begun > 0 && (found.length >= REPORTS_A_LOOK || begun < accounts.length) ? 'again' : undefined
    },
  }
}

/** Sends the reports of the sandbox that are due, of test accounts that follow real time. */
export function sandboxReportsDuty(about: GatewayDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'reports of the sandbox',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const deps = { ...about, db, realClock }
      const found = await listAccountsToReport(db.unscoped, instantOf(realClock()))
      const begun = await atWork.each(found, async ({ account: accountId }) => {
        goOn()
        const account = await getAccount(db.reader(accountId), accountId)
        await sendSandboxReports(deps, account, momentOf(account, realClock)).catch((error: unknown) => {
          passOnOutage(error)
          log.error({ err: errorFacts(error), account: String(accountId) }, 'the sandbox could not report')
        })
      })
      return begun < ACCOUNTS_A_LOOK ? undefined : 'again'
    },
  }
}

/** Applies a report, unless another is at it, or its wait is not over. */
export async function workOne(deps: ReportDeps, accountId: AccountId, id: Id): Promise<void> {
  const claimed = await deps.db.transaction(accountId, async (tx) => {
    const report = await claimReport(tx, id)
    return report && { report, account: await getAccount(tx, accountId) }
  })
  if (!claimed) return
  const { report, account } = claimed
  await applyAndWrite(deps, account, momentOf(account, deps.realClock), report)
}

/** Applies a report and writes what came of it; one that fails waits, as one does whose gateway does not answer. */
async function applyAndWrite(deps: ReportDeps, account: Account, moment: Moment, report: KeptReport): Promise<void> {
  const write = (verdict: Verdict) =>
    deps.db.transaction(account.id, async (tx) => {
      if (verdict.kind === 'waits') return reports.fail(tx, report.id)
      await finishReport(tx, report.id, verdict.kind === 'refused' ? verdict.reason : null)
      if (verdict.kind === 'refused')
        await deps.onUnapplied(tx, reportContext(deps, account, moment, report), report, verdict.reason)
    })
  try {
    await write(await applyReport(deps, account, moment, report))
  } catch (error) {
    await write(WAITS)
    throw error
  }
}

const A_LOOK = 100

/** Sends what the sandbox of an account has to report by a moment, and applies every report, also one that has to wait for real time to pass. */
export async function workReports(deps: ReportDeps, account: Account, moment: Moment): Promise<void> {
  await sendSandboxReports(deps, account, moment)
  if (account.clockAt !== null) await askAboutDebits(deps, account, moment)
  let after = 0n
  for (;;) {
    const waiting = await listUnfinished(deps.db.reader(account.id), account.id, after, A_LOOK)
    for (const report of waiting) await applyAndWrite(deps, account, moment, report)
    const last = waiting.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** Makes the part that reports have in the days of a moved clock. Whoever moves it holds it, so no lease is asked for. */
export const reportsOfDay = (deps: Omit<ReportDeps, 'db'>): AfterDay => ({
  findAfter: async (db, account, day, until) => {
    const next = earliest(await nextReportDay(db, account, day), await nextDebitDay(deps.adapters, db, account, day))
    return next !== null && next <= until ? next : null
  },
  work: async (db, account, moment) => {
    await workReports({ ...deps, db }, account, moment)
    return { collected: 0, declined: 0, unknown: 0 }
  },
  begin: (db, account, moment) => pollForMove({ ...deps, db }, account, moment),
})
