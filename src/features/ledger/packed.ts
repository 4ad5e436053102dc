import { packed } from '../../platform/packed/declare.ts'

/** Entries of the ledger, of which packs have those of invoices that are issued together (decisions 33 and 52); members are invoices. */
export const LEDGER = packed({
  list: 'ledger',
  id: 'entry_id',
  rows: 'ledger_rows',
  packs: 'ledger_packs',
  first: 'first_entry_id',
  member: 'first_invoice_id',
  maxMembers: 128,
  maxIds: 1024,
})
