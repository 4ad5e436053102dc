import { amountText } from '../../kernel/currencies.ts'
import type { Check } from './difference.ts'
import { listDayDifferences } from './ledger-days-queries.ts'

/** Sums of the ledger by day, from which reports are read: each is what the entries below their mark come to. */
export const ledgerDays: Check = {
  name: 'ledger days',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listDayDifferences(tx, tx.account)
    for (const { dated, currency, debit, credit, taxName, storedMinor, postedMinor } of differences)
      report({
        customerId: null,
        recordType: 'account',
        recordId: tx.account,
        what: `sum of ${dated}, ${debit} → ${credit}${taxName === null ? '' : ` ${taxName}`},`,
        stored: amountText(storedMinor, currency),
        expected: amountText(postedMinor, currency),
      })
    return differences.length
  },
}
