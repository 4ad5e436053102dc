import type { TermType } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type {
  Id,
  PackageGroupId,
  PackageId,
  PackageRateId,
  PackageRateTermId,
  PackageVersionId,
} from '../../kernel/ids.ts'
import type { PageStart } from '../../platform/http/paging.ts'

/** Packages, their versions and prices as they are stored. */

/** Fields of a package that a caller can set, without its versions. */
export interface PackageInput {
  groupId: PackageGroupId
  code: string
  name: string
  description: string
  isActive: boolean
  glCode: string | null
}

export interface Package extends PackageInput {
  id: PackageId
  lastVersionNo: number
}

export interface RateTerm {
  id: PackageRateTermId
  price: Decimal
  term: number
  termType: TermType
}

export interface Rate {
  id: PackageRateId
  currency: string
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  trialPeriod: number
  trialPeriodType: TermType
  terms: RateTerm[]
}

export interface Version {
  id: Id
  versionNo: number
  name: string
  isDefault: boolean
  isActive: boolean
}

export interface PackageVersion {
  id: PackageVersionId
  packageId: PackageId
  versionNo: number
  name: string
  isDefault: boolean
  isActive: boolean
  /** Future, trial and active subscriptions. */
  subscriptionCount: number
  rates: Rate[]
}

/** A package or a component with all its versions, locked: no subscription can start to use one of them until the commit. */
export interface VersionTree<Owner, V extends Version> {
  owner: Owner
  versions: V[]
}

/** A package with all its versions. */
export type PackageTree = VersionTree<Package, PackageVersion>

/** Versions to read: a page of those of one owner, or one by its number. */
export type VersionChoice = { ownerId: Id; start: PageStart; limit: number } | { ownerId: Id; versionNo: bigint }
