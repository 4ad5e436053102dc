import type { Check } from '../../platform/checks/difference.ts'
import { listCountDifferences } from './counts-queries.ts'

/** The counts that let deep pages of long lists skip what lies before them. */
export const counts: Check = {
  name: 'counted lists',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const differences = await listCountDifferences(tx, tx.account)
    for (const { list, block, records, counted } of differences)
      report({
        recordType: 'list',
        recordId: block,
        what: `records of ${list} counted in this block`,
        stored: String(records),
        expected: String(counted),
      })
    return differences.length
  },
}
