import type { Instant } from '../../kernel/calendar.ts'
import type { RunTotals } from './chunk.ts'

export interface ClockMove {
  now: Instant
  from: Instant
  days: number
  totals: RunTotals
}
