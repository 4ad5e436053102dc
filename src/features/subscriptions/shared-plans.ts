import type { TaxRules } from '../../engine/tax.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import { jsonText } from '../../kernel/json.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { DueDay } from '../../platform/database/due.ts'
import { type AccountSettings, getAccountSettings } from '../accounts/queries.ts'
import type { DueContext } from '../billing-run/due-kind.ts'
import { fillTextsOf } from '../invoices/issue.ts'
import { type InvoiceTemplate, invoiceTemplate } from '../invoices/issue-in-bulk.ts'
import { asksForBusiness, isBusiness } from '../invoices/lines.ts'
import { listSharedComponents, type SharedComponents } from '../subscription-components/group-by-facts.ts'
import { type BillingPlan, type PlanContext, planContext } from './bill.ts'
import { findPriceMark, listOffers } from './due-queries.ts'
import { stateKeyOf } from './state-queries.ts'
import { planSharedBilling, type BillingFacts } from './shared-billing.ts'
import {
  listBillingFacts,
  type ReadFacts,
  type SharedBillingGroup,
  type SharedBillingMember,
} from './shared-billing-queries.ts'

/**
 * Shared plans of what steady subscriptions are billed: each is planned once in a run, and remembered from chunk to chunk with all that its plan was made of. Where
 * anything of that is another one, it is planned anew.
 */

export interface SharedPlan {
  plan: BillingPlan
  issued: InvoiceTemplate
  /** The state that it leaves, as one text. */
  state: string
}

/** A shared plan, null where its facts make no plain invoice, and the offer of its price that it was planned from: still the same when prices were last marked as changed. */
interface KnownPlan {
  offer: string
  priceMark: bigint
  shape: SharedPlan | null
}

/** Memory of a run: the circumstances under which its shared plans hold, and these by the facts of their group and the rest of their key. */
interface Remembered {
  circumstances: string
  byFacts: Map<string, Map<string, KnownPlan>>
  count: number
}

const REMEMBERED = new WeakMap<object, Remembered>()

/** Shared plans remembered at a time: when there are more, all are planned again. */
const PLANS_MAX = 5000

/** Returns what a run remembers that still holds under the circumstances. */
function rememberedOf(memory: object = {}, about: unknown): Remembered {
  const circumstances = jsonText(about)
  const known = REMEMBERED.get(memory)
  if (known?.circumstances === circumstances && known.count < PLANS_MAX) return known
  const begun: Remembered = { circumstances, byFacts: new Map(), count: 0 }
  REMEMBERED.set(memory, begun)
  return begun
}

/** Subscriptions of a shared plan. */
interface Planned {
  shape: SharedPlan
  members: readonly SharedBillingMember[]
}

/** Returns the shared plans of steady subscriptions, whose customers are locked; left out are those that are billed individually. */
export async function sharedPlansOf(
  tx: Transaction,
  context: DueContext,
  groups: readonly SharedBillingGroup[],
  due: DueDay,
): Promise<Planned[]> {
  const [plans, priceMark] = await Promise.all([planContext(tx, context), findPriceMark(tx, tx.account)])
  const { paymentTermDays, taxRules } = plans
  const settings = context.account.hasTexts ? await getAccountSettings(tx, tx.account) : undefined
  const remembered = rememberedOf(context.memory, [plans.today, due.day, paymentTermDays, taxRules, settings])
  const parts = splitGroups(groups, taxRules)
  const knownParts = parts.map(({ group, key }) => remembered.byFacts.get(group.key)?.get(key))
  await confirm(tx, parts, knownParts, priceMark)
  const found: Planned[] = []
  const unknown = parts.filter((part, index) => {
    const known = knownParts[index]
    // Components are facts that are read for each chunk.
    if (known === undefined || part.group.hasComponents || known.priceMark !== priceMark) return true
    if (known.shape) found.push({ shape: known.shape, members: part.members })
    return false
  })
  for (const { part, offer, facts, members } of await groupsByFacts(tx, unknown, due)) {
    const shape = sharedPlanOf(facts, plans, settings, due)
    // The offer may be another one since it was looked at: it is remembered with that from which it was planned.
    if (!part.group.hasComponents) remember(remembered, part, { offer, priceMark, shape })
    if (shape) found.push({ shape, members })
  }
  return found
}

