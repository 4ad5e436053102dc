import { type Fault, invalid, type Problems } from '../../kernel/fault.ts'
import type { PackageGroupId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { findPackageGroup } from './queries.ts'

/** How packages and components name their group in a body: one the account does not have is 400 at `packageGroupID`. */

const sentence = (id: PackageGroupId): string => `There is no package group ${id}.`

export async function checkPackageGroup(
  tx: Transaction,
  id: PackageGroupId | undefined,
  problems: Problems,
): Promise<void> {
  if (id !== undefined && !(await findPackageGroup(tx, tx.account, id)))
    problems.add('package_group_unknown', 'packageGroupID', sentence(id))
}

/** A group that was deleted after it was looked for: told as if it had been gone before. */
export const packageGroupGone = (id: PackageGroupId): Fault =>
  invalid('package_group_unknown', sentence(id), 'packageGroupID')
