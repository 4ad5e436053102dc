import { type ComponentState, isMetered, setQuantity } from '../../engine/subscription/components.ts'
import { planModified } from '../../engine/subscription/component-changes.ts'
import { hasEnded } from '../../engine/subscription/subscription.ts'
import { nextTotal } from '../../engine/subscription/usage.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { ComponentId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { loadSubscription, recordSubscriptionEvent } from '../subscriptions/record.ts'
import { checkPaused, subjectFrom, subjectOf, tryToBill, writeChange } from '../subscriptions/change.ts'
import { checkOptIn } from '../subscription-components/resolve.ts'
import { clearSetUnits, type StoredComponent, updateShown } from '../subscription-components/queries.ts'
import { type ShownSubscription, type SubscriptionView, withShownComponents } from '../subscriptions/queries.ts'
import { isDue, nextActionOn } from '../subscriptions/state.ts'
import { raiseRevision, updateDueOn } from '../subscriptions/state-queries.ts'
import {
  drawUsageIds,
  type KnownKey,
  listComponentIds,
  listKnownKeys,
  type UsageEntry,
} from '../subscription-components/usage-queries.ts'
import {
  checkBegun,
  componentOf,
  type CountedSubscription,
  dayOf,
  fieldIn,
  keepUsage,
  type KeepUsage,
  loadLateCycles,
  UsageTallies,
  type UsageReport,
  UsedKeys,
} from '../subscription-components/count-usage.ts'
import { checkDay, type FoundUsage } from './find-usage.ts'

/** Recording usage: one subscription's entries in order, or thousands of subscriptions' at once. */

// An entry whose component could not be read has its problem noted already; there is no key to look up.
const hasKey = (report: UsageReport): report is UsageReport & { key: string } =>
  report.key !== null && (report.componentId as ComponentId | undefined) !== undefined

const knownKeysOf = (tx: Transaction, reports: readonly UsageReport[]) =>
  listKnownKeys(tx, tx.account, reports.filter(hasKey))

/** References of the entries of one subscription. */
export interface ReportedUsage {
  reports: readonly UsageReport[]
  components: readonly StoredComponent[]
  known: readonly KnownKey[]
  /** Drawn for the entries, so that nothing waits for them to be written. */
  ids: readonly Id[]
}

/** Finds what entries of a locked subscription refer to, in one exchange, and notes what is wrong with them. */
export async function findReported(
  tx: Transaction,
  context: RequestContext,
  s: SubscriptionView,
  reports: readonly UsageReport[],
  problems: Problems,
): Promise<ReportedUsage> {
  const [[shown], known, ids] = await Promise.all([
    withShownComponents(tx, tx.account, [s]),
    knownKeysOf(tx, reports),
    drawUsageIds(tx, reports.length),
  ])
  const components = shown?.components ?? []
  const others = reports
    .map(({ componentId }) => componentId)
    .filter((id) => !components.some(({ state }) => state.componentId === id))
  const elsewhere = others.length === 0 ? new Set<ComponentId>() : await listComponentIds(tx, tx.account, others)
  for (const report of reports) {
    const { componentId } = report
    if (others.includes(componentId) && !elsewhere.has(componentId))
      problems.add('component_unknown', fieldIn(report, 'componentID'), `There is no component ${componentId}.`)
    checkDay(report, s.startDate, context.moment.today, problems)
  }
  return { reports, components, known, ids }
}

/**
 * Records entries of one subscription, all or none. Quantities and opt-ins change as a modification would change them. Where what is due
 * cannot be billed, usage is recorded all the same, because correcting it is a way out, and billing is tried again. Returns whether what is
 * due is billed.
 */
export async function recordUsage(
  tx: Transaction,
  context: RequestContext,
  given: SubscriptionView,
  { reports, components, known, ids }: ReportedUsage,
): Promise<boolean> {
  const { today } = context.moment
  if (isDue(given, context)) tx.alone()
  const failure = await tryToBill(tx, context, given)
  const subject = isDue(given, context)
    ? await subjectOf(tx, given.id)
    : await subjectFrom(tx, { ...given, components })
  const { subscription, state } = subject
  const counted: CountedSubscription = {
    subscription,
    state,
    components: new Map(subject.components.map((component) => [component.componentId, component])),
  }
  const keys = new UsedKeys(known)
  await loadLateCycles(tx, new Map([[given.id, counted]]), reports, today)
  const tallies = new UsageTallies()
  const entries: UsageEntry[] = []
  let isSetChanged = false
  for (const report of reports) {
    if (keys.isRepeated(report, today)) continue
    const day = dayOf(counted, report, context)
    const component = componentOf(counted, report, day)
    if (isMetered(component)) {
      checkBegun(counted, report, day)
      entries.push(tallies.count(counted, report, day))
    } else {
      if (failure) throw failure
      tx.alone()
      isSetChanged = true
      counted.components.set(report.componentId, quantityAfter(counted, component, report, today))
      entries.push({ ...report, day, cycleFrom: null, part: null })
    }
  }
  if (entries.length === 0) return !failure
  await keepUsage(tx, context, entries, tallies, () => subscription.customerId, ids)
  await showSetUnits(tx, subscription, entries)
  const facts = { state, components: [...counted.components.values()] }
  if (failure) return (await tryToBill(tx, context, await loadSubscription(tx, given.id))) === undefined
  if (!isSetChanged) {
    await moveDueOn(tx, [{ counted, was: subscription.dueOn }], today)
    return true
  }
  const plan = planModified(facts, today, { isPaused: subscription.pausedOn !== null })
  checkPaused(subject, plan, today)
  await writeChange(tx, context, subject, { plan, event: 'subscription.changed' })
  await raiseRevision(tx, tx.account, given.id)
  const changed = await loadSubscription(tx, given.id)
  await recordSubscriptionEvent(tx, context, 'subscription.changed', changed)
  return true
}

