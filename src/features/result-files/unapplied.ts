import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { ReportDeps } from '../gateway-reports/apply.ts'
import type { KeptReport } from '../gateway-reports/queries.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { findKnownCharge } from '../gateways/charge-queries.ts'
import { readReference } from '../gateways/references.ts'
import { findPayment } from '../money/payment-queries.ts'
import { findPaymentRefund } from '../refunds/queries.ts'
import { lineHash } from './line-hash.ts'
import { sealTexts } from './list-lines.ts'
import { NOT_COMPARED } from './not-compared.ts'
import { drawLineIds, insertResultFile, type NewLine, sendListedLines } from './queries.ts'

/** Format of what is listed of a report of a gateway. */
const EVENT = 'event'
/** A report has no statements. */
const NOT_COUNTED = { otherAccounts: null, statusMissing: null, linesPadded: null }

type Deps = Pick<GatewayDeps, 'envelope'>

/** Line that is listed of a report, with the sentence that a person reads, and the text that no other has. */
type ListedReport = Pick<NewLine, 'kind' | 'amountMinor' | 'currency' | 'code' | 'paymentId' | 'refundId' | 'dated'> & {
  gatewayId: Id
  reference: string
  likeness: string
}

/** Lists something as a file of one line. */
async function list(deps: Deps, tx: Transaction, now: Instant, listed: ListedReport): Promise<void> {
  const { gatewayId, reference, likeness, ...line } = listed
  const about = { gatewayId, sha256: null, format: EVENT, unmatched: 1, ...NOT_COUNTED, isFinished: true }
  const fileId = await insertResultFile(tx, about, now)
  const [id] = (await drawLineIds(tx, 1)) as [Id]
  const written: NewLine = {
    ...NOT_COMPARED,
    ...line,
    id,
    isCredit: line.kind === 'refund' ? false : null,
    sealedTexts: sealTexts(deps, tx.account, id, { reference, name: null }),
    likeness: lineHash(deps.envelope, tx.account)(`${EVENT}\n${likeness}`),
  }
  sendListedLines(tx, fileId, [written], now)
}

/** Makes the function that lists a report that could not be applied, as a file of one line. */
const unappliedReports =
  (deps: Deps): ReportDeps['onUnapplied'] =>
  async (tx, { moment: { now, today } }, report, reason) =>
    list(deps, tx, now, {
      gatewayId: report.gatewayId,
      reference: reason,
      likeness: String(report.id),
      kind: 'other',
      dated: today,
      amountMinor: null,
      currency: null,
      code: report.about,
      paymentId: await paymentOf(tx, report),
    })

/** Makes the function that lists a refund of a gateway's console, as a file of one line, which waits whenever no money covers it. */
const consoleRefunds =
  (deps: Deps): ReportDeps['onRefunded'] =>
  (tx, { moment: { now } }, { gatewayId, refund }) =>
    list(deps, tx, now, {
      gatewayId,
      reference: `Refund ${refund.gatewayReference} of payment ${refund.paymentId} at the gateway. If nothing covers it, credit an invoice, or ask the customer for the money.`,
      likeness: `refund ${refund.id}`,
      kind: 'refund',
      dated: refund.dated,
      amountMinor: refund.amountMinor,
      currency: refund.currency,
      code: 'refund',
      paymentId: refund.paymentId,
      refundId: refund.id,
    })

/** Makes the functions that list what of reports waits for a person. */
export const listedReports = (deps: Deps): Pick<ReportDeps, 'onUnapplied' | 'onRefunded'> => ({
  onUnapplied: unappliedReports(deps),
  onRefunded: consoleRefunds(deps),
})

/** Finds the payment that a report is about, if there is one. That which has the identifier and another nonce is another's: of a copy, or of what a restore has lost. */
async function paymentOf(tx: Transaction, { about, reference, gatewayId }: KeptReport): Promise<Id | null> {
  const named = readReference(reference)
  if (!named) return null
  if (about === 'refund') {
    const refund = await findPaymentRefund(tx, tx.account, named.id)
    return refund?.nonce === named.nonce ? refund.paymentId : null
  }
  const charge = about === 'charge' ? await findKnownCharge(tx, tx.account, gatewayId, named.id) : undefined
  return charge?.nonce === named.nonce ? ((await findPayment(tx, tx.account, named.id))?.id ?? null) : null
}
