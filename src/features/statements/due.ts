import { dueKind } from '../billing-run/due-kind.ts'
import { dueStatementDays, listDueStatements } from '../customers/statement-due-queries.ts'
import { applyStatements, planStatement } from './automatic.ts'

/** Customers whose automatic statement is due on a day. A forecast is of what would be billed, and leaves statements out. */
export const statementsDue = dueKind({
  ...dueStatementDays,
  recordType: 'statement',
  listDue: listDueStatements,
  planner: async () => planStatement,
  apply: applyStatements,
})
