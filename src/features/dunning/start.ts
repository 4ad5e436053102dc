import { later } from '../../kernel/calendar.ts'
import type { AfterIssue } from '../invoices/issue.ts'
import { insertDunning } from './queries.ts'
import { getCollectionRules } from './rules-queries.ts'

/**
 * Begins the dunning of invoices that were just issued: of those that are tried, and of the others where the rules act on untried ones too.
 * Rule: the first step is wanted on DueDate, or on the day of issue when that is later. What is debited by a bank is looked at from its issue
 * on, because it enters a batch some days ahead.
 */
export const startDunning: AfterIssue = async (tx, { moment }, { invoices }) => {
  const isTried = ({ collectionMethod }: { collectionMethod: string }) =>
    collectionMethod === 'credit_card' || collectionMethod === 'debit_order'
  const others = invoices.some((invoice) => !isTried(invoice))
  const includesOthers = others && (await getCollectionRules(tx, tx.account)).untriedSince !== null
  const begun = includesOthers ? invoices : invoices.filter(isTried)
  if (begun.length === 0) return
  await insertDunning(
    tx,
    begun.map(({ id, customerId, dueDate, collectionMethod }) => ({
      invoiceId: id,
      customerId,
      wantedOn: later(dueDate, moment.today),
      looksOn: collectionMethod === 'debit_order' ? moment.today : later(dueDate, moment.today),
    })),
  )
}
