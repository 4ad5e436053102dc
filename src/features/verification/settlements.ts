import {
  settleAmount,
  settleGivenBack,
  settleLines,
  type Settling,
  type SettlingInvoice,
} from '../../engine/money/settle.ts'
import type { TaxAmount } from '../../engine/money/postings.ts'
import { amountText } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { listPostedInvoiceTaxes, listSettlements, type StoredSettlement } from './expected-postings-queries.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import {
  type CheckedSettlement,
  type EndedSettlement,
  listEndedWrong,
  listInvoicesSettledWrong,
  listNotesSettledWrong,
  listOverRelieved,
  listSettlementPage,
  type SettledSum,
} from './settlements-queries.ts'

/**
 * Settlements follow from the facts kept with them, join a note and an invoice that belong together, and come to no more than either; a relief
 * also to no more than the bad debt allocated to its invoice. Old ones are held against their entries alone, ended ones against the day of theirs.
 */
export const settlements: Check = {
  name: 'settlements',
  async run(tx, report, reading) {
    const count = await eachPage(
      reading,
      (after, limit) => listSettlementPage(tx, tx.account, after, limit),
      (page) => checkPage(tx, page, report),
    )
    const sums = [
      ['credit_note', listNotesSettledWrong],
      ['invoice', listInvoicesSettledWrong],
    ] as const
    for (const [recordType, list] of sums)
      await eachRecord(list, (row, report) => reportSum(recordType, row, report))(tx, report, reading)
    await eachRecord(listOverRelieved, reportRelieved)(tx, report, reading)
    await eachRecord(listEndedWrong, reportEnded)(tx, report, reading)
    return count
  },
}

const reportSum = (
  recordType: 'credit_note' | 'invoice',
  { id, customerId, currency, settledMinor, amountMinor }: SettledSum,
  report: Report,
): void =>
  report({
    customerId,
    recordType,
    recordId: id,
    what: 'what is settled of it',
    stored: amountText(settledMinor, currency),
    expected: `at most, and of a note made for an invoice exactly, ${amountText(amountMinor, currency)}`,
  })

const reportRelieved = ({ id, customerId, currency, settledMinor, amountMinor }: SettledSum, report: Report): void =>
  report({
    customerId,
    recordType: 'negative_adjustment',
    recordId: id,
    what: 'what is relieved of it for an invoice',
    stored: amountText(settledMinor, currency),
    expected: `at most ${amountText(amountMinor, currency)}, which is allocated there`,
  })

const reportEnded = (
  { id, customerId, currency, endedOn, taxMinor, backMinor }: EndedSettlement,
  report: Report,
): void =>
  report({
    customerId,
    recordType: 'settlement',
    recordId: id,
    what: 'end',
    stored: `${amountText(backMinor, currency)} back on ${endedOn} in the ledger`,
    expected: amountText(taxMinor, currency),
  })

async function checkPage(tx: Transaction, page: readonly CheckedSettlement[], report: Report): Promise<void> {
  const ids = page.map(({ id }) => id)
  const rows = new Map((await listSettlements(tx, tx.account, ids)).map((row) => [row.id, row]))
  const invoiceIds = [...new Set(page.map(({ invoiceId }) => invoiceId))]
  const taxes = groupBy(await listPostedInvoiceTaxes(tx, tx.account, invoiceIds), ({ id }) => id)
  for (const checked of page) {
    const row = rows.get(checked.id) as StoredSettlement
    checkJoined(checked, row, report)
    if (!row.isOld) checkFacts(checked, row, taxes.get(checked.invoiceId) ?? [], report)
  }
}

/**
 * Rule: note and invoice are of one customer and currency, the invoice is owed, and a note of the service settles the invoice it was made for.
 * Of a settlement that ended the note may be gone, or have another currency, and the invoice cancelled.
 */
function checkJoined(checked: CheckedSettlement, { basis, endedOn }: StoredSettlement, report: Report): void {
  if (endedOn !== null) return
  const { customerId, noteKind, noteInvoiceId, invoiceId } = checked
  const currency = String(checked.currency)
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'settlement', recordId: checked.id, what, stored, expected })
  if (checked.noteCustomerId !== customerId || checked.invoiceCustomerId !== customerId)
    text('customer', String(customerId), `${checked.noteCustomerId}, of its note and of its invoice`)
  if (checked.invoiceCurrency !== currency)
    text('currency', currency, `that of its invoice, ${checked.invoiceCurrency}`)
  if (!checked.isInvoiceOwed) text('invoice', String(invoiceId), 'one that is issued and not cancelled')
  if (noteInvoiceId !== null && noteInvoiceId !== invoiceId)
    text('invoice', String(invoiceId), `that of its note, ${noteInvoiceId}`)
  if ((noteKind === 'bad_debt') !== (basis === 'relief')) text('basis', basis, `that of a ${noteKind}`)
  if (noteInvoiceId === null && basis === 'given_back')
    text('basis', basis, 'amount or lines, for a caller made its note')
}

/** Computes the taxes again from what was settled before. */
function checkFacts(
  { id, customerId, invoiceCurrency: currency, invoiceTotalMinor }: CheckedSettlement,
  { taxes, amountMinor, settledBeforeMinor, basis }: StoredSettlement,
  ofInvoice: readonly (TaxAmount & { id: Id })[],
  report: Report,
): void {
  const about = { customerId, recordType: 'settlement', recordId: id } as const
  if (taxes.length !== ofInvoice.length) {
    const expected = `${ofInvoice.length}, as its invoice has`
    return report({ ...about, what: 'taxes', stored: String(taxes.length), expected })
  }
  const invoice: SettlingInvoice = {
    totalMinor: invoiceTotalMinor,
    settledMinor: settledBeforeMinor ?? 0n,
    taxes: ofInvoice.map((tax, place) => ({ ...tax, settledMinor: taxes[place]!.settledBeforeMinor ?? 0n })),
  }
  const again = AGAIN[basis](invoice, amountMinor, amountMinor - sumMinor(taxes))
  again.taxes.forEach((tax, place) => {
    const stored = taxes[place]!
    if (stored.amountMinor === tax.amountMinor && labelOf(stored) === labelOf(tax)) return
    report({
      ...about,
      what: `tax ${tax.name} at ${decimalText(tax.rate)}`,
      stored: `${amountText(stored.amountMinor, currency)} ${labelOf(stored)}`,
      expected: `${amountText(tax.amountMinor, currency)} ${labelOf(tax)}`,
    })
  })
}

/** Settlements anew from what was settled before, by gross and net amount. */
const AGAIN: Record<
  StoredSettlement['basis'],
  (invoice: SettlingInvoice, grossMinor: bigint, netMinor: bigint) => Settling
> = {
  amount: settleAmount,
  relief: settleAmount,
  lines: (invoice, _gross, netMinor) => settleLines(invoice, netMinor),
  given_back: (invoice, _gross, netMinor) => settleGivenBack(invoice, netMinor),
}

const labelOf = ({ name, taxNumber }: TaxAmount): string => (taxNumber === null ? name : `${name} (${taxNumber})`)
