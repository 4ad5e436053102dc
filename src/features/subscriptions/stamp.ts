import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { placesOf } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { DueDay } from '../../platform/database/due.ts'
import type { DueContext } from '../billing-run/due-kind.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { issueInBulk } from '../invoices/issue-in-bulk.ts'
import { AFTER_ISSUE } from '../money/apply-unallocated.ts'
import type { ComponentsChange } from '../subscription-components/resolve.ts'
import type { BillingPlan } from './bill.ts'
import { findSweptOn, moveToState } from './state-queries.ts'
import { listSharedBilling, type SharedBillingMember } from './shared-billing-queries.ts'
import { type SharedPlan, sharedPlansOf } from './shared-plans.ts'
import { writeComponentsOf } from './written-components.ts'

/** Billing steady subscriptions by their shared plans: each is written for all subscriptions that have it. */

const NOTHING_SHARED = { plans: [], isAll: false }

/**
 * Bills the steady subscriptions of locked customers that are due on a day. Returns the plan of each, shared by those that have it in common, and whether
 * nothing else is due.
 */
export async function billShared(
  tx: Transaction,
  context: DueContext,
  customers: readonly CustomerId[],
  due: DueDay,
): Promise<{ plans: BillingPlan[]; isAll: boolean }> {
  const { groups, dueCount } = await listSharedBilling(tx, tx.account, customers, due)
  if (groups.length === 0) return NOTHING_SHARED
  const [shaped, sweptOn] = await Promise.all([sharedPlansOf(tx, context, groups, due), findSweptOn(tx)])
  const found = shaped.flatMap(({ shape, members }) =>
    members.map((member): Found => ({ member, shape, order: Number(member.customerId) })),
  )
  if (found.length === 0) return NOTHING_SHARED
  // Each customer has one.
  found.sort((a, b) => a.order - b.order)
  // Nobody is put in cycle on a day that a run is through with, as one may be whose clock stood later before.
  await write(tx, context, found, later(context.moment.today, sweptOn ?? context.moment.today))
  return { plans: found.map(({ shape }) => shape.plan), isAll: dueCount === found.length }
}

/** A subscription that is billed by a shared plan. */
interface Found {
  member: SharedBillingMember
  shape: SharedPlan
  /** The customer's identifier, which is below 2^53, as what is compared quickly. */
  order: number
}

async function write(
  tx: Transaction,
  context: IssueContext,
  found: readonly Found[],
  cyclesAfter: IsoDate,
): Promise<void> {
  const members = found.map(({ member }) => member)
  const { firsts, places } = placesOf(found.map(({ shape }) => shape))
  const shapes = firsts.map((first) => (found[first] as Found).shape)
  await moveStates(tx, found, cyclesAfter)
  await writeComponentsOf(tx, changesOf(found), context.moment.today)
  const shaped = {
    shapes: shapes.map(({ issued }) => issued),
    customers: members,
    subscriptionIds: members.map(({ id }) => id),
    shapeOf: places,
  }
  await issueInBulk(tx, context, shaped, AFTER_ISSUE)
}

/** Moves subscriptions to their next period. They are left in few states: what they cost is in none of them. */
async function moveStates(tx: Transaction, found: readonly Found[], cyclesAfter: IsoDate): Promise<void> {
  for (const alike of groupBy(found, ({ shape }) => shape.state).values()) {
    const [{ shape }] = alike as [Found]
    const ids = alike.map(({ member }) => member.id)
    const moved = await moveToState(tx, ids, shape.plan.state, cyclesAfter)
    assert(moved === ids.length, 'subscriptions of locked customers are as they were read')
  }
}

/** Returns the components of each subscription that has any, before and after. */
const changesOf = (found: readonly Found[]): ComponentsChange[] =>
  found.flatMap(({ member: { id }, shape: { plan } }) =>
    plan.components ? [{ ...plan.components, subscriptionId: id }] : [],
  )
