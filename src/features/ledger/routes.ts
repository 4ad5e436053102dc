import type { IsoDate } from '../../kernel/calendar.ts'
import { invalid } from '../../kernel/fault.ts'
import { wantsForm } from '../../platform/http/media.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { countList, listAnswer, pageStart, startOf } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { countEntries, listBalances, listEntries, listTaxesOfPeriod } from './read-queries.ts'
import {
  BalanceQuery,
  BalancesOut,
  balanceToWire,
  EntriesOut,
  EntryQuery,
  entryToWire,
  TaxQuery,
  TaxReportOut,
  taxesAsCsv,
  taxToWire,
} from './wire.ts'

const tag = 'Ledger'

function checkPeriod(from: IsoDate | null, to: IsoDate | null): void {
  if (from !== null && to !== null && from > to)
    throw invalid('dates_reversed', `from ${from} is after to ${to}.`, 'from')
}

export const ledgerOperations = ({ publicUrl }: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listLedgerEntries',
    method: 'GET',
    path: '/v1/ledger/entries',
    tag,
    summary: 'List the entries of the double-entry ledger, oldest first; none of them ever changes',
    query: EntryQuery,
    success: { status: 200, schema: EntriesOut.schema },
    read: async (db, { account }, { query, url }) => {
      const filter = { customerId: query.customerID ?? null, from: query.from ?? null, to: query.to ?? null }
      checkPeriod(filter.from, filter.to)
      const page = pageOf(query)
      const isWhole = filter.customerId === null && filter.from === null && filter.to === null
      const start = isWhole ? await pageStart(db, account.id, 'ledger_entries', page) : startOf(page)
      const rows = await listEntries(db, account.id, filter, start, page.size + 1)
      const count = () => (isWhole ? countList(db, account.id, 'ledger_entries') : countEntries(db, account.id, filter))
      return listAnswer(
        { rows, page, url, count },
        (some) => EntriesOut.write(some.map((entry) => entryToWire(entry, account.timeZone))),
        publicUrl,
      )
    },
  }),
  readOperation({
    id: 'listLedgerBalances',
    isExpensive: true,
    method: 'GET',
    path: '/v1/ledger/balances',
    tag,
    summary: 'Balances of the ledger accounts, up to a day or altogether',
    query: BalanceQuery,
    success: { status: 200, schema: BalancesOut.schema },
    read: async (db, { account }, { query }) => {
      const balances = await listBalances(db, account.id, query.date ?? null)
      return { status: 200, body: BalancesOut.write(balances.map(balanceToWire)) }
    },
  }),
  readOperation({
    id: 'getTaxReport',
    isExpensive: true,
    method: 'GET',
    path: '/v1/reports/tax',
    tag,
    summary: 'Taxes of a period: charged, taken back, net; as JSON or CSV',
    query: TaxQuery,
    success: { status: 200, schema: TaxReportOut.schema, media: ['text/csv'] },
    read: async (db, { account, moment }, { query, headers }) => {
      const to = query.to ?? moment.today
      const from = query.from ?? `${to.slice(0, 8)}01`
      checkPeriod(from, to)
      const taxes = await listTaxesOfPeriod(db, account.id, from, to)
      if (wantsForm('csv', 'text/csv', { format: query.format, accept: headers['accept'] }))
        return {
          status: 200,
          body: taxesAsCsv(taxes),
          contentType: 'text/csv; charset=utf-8',
          headers: { 'content-disposition': `attachment; filename="tax-${from}-${to}.csv"` },
        }
      return { status: 200, body: TaxReportOut.write(taxes.map(taxToWire)) }
    },
  }),
]
