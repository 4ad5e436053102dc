import { setTimeout as sleep } from 'node:timers/promises'
import type { Instant } from '../../kernel/calendar.ts'
import { type Account, momentOf } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { findKnownCharge } from '../gateways/charge-queries.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { readReference } from '../gateways/references.ts'
import { findPaymentRefund } from '../refunds/queries.ts'
import type { ReportDeps } from './apply.ts'
import { hasBookElsewhere, readReportsSince } from './poll.ts'
import { isFinished, type KeptReport, listUnfinishedOf } from './queries.ts'
import { workOne } from './work.ts'

/**
 * Reading what a held gateway has reported, before money moves through it again: charges that a restore or a failover has lost the names of get them back,
 * and those that nothing here is about are listed (§36).
 */

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Reports that other processes are at are waited for. */
const LOOKS = 30
const LOOK_MS = 1_000

export interface ReadBefore {
  /** From when on its reports were to be read. */
  since: Instant
  /** It has forgotten what it reported first. */
  isForgotten: boolean
  /** It listed all that it still has. */
  isRead: boolean
  /** Charges and refunds that got their name back. */
  named: number
  /** Charges and refunds without a name, about which it has reported something and has not answered. */
  unanswered: readonly string[]
}

/** Reads and applies the reports of a held gateway from an hour before an instant on; undefined for one that has none to read. */
export async function readBeforeRelease(
  deps: ReportDeps,
  account: Account,
  gateway: Gateway,
  heldFrom: Instant,
): Promise<ReadBefore | undefined> {
  const { reportDays, needed } = gatewayFactsOf(gateway.type)
  const hasSettings = needed.every((name) => gateway.settingNames.includes(name))
  if (!hasBookElsewhere(deps, gateway.type) || !hasSettings) return undefined
  const since = instantOf(Date.parse(heldFrom) - HOUR_MS)
  const isForgotten = reportDays !== undefined && Date.parse(since) < deps.realClock() - reportDays * DAY_MS
  let named = 0
  for (;;) {
    const isRead = await readReportsSince(deps, account, momentOf(account, deps.realClock), gateway, since)
    const found = await applyAll(deps, account.id, gateway.id)
    named += found.named
    // What came of a charge since is reported by its name alone, and was nobody's until it had that.
    if (found.named === 0) return { since, isForgotten, isRead, named, unanswered: found.unanswered }
  }
}

/** Applies the reports of a gateway. Those that other processes are at are waited for, as far as they may give a name back. */
async function applyAll(
  deps: ReportDeps,
  account: AccountId,
  gatewayId: Id,
): Promise<Pick<ReadBefore, 'named' | 'unanswered'>> {
  const reader = deps.db.reader(account)
  let named = 0
  for (let looks = 1; ; looks += 1) {
    const unnamed: KeptReport[] = []
    for (const report of await listUnfinishedOf(reader, account, gatewayId)) {
      const wasNamed = await isNamed(reader, account, report)
      await workOne(deps, account, report.id)
      const isNamedNow = await isNamed(reader, account, report)
      if (!wasNamed && isNamedNow) named += 1
      if (!isNamedNow && !(await isFinished(reader, account, report.id))) unnamed.push(report)
    }
    if (unnamed.length === 0 || looks === LOOKS)
      return { named, unanswered: unnamed.map(({ about, reference }) => `${about} ${reference}`) }
    await sleep(LOOK_MS)
  }
}

/** Returns false where a report is about a charge or refund of this database that keeps no name of the gateway's. */
async function isNamed(
  db: Queryable,
  account: AccountId,
  { about, reference, gatewayId }: KeptReport,
): Promise<boolean> {
  const asked = readReference(reference)
  if (!asked || (about !== 'charge' && about !== 'refund')) return true
  const found =
    about === 'charge'
      ? await findKnownCharge(db, account, gatewayId, asked.id)
      : await findPaymentRefund(db, account, asked.id)
  return !found || found.nonce !== asked.nonce || found.gatewayReference !== null
}
