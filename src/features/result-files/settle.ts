import { addBankDays } from '../../kernel/bank-days.ts'
import { addDays, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import { backgroundContext, momentOf, type RequestContext } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { Duty } from '../../platform/duty.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import { applyLineResult } from '../batches/results.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import { lockCustomers } from '../customers/queries.ts'
import { adapterOf, daysOfBatches } from '../gateways/call.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import type { ResultDeps } from './deps.ts'
import { type BatchToSettle, listAccountsToSettle, listBatchesToSettle, listDebitsToSettle } from './match-queries.ts'

/**
 * Settling without a booking. Rule: a file that was downloaded is taken for handed over, and its debits for received, some bank days after their
 * day, but not while a line about them waits for a person; a return that comes later reverses them.
 */

type SettleDeps = Omit<ResultDeps, 'db'>

const LOOK_EVERY_MS = 600_000
const ACTOR = 'settling'
const PAYMENTS_AT_ONCE = 50
/** Few: their work is in the database. */
const ACCOUNTS_AT_ONCE = 2

/** Returns the day on which a batch counts as settled without a booking; null where its gateway waits for the booking. */
function dueDay(deps: SettleDeps, account: AccountId, batch: BatchToSettle, gateways: Gateway[]): IsoDate | null {
  const gateway = gateways.find(({ id }) => id === batch.gatewayId)
  const after = gateway && gatewayFactsOf(gateway.type).settlesAfterDays
  if (!gateway || after === undefined) return null
  const days = settleAfterDays(adapterOf(deps, account, gateway).settings, after)
  return days === null ? null : addBankDays(daysOfBatches(deps, account, gateway).calendar, batch.actionDate, days)
}

async function listDue(db: Queryable, deps: SettleDeps, account: AccountId) {
  const [batches, gateways] = await Promise.all([listBatchesToSettle(db, account), listAllGateways(db, account)])
  return batches.flatMap((batch) => {
    const on = dueDay(deps, account, batch, gateways)
    return on === null ? [] : [{ batch, on }]
  })
}

/** Settles what is due by the day of the context: the lines that have no result yet. */
async function settleDay(db: Database, deps: SettleDeps, context: RequestContext): Promise<void> {
  const { id: account } = context.account
  for (const { batch, on } of await listDue(db.reader(account), deps, account))
    if (on <= context.moment.today) await settleBatch(db, deps, context, batch, on)
}

async function settleBatch(
  db: Database,
  { linesOfService }: SettleDeps,
  context: RequestContext,
  { id }: BatchToSettle,
  on: IsoDate,
): Promise<void> {
  const { id: account } = context.account
  const result = { isSuccess: true, reason: null, on, source: 'file' as const }
  let after = 0n
  for (;;) {
    const from = after
    const some = await listDebitsToSettle(db.reader(account), account, id, from, PAYMENTS_AT_ONCE)
    const last = some.at(-1)
    if (last === undefined) return
    after = last.id
    await db.transaction(account, async (tx) => {
      await lockCustomers(tx, [...new Set(some.map(({ customerId }) => customerId))], true)
      // A file that was read meanwhile may have listed something of them.
      for (const payment of await listDebitsToSettle(tx, account, id, from, some.length))
        if (some.some((one) => one.id === payment.id))
          await applyLineResult(tx, context, payment.id, result, linesOfService)
    })
  }
}

export function settlingDuty(deps: SettleDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'settling of debits without a booking',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const found = await listAccountsToSettle(db.unscoped, instantOf(realClock()))
      await atWork.each(found, async ({ account: id }) => {
        goOn()
        const account = await getAccount(db.reader(id), id)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: ACTOR })
        await settleDay(db, deps, context).catch((error: unknown) => {
          passOnOutage(error)
          log.error({ err: errorFacts(error), account: String(id) }, 'debits could not be settled; it is tried again')
        })
      })
    },
  }
}

/** Makes the part that settling has in the days of a moved clock. */
export const settlingOfDay = (deps: SettleDeps): AfterDay => ({
  findAfter: async (db, account, day, until) => {
    // What waited for a person is settled on the first day after.
    const days = (await listDue(db, deps, account)).map(({ on }) => later(on, addDays(day, 1)))
    return earliest(...days.filter((on) => on <= until))
  },
  work: async (db, account, moment, actor) => {
    await settleDay(db, deps, backgroundContext(account, moment, { actor }))
    return { collected: 0, declined: 0, unknown: 0 }
  },
})

/** Returns the bank days after the day of a debit when it counts as settled without a booking, `unless` the Settings name others; null: it waits for the booking. */
export function settleAfterDays(settings: Readonly<Record<string, unknown>>, unless: number): number | null {
  const { SettleAfterDays: days } = settings
  return days === undefined ? unless : (days as number | null)
}
