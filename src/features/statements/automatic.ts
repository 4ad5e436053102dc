import { assert } from '../../kernel/assert.ts'
import { addDays, addMonths, firstOfNextMonth, type IsoDate } from '../../kernel/calendar.ts'
import { writingOf } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type DueStatement, moveStatementDays } from '../customers/statement-due-queries.ts'
import type { StatementDocument } from '../documents/document.ts'
import { insertLikeEvents } from '../events/queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { type DocumentMail, queueDocumentMails } from '../outbox/mail.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { statementMail } from '../outbox/money-templates.ts'
import { keptText } from './kept.ts'
import { insertStatements } from './kept-queries.ts'
import { loadStatementDocument } from './load-document.ts'
import { keptStatementShape } from './wire.ts'

/** Statements that make themselves on the first of a month, of the month before. */

export interface StatementPlan {
  customer: DueStatement
  from: IsoDate
  to: IsoDate
  state: { dueOn: IsoDate }
  invoices: readonly never[]
  renewals: 0
  ended: null
}

/** Rule: a statement covers the month before its day, and the next is due a month later. */
export const planStatement = (customer: DueStatement): StatementPlan => ({
  customer,
  from: addMonths(`${customer.dueOn.slice(0, 8)}01`, -1),
  to: addDays(`${customer.dueOn.slice(0, 8)}01`, -1),
  state: { dueOn: firstOfNextMonth(customer.dueOn) },
  invoices: [],
  renewals: 0,
  ended: null,
})

interface Made {
  plan: StatementPlan
  document: StatementDocument
}

/**
 * Makes the statements of locked customers, keeps them as they are sent and mails them where there is an Email. Rule: one without a
 * movement and with zero balances in every currency is left out; its month counts as done all the same.
 */
export async function applyStatements(
  tx: Transaction,
  context: IssueContext,
  plans: readonly StatementPlan[],
): Promise<void> {
  if (plans.length === 0) return
  const made: Made[] = []
  for (const plan of plans) {
    const { customer, from, to } = plan
    const { document, isEmpty } = await loadStatementDocument(tx, context, customer, { from, to })
    if (!isEmpty) made.push({ plan, document })
  }
  const mailed = new Set(made.map(({ plan }) => plan.customer.id))
  const moved = await moveStatementDays(
    tx,
    plans.map(({ customer: { id, dueOn }, state }) => ({
      id,
      wasDueOn: dueOn,
      dueOn: state.dueOn,
      sentOn: mailed.has(id) ? context.moment.today : null,
    })),
  )
  assert(moved === plans.length, 'statement days of locked customers are as they were read')
  if (made.length > 0) await keepAndSend(tx, context, made)
}

async function keepAndSend(tx: Transaction, context: IssueContext, made: readonly Made[]): Promise<void> {
  const { now } = context.moment
  const rows = made.map(({ plan: { customer, from, to }, document }) => ({
    customerId: customer.id,
    from,
    to,
    document: keptText(document),
  }))
  const ids = new Map((await insertStatements(tx, rows, now)).map(({ id, customerId }) => [customerId, id]))
  const idOf = ({ customer }: StatementPlan): Id => {
    const id = ids.get(customer.id)
    assert(id !== undefined, `the statement of customer ${customer.id} was kept`)
    return id
  }
  const writing = writingOf(context)
  const events = made.map(({ plan, document }) => {
    const { customer, from, to } = plan
    const kept = { id: idOf(plan), customerId: customer.id, from, to, createdAt: now, sections: document.sections }
    const record = keptStatementShape.write(kept, writing)
    return { recordId: kept.id, customerId: customer.id, record }
  })
  const common = { type: 'statement.created', happenedAt: now, actor: context.actor, reason: null } as const
  await insertLikeEvents(tx, common, events)
  await queueDocumentMails(
    tx,
    context,
    made.flatMap(({ plan, document }) => mailOf(plan, document, idOf(plan))),
  )
}

function mailOf({ customer, from, to }: StatementPlan, document: StatementDocument, id: Id): DocumentMail[] {
  if (customer.email === null) return []
  const customerName = customerNameOf(customer)
  const closing = document.sections.map(({ currency, closingMinor }) => ({ currency, closingMinor }))
  return [
    {
      customerId: customer.id,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: 'statement',
      document: { kind: 'statement', id },
      write: (sender) => statementMail({ ...sender, customerName, from, to, closing }),
    },
  ]
}
