import type { RequestContext } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { FailureReason } from '../../engine/collection/reasons.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Gateway } from '../gateways/queries.ts'
import type { PaymentRecord } from '../money/records.ts'
import type { Batch } from './queries.ts'

/** The result of a line, as whoever made the line learns of it. */
export type KnownResult = { kind: 'succeeded'; on: IsoDate } | ({ kind: 'failed'; on: IsoDate } & FailureReason)

/**
 * Calls of the room that makes lines on its own, about its own lines alone. Each runs in the transaction of what happens, with the customers of
 * the batch locked; the batches' own tables are written by then.
 */
export interface LinesOfService {
  /** Before a batch is submitted: other money may take the place of its lines. */
  submitting(tx: Transaction, context: RequestContext, batch: Batch): Promise<void>
  /** The batch has another day of the debit, and its payments with it. */
  moved(
    tx: Transaction,
    context: RequestContext,
    deps: GatewayDeps,
    to: { batchId: Id; gateway: Gateway; actionDate: IsoDate },
  ): Promise<void>
  /** The lines were handed over to their gateway. */
  submitted(tx: Transaction, paymentIds: readonly Id[]): Promise<void>
  /** The line goes, or is the service's no more: it could not be built, or a caller deletes or changed it. Its payment goes afterwards. */
  gone(tx: Transaction, context: RequestContext, paymentId: Id): Promise<void>
  /** The first result of the line; its payment is settled or has failed. A cancelled batch is a failure of class not_sent. */
  known(tx: Transaction, context: RequestContext, payment: PaymentRecord, known: KnownResult): Promise<void>
  /** Invoices are debited no more until their method changes, whoever made their lines: their scheme allows none. */
  ended(tx: Transaction, context: RequestContext, invoiceIds: readonly InvoiceId[]): Promise<void>
  /** Money that counted as received was never sent: the line was no try. */
  neverSent(tx: Transaction, context: RequestContext, paymentId: Id): Promise<void>
}

/** No room makes lines on its own. */
export const NO_LINES_OF_SERVICE: LinesOfService = {
  submitting: async () => {},
  moved: async () => {},
  submitted: async () => {},
  gone: async () => {},
  known: async () => {},
  ended: async () => {},
  neverSent: async () => {},
}
