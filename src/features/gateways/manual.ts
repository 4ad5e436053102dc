import { cellText } from '../../kernel/text.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { minorText } from '../../kernel/money.ts'
import type { BatchToBuild, GatewayAdapter, LineToBuild } from './contract.ts'
import { MANUAL } from './facts.ts'

/**
 * A gateway without anybody behind it: batches leave as files, results come by file or by hand. It calls nobody, so there is nothing that could
 * fail, and no online check of bank accounts.
 */
export const manual: GatewayAdapter = {
  ...MANUAL,
  check: async () => ({ kind: 'accepted' }),
  buildBatch: async (_call, batch) => ({
    kind: 'built',
    file: { name: `batch-${batch.token}.csv`, mediaType: 'text/csv; charset=utf-8', bytes: Buffer.from(csvOf(batch)) },
  }),
}

const COLUMNS: readonly (readonly [string, (line: LineToBuild, batch: BatchToBuild) => string | null])[] = [
  ['Reference', ({ reference }) => reference],
  ['paymentID', ({ paymentId }) => String(paymentId)],
  ['ActionDate', (_line, { actionDate }) => actionDate],
  ['CurrencyCode', (_line, { currency }) => currency],
  ['Amount', ({ amountMinor }, { currency }) => minorText(amountMinor, digitsOf(currency))],
  ['Method', ({ kind }) => kind],
  ['AccountHolder', ({ accountHolder }) => accountHolder],
  ['Bank', ({ bank }) => bank],
  ['AccountType', ({ accountType }) => accountType],
  ['AccountNumber', ({ accountNumber }) => accountNumber],
  ['BranchCode', ({ branchCode }) => branchCode],
  ['RoutingNumber', ({ routingNumber }) => routingNumber],
  ['IBAN', ({ iban }) => iban],
  ['BIC', ({ bic }) => bic],
  ['MandateReference', ({ mandateReference }) => mandateReference],
  ['MandateDate', ({ mandateDate }) => mandateDate],
  ['Invoices', ({ invoiceNumbers }) => invoiceNumbers.join(', ')],
]

/** Writes a batch as CSV in UTF-8: a header, then a record for each line, each ended by CR LF (RFC 4180). */
const csvOf = (batch: BatchToBuild): string =>
  [
    COLUMNS.map(([name]) => name),
    ...batch.lines.map((line) => COLUMNS.map(([, valueOf]) => csvField(valueOf(line, batch) ?? ''))),
  ]
    .map((fields) => `${fields.join(',')}\r\n`)
    .join('')

/** Writes a field. Rule: an apostrophe stands before a text that a spreadsheet would take for a formula. */
export function csvField(text: string): string {
  const safe = cellText(text)
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
