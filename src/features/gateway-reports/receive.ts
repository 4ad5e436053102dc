import type { Instant } from '../../kernel/calendar.ts'
import type { RealClock } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { adapterOf, type GatewayDeps, type OnCardGone, whoseOf } from '../gateways/call.ts'
import type { GatewayReport } from '../gateways/contract.ts'
import { findGateway, noteReported } from '../gateways/queries.ts'
import { referenceFor } from '../gateways/references.ts'
import {
  announceReport,
  findGatewayOfToken,
  findNamed,
  insertGatewayReports,
  listKnownTokens,
  type ArrivedReference,
} from './queries.ts'
import { isGuid } from '../../platform/wire/fields.ts'
import { isKeepable } from './rules.ts'

/** Receiving reports: whoever sends one has signed its bytes, and one that is known already changes nothing. */

/** Bytes that a request with reports may have. */
export const REPORT_BYTES_MAX = 512 * 1024

/** A report as it arrives at the address of a gateway. */
export interface ArrivedReport {
  token: string
  raw: Buffer
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Keeps the reports of a request that a gateway has signed just now; false, and nothing more, for any other. */
export async function receiveReport(
  deps: GatewayDeps & { db: Database; realClock: RealClock },
  { token, raw, headers }: ArrivedReport,
): Promise<boolean> {
  const found = isGuid(token) ? await findGatewayOfToken(deps.db.unscoped, token) : undefined
  if (!found) return false
  const gateway = await findGateway(deps.db.lookup(found.account), found.account, found.id)
  if (!gateway) return false
  const account = { id: found.account, mode: gateway.isOfTestAccount ? 'test' : 'live' } as const
  const { adapter, settings } = adapterOf(deps, account.id, gateway)
  const realNow = instantOf(deps.realClock())
  const read = adapter.readReport?.({ ...whoseOf(account, gateway), settings }, raw, headers, realNow)
  if (read?.kind !== 'read' || !read.reports.every(isKeepable)) return false
  await keepReports(deps.db, { account: account.id, gatewayId: gateway.id, realNow }, read.reports, { way: 'webhook' })
  return true
}

/**
 * Keeps reports, all in one transaction and each once. Rule: what only bears a name that no row here has, or the token of a card that nobody here has,
 * is a stranger's, of whom nothing is kept. `way`: by which they came; null: the gateway has not reported them itself. `also` is written with them.
 */
export async function keepReports(
  db: Database,
  { account, gatewayId, realNow }: { account: AccountId; gatewayId: Id; realNow: Instant },
  all: readonly GatewayReport[],
  { way, also }: { way: 'webhook' | 'polling' | null; also?: (tx: Transaction) => Promise<unknown> },
): Promise<void> {
  const ours = await leaveStrangersOut(db.reader(account), account, gatewayId, all.filter(isKeepable))
  if (ours.length === 0 && !also) return
  await db.transaction(account, async (tx) => {
    await also?.(tx)
    if (ours.length > 0 && way !== null) await noteReported(tx, gatewayId, way)
    if (ours.length > 0 && (await insertGatewayReports(tx, gatewayId, ours, realNow))) await announceReport(tx)
  })
}

/** Has a gateway asked about a card that it seems to keep no more, as if it had reported that. */
export const reportLostCard: OnCardGone = ({ db, realNow }, { accountId, gatewayId }, { reference, token }) =>
  keepReports(
    db,
    { account: accountId, gatewayId, realNow: instantOf(realNow()) },
    [{ id: `card/${reference}`, about: 'stored', reference: token }],
    { way: null },
  )

async function leaveStrangersOut(
  db: Queryable,
  account: AccountId,
  gatewayId: Id,
  all: readonly GatewayReport[],
): Promise<ArrivedReference[]> {
  const isStored = ({ about }: GatewayReport) => about === 'stored'
  const names = all.flatMap(({ reference, gatewayReference: name }) =>
    reference === undefined && name !== undefined ? [name] : [],
  )
  const tokens = all.filter(isStored).flatMap(({ reference }) => (reference === undefined ? [] : [reference]))
  const named = names.length === 0 ? [] : await findNamed(db, account, gatewayId, names)
  const known = new Set(tokens.length === 0 ? [] : await listKnownTokens(db, account, gatewayId, tokens))
  return all.flatMap((report) => {
    const { id: externalId, about, gatewayReference: name = null } = report
    const row = named.find((one) => one.about === about && one.name === name)
    const reference = report.reference ?? (row && referenceFor(row))
    if (reference === undefined || (isStored(report) && !known.has(reference))) return []
    return [{ externalId, about, reference, name }]
  })
}
