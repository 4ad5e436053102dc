import { PERIODS_MAX } from '../billing-run/due-kind.ts'
import { chooseCollection } from '../collection-terms/choose.ts'
import {
  findVersionById,
  findVersionOfPackage,
  listRateTerms,
  packageExists,
  rateTermExists,
  type SoldTerm,
} from '../packages/queries.ts'
import { fillPackageId } from '../packages/by-code.ts'
import { conflict, Problems } from '../../kernel/fault.ts'
import { addDays, addMonths, type IsoDate, partsOf, type TermType } from '../../kernel/calendar.ts'
import { isMoreDueThan } from '../../engine/subscription/plan-due.ts'
import { firstCursor } from '../../engine/subscription/renewal.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { plural } from '../../kernel/text.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { checkCustomerReference } from '../customers/record.ts'
import type { Customer } from '../customers/queries.ts'
import {
  type ComponentSet,
  composeComponents,
  findComponents,
  type WishedComponent,
} from '../subscription-components/resolve.ts'
import { nextActionOn, stateOf } from './state.ts'
import { type NewSubscription, type Subscription } from './queries.ts'
import type { SubscriptionBody } from './wire.ts'

/**
 * Resolves the body of an add to a subscription: version, term, dates. Problems (400) are gathered; conflicts (409) are thrown after them.
 */

export interface ResolvedReferences {
  customer: Customer
  terms: SoldTerm[]
  components: WishedComponent[]
  /** Facts that stand against its collection details. */
}

type Body = Partial<SubscriptionBody>

/** Finds the records that a body names and notes problems of it. */
export async function resolveReferences(
  tx: Transaction,
  context: RequestContext,
  body: Body,
  problems: Problems,
): Promise<Partial<ResolvedReferences>> {
  checkTermFields(body, problems)
  const customer = await checkCustomerReference(tx, body.customerID, problems)
  const components = await findComponents(tx, body.componentUsage, customer?.currency, [], problems)
  const collection = await chooseCollection(tx, body, { customer, currency: customer?.currency }, problems)
  const versionId = await resolveVersion(tx, body, problems)
  if (!customer || !collection || versionId === undefined) return { ...(customer ? { customer } : {}) }
  const terms = await listRateTerms(tx, tx.account, versionId, customer.currency)
  await checkTerm(tx, body, terms, problems)
  checkDates(body, terms[0], context.moment.today, problems)
  return { customer, terms, components }
}

export function checkTermFields(body: Body, problems: Problems): void {
  if (body.Term != null && body.TermType == null)
    problems.add('required', 'TermType', 'TermType is required where Term is given.')
  if (body.TermType != null && body.Term == null)
    problems.add('required', 'Term', 'Term is required where TermType is given.')
  if (body.firstProrataSyncDate != null && body.isProRata === false) {
    problems.add(
      'contradiction',
      'firstProrataSyncDate',
      'firstProrataSyncDate needs isProRata: the time before it is charged by the day.',
    )
  }
}

export async function resolveVersion(tx: Transaction, body: Body, problems: Problems): Promise<bigint | undefined> {
  const noted = problems.found.length
  await fillPackageId(tx, tx.account, body, problems)
  if (problems.found.length > noted) return undefined
  const { packageVersionID, packageID, packageVersionNumber } = body
  if (packageVersionID) {
    const version = await findVersionById(tx, tx.account, packageVersionID)
    if (!version)
      problems.add('package_version_unknown', 'packageVersionID', `There is no package version ${packageVersionID}.`)
    else if (packageID && packageID !== version.packageId)
      problems.add(
        'contradiction',
        'packageVersionID',
        `Package version ${packageVersionID} is not of package ${packageID}.`,
      )
    else if (packageVersionNumber != null && packageVersionNumber !== version.versionNo) {
      problems.add(
        'contradiction',
        'packageVersionNumber',
        `Package version ${packageVersionID} has the number ${version.versionNo}, not ${packageVersionNumber}.`,
      )
    } else return version.id
    return undefined
  }
  if (!packageID) {
    const isRefused = problems.found.some(({ field }) => field === 'packageVersionID')
    if (isRefused) return undefined
    problems.add('required', 'packageID', 'packageID, packageCode or packageVersionID is required.')
    return undefined
  }
  const version = await findVersionOfPackage(tx, tx.account, packageID, packageVersionNumber ?? null)
  if (version) return version.id
  if (await packageExists(tx, tx.account, packageID))
    problems.add(
      'package_version_unknown',
      'packageVersionNumber',
      `Package ${packageID} has no version ${packageVersionNumber}.`,
    )
  else problems.add('package_unknown', 'packageID', `There is no package ${packageID}.`)
  return undefined
}

