import type { DebitDays } from '../../engine/collection/dunning.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { MethodKind } from '../../kernel/rails.ts'
import { isDebit, type Way } from '../collection-terms/way.ts'
import { adapterOf, daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import type { Gateway } from '../gateways/queries.ts'

/** The days by which invoices enter batches, read from the Settings of gateways. */

/** Calendar days between the notice to the payer of a sepa debit and the debit, where Settings name no others. */
const NOTICE_DAYS = 14

type At = Pick<RequestContext, 'account' | 'moment'>

/** Returns the days by which a way debits; null for a card. */
export const debitDaysOf = (deps: GatewayDeps, context: At, way: Way): DebitDays | null =>
  isDebit(way) ? daysOfGateway(deps, context, way.gateway, way.method.kind) : null

export function daysOfGateway(
  deps: GatewayDeps,
  { account, moment }: At,
  gateway: Gateway,
  kind: MethodKind,
): DebitDays {
  const days = daysOfBatches(deps, account.id, gateway)
  const { PreNotificationDays, RetryNoticeDays } = adapterOf(deps, account.id, gateway).settings
  const first = typeof PreNotificationDays === 'number' ? PreNotificationDays : NOTICE_DAYS
  const retry = typeof RetryNoticeDays === 'number' ? RetryNoticeDays : first
  const isOurs = kind === 'sepa' && !isAnnouncedThere(deps, account.id, gateway)
  return { ...days, now: moment.now, timeZone: account.timeZone, notice: isOurs ? { first, retry } : null }
}

/** Returns whether a gateway announces debits to their payers itself, so that no mail and no notice days are ours. */
export function isAnnouncedThere(deps: GatewayDeps, account: AccountId, gateway: Gateway): boolean {
  const { adapter, settings } = adapterOf(deps, account, gateway)
  return adapter.keepsAccounts === true && settings['Notices'] !== 'service'
}

/** Makes a lookup of debit days that opens the Settings of each gateway once. */
export function knownDebitDays(deps: GatewayDeps, context: At): (way: Way) => DebitDays | null {
  const known = new Map<string, DebitDays | null>()
  return (way) => {
    const key = `${way.gateway.id} ${way.gateway.version} ${way.method.kind}`
    const found = known.get(key)
    if (found !== undefined) return found
    const days = debitDaysOf(deps, context, way)
    known.set(key, days)
    return days
  }
}
