import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, PackageId, PackageRateId, PackageVersionId } from '../../kernel/ids.ts'
import { assert } from '../../kernel/assert.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'
import { marked } from './queries.ts'
import type { RateInput, TermInput, VersionPlan } from './rules.ts'
import type { Version } from './types.ts'

/** Statements that write package versions, their rates and terms: a whole list in each. */

export const insertPackageVersion = (
  tx: Transaction,
  account: AccountId,
  v: Omit<Version, 'id'> & { ownerId: PackageId },
): Promise<PackageVersionId> =>
  tx.value<PackageVersionId>(sql`
    insert into package_versions (account_id, package_id, version_no, name, is_default, is_active)
    values (${account}, ${v.ownerId}, ${v.versionNo}, ${v.name}, ${v.isDefault}, ${v.isActive})
    returning package_version_id as "id"`)

export const updatePackageVersion = (tx: Transaction, account: AccountId, v: Omit<Version, 'versionNo'>) =>
  tx.rows(sql`
    update package_versions set name = ${v.name}, is_default = ${v.isDefault}, is_active = ${v.isActive}
     where account_id = ${account} and package_version_id = ${v.id}`)

/** Takes the default from the version that has it: before another gets it, since a package never has two. */
export const unsetDefaultPackageVersion = (tx: Transaction, account: AccountId, packageId: PackageId) =>
  tx.rows(sql`
    update package_versions set is_default = false where account_id = ${account} and package_id = ${packageId} and is_default`)

export const deletePackageVersion = (tx: Transaction, account: AccountId, id: PackageVersionId) =>
  tx.rows(sql`delete from package_versions where account_id = ${account} and package_version_id = ${id}`)

/** Adds rates with their terms, in the order given: identifiers follow it, and so do answers. */
export async function insertRates(
  tx: Transaction,
  account: AccountId,
  versionId: PackageVersionId,
  rates: readonly RateInput[],
): Promise<void> {
  if (rates.length === 0) return
  const added = await tx.rows<{ id: PackageRateId; currency: string }>(sql`
    insert into package_rates (account_id, package_version_id, currency, setup_fee_minor, trial_fee_minor, trial_period, trial_period_type)
    select ${account}, ${versionId}::bigint, currency, setup_fee, trial_fee, trial_period, trial_period_type
      from unnest(${column(rates, 'currency')}::text[], ${column(rates, 'setupFeeMinor')}::bigint[], ${column(rates, 'trialFeeMinor')}::bigint[],
                  ${column(rates, 'trialPeriod')}::integer[], ${column(rates, 'trialPeriodType')}::text[])
           with ordinality as r(currency, setup_fee, trial_fee, trial_period, trial_period_type, place)
     order by place
    returning package_rate_id as "id", currency`)
  const idOf = new Map(added.map(({ id, currency }) => [currency, id]))
  await insertTerms(
    tx,
    account,
    rates.flatMap(({ currency, terms }) => {
      const rateId = idOf.get(currency)
      assert(rateId !== undefined && terms, `the new rate in ${currency} has an identifier and terms`)
      return terms.map((term) => ({ ...term, rateId }))
    }),
  )
}

async function insertTerms(
  tx: Transaction,
  account: AccountId,
  terms: readonly (TermInput & { rateId: PackageRateId })[],
): Promise<void> {
  if (terms.length === 0) return
  await tx.rows(sql`
    insert into package_rate_terms (account_id, package_rate_id, price, term, term_type)
    select ${account}, rate_id, price, term, term_type
      from unnest(${column(terms, 'rateId')}::bigint[], ${arrayLiteral(terms.map(({ price }) => decimalText(price)))}::numeric[],
                  ${column(terms, 'term')}::integer[], ${column(terms, 'termType')}::text[])
           with ordinality as t(rate_id, price, term, term_type, place)
     order by place returning 1`)
}

/** Writes the changed rates and terms of a version; identifiers of what stays are kept. */
export async function applyVersionPlan(
  tx: Transaction,
  account: AccountId,
  versionId: PackageVersionId,
  plan: VersionPlan,
): Promise<void> {
  await tx.rows(sql`
    delete from package_rates where account_id = ${account} and package_rate_id = any (${arrayLiteral(plan.dropRates)}::bigint[])`)
  await tx.rows(sql`
    delete from package_rate_terms where account_id = ${account} and package_rate_term_id = any (${arrayLiteral(plan.dropTerms)}::bigint[])`)
  await tx.rows(sql`
    with ${marked(account)}
    update package_rates r set setup_fee_minor = w.setup_fee, trial_fee_minor = w.trial_fee, trial_period = w.trial_period,
           trial_period_type = w.trial_period_type
      from unnest(${column(plan.editRates, 'id')}::bigint[], ${column(plan.editRates, 'setupFeeMinor')}::bigint[],
                  ${column(plan.editRates, 'trialFeeMinor')}::bigint[], ${column(plan.editRates, 'trialPeriod')}::integer[],
                  ${column(plan.editRates, 'trialPeriodType')}::text[]) as w(id, setup_fee, trial_fee, trial_period, trial_period_type)
     where r.account_id = ${account} and r.package_rate_id = w.id`)
  await tx.rows(sql`
    update package_rate_terms t set price = w.price
      from unnest(${column(plan.editTerms, 'id')}::bigint[], ${arrayLiteral(plan.editTerms.map(({ price }) => decimalText(price)))}::numeric[]) as w(id, price)
     where t.account_id = ${account} and t.package_rate_term_id = w.id`)
  await insertTerms(tx, account, plan.addTerms)
  await insertRates(tx, account, versionId, plan.addRates)
}
