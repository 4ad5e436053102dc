import { assert } from '../../kernel/assert.ts'
import type { Account, Moment, RealClock } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import { listReportsDue, type SandboxReport, updateReportSent } from '../../sandbox/queries.ts'
import { adapterOf, type GatewayDeps, whoseOf } from '../gateways/call.ts'
import { findGateway } from '../gateways/queries.ts'
import { sandboxReport, sandboxReportOf } from '../gateways/sandbox.ts'
import { receiveReport } from './receive.ts'

/** The sandbox as a sender: what is due in its book goes the way of any report, signed bytes and headers. */

type SenderDeps = GatewayDeps & { db: Database; realClock: RealClock }

const A_LOOK = 100

/** Sends what the sandbox of an account has to report by a day. Killed in between, it sends the same report again, which is known by then. */
export async function sendSandboxReports(deps: SenderDeps, account: Account, moment: Moment): Promise<void> {
  for (;;) {
    const due = await listReportsDue(deps.db.reader(account.id), account.id, moment.today, A_LOOK)
    for (const report of due) {
      await send(deps, account, report)
      await deps.db.transaction(account.id, (tx) => updateReportSent(tx, account.id, report.id, moment.now))
    }
    if (due.length < A_LOOK) return
  }
}

async function send(deps: SenderDeps, account: Account, due: SandboxReport): Promise<void> {
  const gateway = await findGateway(deps.db.reader(account.id), account.id, due.gatewayId)
  assert(gateway, `gateway ${due.gatewayId} exists`)
  const { settings } = adapterOf(deps, account.id, gateway)
  const whose = { ...whoseOf(account, gateway), settings }
  const report = sandboxReportOf(due)
  const keyedHash = deps.envelope.keyedHash('sandbox')
  const { raw, headers } = sandboxReport(whose, keyedHash, [report], instantOf(deps.realClock()))
  const isTaken = await receiveReport(deps, { token: gateway.token, raw, headers })
  assert(isTaken, `report ${report.id} of the sandbox is signed by it`)
}
