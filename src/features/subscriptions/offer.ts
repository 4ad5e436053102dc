import { listRateTerms, type SoldTerm } from '../packages/queries.ts'
import { isSameTerm, type PackageOffer } from '../../engine/subscription/subscription.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { ChangeBody } from './change-wire.ts'
import { checkTerm, checkTermFields, resolveVersion, trialEnd } from './resolve.ts'
import { type Subscription } from './queries.ts'
import type { OfferIds } from './state.ts'

/**
 * Finds the offer that the body of a change of package or term names. Problems (400) are gathered; conflicts (409) are thrown after them.
 */

export interface FoundOffer {
  terms: SoldTerm[]
}

type Body = Partial<ChangeBody>

/** Finds the version that a change of package names and notes problems of its term. */
export async function findPackageOffer(
  tx: Transaction,
  s: Subscription,
  body: Body,
  problems: Problems,
): Promise<FoundOffer> {
  checkTermFields(body, problems)
  const versionId = await resolveVersion(tx, body, problems)
  if (versionId === undefined) return { terms: [] }
  const terms = await listRateTerms(tx, tx.account, versionId, s.currency)
  const offered = terms.filter(({ packageRateTermId }) => packageRateTermId !== null)
  const hasPresent = offered.some((term) => isPresentTerm(term, s))
  // Rule: if no term is given, the present one is kept if the new rate has it.
  if (isTermGiven(body) || !hasPresent) await checkTerm(tx, body, terms, problems)
  return { terms }
}

/** Finds the term that a change within the same version names. */
export async function findTermOffer(
  tx: Transaction,
  s: Subscription,
  body: Body,
  problems: Problems,
): Promise<FoundOffer> {
  checkTermFields(body, problems)
  const terms = await listRateTerms(tx, tx.account, s.packageVersionId, s.currency)
  if (!isTermGiven(body))
    problems.add('required', 'packageRateTermID', 'packageRateTermID, or Term and TermType, is required.')
  else await checkTerm(tx, body, terms, problems)
  return { terms }
}

const isTermGiven = (body: Body): boolean =>
  body.packageRateTermID != null || body.Term != null || body.TermType != null

const isPresentTerm = (term: SoldTerm, s: Subscription): boolean =>
  term.term !== null && term.termType !== null && isSameTerm({ term: term.term, termType: term.termType }, s)

export interface ResolvedOffer {
  offer: PackageOffer
  ids: OfferIds
  /** Returns fees and trial of a subscription that has not begun, as if it were added with this offer. */
  asAdded(startDate: IsoDate): { setupFeeMinor: bigint; trialFeeMinor: bigint; trialEndDate: IsoDate | null }
}

/** Resolves the offer that a body names. Throws 409 if it cannot be used or would change nothing. */
export function resolveOffer({ terms }: FoundOffer, s: Subscription, body: ChangeBody): ResolvedOffer {
  const [first] = terms
  const isOther = first?.packageVersionId !== s.packageVersionId
  if (isOther && !first?.isPackageActive)
    throw conflict(
      'package_inactive',
      `Package ${first?.packageId} is inactive and takes no subscriptions.`,
      'packageID',
    )
  if (isOther && !first?.isVersionActive)
    throw conflict(
      'package_version_inactive',
      `Version ${first?.versionNo} of package ${first?.packageId} is inactive and takes no subscriptions.`,
      'packageVersionNumber',
    )
  const offered = terms.filter(({ packageRateTermId }) => packageRateTermId !== null)
  if (offered.length === 0)
    throw conflict(
      'rate_missing',
      `Version ${first?.versionNo} of package ${first?.packageId} has no rate in ${s.currency}.`,
      'packageID',
    )
  const found = resolveTerm(offered, s, body)
  if (!found)
    throw conflict(
      'rate_term_foreign',
      `Rate term ${body.packageRateTermID} is not of version ${first?.versionNo} of package ${first?.packageId} in ${s.currency}.`,
      'packageRateTermID',
    )
  if (found.packageRateTermId === s.packageRateTermId)
    throw conflict('nothing_changes', `Subscription ${s.id} has this package and term already.`)
  return {
    offer: {
      packageId: found.packageId,
      packageName: found.packageName,
      price: found.price!,
      term: found.term!,
      termType: found.termType!,
    },
    ids: { packageVersionId: found.packageVersionId, packageRateTermId: found.packageRateTermId! },
    asAdded: (startDate) => ({
      setupFeeMinor: found.setupFeeMinor!,
      trialFeeMinor: found.trialFeeMinor!,
      trialEndDate: trialEnd(startDate, found),
    }),
  }
}

function resolveTerm(offered: readonly SoldTerm[], s: Subscription, body: ChangeBody): SoldTerm | undefined {
  if (body.packageRateTermID)
    return offered.find(({ packageRateTermId }) => packageRateTermId === body.packageRateTermID)
  if (body.Term != null) return offered.find(({ term, termType }) => term === body.Term && termType === body.TermType)
  return offered.find((term) => isPresentTerm(term, s)) ?? offered[0]
}
