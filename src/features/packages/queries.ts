import { onlyUpdated } from '../events/queries.ts'
import type { Instant, IsoDate, TermType } from '../../kernel/calendar.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, Id, PackageId, PackageRateId, PackageRateTermId, PackageVersionId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import type { Package, PackageInput, PackageTree, PackageVersion, Rate, VersionChoice } from './types.ts'

const PACKAGE = fragment`
  package_id as "id", package_group_id as "groupId", code, name, description, is_active as "isActive", gl_code as "glCode", last_version_no as "lastVersionNo"`

export const findPackage = (db: Queryable, account: AccountId, id: PackageId) =>
  db.first<Package>(sql`select ${PACKAGE} from packages where account_id = ${account} and package_id = ${id}`)

/** Locks a package: the first step of every change to it or to its versions. */
export const lockPackage = (tx: Transaction, account: AccountId, id: PackageId) =>
  tx.first<Package>(sql`
    select ${PACKAGE} from packages where account_id = ${account} and package_id = ${id} for update`)

/** Locks all versions of a package against subscriptions that are being added to them: what is in use is known from here on. */
export const lockPackageVersions = (tx: Transaction, account: AccountId, id: PackageId) =>
  tx.rows(sql`
    select 1 from package_versions where account_id = ${account} and package_id = ${id} order by package_version_id for update`)

/** Conditions of the list of packages; what is null or left out is none. */
export interface PackageFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  /** Code in small letters. */
  codeKey?: string | null
}

