import { type Fault, invalid, type Problems } from '../../kernel/fault.ts'
import type { PackageGroupId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { findPackageGroup } from './queries.ts'

/** Checks the group that a package or component names in its body: one that the account does not have is 400 at `packageGroupID`. */

const sentence = (id: PackageGroupId): string => `There is no package group ${id}.`

export async function checkPackageGroup(
  tx: Transaction,
  id: PackageGroupId | undefined,
  problems: Problems,
): Promise<void> {
  if (id !== undefined && !(await findPackageGroup(tx, tx.account, id)))
    problems.add('package_group_unknown', 'packageGroupID', sentence(id))
}

/** Returns the refusal for a group that was deleted after it was found: the same as if it had been gone before. */
export const packageGroupGone = (id: PackageGroupId): Fault =>
  invalid('package_group_unknown', sentence(id), 'packageGroupID')
