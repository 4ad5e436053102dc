import {
  componentAtStart,
  type ComponentOffer,
  type ComponentState,
  type SubscriptionFacts,
} from '../../engine/subscription/components.ts'
import { modifyComponents } from '../../engine/subscription/component-changes.ts'
import type { SubscriptionState } from '../../engine/subscription/subscription.ts'
import { type Decimal, equals, ONE, ZERO } from '../../kernel/decimal.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { fillComponentIds } from '../packages/by-code.ts'
import { bracketFromJson } from '../components/brackets.ts'
import {
  type AttachableVersion,
  type ComponentChange,
  insertComponents,
  listAttachable,
  moveComponents,
  movesOf,
  type StoredComponent,
  updateComponents,
} from './queries.ts'
import type { SubscriptionComponentBody } from './wire.ts'
import { deleteUsageCycles, sendUsageCycles, updateOpenUsage, type UsageCycleRow } from './cycle-queries.ts'

/** From a list of components in a body to what it offers. Problems (400) are gathered, conflicts (409) thrown after. */

export interface WishedComponent {
  body: SubscriptionComponentBody
  field: string
  version: AttachableVersion
}

type Body = Partial<SubscriptionComponentBody>

/** Finds the components and versions that a list names, and notes what is wrong with it. */
export async function findComponents(
  tx: Transaction,
  list: readonly Body[] | null | undefined,
  currency: string | undefined,
  present: readonly StoredComponent[],
  problems: Problems,
): Promise<WishedComponent[]> {
  if (!list || list.length === 0) return []
  await fillComponentIds(tx, tx.account, list, 'componentUsage', problems)
  const ids = list.flatMap(({ componentID }) => (componentID == null ? [] : [componentID]))
  const versions = await listAttachable(tx, tx.account, [...new Set(ids)], currency ?? '')
  const seen = new Set<ComponentId>()
  return list.flatMap((body, index) => {
    const field = `componentUsage[${index}]`
    const id = body.componentID
    if (id == null) return []
    if (seen.has(id)) {
      problems.add('duplicate_component', `${field}.componentID`, `Component ${id} stands in the list twice.`)
      return []
    }
    seen.add(id)
    const offered = versions.filter(({ componentId }) => componentId === id)
    if (offered.length === 0) {
      problems.add('component_unknown', `${field}.componentID`, `There is no component ${id}.`)
      return []
    }
    const known = present.find(({ state }) => state.componentId === id && state.leftOutOn === null)
    const version = chosenVersion(body, field, offered, known, problems)
    checkUnits(body, field, version ?? offered[0]!, known, problems)
    return version ? [{ body: body as SubscriptionComponentBody, field, version }] : []
  })
}

/** Rule: the version given, else the one the subscription already has of it, else the default. */
function chosenVersion(
  body: Body,
  field: string,
  offered: readonly AttachableVersion[],
  known: StoredComponent | undefined,
  problems: Problems,
): AttachableVersion | undefined {
  const { componentVersionID: id, componentVersionNumber: number } = body
  if (id) {
    const version = offered.find(({ versionId }) => versionId === id)
    if (!version)
      problems.add(
        'component_version_unknown',
        `${field}.componentVersionID`,
        `Component ${body.componentID} has no version with the identifier ${id}.`,
      )
    else if (number != null && number !== version.versionNo) {
      problems.add(
        'contradiction',
        `${field}.componentVersionNumber`,
        `Component version ${id} has the number ${version.versionNo}, not ${number}.`,
      )
      return undefined
    }
    return version
  }
  if (number != null) {
    const version = offered.find(({ versionNo }) => versionNo === number)
    if (!version)
      problems.add(
        'component_version_unknown',
        `${field}.componentVersionNumber`,
        `Component ${body.componentID} has no version ${number}.`,
      )
    return version
  }
  return offered.find(({ versionId }) => versionId === known?.versionId) ?? offered.find(({ isDefault }) => isDefault)
}

