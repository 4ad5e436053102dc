import { writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { wantsForm } from '../../platform/http/media.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { checkDates } from '../../platform/http/query.ts'
import { countEntries, type EntryFilter, listBalances, listEntries, listTaxesOfPeriod } from './read-queries.ts'
import { BalanceQuery, balanceShape, entryFilters, entryShape, taxesAsCsv, TaxQuery, taxShape } from './wire.ts'

const tag = 'Ledger'

export const ledgerOperations = (): Operation[] => [
  listOperation({
    id: 'listLedgerEntries',
    hasStrictQuery: true,
    path: '/v1/ledger/entries',
    tag,
    summary: 'List the entries of the double-entry ledger, oldest first; none of them ever changes',
    out: entryShape,
    filters: entryFilters,
    filterOf: (query): EntryFilter => {
      checkDates(query, 'from', 'to')
      return { customerId: query.customerID ?? null, from: query.from ?? null, to: query.to ?? null }
    },
    blocks: 'ledger_entries',
    rows: listEntries,
    count: countEntries,
  }),
  readOperation({
    id: 'listLedgerBalances',
    hasStrictQuery: true,
    isExpensive: true,
    method: 'GET',
    path: '/v1/ledger/balances',
    tag,
    summary: 'Balances of the ledger accounts, up to a day or altogether',
    query: BalanceQuery,
    success: { status: 200, schema: balanceShape.list.schema },
    read: async (db, context, { query }) => {
      const balances = await listBalances(db, context.account.id, query.date ?? null)
      return { status: 200, body: balanceShape.list.write(balances, writingOf(context)) }
    },
  }),
  readOperation({
    id: 'getTaxReport',
    hasStrictQuery: true,
    isExpensive: true,
    method: 'GET',
    path: '/v1/reports/tax',
    tag,
    summary: 'Taxes of a period: charged, taken back, net; as JSON or CSV',
    query: TaxQuery,
    success: { status: 200, schema: taxShape.list.schema, media: ['text/csv'] },
    read: async (db, context, { query, headers }) => {
      const to = query.to ?? context.moment.today
      const from = query.from ?? `${to.slice(0, 8)}01`
      checkDates({ from, to }, 'from', 'to')
      const taxes = await listTaxesOfPeriod(db, context.account.id, from, to)
      if (wantsForm('csv', 'text/csv', { format: query.format, accept: headers['accept'] }))
        return {
          status: 200,
          body: taxesAsCsv(taxes),
          contentType: 'text/csv; charset=utf-8',
          headers: { 'content-disposition': `attachment; filename="tax-${from}-${to}.csv"` },
        }
      return { status: 200, body: taxShape.list.write(taxes, writingOf(context)) }
    },
  }),
]
