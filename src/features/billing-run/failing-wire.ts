import { identifies } from '../../platform/wire/shared-sentences.ts'
import { NO_READER, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outDate, outId, outText } from '../../platform/wire/write.ts'
import type { FailingRecord } from './failing-queries.ts'

export const failingShape = recordShape<FailingRecord>()('BillingFailure', {
  subscriptionID: [
    orNull(outId(identifies('subscription'))),
    ({ recordType, recordId }) => (recordType === 'subscription' ? recordId : null),
  ],
  recurInvoiceID: [
    orNull(outId(identifies('recurring invoice'))),
    ({ recordType, recordId }) => (recordType === 'recurring_invoice' ? recordId : null),
  ],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  Since: [outDate("Instant of the account's clock: the first try that failed"), ({ since }) => since],
  LastTried: [outDate("Instant of the account's clock: the last try that failed"), ({ lastTried }) => lastTried],
  Reason: [outText('Why it cannot be billed.'), ({ reason }) => reason],
})

/** Writes the record of the events of a failing record; it depends on no reader. */
export const FailingOut = { write: (record: FailingRecord): string => failingShape.write(record, NO_READER) }
