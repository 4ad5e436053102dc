import { decimalText } from '../../kernel/decimal.ts'
import type { Check } from './difference.ts'
import { eachPage } from './pages.ts'
import { listSubscriptionPage } from './coverage-queries.ts'
import { listUsageDifferences } from './usage-queries.ts'

/** Checks that the invoiced quantity of a usage cycle is that of its last charge, from which the difference for late usage is counted. */
export const usageCycles: Check = {
  name: 'usage cycles',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listSubscriptionPage(tx, tx.account, after, limit),
      async (page) => {
        const ids = page.map(({ id }) => id)
        const customerOf = new Map(page.map(({ id, customerId }) => [id, customerId]))
        for (const { subscriptionId, componentId, from, invoiced, charged } of await listUsageDifferences(
          tx,
          tx.account,
          ids,
        ))
          report({
            customerId: customerOf.get(subscriptionId) ?? null,
            recordType: 'subscription',
            recordId: subscriptionId,
            what: `units invoiced of component ${componentId} in the cycle from ${from}`,
            stored: decimalText(invoiced),
            expected: charged === null ? 'none, for no charge has any' : decimalText(charged),
          })
      },
    ),
}
