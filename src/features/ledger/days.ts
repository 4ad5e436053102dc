import type { Duty } from '../../platform/duty.ts'
import { sumDays } from './mark-queries.ts'

/** Sums the ledger by day, as far as nothing can be posted any more. */
export const sumDaysDuty: Duty = {
  name: 'sum the ledger by day',
  everyMs: 20_000,
  run: async ({ db }) => {
    if (await sumDays(db.unscoped)) return 'again'
  },
}
