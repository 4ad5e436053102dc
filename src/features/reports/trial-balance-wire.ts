import { described } from '../../platform/wire/described.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { LEDGER_ACCOUNTS } from '../../engine/money/postings.ts'
import { amountColumn, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outText, outWord } from '../../platform/wire/write.ts'
import { amountCell, type CsvColumn, textCell } from './csv.ts'
import type { TrialBalanceRow } from './trial-balance-queries.ts'

const closingOf = ({ openingMinor, debitMinor, creditMinor }: TrialBalanceRow): bigint =>
  openingMinor + debitMinor - creditMinor

export const trialBalanceShape = recordShape<TrialBalanceRow>()('TrialBalanceRow', {
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Account: [described(outWord(LEDGER_ACCOUNTS), 'The ledger account.'), ({ ledgerAccount }) => ledgerAccount],
  TaxName: [
    orNull(outText({ description: 'Tax of the account tax; null of any other account' })),
    ({ taxName }) => taxName,
  ],
  GLCode: [
    orNull(
      outText({
        description:
          "Code of the account in the accountant's chart; of a tax that of its rules. Null where none is set, or where the rules of a tax have several",
      }),
    ),
    ({ glCode }) => glCode,
  ],
  Opening: amountColumn(({ openingMinor }) => openingMinor, 'Debits less credits before the period'),
  Debit: amountColumn(({ debitMinor }) => debitMinor, 'Sum of the debits of the period'),
  Credit: amountColumn(({ creditMinor }) => creditMinor, 'Sum of the credits of the period'),
  Closing: amountColumn(closingOf, 'Opening plus Debit less Credit: the balance of the ledger on the last day'),
})

export const trialBalanceCsv: readonly CsvColumn<TrialBalanceRow>[] = [
  ['CurrencyCode', ({ currency }) => textCell(currency)],
  ['Account', ({ ledgerAccount }) => textCell(ledgerAccount)],
  ['TaxName', ({ taxName }) => textCell(taxName)],
  ['GLCode', ({ glCode }) => textCell(glCode)],
  ['Opening', amountCell(({ openingMinor }) => openingMinor)],
  ['Debit', amountCell(({ debitMinor }) => debitMinor)],
  ['Credit', amountCell(({ creditMinor }) => creditMinor)],
  ['Closing', amountCell(closingOf)],
]
