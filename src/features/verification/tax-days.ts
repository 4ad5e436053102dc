import { amountText } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { Check } from '../../platform/checks/difference.ts'
import { type CheckedTaxDay, listTaxDayDifferences } from './tax-days-queries.ts'

/** Sums of what invoices of a day were taxed on, from which the report of taxes is read: each is what its invoices come to. */
export const taxDays: Check = {
  name: 'tax days',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listTaxDayDifferences(tx, tx.account)
    for (const day of differences) {
      const text = (base: bigint, output: bigint) =>
        `${amountText(output, day.currency)} on ${amountText(base, day.currency)}`
      report({
        recordType: 'account',
        recordId: tx.account,
        what: `tax of ${day.dated}, ${nameOf(day)},`,
        stored: text(day.storedBaseMinor, day.storedMinor),
        expected: text(day.baseMinor, day.outputMinor),
      })
    }
    return differences.length
  },
}

const nameOf = ({ name, rate, countryId }: CheckedTaxDay): string =>
  `${name === null || rate === null ? 'without tax' : `${name} at ${decimalText(rate)}`}${countryId === null ? '' : ` in country ${countryId}`}`
