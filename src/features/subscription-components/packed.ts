import { packed } from '../../platform/packed/declare.ts'

/**
 * Reports of usage: each is a row, and packs have those of a request once more as it sent them, for the events that name their pack (decisions 38 and 52). So
 * nobody looks for a report among packs.
 */
export const USAGE = packed({
  list: 'usage_rows',
  id: 'usage_id',
  rows: 'usage_rows',
  packs: 'usage_packs',
  first: 'first_usage_id',
})
