import { readOperation } from '../../platform/http/operation.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { LEDGER_ACCOUNTS } from '../../engine/money/postings.ts'
import { amountColumn, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outText, outWord } from '../../platform/wire/write.ts'
import { trialBalance, type TrialBalanceRow } from './trial-balance-queries.ts'
import { answerOf, periodOf, REPORT } from './answer.ts'
import { PlainPeriodQuery } from './query.ts'

const closingOf = ({ openingMinor, debitMinor, creditMinor }: TrialBalanceRow): bigint =>
  openingMinor + debitMinor - creditMinor

const trialBalanceShape = recordShape<TrialBalanceRow>()('TrialBalanceRow', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Account: [outWord(LEDGER_ACCOUNTS, 'The ledger account.'), ({ ledgerAccount }) => ledgerAccount],
  TaxName: [orNull(outText('Tax of the account tax; null of any other account')), ({ taxName }) => taxName],
  GLCode: [
    orNull(
      outText(
        "Code of the account in the accountant's chart; of a tax that of its rules. Null where none is set, or where the rules of a tax have several",
      ),
    ),
    ({ glCode }) => glCode,
  ],
  Opening: amountColumn(({ openingMinor }) => openingMinor, 'Debits less credits before the period'),
  Debit: amountColumn(({ debitMinor }) => debitMinor, 'Sum of the debits of the period'),
  Credit: amountColumn(({ creditMinor }) => creditMinor, 'Sum of the credits of the period'),
  Closing: amountColumn(closingOf, 'Opening plus Debit less Credit: the balance of the ledger on the last day'),
})

export const trialBalanceReport = readOperation({
  ...REPORT,
  id: 'getTrialBalance',
  path: '/v1/reports/trialbalance',
  summary:
    'Read the trial balance of a period: each ledger account with its opening, debits, credits and closing, each column of which balances; as JSON or CSV',
  query: PlainPeriodQuery,
  success: { status: 200, schema: trialBalanceShape.list.schema, media: ['text/csv'] },
  read: async (db, context, asked) => {
    const period = await periodOf(db, context, asked.query)
    const file = `trial-balance-${period.from}-${period.to}`
    return answerOf(context, asked, file, trialBalance(db, period), trialBalanceShape)
  },
})
