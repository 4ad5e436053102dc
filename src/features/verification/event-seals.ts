import type { Transaction } from '../../platform/database/database.ts'
import { type EventSeal, listEventSeals } from '../events/seal-queries.ts'
import { foldEvents, NOTHING_SEALED } from '../events/seal.ts'
import type { Check, Report } from './difference.ts'
import { type CheckReading, NIGHTS, PAGE_SIZE } from './pages.ts'

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
    customerId: null,
    recordType: 'event_seal',
    recordId: id,
    what: `events from ${before.below} up to below ${below}`,
    stored: `${found.events} of ${shortOf(found.seal)}`,
    expected: `${events} of ${shortOf(seal)}, as they were sealed`,
  })
}

const shortOf = (hash: Buffer): string => hash.toString('hex').slice(0, 16)
