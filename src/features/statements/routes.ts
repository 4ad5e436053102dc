import { invalid } from '../../kernel/fault.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { unknownCustomer } from '../customers/actions.ts'
import { findCustomer } from '../customers/queries.ts'
import { balancesOf, statementOf } from './make.ts'
import { CustomerBalancesOut, currencyBalanceToWire, StatementOut, StatementQuery, statementToWire } from './wire.ts'

const tag = 'Customers'

export const statementOperations = (): Operation[] => [
  readOperation({
    id: 'listCustomerBalances',
    method: 'GET',
    path: '/v1/customers/{customerID}/balances',
    tag,
    summary: 'What a customer owes, by currency and age',
    success: { status: 200, schema: CustomerBalancesOut.schema },
    read: async (db, { account, moment }, { params }) => {
      const id = pathId(params, 'customerID', unknownCustomer)
      const customer = await findCustomer(db, account.id, id)
      if (!customer) throw unknownCustomer(id)
      const balances = await balancesOf(db, account.id, customer, moment.today)
      return { status: 200, body: CustomerBalancesOut.write(balances.map(currencyBalanceToWire)) }
    },
  }),
  readOperation({
    id: 'getStatement',
    method: 'GET',
    path: '/v1/customers/{customerID}/statement',
    tag,
    summary: 'A statement of some days, both included',
    query: StatementQuery,
    success: { status: 200, schema: StatementOut.schema },
    read: async (db, { account, moment }, { params, query }) => {
      const id = pathId(params, 'customerID', unknownCustomer)
      const customer = await findCustomer(db, account.id, id)
      if (!customer) throw unknownCustomer(id)
      const to = query.to ?? moment.today
      const from = query.from ?? `${moment.today.slice(0, 8)}01`
      if (from > to) throw invalid('dates_reversed', `from ${from} is after to ${to}.`, 'from')
      const statement = await statementOf(db, account.id, id, query.currency ?? customer.currency, { from, to })
      return { status: 200, body: StatementOut.write(statementToWire(statement, account.timeZone)) }
    },
  }),
]
