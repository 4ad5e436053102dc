import { listLostSubscriptions } from './checks-queries.ts'
import type { Check } from '../../platform/checks/difference.ts'

type Lost = Awaited<ReturnType<typeof listLostSubscriptions>>[number]

/** Subscriptions that runs bill (decision 40): each is due on a day, and found on it. */
export const cycles: Check = {
  name: 'due subscriptions',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const lost = await listLostSubscriptions(tx, tx.account)
    for (const one of lost)
      report({ customerId: one.customerId, recordType: 'subscription', recordId: one.id, ...differenceOf(one) })
    return lost.length
  },
}

function differenceOf({ cycleOn, cycleDay, sweptOn, nextOn }: Lost): {
  what: string
  stored: string
  expected: string
} {
  if (cycleOn === null) return { what: 'day on which it is due', stored: 'none', expected: nextOn }
  if (sweptOn !== null && cycleOn <= sweptOn)
    return { what: 'day on which it is due in its cycle', stored: cycleOn, expected: `a day after ${sweptOn}` }
  if (cycleOn > nextOn) return { what: 'day on which it is due in its cycle', stored: cycleOn, expected: nextOn }
  const expected = String(Number(cycleOn.slice(8)))
  return { what: 'day of the month under which it is found', stored: String(cycleDay), expected }
}