// A number that nobody set must not be guessed: it is money.
function checkUnits(
  body: Body,
  field: string,
  { type }: AttachableVersion,
  known: StoredComponent | undefined,
  problems: Problems,
): void {
  const path = `${field}.NumUnits`
  if (type !== 'quantity' || body.NumUnits != null || known || problems.found.some((found) => found.field === path))
    return
  problems.add('required', path, `${path} is required: component ${body.componentID} is charged by its quantity.`)
}

/** Rule: an opt-in component is there or not. */
export function checkOptIn(
  type: ComponentState['type'],
  units: Decimal,
  componentId: ComponentId,
  field: string,
): void {
  if (type !== 'opt-in' || equals(units, ZERO) || equals(units, ONE)) return
  throw conflict('opt_in_units', `Component ${componentId} is opt-in: it has 0 units or 1.`, field)
}

/** Returns a wish as the engine takes it. Throws the Fault that stands against it. */
function offerOf({ body, field, version }: WishedComponent, currency: string, isNew: boolean): ComponentOffer {
  const { componentId, versionId, versionNo, scheme, list, type } = version
  if (isNew && !version.isComponentActive)
    throw conflict(
      'component_inactive',
      `Component ${componentId} is inactive and takes no subscriptions.`,
      `${field}.componentID`,
    )
  if (isNew && !version.isVersionActive)
    throw conflict(
      'component_version_inactive',
      `Version ${versionNo} of component ${componentId} is inactive and takes no subscriptions.`,
      `${field}.componentVersionNumber`,
    )
  if (!list || list.length === 0)
    throw conflict(
      'brackets_missing',
      `Version ${versionNo} of component ${componentId} has no brackets in ${currency}.`,
      `${field}.componentID`,
    )
  const quantity = type === 'metered' ? ZERO : (body.NumUnits ?? ONE)
  checkOptIn(type, quantity, componentId, `${field}.NumUnits`)
  const { name, term, termType } = version
  return {
    componentId,
    name,
    type,
    term,
    termType,
    version: { versionId, scheme, list: list.map(bracketFromJson) },
    quantity,
  }
}

/** Usage that a metered component brings when it is added. */
export interface OpeningUsage {
  componentId: ComponentId
  units: Decimal
  memo: string | null
}

export interface ComponentSet {
  components: ComponentState[]
  opening: OpeningUsage[]
}

const openingOf = ({ body, version }: WishedComponent): OpeningUsage[] =>
  version.type === 'metered' && body.NumUnits != null && body.NumUnits.coefficient > 0n
    ? [{ componentId: version.componentId, units: body.NumUnits, memo: body.Memo ?? null }]
    : []

/** Returns the components of a subscription that is added with them. */
export const composeComponents = (
  wished: readonly WishedComponent[],
  state: SubscriptionState,
  currency: string,
): ComponentSet => ({
  components: wished.map((wish) => componentAtStart(state, offerOf(wish, currency, true))),
  opening: wished.flatMap(openingOf),
})

/**
 * Returns the components of a running subscription as a list wants them. Rule: the list is the whole set; the number of a metered one
 * counts only when it is added, and a number that is left out stays.
 */
export function wantedComponents(
  wished: readonly WishedComponent[],
  facts: SubscriptionFacts,
  currency: string,
  { today, pausedOn }: { today: IsoDate; pausedOn: IsoDate | null },
): ComponentSet {
  const opening: OpeningUsage[] = []
  const offers = wished.map((wish): ComponentOffer => {
    const { version, body } = wish
    const known = facts.components.find(
      ({ componentId, leftOutOn }) => componentId === version.componentId && leftOutOn === null,
    )
    if (!known) opening.push(...openingOf(wish))
    const offer = offerOf(wish, currency, known?.versions.at(-1)?.versionId !== version.versionId)
    return known && body.NumUnits == null ? { ...offer, quantity: known.quantity } : offer
  })
  return { components: modifyComponents(facts, offers, today, pausedOn), opening }
}

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
