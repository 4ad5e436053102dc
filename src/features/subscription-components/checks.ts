import type { Check } from '../../platform/checks/difference.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import { listBatchDifferences, listNamingEvents, listUsageBatches } from './checks-queries.ts'

/** Rows that a statement opens: each has hundreds of reports. */
const BATCHES_AT_ONCE = 32

/** Events of usage whose reports share rows (decision 38): each finds its reports, and rows have them as they are stored. */
export const usageEvents: Check = {
  name: 'events of usage',
  async run(tx, report, reading) {
    const events = await eachPage(
      reading,
      (after, limit) => listNamingEvents(tx, tx.account, after, limit),
      (page) => {
        for (const { id, subscriptionId, customerId, firstUsageId, isThere } of page)
          if (!isThere)
            report({
              customerId,
              recordType: 'subscription',
              recordId: subscriptionId,
              what: `row of the reports of event ${id}`,
              stored: String(firstUsageId),
              expected: 'one that has reports of it',
            })
      },
    )
    const batches = await eachPage(
      reading,
      (after, limit) => listUsageBatches(tx, tx.account, after, limit),
      async (page) => {
        const ids = page.map(({ id }) => id)
        for (const { id, reports, alike } of await listBatchDifferences(tx, tx.account, ids))
          report({
            recordType: 'usage_batch',
            recordId: id,
            what: 'reports that are as they are stored',
            stored: String(alike),
            expected: String(reports),
          })
      },
      BATCHES_AT_ONCE,
    )
    return events + batches
  },
}
