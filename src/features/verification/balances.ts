import { amountText, type Check } from './difference.ts'
import { eachPage } from './pages.ts'
import { listBalanceDifferences, listCustomerPage } from './queries.ts'

/**
 * Running totals of customers. Rule: what is receivable is what is open of issued invoices that are not cancelled; what is unapplied is
 * what of credit notes is not allocated.
 */
export const balances: Check = {
  name: 'customer totals',
  async run(tx, tell, goOn) {
    let after = -1n
    const look = async (upTo: bigint | null) => {
      for (const row of await listBalanceDifferences(tx, tx.account, after, upTo)) {
        const { customerId, currency } = row
        const amount = (what: string, saysMinor: bigint, shouldMinor: bigint) => {
          if (saysMinor === shouldMinor) return
          const says = amountText(saysMinor, currency)
          tell({
            customerId,
            recordType: 'customer',
            recordId: customerId,
            what,
            says,
            should: amountText(shouldMinor, currency),
          })
        }
        amount('receivable', row.receivableMinor, row.openMinor)
        amount('unapplied', row.unappliedMinor, row.unallocatedMinor)
      }
      after = upTo ?? after
    }
    const customers = await eachPage(
      goOn,
      (last, limit) => listCustomerPage(tx, tx.account, last, limit),
      (page) => look(page.at(-1)!.id),
    )
    // Beyond the last customer nothing may be: no foreign key keeps totals to customers that are there.
    await look(null)
    return customers
  },
}
