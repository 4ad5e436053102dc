import { listDeliveryDifferences } from './deliveries-queries.ts'
import type { Check } from './difference.ts'

/** Deliveries of webhooks: each is of an event that is there, about the record by which it is put in order. */
export const deliveries: Check = {
  name: 'webhook deliveries',
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listDeliveryDifferences(tx, tx.account)
    for (const { id, eventId, about, eventAbout } of differences)
      report({
        customerId: null,
        recordType: 'webhook_delivery',
        recordId: id,
        what: `event ${eventId}`,
        stored: about,
        expected: eventAbout ?? 'nothing: there is no such event',
      })
    return differences.length
  },
}
