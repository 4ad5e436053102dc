import type { Transaction } from '../../platform/database/database.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import { type CheckReading, NIGHTS, PAGE_SIZE } from '../../platform/checks/pages.ts'
import {
  countIssuedInvoices,
  listDeliveryDifferences,
  listEventSeals,
  listEventsDifferences,
  listEventsTwice,
  listMailsDifferences,
} from './checks-queries.ts'
import { foldEvents, NOTHING_SEALED } from './seal.ts'
import type { EventSeal } from './seal-queries.ts'

/** The kinds of rows, and what each is compared in. */
const UNLIKE = [
  { list: listEventsDifferences, what: 'events of it and those issued with it' },
  { list: listMailsDifferences, what: 'events of mails with it and the 255 after it' },
]

/**
 * Events of invoices that share rows: each row is that of invoices which are there, no identifier is given twice, and there is one event of its issue for each
 * invoice. Events of mails name invoices that were issued.
 */
export const issuedEvents: Check = {
  name: 'events of invoices',
  isAtOnce: true,
  async run(tx, report, reading) {
    let checked = 1
    for (const { list, what } of UNLIKE) {
      reading.goOn()
      for (const { firstInvoiceId, events, invoices } of await list(tx, tx.account)) {
        checked += 1
        report({
          recordType: 'invoice',
          recordId: firstInvoiceId,
          what,
          stored: String(events),
          expected: String(invoices),
        })
      }
    }
    reading.goOn()
    const twice = await listEventsTwice(tx, tx.account)
    for (const { firstInvoiceId, last, next } of twice)
      report({
        recordType: 'invoice',
        recordId: firstInvoiceId,
        what: 'last event of those issued with it',
        stored: String(last),
        expected: `less than ${next}, which is another event`,
      })
    reading.goOn()
    const { invoices, events } = await countIssuedInvoices(tx, tx.account)
    if (invoices !== events)
      report({
        recordType: 'account',
        recordId: tx.account,
        what: 'events of issued invoices',
        stored: String(events),
        expected: String(invoices),
      })
    return checked + twice.length
  },
}

/**
 * Seals of events. Rule: the events of a seal, from the one before it up to its end, are as many as it counts and come to its hash. One that differs is named
 * alone, since the next one is hashed onto what is stored of it. A night that verifies a part has every seventh of them.
 */
export const eventSeals: Check = {
  name: 'sealed events',
  async run(tx, report, reading) {
    let before = NOTHING_SEALED
    let place = 0
    for (let after = -1n; ;) {
      const page = await listEventSeals(tx, tx.account, after, PAGE_SIZE)
      for (const seal of page) {
        if (!reading.part || place % NIGHTS === reading.part.turn) await compare(tx, before, seal, report, reading)
        before = seal
        place += 1
      }
      const last = page.at(-1)
      if (!last || page.length < PAGE_SIZE) return place
      after = last.id
    }
  },
}

async function compare(
  tx: Transaction,
  before: Pick<EventSeal, 'below' | 'seal'>,
  { id, below, events, seal }: EventSeal,
  report: Report,
  { goOn }: CheckReading,
): Promise<void> {
  const found = await foldEvents(tx, tx.account, before.seal, { from: before.below, below }, { goOn })
  if (found.events === events && found.seal.equals(seal)) return
  report({
    recordType: 'event_seal',
    recordId: id,
    what: `events from ${before.below} up to below ${below}`,
    stored: `${found.events} of ${shortOf(found.seal)}`,
    expected: `${events} of ${shortOf(seal)}, as they were sealed`,
  })
}

const shortOf = (hash: Buffer): string => hash.toString('hex').slice(0, 16)

/** Deliveries of webhooks: each is of an event that is there, about the record by which it is put in order. */
export const deliveries: Check = {
  name: 'webhook deliveries',
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listDeliveryDifferences(tx, tx.account)
    for (const { id, eventId, about, eventAbout } of differences)
      report({
        recordType: 'webhook_delivery',
        recordId: id,
        what: `event ${eventId}`,
        stored: about,
        expected: eventAbout ?? 'nothing: there is no such event',
      })
    return differences.length
  },
}
