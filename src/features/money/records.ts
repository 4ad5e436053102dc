import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { type RequestContext, type Writing, writingOf } from '../../kernel/context.ts'
import { etagOf } from '../../platform/http/etag.ts'
import type { RecordShape } from '../../platform/wire/columns.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import type { PositiveAdjustment } from './adjustment-queries.ts'
import type { Payment } from './payment-queries.ts'
import type { Allocated } from './types.ts'

/** Money records of all kinds: each together with its allocations, loaded in one exchange and locked by its customer. */

export type PaymentRecord = Allocated<Payment>
export type PositiveRecord = Allocated<PositiveAdjustment>

/** Returns the Ref of a payment that the service asks for automatically: "Invoices 702". */
export const refOfInvoice = (number: bigint): string => `Invoices ${number}`

/** Joins a record that is being read to its allocations, so that one exchange asks for both. */
export async function withAllocations<Row>(
  reading: Promise<Row | undefined>,
  allocationsReading: Promise<AllocationState[]>,
): Promise<Allocated<Row> | undefined> {
  const [row, allocations] = await Promise.all([reading, allocationsReading])
  return row && { ...row, allocations }
}

/** Locks the customer of a record that was found, then loads it for good, in one exchange: the reads wait for the lock before them. */
export async function lockedRecord<Row>(
  tx: Transaction,
  found: { customerId: CustomerId } | undefined,
  load: () => Promise<Row | undefined>,
): Promise<Row | undefined> {
  if (!found) return undefined
  const [, record] = await Promise.all([lockCustomer(tx, tx.account, found.customerId), load()])
  return record
}

/** Records what happened to a money record, with its fields as they now are. */
export const recordMoneyEvent = <Row extends { id: Id; customerId: CustomerId }>(
  tx: Transaction,
  context: RequestContext,
  shape: RecordShape<Row>,
  type: EventType,
  row: Row,
  reason?: string,
): Promise<void> =>
  recordEvent(tx, context, {
    type,
    recordId: row.id,
    customerId: row.customerId,
    record: shape.recorded.write(row, writingOf(context)),
    reason: reason ?? null,
  })

/** Derives the ETag of a record from all of its recorded fields as on its own day: it does not change with the passing of time. */
export const moneyEtag = <Row extends { dated: IsoDate }>(
  { recorded }: Pick<RecordShape<Row>, 'recorded'>,
  row: Row,
): string => etagOf(recorded.write(row, etagWriting(row)))

/** Returns how the text is written of which an ETag is derived. */
export const etagWriting = ({ dated }: { dated: IsoDate }): Writing => ({ timeZone: 'UTC', today: dated })
