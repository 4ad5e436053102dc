import { groupBy } from '../../kernel/grouping.ts'
import { taxShares } from '../../engine/money/credit-tax.ts'
import {
  type LedgerRecordType,
  type Posting,
  postingsOfAllocation,
  postingsOfInvoice,
  postingsOfNegative,
  postingsOfPayment,
  postingsOfPositive,
  type TaxAmount,
} from '../../engine/money/postings.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listTaxTaking, listTaxesOfInvoices } from '../money/allocation-queries.ts'
import {
  type AllocationRecord,
  listAllocationRecords,
  listInvoiceRecords,
  listPostedInvoiceTaxes,
  listNegativeRecords,
  listPaymentRecords,
  listPositiveRecords,
  listTaxesOfNotes,
  type RecordTax,
} from './expected-queries.ts'

/** Entries that the ledger must have, computed again by the posting rules from the records alone. */

export interface Expected {
  customerId: CustomerId
  /** Null where no record has it any more. */
  currency: string | null
  postings: Posting[]
}

/** By identifier; records that are not there are left out. */
export type ExpectedOf = (tx: Transaction, ids: readonly Id[]) => Promise<Map<Id, Expected>>

const taxesBy = (rows: readonly RecordTax[]): Map<Id, RecordTax[]> => groupBy(rows, ({ id }) => id)

const mapOf = <Row extends { id: Id; customerId: CustomerId; currency: string | null }>(
  rows: readonly Row[],
  postingsOf: (row: Row) => Posting[],
): Map<Id, Expected> =>
  new Map(
    rows.map((row) => [row.id, { customerId: row.customerId, currency: row.currency, postings: postingsOf(row) }]),
  )

export const EXPECTED: Readonly<Record<LedgerRecordType, ExpectedOf>> = {
  async invoice(tx, ids) {
    const taxes = taxesBy(await listPostedInvoiceTaxes(tx, tx.account, ids))
    return mapOf(await listInvoiceRecords(tx, tx.account, ids), (row) =>
      postingsOfInvoice({
        id: row.id,
        issuedOn: row.isIssued ? row.dated : null,
        cancelledOn: row.cancelledOn,
        totalMinor: row.amountMinor,
        taxes: taxes.get(row.id) ?? [],
      }),
    )
  },
  payment: async (tx, ids) => mapOf(await listPaymentRecords(tx, tx.account, ids), postingsOfPayment),
  async negative_adjustment(tx, ids) {
    const taxes = taxesBy(await listTaxesOfNotes(tx, tx.account, ids))
    return mapOf(await listNegativeRecords(tx, tx.account, ids), (row) =>
      postingsOfNegative({ ...row, taxes: taxes.get(row.id) ?? [] }),
    )
  },
  positive_adjustment: async (tx, ids) => mapOf(await listPositiveRecords(tx, tx.account, ids), postingsOfPositive),
  async allocation(tx, ids) {
    const rows = await listAllocationRecords(tx, tx.account, ids)
    const shares = await sharesOf(tx, rows)
    return mapOf(rows, (row) => postingsOfAllocation({ ...row, taxes: shares.get(row.id) ?? [] }))
  },
}

/**
 * Returns the taxes that allocations of callers' credit notes take back: each share depends on all such allocations to the same invoice.
 */
async function sharesOf(tx: Transaction, rows: readonly AllocationRecord[]): Promise<Map<Id, TaxAmount[]>> {
  const taking = rows.filter((row) => row.givenKind === 'negative_adjustment' && row.owedKind === 'invoice')
  const invoiceIds = [...new Set(taking.map(({ owedId }) => owedId))]
  if (invoiceIds.length === 0) return new Map()
  const all = await listTaxTaking(tx, tx.account, invoiceIds)
  const byInvoice = groupBy(all, ({ owedId }) => owedId)
  const taxes = groupBy(await listTaxesOfInvoices(tx, tx.account, [...byInvoice.keys()]), ({ invoiceId }) => invoiceId)
  return new Map(
    [...byInvoice].flatMap(([invoiceId, allocations]) => {
      const own = taxes.get(invoiceId)
      return own ? [...taxShares({ totalMinor: own[0]!.totalMinor, taxes: own }, allocations)] : []
    }),
  )
}
