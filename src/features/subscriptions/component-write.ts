import type { ComponentState } from '../../engine/components.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  type ComponentChange,
  deleteUsageCycles,
  insertComponents,
  raiseRevision,
  updateComponents,
  type UsageCycleRow,
  upsertUsageCycles,
} from './component-queries.ts'

/** What a plan made of a subscription's components: only what became another is written. */
export interface ComponentsMoved {
  subscriptionId: SubscriptionId
  before: readonly ComponentState[]
  after: readonly ComponentState[]
}

/** Writes what plans made of components, of one subscription or of thousands, in a few statements. */
export async function writeComponents(
  tx: Transaction,
  moved: readonly ComponentsMoved[],
  today: IsoDate,
): Promise<void> {
  if (moved.length === 0) return
  const added: ComponentChange[] = []
  const changed: ComponentChange[] = []
  const cycles: UsageCycleRow[] = []
  const gone: Pick<UsageCycleRow, 'subscriptionId' | 'componentId' | 'from'>[] = []
  for (const { subscriptionId, before, after } of moved) {
    for (const state of after) {
      const known = before.find(({ componentId }) => componentId === state.componentId)
      if (known === state) continue
      if (known === undefined) added.push({ subscriptionId, state })
      else changed.push({ subscriptionId, state, areVersionsKept: known.versions === state.versions })
      const { componentId, usage } = state
      for (const cycle of usage)
        if (!known?.usage.includes(cycle)) cycles.push({ ...cycle, subscriptionId, componentId })
      for (const { from } of known?.usage ?? [])
        if (!usage.some((cycle) => cycle.from === from)) gone.push({ subscriptionId, componentId, from })
    }
  }
  await insertComponents(tx, tx.account, added, today)
  await updateComponents(tx, tx.account, changed, today)
  if (gone.length > 0) await deleteUsageCycles(tx, tx.account, gone)
  await upsertUsageCycles(tx, tx.account, cycles)
  for (const id of new Set(added.map(({ subscriptionId }) => subscriptionId))) await raiseRevision(tx, tx.account, id)
}
