import { packed } from '../../platform/packed/declare.ts'

/** Events, of which packs have those of invoices that are issued or mailed together (decisions 29, 45 and 52); members are invoices. */
export const EVENTS = packed({
  list: 'events',
  id: 'event_id',
  rows: 'event_rows',
  packs: 'event_packs',
  first: 'first_event_id',
  last: 'last_event_id',
  member: 'first_invoice_id',
  maxMembers: 256,
  maxIds: 256,
})
