import { assert } from '../../kernel/assert.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import { positionsColumn } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { DueDay } from '../../platform/database/due.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { fillTextsOf, type IssueContext } from '../invoices/issue.ts'
import { type InvoiceShape, issueShapes } from '../invoices/issue-shapes.ts'
import { AFTER_ISSUE } from '../money/after-issue.ts'
import { listSharedComponents, type SharedComponents } from '../subscription-components/alike.ts'
import type { ComponentsChange } from '../subscription-components/write.ts'
import { type BillingPlan, planContext } from './bill.ts'
import { listSteady, type SteadyGroup } from './due-queries.ts'
import { updateStatesOfShapes } from './state-queries.ts'
import { planSteady, type SteadyFacts } from './steady.ts'
import { writeComponentsOf } from './written-components.ts'

/** Billing steady subscriptions by their shapes: each combination of facts is planned once, and its plan is written for all who share it. */

interface Shape {
  plan: BillingPlan
  issued: InvoiceShape
}

const NOTHING_STEADY = { plans: [], isAll: false }

/**
 * Bills the steady subscriptions of locked customers that are due on a day. Returns a plan for each, one for all of a shape, and whether
 * nothing else is due.
 */
export async function billSteady(
  tx: Transaction,
  context: IssueContext,
  customers: readonly CustomerId[],
  due: DueDay,
): Promise<{ plans: BillingPlan[]; isAll: boolean }> {
  const { groups, dueCount } = await listSteady(tx, tx.account, customers, due)
  if (groups.length === 0) return NOTHING_STEADY
  const shapes: Shape[] = []
  const found: Found[] = []
  const plans = await planContext(tx, context)
  const settings = context.account.hasTexts ? await getAccountSettings(tx, tx.account) : undefined
  for (const { facts, members } of await alikeOf(tx, tx.account, groups)) {
    const plan = planSteady(facts, plans, due.day)
    const [invoice] = plan?.invoices ?? []
    if (!plan || !invoice) continue
    if (settings) fillTextsOf(invoice, settings, facts.locale)
    for (const member of members) found.push({ ...member, shape: shapes.length })
    const zeroCharges = plan.zeroCharges.map(({ charge }) => charge)
    shapes.push({ plan, issued: { invoice, isMailWanted: facts.isMailWanted, zeroCharges } })
  }
  if (found.length === 0) return NOTHING_STEADY
  // Each customer has one.
  found.sort((a, b) => (a.customerId < b.customerId ? -1 : 1))
  await write(tx, context, shapes, found)
  const isAll = dueCount === found.length
  return { plans: found.map(({ shape }) => (shapes[shape] as Shape).plan), isAll }
}

interface Member {
  id: SubscriptionId
  customerId: CustomerId
}

/** A subscription that is billed by a shape. */
interface Found extends Member {
  /** Place of the shape, counted from 0. */
  shape: number
}

/** Subscriptions that are alike but for who they are. */
interface Alike {
  facts: SteadyFacts
  members: Member[]
}

const NO_COMPONENTS: SharedComponents = []

/** Parts groups by the components of their subscriptions. */
export async function alikeOf(db: Queryable, account: AccountId, groups: readonly SteadyGroup[]): Promise<Alike[]> {
  const withComponents = groups.filter(({ hasComponents }) => hasComponents).flatMap(idsOf)
  const componentsOf = withComponents.length === 0 ? new Map() : await listSharedComponents(db, account, withComponents)
  return groups.flatMap((group) => {
    const { facts, members } = group
    if (!group.hasComponents) return [{ facts: { ...facts, components: NO_COMPONENTS }, members }]
    const parts = new Map<SharedComponents, Member[]>()
    for (const member of members) {
      const components = componentsOf.get(member.id) ?? NO_COMPONENTS
      const part = parts.get(components)
      if (part) part.push(member)
      else parts.set(components, [member])
    }
    return [...parts].map(([components, alike]) => ({ facts: { ...facts, components }, members: alike }))
  })
}

const idsOf = ({ members }: SteadyGroup): SubscriptionId[] => members.map(({ id }) => id)

async function write(
  tx: Transaction,
  context: IssueContext,
  shapes: readonly Shape[],
  found: readonly Found[],
): Promise<void> {
  const positions = positionsColumn(found.map(({ shape }) => shape + 1))
  const states = shapes.map(({ plan }) => plan.state)
  const moved = await updateStatesOfShapes(tx, tx.account, { rows: found, positions }, states)
  assert(moved === found.length, 'subscriptions of locked customers are as they were read')
  await writeComponentsOf(tx, changesOf(shapes, found), context.moment.today)
  const shaped = {
    shapes: shapes.map(({ issued }) => issued),
    customerIds: found.map(({ customerId }) => customerId),
    subscriptionIds: found.map(({ id }) => id),
    shapeOf: found.map(({ shape }) => shape),
  }
  await issueShapes(tx, context, shaped, AFTER_ISSUE)
}

/** Returns the components of each subscription that has any, before and after. */
const changesOf = (shapes: readonly Shape[], found: readonly Found[]): ComponentsChange[] =>
  found.flatMap(({ id, shape }) => {
    const { components } = (shapes[shape] as Shape).plan
    return components ? [{ ...components, subscriptionId: id }] : []
  })
