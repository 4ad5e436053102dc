import { earliest } from '../../kernel/calendar.ts'
import type { AfterDay } from './run.ts'

/** Joins several kinds of work of a day, which are then done one after the other. */
export const oneAfterAnother = (...parts: readonly AfterDay[]): AfterDay => ({
  findAfter: async (...of) => earliest(...(await Promise.all(parts.map((part) => part.findAfter(...of))))),
  work: async (...of) => {
    const totals = { collected: 0, declined: 0, unknown: 0 }
    for (const part of parts) {
      const done = await part.work(...of)
      totals.collected += done.collected
      totals.declined += done.declined
      totals.unknown += done.unknown
    }
    return totals
  },
})
