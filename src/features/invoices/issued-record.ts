import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { frozenOf } from '../customers/fields.ts'
import { EDITABLE } from './fields.ts'
import { type Kept, spellingOf } from './fields-wire.ts'
import { loadWithCustomers, PARTS_AT_A_TIME } from './load-parts.ts'
import { type FrozenInvoice, type Invoice, listFrozenInvoices, UNTOUCHED } from './queries.ts'
import { issuedShape } from './wire.ts'

/** The record of the event of an issue: composed from what is frozen of the invoice and from what the event keeps. */

export interface IssuedEvent {
  invoiceId: InvoiceId
  happenedAt: Instant
  kept: Kept
}

/** Returns the fields that can change, as they were. A field that an older event does not keep could not be given then. */
const keptOf = ({ accountTexts }: FrozenInvoice, kept: Kept): Partial<Invoice> =>
  Object.fromEntries(
    EDITABLE.map((name) => [name, (kept[spellingOf(name)] ?? accountTexts[name] ?? null) || null] as const),
  )

/** Returns an invoice as it was at its issue, when nothing was paid, sent or cancelled. */
const asIssued = (invoice: FrozenInvoice, { happenedAt, kept }: IssuedEvent): Invoice => ({
  ...invoice,
  ...keptOf(invoice, kept),
  lastUpdated: happenedAt,
  dateSent: null,
  isDraft: false,
  isCancelled: false,
  ...UNTOUCHED,
  tries: 0,
  gatewayId: idOf(kept.gatewayID),
  paymentMethodId: idOf(kept.customerPaymentMethodID),
  isCollectionHold: kept.isCollectionHold ?? false,
  nextTryDate: kept.NextTryDate ?? null,
})

const idOf = (kept: number | null | undefined): bigint | null => (kept == null ? null : BigInt(kept))

/** Returns the JSON text of invoices as they were issued, by identifier; where they have many lines of some of them alone, but of a single one always. */
export async function writeIssuedRecords(
  db: Queryable,
  { account, moment }: { account: { id: AccountId }; moment: Pick<RequestContext['moment'], 'today'> },
  events: readonly IssuedEvent[],
): Promise<Map<InvoiceId, string>> {
  if (events.length === 0) return new Map()
  const eventOf = new Map(events.map((event) => [event.invoiceId, event]))
  const invoices = await listFrozenInvoices(db, account.id, [...eventOf.keys()])
  const frozenOfInvoice = new Map(invoices.map((invoice) => [invoice.id, invoice]))
  const inOrder = invoices.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const parts = await loadWithCustomers(db, account.id, inOrder, moment.today, { linesMax: PARTS_AT_A_TIME })
  return new Map(
    parts.map(({ invoice: { id }, customer, charges, taxes }) => {
      const event = eventOf.get(id) as IssuedEvent
      const frozen = frozenOfInvoice.get(id) as FrozenInvoice
      const { timeZone } = frozen
      const clock = { timeZone, today: dateIn(event.happenedAt, timeZone) }
      const then = frozen.frozenCustomer ?? frozenOf(customer)
      const invoice = asIssued(frozen, event)
      const issued = { invoice, customer: { ...customer, ...then }, charges, taxes, frozen: then }
      return [id, issuedShape.write(issued, clock)]
    }),
  )
}
