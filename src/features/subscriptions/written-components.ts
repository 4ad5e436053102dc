import type { IsoDate } from '../../kernel/calendar.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type ComponentsChange, writeComponents } from '../subscription-components/resolve.ts'
import { raiseRevision } from './state-queries.ts'

/** Writes components as plans left them, and raises the revision of subscriptions that got another component. */
export async function writeComponentsOf(
  tx: Transaction,
  changes: readonly ComponentsChange[],
  today: IsoDate,
): Promise<void> {
  for (const id of await writeComponents(tx, changes, today)) await raiseRevision(tx, tx.account, id)
}
