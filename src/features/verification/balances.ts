import { amountText } from '../../kernel/currencies.ts'
import { findMostMembers } from '../ledger/group-by-facts-queries.ts'
import { type Check, type Report } from '../../platform/checks/difference.ts'
import { type CheckedBalance, findCustomers, listBalanceDifferences } from './balances-queries.ts'
import { eachSpan } from '../../platform/checks/pages.ts'

/** Customers whose documents and entries are summed at once: as many as need no more memory than a sort has. */
const CUSTOMERS_AT_ONCE = 2000

/**
 * Running totals of customers, from both sides. Rule: receivable is what is open of issued invoices that are not cancelled and of positive
 * adjustments, pending money counted as given; unapplied is what is not allocated of payments that have not failed and of negative
 * adjustments; clearing is what pending payments come to; and each is what the ledger's entries come to.
 */
export const balances: Check = {
  name: 'customer totals',
  async run(tx, report, reading) {
    let after = -1n
    const mostMembers = await findMostMembers(tx, tx.account)
    const look = async (from: bigint, upTo: bigint | null) => {
      const span = { after: from, upTo }
      for (const row of await listBalanceDifferences(tx, tx.account, span, mostMembers)) checkBalance(row, report)
      after = upTo ?? after
      return 0
    }
    const customers = await eachSpan(
      reading,
      (last, limit) => findCustomers(tx, tx.account, last, limit),
      // What lies between the customers of two spans is looked at too, but not what another night looks at.
      (span) => look(reading.part === undefined ? after : span.after, span.upTo),
      CUSTOMERS_AT_ONCE,
    )
    // Beyond the last customer nothing may be: no foreign key keeps totals to customers that are there.
    if (reading.part === undefined) await look(after, null)
    return customers
  },
}

function checkBalance(row: CheckedBalance, report: Report): void {
  const { customerId, currency } = row
  const amount = (what: string, storedMinor: bigint, expectedMinor: bigint) => {
    if (storedMinor === expectedMinor) return
    const stored = amountText(storedMinor, currency)
    report({
      customerId,
      recordType: 'customer',
      recordId: customerId,
      what,
      stored,
      expected: amountText(expectedMinor, currency),
    })
  }
  amount('receivable', row.receivable, row.receivableOpen)
  amount('receivable by its ledger entries', row.receivable, row.receivablePosted)
  amount('unapplied', row.unapplied, row.unappliedOpen)
  amount('unapplied by its ledger entries', row.unapplied, row.unappliedPosted)
  amount('clearing', row.clearing, row.clearingOpen)
  amount('clearing by its ledger entries', row.clearing, row.clearingPosted)
}
