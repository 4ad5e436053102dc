import { assert } from '../../kernel/assert.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { OfMany, Transaction } from '../../platform/database/database.ts'
import type { Refusals } from '../../platform/database/failures.ts'
import { arrayLiteral, jsonRows, namesOf, sql } from '../../platform/database/sql.ts'
import { type CustomerInput, CUSTOMER_FIELD_NAMES, CUSTOMER_FIELDS } from './fields.ts'

/** Statements that add customers, several at once where their requests share a transaction. */

/** A customer under the identifier that was drawn for it, as it is added. */
export interface NewCustomer extends CustomerInput {
  id: CustomerId
  createdAt: Instant
  statementDueOn: IsoDate | null
}

const drawing: OfMany<string | null> = (account, currencies) => sql`
    with held as materialized (
      select currency from account_currencies
       where account_id = ${account} and currency = any (${arrayLiteral([...new Set(currencies)])}::text[]) for key share)
    select nextval('customers_customer_id_seq') as "id", w.currency in (select currency from held) as "isHeld"
      from unnest(${arrayLiteral(currencies)}::text[]) as w(currency)`

/**
 * Draws the identifier of a new customer, so that all that adding it causes can be written without waiting. Keeps its currency from being deleted until the
 * commit; `isHeld` is false where the account does not have it.
 */
export async function drawCustomer(
  tx: Transaction,
  currency: string | null,
): Promise<{ id: CustomerId; isHeld: boolean | null }> {
  const [drawn] = await tx.grouped<string | null, { id: CustomerId; isHeld: boolean | null }>(drawing, [currency])
  assert(drawn, 'a customer has an identifier')
  return drawn
}

const SET_NAMES = namesOf(CUSTOMER_FIELD_NAMES.map((name) => CUSTOMER_FIELDS[name].column).join(', '))
const SET_TYPES = namesOf(
  CUSTOMER_FIELD_NAMES.map((name) => `${CUSTOMER_FIELDS[name].column} ${CUSTOMER_FIELDS[name].type}`).join(', '),
)

/** Returns a customer as the insert reads it, by the names of columns. */
function asRow(c: NewCustomer): object {
  const row: Record<string, unknown> = {
    customer_id: c.id,
    created_at: c.createdAt,
    statement_due_on: c.statementDueOn,
  }
  for (const name of CUSTOMER_FIELD_NAMES) row[CUSTOMER_FIELDS[name].column] = c[name]
  return row
}

const insertion: OfMany<NewCustomer> = (account, customers) => sql`
    insert into customers (account_id, customer_id, created_at, statement_due_on, ${SET_NAMES})
    select ${account}, r.* from json_to_recordset(${jsonRows(customers.map(asRow))}::json)
      as r(customer_id bigint, created_at timestamptz, statement_due_on date, ${SET_TYPES}) returning 1`

/** Adds a customer, without waiting. */
export const sendCustomer = (tx: Transaction, customer: NewCustomer, refusals: Refusals): void =>
  tx.sendGrouped(insertion, [customer], refusals)
