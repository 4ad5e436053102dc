import type { Database } from '../../platform/database/database.ts'
import type { GatewayRequest } from '../../platform/metrics.ts'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import { listProcesses, type ProcessKind } from '../../platform/processes/queries.ts'
import type { Endpoints } from '../../platform/setting-values.ts'
import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'
import { makePlaces, type TakePlace } from './rate.ts'

/** Means of adapters that call a gateway over the network. */
export interface Calling {
  outbound: Pick<Outbound, 'ask'>
  takePlace: TakePlace
  /** Addresses in place of the gateways' own, for tests and simulators: only test accounts are called there, and live ones not at all. */
  endpoints: Endpoints
  /** Takes each request, for /metrics. */
  measured(request: GatewayRequest): void
  /** Real time in milliseconds. */
  realNow: () => number
}

/** Works of a process: it answers callers, or works jobs, or both. */
type Roles = readonly ProcessKind[]

/** Makes what gateways are called with from a process; `measured` left out: nobody counts. */
export const callingFrom = (
  db: Pick<Database, 'onWatch'>,
  roles: Roles,
  {
    outbound,
    endpoints = {},
    measured = () => {},
    realNow = Date.now,
  }: Pick<Calling, 'outbound'> & {
    endpoints?: Endpoints | undefined
    measured?: Calling['measured'] | undefined
    realNow?: Calling['realNow']
  },
): Calling => ({ outbound, endpoints, measured, realNow, takePlace: makePlaces(sharesOf(db, roles)) })

const LOOK_EVERY_MS = 10_000
/** Share of a gateway's calls that those who answer callers have together, and those who work jobs. */
const SHARES: Readonly<Record<ProcessKind, number>> = { serve: 0.2, work: 0.8 }

/** Returns how many of a gateway's calls a second are those of this process: the share of its roles, divided by the live processes (§30). */
export function sharesOf(
  db: Pick<Database, 'onWatch'>,
  roles: Roles,
  clock: SteadyClock = steadyClock,
): (perSecond: number) => number {
  let live: Record<ProcessKind, number> = { serve: 1, work: 1 }
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = async () => {
    const all = (await listProcesses(db.onWatch)).filter(({ isLive }) => isLive)
    const count = (kind: ProcessKind) => Math.max(1, all.filter((one) => one.kind === kind).length)
    live = { serve: count('serve'), work: count('work') }
  }
  return (perSecond) => {
    if (clock() - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = clock()
      // Without an answer the last count stands.
      void look().catch(() => {})
    }
    return roles.reduce((sum, role) => sum + (perSecond * SHARES[role]) / live[role], 0)
  }
}
