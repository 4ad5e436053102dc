import { type ComponentState, type CycleUsage, isMetered } from '../../engine/subscription/components.ts'
import { decimal } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import {
  type AlikeComponent,
  type AlikeUsage,
  listAlikeComponents,
  listAlikeCounted,
  listAlikeUsage,
} from './group-by-facts-queries.ts'
import { stateReader } from './queries.ts'
import { groupBy } from '../../kernel/grouping.ts'
import { listOpenUsage, type UsageCycleRow } from './cycle-queries.ts'

/** Components that subscriptions have in common: each combination of their facts is made once, for all who have it. */

/** Components of a subscription, and of all that are like it. They do not name it. */
export type SharedComponents = readonly ComponentState[]

/** Returns the components of subscriptions with all that billing reads of them: the same list for those whose facts are the same. */
export async function listSharedComponents(
  db: Queryable,
  account: AccountId,
  ids: readonly SubscriptionId[],
): Promise<Map<SubscriptionId, SharedComponents>> {
  const [components, usage] = await Promise.all([
    listAlikeComponents(db, account, ids),
    listAlikeUsage(db, account, ids),
  ])
  const [componentsOf, usageOf] = [placesOf(components), placesOf(usage)]
  const known = new Map<string, SharedComponents>()
  const make = maker(components, usage)
  return new Map(
    ids.map((id) => {
      const [some, used] = [componentsOf.get(id.toString()) ?? '', usageOf.get(id.toString()) ?? '']
      const key = `${some}/${used}`
      const found = known.get(key) ?? make(some, used)
      known.set(key, found)
      return [id, found]
    }),
  )
}

/** Returns the places of its rows for each subscription, in their order, with commas behind them. */
function placesOf(rows: readonly { subscriptionIds: string }[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const [place, { subscriptionIds }] of rows.entries())
    for (const id of subscriptionIds.split(',')) found.set(id, `${found.get(id) ?? ''}${place},`)
  return found
}

/** Returns what makes components out of the places of their rows and of those of their usage. */
function maker(components: readonly AlikeComponent[], usage: readonly AlikeUsage[]) {
  const read = stateReader()
  const numbers = components.map(({ quantity }) => decimal(quantity))
  const states = components.map((row, place) => read({ ...row, quantity: numbers[place]! }, []))
  const cycles = usage.map(cycleOf)
  return (some: string, used: string): SharedComponents => {
    const own = placesIn(used)
    const usageOf = (componentId: ComponentId): CycleUsage[] =>
      own.filter((place) => usage[place]?.componentId === componentId).map((place) => cycles[place] as CycleUsage)
    return placesIn(some).map((place) => {
      const state = states[place] as ComponentState
      const counted = usageOf(state.componentId)
      return counted.length === 0 ? state : { ...state, usage: counted }
    })
  }
}

const placesIn = (text: string): number[] => text.split(',').slice(0, -1).map(Number)

/** Amounts of cancelled invoices and credits are not read: only a cycle that is invoiced has any. */
const cycleOf = ({ from, until, total, invoiced, nextPart, isFree }: AlikeUsage): CycleUsage => ({
  from,
  until,
  total: decimal(total),
  invoiced: invoiced === null ? null : decimal(invoiced),
  nextPart,
  isFree,
  standingMinor: null,
  cancelledMinor: null,
})

/** Components of subscriptions whose usage is counted: most have facts in common, which are read once for all who have them. */

interface CountedComponents {
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
