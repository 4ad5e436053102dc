import { decimalText } from '../../kernel/decimal.ts'
import type { Check } from '../../platform/checks/difference.ts'
import { findSubscriptions } from './coverage-queries.ts'
import { eachSpan } from '../../platform/checks/pages.ts'
import { listUsageDifferences } from './usage-queries.ts'

/** Subscriptions whose cycles the database compares at once. */
const SUBSCRIPTIONS_AT_ONCE = 2000

/** Checks that the invoiced quantity of a usage cycle is that of its last charge, from which the difference for late usage is counted. */
export const usageCycles: Check = {
  name: 'usage cycles',
  run: (tx, report, reading) =>
    eachSpan(
      reading,
      (after, limit) => findSubscriptions(tx, tx.account, after, limit),
      async (span) => {
        const found = await listUsageDifferences(tx, tx.account, span)
        for (const { subscriptionId, customerId, componentId, from, invoiced, charged } of found)
          report({
            customerId,
            recordType: 'subscription',
            recordId: subscriptionId,
            what: `units invoiced of component ${componentId} in the cycle from ${from}`,
            stored: decimalText(invoiced),
            expected: charged === null ? 'none, for no charge has any' : decimalText(charged),
          })
        return found.length
      },
      SUBSCRIPTIONS_AT_ONCE,
    ),
}
