import type { ComponentState } from '../../engine/subscription/components.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type ComponentChange, insertComponents, moveComponents, movesOf, updateComponents } from './queries.ts'
import { deleteUsageCycles, updateOpenUsage, sendUsageCycles, type UsageCycleRow } from './cycle-queries.ts'

/** Components of a subscription before and after a plan: only what became another is written. */
export interface ComponentsChange {
  subscriptionId: SubscriptionId
  before: readonly ComponentState[]
  after: readonly ComponentState[]
}

interface Sorted {
  added: ComponentChange[]
  /** Billing moved where they stand, and nothing else of them. */
  moved: ComponentChange[]
  changed: ComponentChange[]
  /** Cycles of usage that were open, and others. */
  open: UsageCycleRow[]
  cycles: UsageCycleRow[]
  gone: Pick<UsageCycleRow, 'subscriptionId' | 'componentId' | 'from'>[]
}

/**
 * Writes components as plans left them, of one subscription or of thousands, in a few statements. Returns the subscriptions that got a
 * component they did not have.
 */
export async function writeComponents(
  tx: Transaction,
  changes: readonly ComponentsChange[],
  today: IsoDate,
): Promise<Set<SubscriptionId>> {
  if (changes.length === 0) return new Set()
  const sorted: Sorted = { added: [], moved: [], changed: [], open: [], cycles: [], gone: [] }
  for (const one of changes)
    for (const state of one.after) {
      const known = one.before.find(({ componentId }) => componentId === state.componentId)
      if (known !== state) sortComponent(sorted, one.subscriptionId, known, state)
    }
  const { added, changed, open, cycles, gone } = sorted
  await insertComponents(tx, tx.account, added, today)
  await updateComponents(tx, tx.account, changed, today)
  await moveComponents(tx, tx.account, movesOf(sorted.moved))
  if (gone.length > 0) await deleteUsageCycles(tx, tx.account, gone)
  // One that a report has closed meanwhile is not found open.
  if ((await updateOpenUsage(tx, tx.account, open)) !== open.length) cycles.push(...open)
  sendUsageCycles(tx, cycles)
  return new Set(added.map(({ subscriptionId }) => subscriptionId))
}

function sortComponent(
  to: Sorted,
  subscriptionId: SubscriptionId,
  known: ComponentState | undefined,
  state: ComponentState,
): void {
  const { componentId, usage } = state
  if (known === undefined) to.added.push({ subscriptionId, state })
  else if (isOnlyMoved(known, state)) to.moved.push({ subscriptionId, state })
  else to.changed.push({ subscriptionId, state, areVersionsKept: known.versions === state.versions })
  const before = known?.usage ?? []
  for (const cycle of usage) {
    const { from, until, total, invoiced, nextPart, isFree } = cycle
    const was = before.find((one) => one.from === from)
    if (was === cycle) continue
    const row = { subscriptionId, componentId, from, until, total, invoiced, nextPart, isFree }
    if (was) to.open.push(row)
    else to.cycles.push(row)
  }
  for (const { from } of before)
    if (!usage.some((cycle) => cycle.from === from)) to.gone.push({ subscriptionId, componentId, from })
}

/** Returns whether billing alone moved a component. With more than one version, the pending one may change with the day. */
const isOnlyMoved = (known: ComponentState, state: ComponentState): boolean =>
  known.versions === state.versions &&
  known.versions.length === 1 &&
  known.quantity === state.quantity &&
  known.cycle === state.cycle &&
  known.stretch === state.stretch &&
  known.chargesFrom === state.chargesFrom &&
  known.leftOutOn === state.leftOutOn
