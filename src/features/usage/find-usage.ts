import type { IsoDate } from '../../kernel/calendar.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { listCountedComponents } from '../subscription-components/group-by-facts.ts'
import { type CountedSubscription, fieldIn, type UsageReport } from '../subscription-components/count-usage.ts'
import { listComponentIds } from '../subscription-components/usage-queries.ts'
import { listCountableSubscriptions } from './countable-queries.ts'
import { lockCustomersOf } from '../subscriptions/queries.ts'
import { stateOf } from '../subscriptions/state.ts'

/** Finds what reports of many subscriptions refer to. */

/** References of the entries of many subscriptions, with the customers locked. */
export interface FoundUsage {
  counted: Map<SubscriptionId, CountedSubscription>
  dueOn: Map<SubscriptionId, IsoDate | null>
  /** Components of which the last report set the units. */
  setUnits: { subscriptionId: SubscriptionId; componentId: ComponentId }[]
}

/** Finds the subscriptions of entries and notes what is wrong with them. */
export async function findUsage(
  tx: Transaction,
  context: RequestContext,
  reports: readonly UsageReport[],
  problems: Problems,
): Promise<FoundUsage> {
  const found = await lockCounted(tx, [...new Set(reports.map(({ subscriptionId }) => subscriptionId))])
  const { counted } = found
  const isKnown = (report: UsageReport) => counted.get(report.subscriptionId)?.components.has(report.componentId)
  const others = reports.filter((report) => !isKnown(report)).map(({ componentId }) => componentId)
  const components = others.length === 0 ? new Set<ComponentId>() : await listComponentIds(tx, tx.account, others)
  for (const report of reports) {
    const one = counted.get(report.subscriptionId)
    if (!one)
      problems.add(
        'subscription_unknown',
        fieldIn(report, 'subscriptionID'),
        `There is no subscription ${report.subscriptionId}.`,
      )
    else checkDay(report, one.state.startDate, context.moment.today, problems)
    if (!isKnown(report) && !components.has(report.componentId))
      problems.add('component_unknown', fieldIn(report, 'componentID'), `There is no component ${report.componentId}.`)
  }
  return found
}

/** Locks the customers of subscriptions and reads them. What they have in common is made once. */
async function lockCounted(tx: Transaction, ids: readonly SubscriptionId[]): Promise<FoundUsage> {
  // Sent behind one another: each statement sees what was committed before it began, so those that read see what the lock has waited for.
  const [, alike, components] = await Promise.all([
    lockCustomersOf(tx, ids),
    listCountableSubscriptions(tx, tx.account, ids),
    listCountedComponents(tx, tx.account, ids),
  ])
  const found: FoundUsage = { counted: new Map(), dueOn: new Map(), setUnits: components.setUnits }
  for (const { ids: some, customerIds, ...facts } of alike) {
    const state = stateOf(facts)
    const { isEndRecorded, cancelledAt, dueOn } = facts
    for (const [place, id] of some.entries()) {
      const subscription = { id, customerId: customerIds[place]!, isEndRecorded, cancelledAt }
      found.counted.set(id, { subscription, state, components: components.of.get(id) ?? new Map() })
      found.dueOn.set(id, dueOn)
    }
  }
  return found
}

/** Rule: usage is neither in the future nor before the start. */
export function checkDay(report: UsageReport, startDate: IsoDate, today: IsoDate, problems: Problems): void {
  const { day } = report
  if (day === null || (day <= today && day >= startDate)) return
  const field = fieldIn(report, 'Date')
  if (day > today) problems.add('date_future', field, `${field} ${day} lies in the future; today is ${today}.`)
  else problems.add('date_order', field, `${field} ${day} lies before the start of the subscription, ${startDate}.`)
}