const termText = (term: number | null, termType: TermType | null): string =>
  plural(term ?? 0, (termType ?? 'days').slice(0, -1))

const termNames = (terms: readonly SoldTerm[]) =>
  terms.filter(({ term }) => term !== null).map(({ term, termType }) => termText(term, termType))

export async function checkTerm(
  tx: Transaction,
  body: Body,
  terms: readonly SoldTerm[],
  problems: Problems,
): Promise<void> {
  const offered = terms.filter(({ packageRateTermId }) => packageRateTermId !== null)
  // A version without a rate in the currency of the customer is a conflict, which is thrown later.
  if (offered.length === 0) return
  if (body.packageRateTermID) {
    const named = offered.find(({ packageRateTermId }) => packageRateTermId === body.packageRateTermID)
    if (!named) {
      if (!(await rateTermExists(tx, tx.account, body.packageRateTermID)))
        problems.add('rate_term_unknown', 'packageRateTermID', `There is no rate term ${body.packageRateTermID}.`)
    } else if (
      body.Term != null &&
      body.TermType != null &&
      (body.Term !== named.term || body.TermType !== named.termType)
    ) {
      problems.add(
        'contradiction',
        'Term',
        `Rate term ${body.packageRateTermID} is ${termText(named.term, named.termType)}, not ${termText(body.Term, body.TermType)}.`,
      )
    }
    return
  }
  const list = termNames(offered).join(', ')
  if (body.Term != null && body.TermType != null) {
    if (!offered.some(({ term, termType }) => term === body.Term && termType === body.TermType))
      problems.add(
        'term_unknown',
        'Term',
        `The rate has no term of ${termText(body.Term, body.TermType)}; it has ${list}.`,
      )
  } else if (offered.length > 1 && body.Term == null && body.TermType == null) {
    problems.add(
      'required',
      'packageRateTermID',
      `packageRateTermID, or Term and TermType, is required: the rate has the terms ${list}.`,
    )
  }
}

export const trialEnd = (start: IsoDate, rate: SoldTerm | undefined): IsoDate | null => {
  if (!rate?.trialPeriod || rate.trialPeriodType === null) return null
  return rate.trialPeriodType === 'months' ? addMonths(start, rate.trialPeriod) : addDays(start, rate.trialPeriod)
}

function checkDates(body: Body, rate: SoldTerm | undefined, today: IsoDate, problems: Problems): void {
  if (problems.found.some(({ field }) => field === 'StartDate')) return
  const start = body.StartDate ?? today
  if (body.EndDate != null && body.EndDate <= start)
    problems.add('date_order', 'EndDate', `EndDate ${body.EndDate} must be after StartDate ${start}.`)
  const first = trialEnd(start, rate) ?? start
  if (body.firstProrataSyncDate != null && body.firstProrataSyncDate <= first) {
    const what = first === start ? `StartDate ${start}` : `the end of the trial, ${first}`
    problems.add(
      'date_order',
      'firstProrataSyncDate',
      `firstProrataSyncDate ${body.firstProrataSyncDate} must be after ${what}.`,
    )
  }
}

/** Returns the rate term that a body names. Throws 409 if none can be used. */
function resolveTerm({ customer, terms }: ResolvedReferences, body: SubscriptionBody): SoldTerm {
  const [first] = terms
  if (!first?.isPackageActive)
    throw conflict(
      'package_inactive',
      `Package ${first?.packageId} is inactive and takes no new subscriptions.`,
      'packageID',
    )
  if (!first.isVersionActive)
    throw conflict(
      'package_version_inactive',
      `Version ${first.versionNo} of package ${first.packageId} is inactive and takes no new subscriptions.`,
      'packageVersionNumber',
    )
  const offered = terms.filter(({ packageRateTermId }) => packageRateTermId !== null)
  if (offered.length === 0) {
    throw conflict(
      'rate_missing',
      `Version ${first.versionNo} of package ${first.packageId} has no rate in ${customer.currency}, the currency of customer ${customer.id}.`,
      'packageID',
    )
  }
  const found = body.packageRateTermID
    ? offered.find(({ packageRateTermId }) => packageRateTermId === body.packageRateTermID)
    : body.Term != null
      ? offered.find(({ term, termType }) => term === body.Term && termType === body.TermType)
      : offered[0]
  if (!found)
    throw conflict(
      'rate_term_foreign',
      `Rate term ${body.packageRateTermID} is not of version ${first.versionNo} of package ${first.packageId} in ${customer.currency}.`,
      'packageRateTermID',
    )
  return found
}

