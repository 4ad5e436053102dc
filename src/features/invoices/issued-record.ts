import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { loadInvoiceParts } from './load.ts'
import { type CollectionMethod, type Invoice, listFrozenCustomers, listInvoicesByIds } from './queries.ts'
import { InvoiceOut, invoiceToWire } from './wire.ts'

/** What the event of an issued invoice keeps itself, see issue.ts: the rest is frozen in the invoice's own rows. */
export interface KeptOfIssued {
  CollectionMethod: CollectionMethod
  poNumber: string | null
}

export interface IssuedEvent {
  invoiceId: InvoiceId
  happenedAt: Instant
  kept: KeptOfIssued
}

/** Nothing was paid, sent or cancelled at the moment of issue. */
const asIssued = (invoice: Invoice, { happenedAt, kept }: IssuedEvent): Invoice => ({
  ...invoice,
  collectionMethod: kept.CollectionMethod,
  poNumber: kept.poNumber,
  lastUpdated: happenedAt,
  dateSent: null,
  isDraft: false,
  isCancelled: false,
  paidMinor: 0n,
  pendingMinor: 0n,
  negativeMinor: 0n,
  tries: 0,
})

/**
 * The JSON text of invoices as they were issued, by identifier. Of the customer in it, what documents freeze is as it was;
 * what no document shows (telephone, balance, flags) is as it is now.
 */
export async function writeIssuedRecords(
  db: Queryable,
  { account, moment }: Pick<RequestContext, 'account' | 'moment'>,
  events: readonly IssuedEvent[],
): Promise<Map<InvoiceId, string>> {
  if (events.length === 0) return new Map()
  const ids = events.map(({ invoiceId }) => invoiceId)
  const [parts, frozen] = await loadAll(db, account.id, ids, moment)
  const frozenOf = new Map(frozen.map(({ invoiceId, document }) => [invoiceId, document]))
  const eventOf = new Map(events.map((event) => [event.invoiceId, event]))
  return new Map(
    parts.map(({ invoice, customer, ...lines }) => {
      const event = eventOf.get(invoice.id) as IssuedEvent
      const clock = { timeZone: account.timeZone, today: dateIn(event.happenedAt, account.timeZone) }
      const then = { ...customer, ...frozenOf.get(invoice.id) }
      const wire = invoiceToWire({ ...lines, invoice: asIssued(invoice, event), customer: then }, clock)
      return [invoice.id, InvoiceOut.write(wire)]
    }),
  )
}

async function loadAll(
  db: Queryable,
  account: AccountId,
  ids: readonly InvoiceId[],
  { today }: RequestContext['moment'],
) {
  const invoices = await listInvoicesByIds(db, account, ids)
  return Promise.all([loadInvoiceParts(db, account, invoices, today), listFrozenCustomers(db, account, ids)])
}
