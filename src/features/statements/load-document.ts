import type { IsoDate } from '../../kernel/calendar.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Customer } from '../customers/queries.ts'
import type { StatementDocument } from '../documents/document.ts'
import { loadHead } from '../documents/load-head.ts'
import { type CustomerStatement, statementOf } from './make.ts'
import { listCurrenciesOf } from './queries.ts'

/** Statements as documents: a section for each currency in which something moved or is owed, the customer's own first. */

type Period = { from: IsoDate; to: IsoDate }

const hasSomething = ({ lines, openingMinor, closingMinor }: CustomerStatement): boolean =>
  lines.length > 0 || openingMinor !== 0n || closingMinor !== 0n

/**
 * Loads the sections of a customer's statement; the first may be empty of movements and balances, the others are not. `db` reads one
 * snapshot. Throws a Fault (400) where they have more than `movementsMax` movements together.
 */
async function sectionsOf(
  db: Queryable,
  { account, moment: { now } }: Pick<RequestContext, 'account' | 'moment'>,
  customer: Pick<Customer, 'id' | 'currency'>,
  period: Period,
  movementsMax?: number,
): Promise<CustomerStatement[]> {
  const held = (await listCurrenciesOf(db, account.id, customer.id)).map(({ currency }) => currency)
  const currencies = [customer.currency, ...held.filter((currency) => currency !== customer.currency)]
  const sections: CustomerStatement[] = []
  let left = movementsMax
  for (const currency of currencies) {
    const section = await statementOf(db, account.id, customer.id, currency, { ...period, now }, left)
    if (left !== undefined) left -= section.lines.length
    sections.push(section)
  }
  const shown = sections.filter(hasSomething)
  return shown.length > 0 ? shown : sections.slice(0, 1)
}

/**
 * Loads a customer's statement of some days with the parties as they are now, and whether it has anything to show. Throws a Fault (400)
 * where it has more than `movementsMax` movements.
 */
export async function loadStatementDocument(
  db: Queryable,
  context: Pick<RequestContext, 'account' | 'moment'>,
  customer: Pick<Customer, 'id' | 'currency' | 'reference'>,
  period: Period,
  movementsMax?: number,
): Promise<{ document: StatementDocument; isEmpty: boolean }> {
  const sections = await sectionsOf(db, context, customer, period, movementsMax)
  const head = await loadHead(db, context, customer.id, null)
  return {
    document: { ...head, customerReference: customer.reference, ...period, sections },
    isEmpty: !sections.some(hasSomething),
  }
}
