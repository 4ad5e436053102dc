import { assert } from '../../kernel/assert.ts'
import type { CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import { positionsColumn } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { DueDay } from '../../platform/database/due.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { fillTextsOf, type IssueContext } from '../invoices/issue.ts'
import { type InvoiceShape, issueShapes } from '../invoices/issue-shapes.ts'
import { AFTER_ISSUE } from '../money/after-issue.ts'
import { type BillingPlan, planContext } from './bill.ts'
import { listSteady, type SteadyGroup } from './due-queries.ts'
import { updateStatesOfShapes } from './state-queries.ts'
import { planSteady } from './steady.ts'

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
  const groups = await listSteady(tx, tx.account, customers, due)
  if (groups.length === 0) return NOTHING_STEADY
  const shapes: Shape[] = []
  const found: Found[] = []
  const plans = await planContext(tx, context)
  const settings = context.account.hasTexts ? await getAccountSettings(tx, tx.account) : undefined
  for (const group of groups) {
    const plan = planSteady(group, plans, due.day)
    const [invoice] = plan?.invoices ?? []
    if (!plan || !invoice) continue
    if (settings) fillTextsOf(invoice, settings, group.locale)
    addMembers(found, group, shapes.length)
    shapes.push({ plan, issued: { invoice, isMailWanted: group.isMailWanted } })
  }
  if (found.length === 0) return NOTHING_STEADY
  // Each customer has one.
  found.sort((a, b) => (a.customerId < b.customerId ? -1 : 1))
  await write(tx, context, shapes, found)
  const isAll = groups[0]?.dueCount === found.length
  return { plans: found.map(({ shape }) => (shapes[shape] as Shape).plan), isAll }
}

/** A subscription that is billed by a shape. */
interface Found {
  id: SubscriptionId
  customerId: CustomerId
  /** Place of the shape, counted from 0. */
  shape: number
}

function addMembers(found: Found[], group: SteadyGroup, shape: number): void {
  const [ids, customerIds] = [group.ids.split(','), group.customerIds.split(',')]
  for (let index = 0; index < ids.length; index += 1)
    found.push({
      id: BigInt(ids[index] as string),
      customerId: BigInt(customerIds[index] as string),
      shape,
    })
}

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
  const shaped = {
    shapes: shapes.map(({ issued }) => issued),
    customerIds: found.map(({ customerId }) => customerId),
    subscriptionIds: found.map(({ id }) => id),
    shapeOf: found.map(({ shape }) => shape),
  }
  await issueShapes(tx, context, shaped, AFTER_ISSUE)
}
