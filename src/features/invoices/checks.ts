import { amountText } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import {
  listChargeIdsTwice,
  listComputedShapes,
  listOrphanCharges,
  listOrphanTaxes,
  listShapePage,
  listTaxIdsTwice,
  listUninvoicedCharges,
} from './checks-queries.ts'
import { checkCharge } from './group-by-facts.ts'

/** Shapes of invoices are what they were when they were kept, and each invoice that refers to one has it whole and alone. */

export const shapes: Check = {
  name: 'shapes of invoices',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listShapePage(tx, tx.account, after, limit),
      async (page) => {
        const computed = await listComputedShapes(
          tx,
          tx.account,
          page.map(({ id }) => id),
        )
        const byId = new Map(computed.map((shape) => [shape.id, shape]))
        for (const { id, hash, charges, taxes } of page) {
          const should = byId.get(id)
          const about = { recordType: 'shape', recordId: id } as const
          if (should?.charges !== charges || should.taxes !== taxes)
            report({
              ...about,
              what: 'lines and taxes',
              stored: `${charges} and ${taxes}`,
              expected: `${should?.charges ?? 0} and ${should?.taxes ?? 0}, which are there`,
            })
          else if (should.hash !== hash)
            report({ ...about, what: 'hash', stored: hash, expected: `${should.hash}, which its lines and taxes make` })
        }
      },
    ),
}

/** No identifier of a line or a tax is given twice: those of an invoice with a shape are a stretch of its own. */
export const lineIdentifiers: Check = {
  name: 'identifiers of lines',
  isAtOnce: true,
  async run(tx, report, reading) {
    let found = 0
    for (const [what, list] of [
      ['charge', listChargeIdsTwice],
      ['tax', listTaxIdsTwice],
    ] as const) {
      reading.goOn()
      const twice = await list(tx, tx.account)
      found += twice.length
      for (const { invoiceId, last, next } of twice)
        report({
          recordType: 'invoice',
          recordId: invoiceId ?? 0n,
          what: `identifier of its last ${what}`,
          stored: String(last),
          expected: `less than ${next}, which is another ${what}`,
        })
    }
    return found
  },
}

/** Charges on no invoice were billed at 0.00, or a correction downward that turned into a credit note; they have no tax. */
export const zeroCharges: Check = {
  name: 'charges without an invoice',
  run: eachRecord(listUninvoicedCharges, ({ currency, customerId, ...charge }, report) => {
    checkCharge(charge, { customerId, currency, report })
    const about = { customerId, recordType: 'charge', recordId: charge.id } as const
    if (charge.netMinor > 0n)
      report({ ...about, what: 'invoice', stored: 'none', expected: 'one, for its amount is above 0' })
    if (charge.grossMinor !== charge.netMinor)
      report({
        ...about,
        what: 'amount with tax',
        stored: amountText(charge.grossMinor, currency),
        expected: amountText(charge.netMinor, currency),
      })
  }),
}

/** Lines and taxes belong to an invoice that is there; for the sake of speed no foreign key ensures it. */
export const orphans: Check = {
  name: 'lines of invoices',
  isAtOnce: true,
  async run(tx, report, reading) {
    const charges = await eachRecord(listOrphanCharges, reportOrphan)(tx, report, reading)
    return charges + (await eachRecord(listOrphanTaxes, reportOrphanTax)(tx, report, reading))
  },
}

const reportOrphan = ({ id, of }: { id: Id; of: Id | null }, report: Report): void =>
  report({
    recordType: 'charge',
    recordId: id,
    what: of === null ? 'subscription' : 'invoice',
    stored: of === null ? 'one that is not there' : String(of),
    expected: 'one that exists',
  })

const reportOrphanTax = ({ of }: { of: Id }, report: Report): void =>
  report({
    recordType: 'invoice',
    recordId: of,
    what: 'a tax',
    stored: `of invoice ${of}`,
    expected: 'of an invoice that exists',
  })
