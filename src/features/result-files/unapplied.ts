import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { KeptReport } from '../gateway-reports/queries.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { readReference } from '../gateways/references.ts'
import { findPayment } from '../money/payment-queries.ts'
import { lineHash } from './line-hash.ts'
import { sealTexts } from './list-lines.ts'
import { NOT_COMPARED } from './not-compared.ts'
import { drawLineIds, insertResultFile, type NewLine, sendListedLines } from './queries.ts'

/** Format of what is listed of a report of a gateway. */
const EVENT = 'event'
/** A report has no statements. */
const NOT_COUNTED = { otherAccounts: null, statusMissing: null, linesPadded: null }
/** Makes the function that lists a report that could not be applied, as a file of one line. */
export const unappliedReports =
  (deps: Pick<GatewayDeps, 'envelope'>) =>
  async (tx: Transaction, context: RequestContext, report: KeptReport, reason: string): Promise<void> => {
    const { now, today } = context.moment
    const about = {
      gatewayId: report.gatewayId,
      sha256: null,
      format: EVENT,
      unmatched: 1,
      ...NOT_COUNTED,
      isFinished: true,
    }
    const fileId = await insertResultFile(tx, about, now)
    const [id] = (await drawLineIds(tx, 1)) as [Id]
    const likeness = lineHash(deps.envelope, tx.account)(`${EVENT}\n${report.id}`)
    const line: NewLine = {
      ...NOT_COMPARED,
      id,
      kind: 'other',
      dated: today,
      amountMinor: null,
      currency: null,
      code: report.about,
      sealedTexts: sealTexts(deps, tx.account, id, { reference: reason, name: null }),
      likeness,
      isCredit: null,
      paymentId: await paymentOf(tx, report),
    }
    sendListedLines(tx, fileId, [line], now)
  }

/** Finds the payment that a report about a charge names, if there is one. */
async function paymentOf(tx: Transaction, { about, reference }: KeptReport): Promise<Id | null> {
  const id = about === 'charge' ? readReference(reference)?.id : undefined
  return id === undefined ? null : ((await findPayment(tx, tx.account, id))?.id ?? null)
}
