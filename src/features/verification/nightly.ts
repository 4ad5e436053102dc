import { passOnOutage } from '../../platform/database/failures.ts'
import type { GoOn } from '../../platform/duty.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { type Lease, releaseLease, takeLease, underLease } from '../../platform/database/lease.ts'
import { whilePresent } from '../../platform/long/presence.ts'
import type { RealClock } from '../../kernel/context.ts'
import { hasEntries } from '../ledger/group-by-facts-queries.ts'
import { takeLedgerMark } from '../ledger/mark-queries.ts'
import { sealLedger, type SealedLedger } from '../ledger/seal.ts'
import { findNewestEventSeal, takeEventMark } from '../events/seal-queries.ts'
import { sealEvents } from '../events/seal.ts'
import type { Difference } from '../../platform/checks/difference.ts'
import { findProgress, finishVerification, isVerified, listAccountsToVerify, VERIFICATION } from './nightly-queries.ts'
import { NIGHTS, type Part } from '../../platform/checks/pages.ts'
import type { Verification, VerifyAccount } from './verify.ts'

/**
 * The nightly verification: every account once a night, by whichever worker comes first; a large one what was posted since its last clean night
 * and one portion in NIGHTS of all the rest. What it found is kept for /metrics. Chains of the
 * ledger that hold are sealed as they are, with the events; those that do not are left under the seal that shows it.
 */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Nights are those of UTC: accounts begin their days at many hours, and their billing has the machine then. */
const NIGHT_BEGINS_MS = 2 * HOUR_MS
const NIGHT_LASTS_MS = 4 * HOUR_MS
/** A night verifies so many entries and their documents in less than a minute, so that smaller accounts are verified whole. */
const PART_ABOVE = 200_000

export interface NightlyDeps {
  db: Database
  realClock: RealClock
  /** Entries of the ledger above which an account is verified in portions; unless it is given, PART_ABOVE. */
  partAbove?: number
  /** Most events of a seal; unless it is given, as many as `sealEvents` takes. */
  eventsOfSeal?: number
  /** Called with each difference. The log must not contain amounts of a customer's books. */
  onDifference(difference: Difference): void
  onVerified(verification: Verification): void
  /** Called with each new seal, which is worth keeping where nobody can reach the database. */
  onSealed(account: AccountId, sealed: SealedLedger): void
  /** An account could not be verified to the end; the others are not kept waiting for it. */
  onFailed(account: AccountId, error: unknown): void
}

/** Returns the beginning of the present night, in milliseconds; undefined by day. */
export function nightOf(nowMs: number): number | undefined {
  const begins = Math.floor(nowMs / DAY_MS) * DAY_MS + NIGHT_BEGINS_MS
  return nowMs >= begins && nowMs < begins + NIGHT_LASTS_MS ? begins : undefined
}

type Deps = NightlyDeps & { verify: VerifyAccount }

/** Verifies the accounts that wait this night; by day it does nothing. Ends early when `goOn` throws, leaving the rest to another. */
export async function verifyWaiting(deps: Deps, goOn: GoOn): Promise<void> {
  const night = nightOf(deps.realClock())
  if (night === undefined) return
  const since = instantOf(night)
  const failed = new Set<AccountId>()
  for (;;) {
    const found = await listAccountsToVerify(deps.db.unscoped, since)
    const waiting = found.filter(({ account }) => !failed.has(account))
    if (waiting.length === 0) return
    for (const { account } of waiting) {
      goOn()
      if (!(await verifyLeased(deps, account, since, goOn))) failed.add(account)
    }
  }
}

/** Reports whether there is nothing left to do for this account tonight. */
async function verifyLeased(deps: Deps, account: AccountId, since: Instant, goOn: GoOn): Promise<boolean> {
  const { db } = deps
  const lease = await db.transaction(account, (tx) => leaseUnverified(tx, since))
  if (!lease) return true
  try {
    deps.onVerified(await underLease(db, account, lease, () => verifyAndSeal(deps, account, lease, goOn)))
    return true
  } catch (error) {
    // A wish to end the work is thrown again here.
    goOn()
    passOnOutage(error)
    deps.onFailed(account, error)
    return false
  }
}

/** Takes an account for this worker; undefined where another has it or has verified it. */
async function leaseUnverified(tx: Transaction, since: Instant): Promise<Lease | undefined> {
  const lease = await takeLease(tx, VERIFICATION)
  if (!lease || !(await isVerified(tx, since))) return lease
  await releaseLease(tx, lease)
  return undefined
}

/** Returns what of an account this night verifies: undefined, which is everything, where it is small or its last night was not clean. */
const partOf = (db: Database, account: AccountId, above: number): Promise<Part | undefined> =>
  db.transaction(account, async (tx) => ((await hasEntries(tx, above)) ? findProgress(tx) : undefined))

async function verifyAndSeal(
  { db, verify, realClock, partAbove = PART_ABOVE, eventsOfSeal, onDifference, onSealed }: Deps,
  account: AccountId,
  lease: Lease,
  goOn: GoOn,
): Promise<Verification> {
  // Before the snapshot: whatever is posted below it is seen.
  const below = await takeLedgerMark(db.unscoped)
  const eventsBelow = await takeEventMark(db.unscoped)
  const part = await partOf(db, account, partAbove)
  const found = await whilePresent(db, account, { kind: 'verification' }, ({ progress }) =>
    verify(db, account, onDifference, { goOn, part, onChecks: progress }),
  )
  if (found.isChained) {
    const at = instantOf(realClock())
    await sealEvents(db, account, { at, below: eventsBelow, goOn, most: eventsOfSeal })
    const eventSeal = await db.transaction(account, (tx) => findNewestEventSeal(tx, account))
    const sealed = await sealLedger(db, account, { at, below, eventSeal: eventSeal ?? null })
    if (sealed) onSealed(account, sealed)
  }
  await db.transaction(account, async (tx) => {
    const { differences, ends } = found
    // Portions follow a clean night only: what differs is found again each night until it is mended.
    const progress = differences > 0 ? null : { turn: part ? (part.turn + 1) % NIGHTS : 0, since: below, ends }
    await finishVerification(tx, instantOf(realClock()), differences, progress)
    await releaseLease(tx, lease)
  })
  return found
}
