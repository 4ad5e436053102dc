import { type Account, momentOf, type Moment, type RealClock } from '../../kernel/context.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import { AccountWork } from '../../platform/account-work.ts'
import type { Database } from '../../platform/database/database.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { NotSent, ReportsFrom, ReportsListed, Unknown } from '../gateways/contract.ts'
import type { GatewayType } from '../gateways/facts.ts'
import { claimPoll, findGateway, type Gateway, listAllGateways, noteCursor } from '../gateways/queries.ts'
import { isReady } from '../gateways/rules.ts'
import { listGatewaysToPoll } from './queries.ts'
import { askAboutDebits } from './debits.ts'
import { keepReports } from './receive.ts'

/** Asks gateways for their reports: no address of this service need be open to them, and requests of theirs only make it faster. */

const LOOK_EVERY_MS = 60_000
const GATEWAYS_A_LOOK = 100
const ACCOUNTS_AT_ONCE = 8
/** Looks at one gateway in a row, where each leaves more. */
const LOOKS_MAX = 20

type PollDeps = GatewayDeps & { db: Database; realClock: RealClock }

/** Returns the types of gateways that can be asked for their reports. */
export const listingTypes = ({ adapters }: Pick<GatewayDeps, 'adapters'>): GatewayType[] =>
  [...adapters.values()].filter(({ listReports }) => listReports).map(({ type }) => type)

/** Asks the gateways of accounts on real time every five minutes, whichever process does. */
export function pollDuty(about: GatewayDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'polling gateways',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const types = listingTypes(about)
      const found = types.length === 0 ? [] : await listGatewaysToPoll(db.unscoped, types)
      const begun = await atWork.each(found, async ({ account: accountId, id }) => {
        goOn()
        const account = await getAccount(db.reader(accountId), accountId)
        await pollGateway({ ...about, db, realClock }, account, momentOf(account, realClock), id).catch(
          (error: unknown) => {
            passOnOutage(error)
            log.error(
              { err: errorFacts(error), account: String(accountId) },
              'a gateway could not be asked for reports',
            )
          },
        )
      })
      return begun < GATEWAYS_A_LOOK ? undefined : 'again'
    },
  }
}

/** Returns true for gateways that list their reports from a book outside of this database. */
export const hasBookElsewhere = ({ adapters }: Pick<GatewayDeps, 'adapters'>, type: GatewayType): boolean =>
  type !== 'sandbox' && adapters.get(type)?.listReports !== undefined

/**
 * Asks the gateways of an account whose clock begins to move, at once. The sandbox sends its reports as the clock moves, so it need not be asked. One that does
 * not answer stops no clock.
 */
export async function pollForMove(deps: PollDeps, account: Account, moment: Moment): Promise<void> {
  for (const { id, type } of await listAllGateways(deps.db.reader(account.id), account.id))
    if (hasBookElsewhere(deps, type)) await pollGateway(deps, account, moment, id, { isNow: true })
}

/**
 * Keeps what a gateway has to report since it was asked last; nothing where another process asks, or it is not enabled. Reports and the place up to which
 * they were read are written together, so that none is missed by whoever dies, and one that is found twice is one.
 */
export async function pollGateway(
  deps: PollDeps,
  account: Account,
  moment: Moment,
  id: Id,
  { isNow = false } = {},
): Promise<void> {
  const { db } = deps
  const gateway = await findGateway(db.reader(account.id), account.id, id)
  if (!gateway) return
  const isAsked = isReady(gateway)
  const from = await db.transaction(account.id, (tx) => claimPoll(tx, id, { isNow, isReady: isAsked }))
  if (!from || !isAsked) return
  if (account.clockAt === null) await askAboutDebits(deps, account, moment, id)
  let { cursor } = from
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const listed = await look(deps, account, moment, gateway, { ...from, cursor })
    if (listed.kind !== 'listed') return
    const { cursor: next, isMore } = listed
    const isEnd = !isMore || next === cursor
    const now = instantOf(deps.realClock())
    await keepReports(db, { account: account.id, gatewayId: id, realNow: now }, listed.reports, {
      way: 'polling',
      also: (tx) => noteCursor(tx, id, next, isEnd),
    })
    if (isEnd) return
    cursor = next
  }
}

const look = (deps: PollDeps, account: Account, moment: Moment, gateway: Gateway, from: ReportsFrom) =>
  askGateway<ReportsListed | Unknown | NotSent>(
    deps,
    { account, moment },
    gateway,
    async (adapter, call) => (await adapter.listReports?.(call, from)) ?? { kind: 'unknown' },
  )

/** Keeps all that a gateway has reported from an instant of real time on, whatever was read before. Returns false where it did not answer to the end. */
export async function readReportsSince(
  deps: PollDeps,
  account: Account,
  moment: Moment,
  gateway: Gateway,
  since: Instant,
): Promise<boolean> {
  for (let cursor: string | null = null; ;) {
    const listed = await look(deps, account, moment, gateway, { cursor, since })
    if (listed.kind !== 'listed') return false
    const realNow = instantOf(deps.realClock())
    await keepReports(deps.db, { account: account.id, gatewayId: gateway.id, realNow }, listed.reports, {
      way: 'polling',
    })
    if (!listed.isMore || listed.cursor === cursor) return true
    cursor = listed.cursor
  }
}