export const listPackages = (
  db: Queryable,
  account: AccountId,
  filter: PackageFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<Package>(sql`
    select ${PACKAGE} from packages where account_id = ${account} ${onward(start, 'package_id')} ${onlyUpdated(account, 'package', 'package_id', filter.since)} ${onlyWith('code_key', filter.codeKey)} order by package_id ${inPage(start, limit)}`)

export const countPackages = (db: Queryable, account: AccountId, filter: PackageFilter) =>
  db.count(sql`
    select count(*) as "n" from packages where account_id = ${account} ${onlyUpdated(account, 'package', 'package_id', filter.since)} ${onlyWith('code_key', filter.codeKey)}`)

function chosen(account: AccountId, choice: VersionChoice | { packageIds: readonly PackageId[] }): Fragment {
  if ('packageIds' in choice)
    return fragment`v.account_id = ${account} and v.package_id = any (${arrayLiteral(choice.packageIds)}::bigint[])`
  if ('versionNo' in choice)
    return fragment`v.account_id = ${account} and v.package_id = ${choice.ownerId} and v.version_no = ${choice.versionNo}::bigint`
  return fragment`v.account_id = ${account} and v.package_id = ${choice.ownerId}
    order by v.package_version_id ${inPage(choice.start, choice.limit)}`
}

interface VersionRow extends Omit<PackageVersion, 'rates'> {
  rateId: PackageRateId
  currency: string
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  trialPeriod: number
  trialPeriodType: TermType
  termId: PackageRateTermId
  price: Decimal
  term: number
  termType: TermType
}

/** Lists versions with their rates and terms, each in the order of creation: one statement however many there are. */
export async function listPackageVersions(
  db: Queryable,
  account: AccountId,
  choice: VersionChoice | { packageIds: readonly PackageId[] },
  today: IsoDate,
): Promise<PackageVersion[]> {
  const rows = await db.rows<VersionRow>(sql`
    with chosen as materialized (select v.* from package_versions v where ${chosen(account, choice)}),
    counted as materialized (
      select c.*, (
        select count(*)::int from subscriptions s
         where s.account_id = ${account} and s.package_version_id = c.package_version_id and s.cancelled_on is null
           and (s.end_date is null or s.end_date > ${today})
           and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${today})) as subscription_count
        from chosen c)
    select v.package_version_id as "id", v.package_id as "packageId", v.version_no as "versionNo", v.name, v.is_default as "isDefault",
           v.is_active as "isActive", v.subscription_count as "subscriptionCount",
           r.package_rate_id as "rateId", r.currency, r.setup_fee_minor as "setupFeeMinor", r.trial_fee_minor as "trialFeeMinor",
           r.trial_period as "trialPeriod", r.trial_period_type as "trialPeriodType",
           t.package_rate_term_id as "termId", t.price, t.term, t.term_type as "termType"
      from counted v
      join package_rates r on r.account_id = ${account} and r.package_version_id = v.package_version_id
      join package_rate_terms t on t.account_id = ${account} and t.package_rate_id = r.package_rate_id
     order by v.package_version_id ${'start' in choice ? direction(choice.start) : NOTHING}, r.package_rate_id, t.package_rate_term_id`)
  return treeOf(rows)
}

function treeOf(rows: readonly VersionRow[]): PackageVersion[] {
  const versions: PackageVersion[] = []
  for (const row of rows) {
    let version = versions.at(-1)
    if (version?.id !== row.id) versions.push((version = versionOf(row)))
    let rate = version.rates.at(-1)
    if (rate?.id !== row.rateId) version.rates.push((rate = rateOf(row)))
    rate.terms.push({ id: row.termId, price: row.price, term: row.term, termType: row.termType })
  }
  return versions
}

const versionOf = (row: VersionRow): PackageVersion => ({
  id: row.id,
  packageId: row.packageId,
  versionNo: row.versionNo,
  name: row.name,
  isDefault: row.isDefault,
  isActive: row.isActive,
  subscriptionCount: row.subscriptionCount,
  rates: [],
})

const rateOf = (row: VersionRow): Rate => ({
  id: row.rateId,
  currency: row.currency,
  setupFeeMinor: row.setupFeeMinor,
  trialFeeMinor: row.trialFeeMinor,
  trialPeriod: row.trialPeriod,
  trialPeriodType: row.trialPeriodType,
  terms: [],
})

export const countPackageVersions = (db: Queryable, account: AccountId, id: PackageId) =>
  db.count(sql`select count(*) as "n" from package_versions where account_id = ${account} and package_id = ${id}`)

/** Completes packages by their versions. */
export async function listPackageTrees(
  db: Queryable,
  account: AccountId,
  packages: readonly Package[],
  today: IsoDate,
): Promise<PackageTree[]> {
  if (packages.length === 0) return []
  const versions = await listPackageVersions(db, account, { packageIds: packages.map(({ id }) => id) }, today)
  const byPackage = groupBy(versions, ({ packageId }) => packageId)
  return packages.map((owner) => ({ owner, versions: byPackage.get(owner.id) ?? [] }))
}

/** Lists the versions of some that a subscription names, now or by a pending change, ended subscriptions too. */
export const listUsedVersions = (db: Queryable, account: AccountId, ids: readonly PackageVersionId[]) =>
  db.rows<{ id: PackageVersionId }>(sql`
    select v.id from unnest(${arrayLiteral(ids)}::bigint[]) as v(id)
     where exists (select 1 from subscriptions s where s.account_id = ${account} and s.package_version_id = v.id)
        or exists (select 1 from subscriptions s where s.account_id = ${account} and s.pending_package_version_id = v.id)
     order by v.id`)

export const insertPackage = (tx: Transaction, account: AccountId, p: PackageInput, lastVersionNo: number) =>
  tx.one<Package>(sql`
    insert into packages (account_id, package_group_id, code, name, description, is_active, gl_code, last_version_no)
    values (${account}, ${p.groupId}, ${p.code}, ${p.name}, ${p.description}, ${p.isActive}, ${p.glCode}, ${lastVersionNo})
    returning ${PACKAGE}`)

/** Counts a change of what prices offer. It stands before the change, whose row nobody else can have locked by then. */
export const marked = (account: AccountId): Fragment => fragment`
  marked as (
    insert into price_marks (account_id, changes) values (${account}, 1) on conflict (account_id) do update set changes = price_marks.changes + 1)`

export const updatePackage = (tx: Transaction, account: AccountId, p: Package) =>
  tx.rows(sql`
    with ${marked(account)}
    update packages set package_group_id = ${p.groupId}, code = ${p.code}, name = ${p.name}, description = ${p.description},
      is_active = ${p.isActive}, gl_code = ${p.glCode}, last_version_no = ${p.lastVersionNo}
    where account_id = ${account} and package_id = ${p.id}`)

/** Deletes a package with its versions, rates and terms. */
export const deletePackage = (tx: Transaction, account: AccountId, id: PackageId) =>
  tx.rows(sql`delete from packages where account_id = ${account} and package_id = ${id}`)

/** The rate term that a new subscription would use, with all that its price follows from. */
export interface SoldTerm {
  packageId: Id
  packageName: string
  isPackageActive: boolean
  packageVersionId: Id
  versionNo: number
  isVersionActive: boolean
  packageRateId: Id | null
  setupFeeMinor: bigint | null
  trialFeeMinor: bigint | null
  trialPeriod: number | null
  trialPeriodType: TermType | null
  packageRateTermId: Id | null
  price: Decimal | null
  term: number | null
  termType: TermType | null
}

/**
 * Lists a version with its terms in a currency: one row a term, or one row without rate or term. Locked against a change of its prices by a
 * statement of its own: one that waits for a lock goes on with rates and terms as they were before it waited.
 */
export async function listRateTerms(
  tx: Transaction,
  account: AccountId,
  versionId: Id,
  currency: string,
): Promise<SoldTerm[]> {
  await tx.rows(sql`
    select 1 from packages p join package_versions v on v.account_id = ${account} and v.package_id = p.package_id
     where p.account_id = ${account} and v.package_version_id = ${versionId} for share of p, v`)
  return tx.rows<SoldTerm>(sql`
    select p.package_id as "packageId", p.name as "packageName", p.is_active as "isPackageActive", v.package_version_id as "packageVersionId",
           v.version_no as "versionNo", v.is_active as "isVersionActive", r.package_rate_id as "packageRateId",
           r.setup_fee_minor as "setupFeeMinor", r.trial_fee_minor as "trialFeeMinor", r.trial_period as "trialPeriod",
           r.trial_period_type as "trialPeriodType", t.package_rate_term_id as "packageRateTermId", t.price, t.term, t.term_type as "termType"
      from package_versions v join packages p on p.account_id = ${account} and p.package_id = v.package_id
      left join package_rates r on r.account_id = ${account} and r.package_version_id = v.package_version_id and r.currency = ${currency}
      left join package_rate_terms t on t.account_id = ${account} and t.package_rate_id = r.package_rate_id
     where v.account_id = ${account} and v.package_version_id = ${versionId}
     order by t.package_rate_term_id`)
}

export const findVersionById = (db: Queryable, account: AccountId, id: Id) =>
  db.first<{ id: Id; packageId: Id; versionNo: number }>(sql`
    select package_version_id as "id", package_id as "packageId", version_no as "versionNo" from package_versions
     where account_id = ${account} and package_version_id = ${id}`)

/** Finds the version of a package with a number, or its default. */
export const findVersionOfPackage = (db: Queryable, account: AccountId, packageId: Id, versionNo: number | null) =>
  db.first<{ id: Id; packageId: Id; versionNo: number }>(sql`
    select package_version_id as "id", package_id as "packageId", version_no as "versionNo" from package_versions
     where account_id = ${account} and package_id = ${packageId}
       and (version_no = ${versionNo}::integer or (${versionNo}::integer is null and is_default))`)

export const packageExists = async (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  (await db.rows(sql`select 1 from packages where account_id = ${account} and package_id = ${id}`)).length > 0

export const rateTermExists = async (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  (await db.rows(sql`select 1 from package_rate_terms where account_id = ${account} and package_rate_term_id = ${id}`))
    .length > 0
