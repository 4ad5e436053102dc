import { introduced } from '../../platform/http/tags.ts'
import { invalid } from '../../kernel/fault.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import { writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { checkDates } from '../../platform/http/query.ts'
import { LEDGER } from './packed.ts'
import {
  countEntries,
  type EntryFilter,
  findCustomerOfRecord,
  listBalances,
  listEntries,
  listNumbered,
} from './read-queries.ts'
import { BalanceQuery, balanceShape, entryFilters, entryShape, eventOfWord } from './wire.ts'

const tag = introduced(
  'Ledger',
  'The double-entry ledger that every change of money writes; entries are never changed or deleted.',
)

/** Returns the record that a query names. Throws 400 where it names its type or its identifier alone. */
function recordOf({ RecordType: type, RecordID: id }: BodyOf<typeof entryFilters>): EntryFilter['record'] {
  if (type != null && id != null) return { type, id }
  if (type != null) throw invalid('required', 'RecordID is required where RecordType is given.', 'RecordID')
  if (id != null) throw invalid('required', 'RecordType is required where RecordID is given.', 'RecordType')
  return null
}

export const ledgerOperations = (): Operation[] => [
  listOperation({
    id: 'listLedgerEntries',
    hasStrictQuery: true,
    path: '/v1/ledger/entries',
    tag,
    summary: 'List the entries of the double-entry ledger, oldest first; none of them ever changes',
    out: entryShape,
    filters: entryFilters,
    filterOf: async (query, { account }, db): Promise<EntryFilter> => {
      checkDates(query, 'from', 'to')
      const record = recordOf(query)
      const { Account: ledgerAccount, Event, Number: number } = query
      return {
        // Entries of a record are those of its customer, who has an index.
        customerId: query.customerID ?? (record ? await findCustomerOfRecord(db, account.id, record) : null),
        from: query.from ?? null,
        to: query.to ?? null,
        ledgerAccount,
        event: Event ? eventOfWord(Event) : null,
        record,
        numbered: number == null ? null : await listNumbered(db, account.id, number),
      }
    },
    blocks: LEDGER,
    rows: listEntries,
    count: countEntries,
  }),
  readOperation({
    id: 'listLedgerBalances',
    hasStrictQuery: true,
    isExpensive: true,
    path: '/v1/ledger/balances',
    tag,
    summary: 'Read the balances of the ledger accounts, up to a day or altogether',
    query: BalanceQuery,
    success: { status: 200, schema: balanceShape.list.schema },
    read: async (db, context, { query }) => {
      const balances = await listBalances(db, context.account.id, query.date ?? null)
      return { status: 200, body: balanceShape.list.write(balances, writingOf(context)) }
    },
  }),
]
