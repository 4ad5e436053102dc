import { groupBy } from '../../kernel/grouping.ts'
import {
  type LedgerRecordType,
  type Posting,
  postingsOfAllocation,
  postingsOfInvoice,
  postingsOfNegative,
  postingsOfPayment,
  postingsOfPositive,
  postingsOfSettlement,
} from '../../engine/money/postings.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  listAllocationRecords,
  listInvoiceRecords,
  listPostedInvoiceTaxes,
  listNegativeRecords,
  listPaymentRecords,
  listPositiveRecords,
  listPostedNoteTaxes,
  listPostedRecoveries,
  listSettlements,
  listSettlementsUnder,
  type RecordTax,
  type StoredSettlement,
} from './expected-postings-queries.ts'

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
    const taxes = taxesBy(await listPostedNoteTaxes(tx, tx.account, ids))
    const recovered = groupBy(await listPostedRecoveries(tx, tx.account, ids), ({ id }) => id)
    return mapOf(await listNegativeRecords(tx, tx.account, ids), (row) =>
      postingsOfNegative({ ...row, taxes: taxes.get(row.id) ?? [], recovered: recovered.get(row.id) ?? [] }),
    )
  },
  positive_adjustment: async (tx, ids) => mapOf(await listPositiveRecords(tx, tx.account, ids), postingsOfPositive),
  async allocation(tx, ids) {
    const under = await settledPostings(tx, await listSettlementsUnder(tx, tx.account, ids), 'oldAllocationId')
    const made = mapOf(await listAllocationRecords(tx, tx.account, ids), postingsOfAllocation)
    for (const [id, own] of under)
      made.set(id, { ...own, postings: [...(made.get(id)?.postings ?? []), ...own.postings] })
    return made
  },
  settlement: async (tx, ids) =>
    settledPostings(
      tx,
      (await listSettlements(tx, tx.account, ids)).filter(({ isOld }) => !isOld),
      'id',
    ),
}

/**
 * Returns the entries of callers' settlements and of reliefs that stand, on their own or by the allocation under which they stand; those of the
 * service's notes are the notes'.
 */
async function settledPostings(
  tx: Transaction,
  settlements: readonly StoredSettlement[],
  key: 'id' | 'oldAllocationId',
): Promise<Map<Id, Expected>> {
  const notes = await listNegativeRecords(tx, tx.account, [...new Set(settlements.map(({ noteId }) => noteId))])
  const expected = new Map<Id, Expected>()
  for (const settlement of settlements) {
    const note = notes.find(({ id }) => id === settlement.noteId)
    if (!note || note.isOfService || settlement.endedOn !== null) continue
    const { customerId } = settlement
    expected.set(settlement[key] as Id, {
      customerId,
      currency: note.currency,
      postings: postingsOfSettlement(settlement),
    })
  }
  return expected
}