/** Rule: on what is charged in advance a report changes the set number. */
function quantityAfter(
  { state }: CountedSubscription,
  component: ComponentState,
  report: UsageReport,
  today: IsoDate,
): ComponentState {
  const path = fieldIn(report, 'NumUnits')
  if (hasEnded(state, today))
    throw conflict(
      'subscription_ended',
      `Subscription ${report.subscriptionId} has ended; only reactivating is possible.`,
    )
  const number = nextTotal(component.quantity, report.units, report.isSet)
  checkOptIn(component.type, number, component.componentId, path)
  return setQuantity(component, number, state, today)
}

/** Rule: isSetUnits is answered as the last entry had it. */
async function showSetUnits(tx: Transaction, s: ShownSubscription, entries: readonly UsageEntry[]): Promise<void> {
  const shown = s.components.flatMap(({ state: { componentId }, memo, isSetUnits }) => {
    const last = entries.findLast((entry) => entry.componentId === componentId)
    return last && last.isSet !== isSetUnits ? [{ componentId, memo, isSetUnits: last.isSet }] : []
  })
  if (shown.length > 0) await updateShown(tx, tx.account, s.id, shown)
}

/**
 * Moves the day on which the run looks at a subscription: late usage is invoiced with the next invoice, or by the next run, which may come
 * sooner.
 */
async function moveDueOn(
  tx: Transaction,
  changed: readonly { counted: CountedSubscription; was: IsoDate | null }[],
  today: IsoDate,
): Promise<void> {
  const rows = changed.flatMap(({ counted: { subscription, state, components }, was }) => {
    const dueOn = nextActionOn({ state, components: [...components.values()] }, today, subscription.isEndRecorded)
    return dueOn === was ? [] : [{ id: subscription.id, dueOn }]
  })
  if (rows.length > 0) await updateDueOn(tx, tx.account, rows)
}

/**
 * Records entries of many subscriptions, all or none, in a few statements. Only metered components take them. `keep` stores them, where they stand for
 * others.
 */
export async function recordBulk(
  tx: Transaction,
  context: RequestContext,
  { counted, dueOn, setUnits }: FoundUsage,
  reports: readonly UsageReport[],
  keep: KeepUsage = keepUsage,
): Promise<{ recorded: number; duplicates: number }> {
  const { today } = context.moment
  const keys = new UsedKeys(await knownKeysOf(tx, reports))
  await loadLateCycles(tx, counted, reports, today)
  const tallies = new UsageTallies()
  const entries: UsageEntry[] = []
  for (const report of reports) {
    const one = counted.get(report.subscriptionId)!
    if (keys.isRepeated(report, today)) continue
    const day = dayOf(one, report, context)
    const component = componentOf(one, report, day)
    if (!isMetered(component))
      throw conflict(
        'component_not_metered',
        `Component ${report.componentId} is charged by its set number: change it on its subscription.`,
        fieldIn(report, 'componentID'),
      )
    checkBegun(one, report, day)
    entries.push(tallies.count(one, report, day))
  }
  await keep(tx, context, entries, tallies, (id) => counted.get(id)!.subscription.customerId)
  const added = setUnits.filter((one) =>
    entries.some(
      ({ subscriptionId, componentId }) => subscriptionId === one.subscriptionId && componentId === one.componentId,
    ),
  )
  if (added.length > 0) await clearSetUnits(tx, tx.account, added)
  const changed = [...new Set(entries.map(({ subscriptionId }) => subscriptionId))]
  await moveDueOn(
    tx,
    changed.map((id) => ({ counted: counted.get(id)!, was: dueOn.get(id) ?? null })),
    today,
  )
  return { recorded: entries.length, duplicates: reports.length - entries.length }
}
