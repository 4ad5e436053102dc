import type { Check } from './difference.ts'
import {
  countIssuedInvoices,
  listEventsDifferences,
  listEventsTwice,
  listMailsDifferences,
} from './issued-events-queries.ts'

/** The kinds of rows, and what each is compared in. */
const UNLIKE = [
  { list: listEventsDifferences, what: 'events of it and those issued with it' },
  { list: listMailsDifferences, what: 'events of mails with it and the 255 after it' },
]

/**
 * Events of invoices that share rows: each row is that of invoices which are there, no identifier is given twice, and there is one event of its issue for each
 * invoice. Events of mails name invoices that were issued.
 */
export const issuedEvents: Check = {
  name: 'events of invoices',
  isAtOnce: true,
  async run(tx, report, reading) {
    let checked = 1
    for (const { list, what } of UNLIKE) {
      reading.goOn()
      for (const { firstInvoiceId, events, invoices } of await list(tx, tx.account)) {
        checked += 1
        report({
          customerId: null,
          recordType: 'invoice',
          recordId: firstInvoiceId,
          what,
          stored: String(events),
          expected: String(invoices),
        })
      }
    }
    reading.goOn()
    const twice = await listEventsTwice(tx, tx.account)
    for (const { firstInvoiceId, last, next } of twice)
      report({
        customerId: null,
        recordType: 'invoice',
        recordId: firstInvoiceId,
        what: 'last event of those issued with it',
        stored: String(last),
        expected: `less than ${next}, which is another event`,
      })
    reading.goOn()
    const { invoices, events } = await countIssuedInvoices(tx, tx.account)
    if (invoices !== events)
      report({
        customerId: null,
        recordType: 'account',
        recordId: tx.account,
        what: 'events of issued invoices',
        stored: String(events),
        expected: String(invoices),
      })
    return checked + twice.length
  },
}
