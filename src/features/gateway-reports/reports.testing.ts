import type { TestClient, TestService } from '../../../test/support/app.ts'
import { momentOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { NO_LINES_OF_SERVICE } from '../batches/hooks.ts'
import { mailLostCard } from '../reminders/card-lost.ts'
import { listedReports } from '../result-files/unapplied.ts'
import type { GatewayReport } from '../gateways/contract.ts'
import { findSaleOfRefund } from '../capture-sessions/sale-queries.ts'
import { findKnownCharge } from '../gateways/charge-queries.ts'
import { readReference, referenceFor } from '../gateways/references.ts'
import { sandboxReport } from '../gateways/sandbox.ts'
import { findPaymentRefund } from '../refunds/queries.ts'
import type { ReportDeps } from './apply.ts'
import { workReports } from './work.ts'

/** Gateways of tests: reports as their senders sign them, and the work that applies them. */

/** The means of the work on reports. */
export const depsOf = (service: TestService, more: Partial<ReportDeps> = {}): ReportDeps => ({
  ...service.calling,
  db: service.db,
  realClock: Date.now,
  linesOfService: NO_LINES_OF_SERVICE,
  ...listedReports(service.calling),
  onCardLost: mailLostCard,
  ...more,
})

interface Sender {
  client: TestClient
  gatewayID: number
  GatewayToken: string
}

/** Signs a report as the sandbox of an account does, at an instant of real time. */
export function signed(
  service: TestService,
  { client, gatewayID, GatewayToken }: Sender,
  report: GatewayReport,
  { settings = {}, atMs = Date.now() }: { settings?: Record<string, unknown>; atMs?: number } = {},
) {
  const keyedHash = service.calling.envelope.keyedHash('sandbox')
  const whose = { accountId: client.id, gatewayId: BigInt(gatewayID), scope: GatewayToken, isLive: false, settings }
  return sandboxReport(whose, keyedHash, [report], instantOf(atMs))
}

/** Puts the nonce of its intent behind the identifier of a charge or refund. */
async function withNonce(service: TestService, { client: { id }, gatewayID }: Sender, sent: GatewayReport) {
  const named = sent.about === 'stored' ? undefined : readReference(sent.reference ?? '')
  if (named?.nonce !== null) return sent
  const reader = service.db.reader(id)
  const nonce =
    sent.about === 'charge'
      ? (await findKnownCharge(reader, id, BigInt(gatewayID), named.id))?.nonce
      : ((await findPaymentRefund(reader, id, named.id))?.nonce ??
        (await findSaleOfRefund(reader, id, BigInt(gatewayID), named.id))?.refundNonce)
  return { ...sent, reference: referenceFor({ id: named.id, nonce: nonce ?? null }) }
}

/** Sends a report that a sandbox has signed to the address of its gateway. */
export async function report(service: TestService, sender: Sender, sent: GatewayReport, atMs?: number) {
  const named = await withNonce(service, sender, sent)
  const { raw, headers } = signed(service, sender, named, atMs === undefined ? {} : { atMs })
  return service.anonymous.request('POST', `/gateways/${sender.GatewayToken}/events`, raw.toString(), headers)
}

/** Does the reports of an account at the moment that its clock shows, as whoever moves the clock does. */
export async function workAt(service: TestService, client: TestClient, more: Partial<ReportDeps> = {}): Promise<void> {
  const account = await getAccount(service.db.reader(client.id), client.id)
  await workReports(depsOf(service, more), account, momentOf(account, Date.now))
}

export interface ReportRow {
  externalId: string
  isFinished: boolean
  attempts: number
  reason: string | null
}

/** The reports that are kept of an account, in the order received. */
export const keptReports = (service: TestService, client: TestClient) =>
  service.db.reader(client.id).rows<ReportRow>(sql`
    select external_id as "externalId", finished_at is not null as "isFinished", attempts, reason
      from gateway_reports where account_id = ${client.id} order by gateway_report_id`)

/** The payments of an account: what each is, its amount and status. */
export const paymentsOf = async (client: TestClient) =>
  (await client.get('/v1/payments')).body.map(({ Ref, Amount, Status }: any) => [Ref, Amount, Status])