/** Reads anew what the prices of remembered shared plans offer, where something of prices was changed since, and confirms those that offer the same. */
async function confirm(
  tx: Transaction,
  parts: readonly Part[],
  knownParts: readonly (KnownPlan | undefined)[],
  priceMark: bigint,
): Promise<void> {
  const stale: { known: KnownPlan; termId: string }[] = []
  for (const [index, known] of knownParts.entries())
    if (known && known.priceMark !== priceMark) stale.push({ known, termId: (parts[index] as Part).termId })
  if (stale.length === 0) return
  const offers = await listOffers(tx, tx.account, [...new Set(stale.map(({ termId }) => termId))])
  for (const { known, termId } of stale) if (known.offer === offers.get(termId)) known.priceMark = priceMark
}

function remember(to: Remembered, { group, key }: Part, known: KnownPlan): void {
  const ofGroup = to.byFacts.get(group.key) ?? new Map<string, KnownPlan>()
  to.byFacts.set(group.key, ofGroup)
  ofGroup.set(key, known)
  to.count += 1
}

/** Makes a shared plan; null where its facts make no plain invoice. */
function sharedPlanOf(
  facts: BillingFacts,
  plans: PlanContext,
  settings: AccountSettings | undefined,
  due: DueDay,
): SharedPlan | null {
  const plan = planSharedBilling(facts, plans, due.day)
  const [invoice] = plan?.invoices ?? []
  if (!plan || !invoice) return null
  if (settings) fillTextsOf(invoice, settings, facts.locale)
  const zeroCharges = plan.zeroCharges.map(({ charge }) => charge)
  return { plan, issued: invoiceTemplate(invoice, zeroCharges), state: stateKeyOf(plan.state) }
}

/** Subscriptions of a group that cost the same, and whose customers are taxed alike. */
interface Part {
  group: SharedBillingGroup
  /** All that they have in common beside the facts of their group, as one text. */
  key: string
  termId: string
  isBusiness: boolean
  members: SharedBillingMember[]
}

/** Parts groups by what their subscriptions cost, and by whether their customers are businesses, where taxes depend on that. */
export function splitGroups(groups: readonly SharedBillingGroup[], rules: TaxRules): Part[] {
  const isAsked = asksForBusiness(rules)
  return groups.flatMap((group) => {
    const { countryId } = group
    const businesses = new Set(isAsked ? group.members.filter((member) => isBusiness({ ...member, countryId })) : [])
    const keyIn = (member: SharedBillingMember) =>
      businesses.has(member) ? `business ${member.termId}` : member.termId
    return [...groupBy(group.members, keyIn)].map(([key, members]): Part => {
      const [first] = members as [SharedBillingMember]
      return { group, key, termId: first.termId, isBusiness: businesses.has(first), members }
    })
  })
}

/** Subscriptions with identical billing facts; only their ids differ. */
interface FactsGroup {
  part: Part
  offer: string
  facts: BillingFacts
  members: readonly SharedBillingMember[]
}

const NO_COMPONENTS: SharedComponents = []

/** Reads the facts of parts, and parts these by the components of their subscriptions. */
export async function groupsByFacts(tx: Transaction, parts: readonly Part[], { day }: DueDay): Promise<FactsGroup[]> {
  if (parts.length === 0) return []
  const firsts = parts.map(({ members }) => (members[0] as SharedBillingMember).id)
  const found = await listBillingFacts(tx, tx.account, firsts, day)
  const withComponents = parts.filter(({ group }) => group.hasComponents).flatMap(idsOf)
  const componentsOf =
    withComponents.length === 0 ? new Map() : await listSharedComponents(tx, tx.account, withComponents)
  return parts.flatMap((part, index): FactsGroup[] => {
    const { members, isBusiness: is, group } = part
    const { facts: read, offer } = found[index] as ReadFacts
    const facts = allOf(read, is, NO_COMPONENTS)
    if (!group.hasComponents) return [{ part, offer, facts, members }]
    const alike = groupBy(members, ({ id }): SharedComponents => componentsOf.get(id) ?? NO_COMPONENTS)
    return [...alike].map(([components, some]) => ({ part, offer, facts: { ...facts, components }, members: some }))
  })
}

/** Adds what is not read with the facts of a subscription, in place. */
function allOf(read: ReadFacts['facts'], is: boolean, components: SharedComponents): BillingFacts {
  const facts = read as BillingFacts
  facts.isBusiness = is
  facts.components = components
  return facts
}

const idsOf = ({ members }: Part): SubscriptionId[] => members.map(({ id }) => id)
