import { NO_READER, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outDate, outId, outText } from '../../platform/wire/write.ts'
import type { FailingRecord } from './failing-queries.ts'

export const failingShape = recordShape<FailingRecord>()('BillingFailure', {
  subscriptionID: [orNull(outId()), ({ recordType, recordId }) => (recordType === 'subscription' ? recordId : null)],
  recurInvoiceID: [
    orNull(outId()),
    ({ recordType, recordId }) => (recordType === 'recurring_invoice' ? recordId : null),
  ],
  customerID: [outId(), ({ customerId }) => customerId],
  Since: [outDate("Instant of the account's clock: the first try that failed"), ({ since }) => since],
  LastTried: [outDate("Instant of the account's clock: the last try that failed"), ({ lastTried }) => lastTried],
  Reason: [outText(), ({ reason }) => reason],
})

/** Writes the record of the events of a failing record; it depends on no reader. */
export const FailingOut = { write: (record: FailingRecord): string => failingShape.write(record, NO_READER) }
