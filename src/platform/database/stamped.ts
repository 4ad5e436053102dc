import type { ArrayParameter } from './columns.ts'

/** Columns of records that are written by their shapes, a value for each record. */
export interface StampedRecords {
  ids: ArrayParameter
  customerIds: ArrayParameter
  /** The position of the shape of each, counted from 1. */
  positions: ArrayParameter
}
