import { recomputeCharge } from '../../engine/explain.ts'
import { isPackageKind } from '../../engine/subscription/coverage.ts'
import { digitsOf, amountText } from '../../kernel/currencies.ts'
import { multiply } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { roundToMinor } from '../../kernel/money.ts'
import type { Charge } from '../invoices/queries.ts'
import { factsOf } from '../invoices/wire.ts'
import { type Check, type Report } from './difference.ts'
import { eachPage } from './pages.ts'
import { listOrphanCharges, listOrphanTaxes, listUninvoicedCharges } from './charges-queries.ts'

/** Charges follow from their own facts: the days, the whole period, the price, the quantity and the brackets that are stored with them. */

export interface ChargeContext {
  customerId: Id
  currency: string
  report: Report
}

/** Checks the amount from the facts, and the price of the line times its quantity: both must be what is stored. */
export function checkCharge(charge: Charge, { customerId, currency, report }: ChargeContext): void {
  const { id, netMinor, from, until } = charge
  const about = { customerId, recordType: 'charge', recordId: id } as const
  if (from !== null && until !== null && from >= until) {
    report({ ...about, what: 'days', stored: `${from} until ${until}`, expected: 'at least one day' })
    return
  }
  const should = recomputeCharge(factsOf(charge, currency))
  const line = roundToMinor(multiply(charge.unitPrice, charge.quantity), digitsOf(currency))
  const amount = (what: string, storedMinor: bigint, expectedMinor: bigint) =>
    report({ ...about, what, stored: amountText(storedMinor, currency), expected: amountText(expectedMinor, currency) })
  if (should !== netMinor) amount('amount', netMinor, should)
  else if (line !== netMinor) amount('unit price × quantity', line, netMinor)
  if (isPackageKind(charge.kind) && charge.brackets !== null)
    report({ ...about, what: 'brackets', stored: 'some', expected: 'none, for a package has a price' })
}

/** Charges on no invoice were billed at 0.00, or a correction downward that turned into a credit note; they have no tax. */
export const zeroCharges: Check = {
  name: 'charges without an invoice',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listUninvoicedCharges(tx, tx.account, after, limit),
      (charges) => {
        for (const { currency, customerId, ...charge } of charges) {
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
        }
      },
    ),
}

/** Lines and taxes belong to an invoice that is there; for the sake of speed no foreign key ensures it. */
export const orphans: Check = {
  name: 'lines of invoices',
  isAtOnce: true,
  async run(tx, report, reading) {
    const charges = await eachPage(
      reading,
      (after, limit) => listOrphanCharges(tx, tx.account, after, limit),
      (rows) => {
        for (const { id, of } of rows)
          report({
            customerId: null,
            recordType: 'charge',
            recordId: id,
            what: of === null ? 'subscription' : 'invoice',
            stored: of === null ? 'one that is not there' : String(of),
            expected: 'one that exists',
          })
      },
    )
    const taxes = await eachPage(
      reading,
      (after, limit) => listOrphanTaxes(tx, tx.account, after, limit),
      (rows) => {
        for (const { of } of rows)
          report({
            customerId: null,
            recordType: 'invoice',
            recordId: of,
            what: 'a tax',
            stored: `of invoice ${of}`,
            expected: 'of an invoice that exists',
          })
      },
    )
    return charges + taxes
  },
}