/** Composes a subscription as it would be added, with every fact that billing it needs. Throws 400 or 409 if it cannot be added. */
export function composeSubscription(
  resolved: ResolvedReferences,
  body: SubscriptionBody,
  context: RequestContext,
): { row: NewSubscription; facts: Omit<Subscription, 'id'>; set: ComponentSet } {
  const { customer } = resolved
  if (customer.pausedOn !== null) {
    const state = customer.archivedAt === null ? 'suspended' : 'archived'
    throw conflict(
      `customer_${state}`,
      `Customer ${customer.id} is ${state} and takes no new subscriptions.`,
      'customerID',
    )
  }
  const rate = resolveTerm(resolved, body)
  const startDate = body.StartDate ?? context.moment.today
  const trialEndDate = trialEnd(startDate, rate)
  const syncDate = body.firstProrataSyncDate ?? null
  const anchor = syncDate ?? trialEndDate ?? startDate
  const draft: Omit<Subscription, 'id'> = {
    ...customerFacts(customer),
    ...rateFacts(rate),
    stretch: 1,
    startDate,
    trialEndDate,
    syncDate,
    endDate: body.EndDate ?? null,
    anchor,
    anchorDay: partsOf(anchor).day,
    componentAnchor: anchor,
    isProRata: body.isProRata ?? true,
    leadDays: body.numDaysBeforeToInv ?? context.account.leadDays,
    poNumber: body.poNumber ?? null,
    reference: body.Reference ?? null,
    collectionMethod: body.CollectionMethod ?? null,
    gatewayId: body.gatewayID ?? null,
    paymentMethodId: body.customerPaymentMethodID ?? null,
    lastModified: context.moment.now,
    ...NOTHING_YET,
    nextFrom: startDate,
  }
  const unbilled = stateOf(draft)
  const cursor = firstCursor(unbilled)
  const state = { ...unbilled, cursor }
  const set = composeComponents(resolved.components, state, draft.currency)
  if (isMoreDueThan({ state, components: set.components }, context.moment.today, PERIODS_MAX)) {
    const problems = new Problems()
    problems.add(
      'too_many_periods',
      'StartDate',
      `StartDate ${startDate} would bill more than ${PERIODS_MAX} periods at once.`,
    )
    problems.throwIfAny()
  }
  const dueOn = nextActionOn({ state, components: set.components }, context.moment.today, false)
  const facts = { ...draft, ...cursor, dueOn, componentsRevision: set.components.length > 0 ? 1 : 0 }
  return { row: facts, facts, set }
}

const NOTHING_YET = {
  feesOn: null,
  lastFrom: null,
  lastInvoiceDate: null,
  componentsRevision: 0,
  dueOn: null,
  pendingKind: null,
  pendingOn: null,
  cancelledOn: null,
  cancelledAt: null,
  cancelReason: null,
  isEndRecorded: false,
  restartedAfter: null,
} as const

const customerFacts = (customer: Customer) => ({
  customerId: customer.id,
  currency: customer.currency,
  customerName: customer.name,
  customerLastName: customer.lastName,
  isCompany: customer.isCompany,
  customerVersion: customer.version,
  pausedOn: customer.pausedOn,
  isCustomerArchived: customer.archivedAt !== null,
  countryId: customer.countryId,
  countryStateId: customer.countryStateId,
  vatNumber: customer.vatNumber,
  isWaiveTaxes: customer.isWaiveTaxes,
  taxCategory: customer.taxCategory,
  taxReason: customer.taxReason,
  paymentMethod: customer.paymentMethod,
  paymentTermDays: customer.paymentTermDays,
})

const rateFacts = (rate: SoldTerm) => ({
  packageId: rate.packageId,
  packageVersionId: rate.packageVersionId,
  packageRateTermId: rate.packageRateTermId!,
  term: rate.term!,
  termType: rate.termType!,
  versionNo: rate.versionNo,
  packageName: rate.packageName,
  price: rate.price!,
  setupFeeMinor: rate.setupFeeMinor!,
  trialFeeMinor: rate.trialFeeMinor!,
})
