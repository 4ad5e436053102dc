import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'

/** An eMandate that fits an account. */
export interface FittingMandate {
  id: Id
  /** Null: not signed yet. Signing gives the method both. */
  signed: { reference: string; date: IsoDate } | null
}
