import { isTooLate, MOVES_MAX, nextOpenDay } from '../../engine/collection/batch-days.ts'
import { addBankDays } from '../../kernel/bank-days.ts'
import { type BatchDays, lastMoment } from '../../kernel/batch-days.ts'
import { addDays, earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { dateIn, instantOf } from '../../kernel/zone.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { cancelWithoutLines, moveBatch, submitByItself } from '../batches/of-service.ts'
import { lockBatch, updateLastMoment } from '../batches/queries.ts'
import { recordBatch } from '../batches/record.ts'
import { isDayPassed } from '../batches/rules.ts'
import {
  listUnsubmitted,
  listPayable,
  listWithoutLines,
  listWithUnwanted,
  type Unsubmitted,
  updatePassed,
  updateWarned,
} from '../batches/waiting-queries.ts'
import { lockCustomer } from '../customers/queries.ts'
import { listDunned } from '../dunning/queries.ts'
import { adapterOf, daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { isStopped } from '../gateways/rules.ts'
import { applyUnallocated } from '../money/apply-unallocated.ts'
import { linesOfService } from './line-hooks.ts'
import { reviewLines } from './lines.ts'

/** The batches that the service makes, day by day: what leaves them, what pays their invoices instead, when they are submitted, and where they move. */

export interface BatchDeps extends GatewayDeps {
  db: Database
}

/** A batch that was not submitted, with the days of its gateway. */
interface WaitingBatch extends Unsubmitted {
  gateway: Gateway
  days: BatchDays
  isAutoSubmitted: boolean
}

async function listWaiting(deps: GatewayDeps, db: Queryable, account: AccountId): Promise<WaitingBatch[]> {
  const batches = await listUnsubmitted(db, account)
  if (batches.length === 0) return []
  const gateways = new Map((await listAllGateways(db, account)).map((gateway) => [gateway.id, gateway]))
  return batches.flatMap((batch) => {
    const gateway = gateways.get(batch.gatewayId)
    if (!gateway) return []
    const { adapter, settings } = adapterOf(deps, account, gateway)
    const isAutoSubmitted = (settings['AutoSubmit'] ?? adapter.submitsByItself) === true
    return [{ ...batch, gateway, days: daysOfBatches(deps, account, gateway), isAutoSubmitted }]
  })
}

/** Rule: it is neither handed over nor moved, nor is anybody asked to submit it, before its gateway is released. */
const isHeld = ({ gateway }: WaitingBatch): boolean => isStopped(gateway)

const isOpen = ({ state }: WaitingBatch): boolean => state === 'open'

const lastDayOf = ({ days, actionDate }: WaitingBatch): IsoDate =>
  addBankDays(days.calendar, actionDate, -days.submitDays)

const isWarned = ({ warnedFor, actionDate }: WaitingBatch): boolean => warnedFor === actionDate

/** Finds the first day after another, up to a last one, on which something happens to a batch on its own. */
export async function findBatchDay(
  deps: GatewayDeps,
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  const days = (await listWaiting(deps, db, account)).flatMap((batch) => {
    const last = lastDayOf(batch)
    // What was not submitted on its last day moves, or its day has passed, when that is over.
    return isOpen(batch) ? [addDays(last, -1), last, addDays(last, 1)] : [addDays(last, 1)]
  })
  return earliest(...days.filter((one) => one > day && one <= until))
}

/** Brings batches up to the day before they are filled: those nobody submitted move, and lines leave that are not wanted any more. */
export async function prepareBatches(deps: BatchDeps, context: RequestContext): Promise<void> {
  const { account } = context
  await moveLate(deps, context)
  for (const id of await listWithUnwanted(deps.db.reader(account.id), account.id))
    await deps.db.transaction(account.id, async (tx) => {
      await lockCustomer(tx, tx.account, id)
      await reviewLines(tx, context, id)
    })
  await payByUnallocated(deps, context)
  for (const id of await listWithoutLines(deps.db.reader(account.id), account.id))
    await deps.db.transaction(account.id, (tx) => cancelWithoutLines(tx, context, id))
}

/** Pays invoices with lines by unallocated money, to which the lines give way. */
async function payByUnallocated({ db }: BatchDeps, context: RequestContext): Promise<void> {
  const { account } = context
  if (!account.isAutoApply) return
  const payable = await listPayable(db.reader(account.id), account.id)
  for (const [customerId, found] of groupBy(payable, (one) => one.customerId))
    await db.transaction(account.id, async (tx) => {
      await lockCustomer(tx, tx.account, customerId)
      const invoices = await listDunned(
        tx,
        tx.account,
        found.map(({ invoiceId }) => invoiceId),
      )
      await applyUnallocated(tx, context, { invoices, unapplied: invoices, isManual: false })
    })
}

/** Moves the batches whose last moment has passed; in a moved clock each as of that moment. */
async function moveLate(deps: BatchDeps, context: RequestContext): Promise<void> {
  const { account, moment } = context
  for (const batch of await listWaiting(deps, deps.db.reader(account.id), account.id)) {
    const at = { now: moment.now, timeZone: account.timeZone }
    const isMovable = batch.isServiceMade && isOpen(batch) && batch.lineCount > 0 && batch.moves < MOVES_MAX
    if (isHeld(batch) || !isMovable || !isTooLate(batch.days, batch.actionDate, at)) continue
    const moved = account.clockAt === null || isLongPast(batch, context) ? context : asOfLastMoment(context, batch)
    await deps.db.transaction(account.id, (tx) => moveOne(deps, tx, moved, batch))
  }
}

/** How late a moved clock comes to a batch at most, unless its gateway was held. */
const CLOCK_LATE_MS = 2 * 86_400_000

const isLongPast = (batch: WaitingBatch, context: RequestContext): boolean =>
  Date.parse(context.moment.now) - Date.parse(lastMomentOf(batch, context)) > CLOCK_LATE_MS

function asOfLastMoment(context: RequestContext, { days, actionDate }: WaitingBatch): RequestContext {
  const { timeZone } = context.account
  const now = instantOf(Date.parse(lastMoment(days, actionDate, timeZone)) + 1)
  return { ...context, moment: { now, today: dateIn(now, timeZone) } }
}

/** Moves a batch to the next day for which it can be submitted; what that means for its lines follows. */
async function moveOne(deps: BatchDeps, tx: Transaction, context: RequestContext, batch: WaitingBatch): Promise<void> {
  const { account, moment } = context
  const to = nextOpenDay(batch.days, batch.actionDate, { now: moment.now, timeZone: account.timeZone })
  if (await moveBatch(tx, context, batch, to))
    await linesOfService.moved(tx, context, deps, { batchId: batch.id, gateway: batch.gateway, actionDate: to })
}

/**
 * Submits the batches of the service that submit themselves on their last day, warns of those that somebody has to submit, and records those whose day has
 * passed.
 */
export async function handOverBatches(deps: BatchDeps, context: RequestContext): Promise<void> {
  const { account, moment } = context
  const { timeZone } = account
  for (const batch of await listWaiting(deps, deps.db.reader(account.id), account.id)) {
    if (isHeld(batch)) continue
    const momentAt = lastMoment(batch.days, batch.actionDate, timeZone)
    if (momentAt !== batch.lastMomentAt)
      await deps.db.transaction(account.id, (tx) => updateLastMoment(tx, batch.id, momentAt))
    if (isDayPassed(batch, momentAt, moment.now)) await recordPassed(deps, context, batch)
    if (!isOpen(batch) || batch.lineCount === 0 || isTooLate(batch.days, batch.actionDate, { ...moment, timeZone }))
      continue
    const last = lastDayOf(batch)
    if (batch.isServiceMade && batch.isAutoSubmitted) {
      if (last <= moment.today) await submitByItself({ ...deps, linesOfService }, context, batch)
    } else if (addDays(last, -1) <= moment.today && !isWarned(batch)) await warn(deps, context, batch)
  }
}

/** Records once for each day of the debit that it has passed; in a moved clock as of the last moment. */
async function recordPassed({ db }: BatchDeps, context: RequestContext, batch: WaitingBatch): Promise<void> {
  if (batch.passedFor === batch.actionDate) return
  const then = context.account.clockAt === null ? context : asOfLastMoment(context, batch)
  await db.transaction(context.account.id, async (tx) => {
    const found = await lockBatch(tx, batch.id)
    if (
      !found ||
      found.actionDate !== batch.actionDate ||
      !isDayPassed(found, lastMomentOf(batch, context), context.moment.now)
    )
      return
    await updatePassed(tx, batch.id, batch.actionDate)
    await recordBatch(
      tx,
      then,
      'batch.day_passed',
      batch.id,
      `It had to be submitted by ${lastMomentOf(batch, context)}.`,
    )
  })
}

const lastMomentOf = ({ days, actionDate }: WaitingBatch, { account }: RequestContext) =>
  lastMoment(days, actionDate, account.timeZone)

const warn = ({ db }: BatchDeps, context: RequestContext, batch: WaitingBatch): Promise<void> =>
  db.transaction(context.account.id, async (tx) => {
    await updateWarned(tx, batch.id, batch.actionDate)
    const last = lastMoment(batch.days, batch.actionDate, context.account.timeZone)
    await recordBatch(tx, context, 'batch.submission_awaited', batch.id, `It has to be submitted by ${last}.`)
  })
