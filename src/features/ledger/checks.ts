import { LEDGER_ACCOUNTS, LEDGER_EVENTS, LEDGER_RECORD_TYPES } from '../../engine/money/postings.ts'
import { amountText } from '../../kernel/currencies.ts'
import { type Check, eachRecord } from '../../platform/checks/difference.ts'
import { listDayDifferences, listMalformedEntries } from './checks-queries.ts'

const KNOWN = { words: LEDGER_ACCOUNTS, types: LEDGER_RECORD_TYPES, events: LEDGER_EVENTS }

/** Entries that no constraint would let in, had nobody lifted it: each has an amount, two different sides, and words that are known. */
export const entriesBalance: Check = {
  name: 'ledger balance',
  isAtOnce: true,
  run: eachRecord(
    (tx, account, after, limit) => listMalformedEntries(tx, account, after, KNOWN, limit),
    ({ id, customerId, event, debit, credit, amountMinor, currency }, report) =>
      report({
        customerId,
        recordType: 'ledger_entry',
        recordId: id,
        what: `entry ${event}`,
        stored: `${debit} → ${credit} ${amountText(amountMinor, currency)}`,
        expected: 'an amount above 0 from one account to another',
      }),
  ),
}

/** Sums of the ledger by day, from which reports are read: each is what the entries below their mark come to. */
export const ledgerDays: Check = {
  name: 'ledger days',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listDayDifferences(tx, tx.account)
    for (const { dated, currency, debit, credit, taxName, storedMinor, postedMinor } of differences)
      report({
        recordType: 'account',
        recordId: tx.account,
        what: `sum of ${dated}, ${debit} → ${credit}${taxName === null ? '' : ` ${taxName}`},`,
        stored: amountText(storedMinor, currency),
        expected: amountText(postedMinor, currency),
      })
    return differences.length
  },
}
