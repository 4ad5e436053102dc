import type { RealClock } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import { adapterOf, type GatewayDeps } from '../gateways/call.ts'
import { findGateway } from '../gateways/queries.ts'
import { announceReport, findGatewayOfToken, insertGatewayReport } from './queries.ts'
import { isGuid } from '../../platform/wire/fields.ts'
import { isKeepable } from './rules.ts'

/** Receiving reports: whoever sends one has signed its bytes, and one that is known already changes nothing. */

/** Bytes that a report may have. */
export const REPORT_BYTES_MAX = 64 * 1024

/** A report as it arrives at the address of a gateway. */
export interface ArrivedReport {
  token: string
  raw: Buffer
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Keeps a report that its gateway has signed just now; false, and nothing more, for any other. */
export async function receiveReport(
  deps: GatewayDeps & { db: Database; realClock: RealClock },
  { token, raw, headers }: ArrivedReport,
): Promise<boolean> {
  const found = isGuid(token) ? await findGatewayOfToken(deps.db.unscoped, token) : undefined
  const gateway = found && (await findGateway(deps.db.reader(found.account), found.account, found.id))
  if (!gateway) return false
  const { account } = found
  const { adapter, settings } = adapterOf(deps, account, gateway)
  const realNow = instantOf(deps.realClock())
  const whose = { accountId: account, gatewayId: gateway.id, settings }
  const report = adapter.readReport?.(whose, raw, headers, realNow)
  if (!report || !isKeepable(report)) return false
  await deps.db.transaction(account, async (tx) => {
    if (await insertGatewayReport(tx, gateway.id, report, realNow)) await announceReport(tx)
  })
  return true
}
