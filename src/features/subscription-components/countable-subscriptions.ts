import { type ComponentState, isMetered } from '../../engine/subscription/components.ts'
import { decimal } from '../../kernel/decimal.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listAlikeCounted } from './group-by-facts-queries.ts'
import { listOpenUsage, type UsageCycleRow } from './cycle-queries.ts'
import { stateReader } from './queries.ts'

/** Components of subscriptions whose usage is counted: most have facts in common, which are read once for all who have them. */

export interface CountedComponents {
  of: Map<SubscriptionId, Map<ComponentId, ComponentState>>
  /** Components of which the last report set the units. */
  setUnits: { subscriptionId: SubscriptionId; componentId: ComponentId }[]
}

/** Lists the components of subscriptions, those of each in the order of their identifiers. */
export async function listCountedComponents(
  db: Queryable,
  account: AccountId,
  ids: readonly SubscriptionId[],
): Promise<CountedComponents> {
  const [shapes, usage] = await Promise.all([listAlikeCounted(db, account, ids), listOpenUsage(db, account, ids)])
  const usageOf = groupBy(usage, ({ subscriptionId }) => subscriptionId)
  const read = stateReader()
  const found: CountedComponents = { of: new Map(ids.map((id) => [id, new Map()])), setUnits: [] }
  for (const { subscriptionIds, quantity, isSetUnits, ...facts } of shapes) {
    const state = read({ ...facts, quantity: decimal(quantity) }, [])
    const { componentId } = facts
    for (const text of subscriptionIds.split(',')) {
      const subscriptionId = BigInt(text) as SubscriptionId
      found.of.get(subscriptionId)?.set(componentId, withOwnUsage(state, usageOf.get(subscriptionId)))
      if (isSetUnits) found.setUnits.push({ subscriptionId, componentId })
    }
  }
  return found
}

/** Returns a component with its usage among that of a subscription. One that is metered is never shared, because totals are kept by the object. */
function withOwnUsage(state: ComponentState, all: readonly UsageCycleRow[] = []): ComponentState {
  const usage = all.filter(({ componentId }) => componentId === state.componentId)
  return usage.length > 0 || isMetered(state) ? { ...state, usage } : state
}
