import { lastMoment } from '../../kernel/batch-days.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { listAllGateways } from '../gateways/queries.ts'
import { listMomentsOfUnsubmitted, updateLastMoments } from './waiting-queries.ts'

/**
 * Writes the last moments of unsubmitted batches anew, after the Settings of their gateway or the zone of the account has changed: lists, ageing and
 * metrics look at what is written. Each gateway and day is computed once, and all of them are written by one statement.
 */
export async function refreshLastMoments(
  tx: Transaction,
  deps: GatewayDeps,
  { timeZone, gatewayId }: { timeZone: string; gatewayId?: Id },
): Promise<void> {
  const batches = await listMomentsOfUnsubmitted(tx, gatewayId ?? null)
  if (batches.length === 0) return
  const gateways = new Map((await listAllGateways(tx, tx.account)).map((gateway) => [gateway.id, gateway]))
  const daysOf = new Map(
    [...new Set(batches.map((batch) => batch.gatewayId))].flatMap((id) => {
      const gateway = gateways.get(id)
      return gateway ? [[id, daysOfBatches(deps, tx.account, gateway)] as const] : []
    }),
  )
  const known = new Map<string, Instant>()
  const momentOf = (gateway: Id, actionDate: IsoDate): Instant | undefined => {
    const days = daysOf.get(gateway)
    const key = `${gateway} ${actionDate}`
    if (days && !known.has(key)) known.set(key, lastMoment(days, actionDate, timeZone))
    return known.get(key)
  }
  const changed = batches.flatMap(({ id, gatewayId: gateway, actionDate, lastMomentAt }) => {
    const at = momentOf(gateway, actionDate)
    return at === undefined || at === lastMomentAt ? [] : [{ id, at }]
  })
  if (changed.length > 0) await updateLastMoments(tx, changed)
}
