import { listLostInCycle } from './cycles-queries.ts'
import type { Check } from './difference.ts'

/** Subscriptions in cycle (decision 40): each is found on its day, which is still to come. */
export const cycles: Check = {
  name: 'subscriptions in cycle',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const lost = await listLostInCycle(tx, tx.account)
    for (const { id, customerId, cycleOn, cycleDay, sweptOn } of lost) {
      const isOver = sweptOn !== null && cycleOn <= sweptOn
      report({
        customerId,
        recordType: 'subscription',
        recordId: id,
        what: isOver ? 'day on which it is due in its cycle' : 'day of the month under which it is found',
        stored: isOver ? cycleOn : String(cycleDay),
        expected: isOver ? `a day after ${sweptOn}, or a day of its own` : String(Number(cycleOn.slice(8))),
      })
    }
    return lost.length
  },
}
