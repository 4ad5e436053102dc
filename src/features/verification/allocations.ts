import type { Check } from './difference.ts'
import { eachPage } from './pages.ts'
import { listAllocationPage } from './queries.ts'

/**
 * Every allocation joins two documents that are there, of its own customer and of one currency. That they stay inside both amounts is
 * told by the checks of invoices and of credit notes, which know the sums.
 */
export const allocations: Check = {
  name: 'allocations',
  run: (tx, tell, goOn) =>
    eachPage(
      goOn,
      (after, limit) => listAllocationPage(tx, tx.account, after, limit),
      (page) => {
        for (const one of page) {
          const text = (what: string, says: string, should: string) =>
            tell({ customerId: one.customerId, recordType: 'allocation', recordId: one.id, what, says, should })
          if (one.owedKind === 'invoice') {
            if (one.owedCustomerId === null) text('invoice', String(one.owedId), 'one that exists')
            else if (one.owedCustomerId !== one.customerId)
              text('invoice', `${one.owedId} of customer ${one.owedCustomerId}`, `one of customer ${one.customerId}`)
          }
          if (one.givenKind !== 'negative_adjustment') continue
          if (one.givenCustomerId === null) text('credit note', String(one.givenId), 'one that exists')
          else if (one.givenCustomerId !== one.customerId)
            text(
              'credit note',
              `${one.givenId} of customer ${one.givenCustomerId}`,
              `one of customer ${one.customerId}`,
            )
          else if (one.owedCurrency !== null && one.givenCurrency !== one.owedCurrency)
            text('currency', `${one.givenCurrency} to ${one.owedCurrency}`, 'one and the same')
        }
      },
    ),
}
