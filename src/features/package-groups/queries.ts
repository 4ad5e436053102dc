import type { AccountId, PackageGroupId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

export interface PackageGroup {
  id: PackageGroupId
  name: string
}

const COLUMNS = fragment`package_group_id as "id", name`

export const findPackageGroup = (db: Queryable, account: AccountId, id: PackageGroupId) =>
  db.first<PackageGroup>(sql`
    select ${COLUMNS} from package_groups where account_id = ${account} and package_group_id = ${id}`)

/** Locks a group against renaming and deletion by others, and against packages that would enter it meanwhile. */
export const lockPackageGroup = (tx: Transaction, account: AccountId, id: PackageGroupId) =>
  tx.first<PackageGroup>(sql`
    select ${COLUMNS} from package_groups where account_id = ${account} and package_group_id = ${id} for update`)

export const listPackageGroups = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<PackageGroup>(sql`
    select ${COLUMNS} from package_groups where account_id = ${account} order by package_group_id ${inPage(start, limit)}`)

export const countPackageGroups = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from package_groups where account_id = ${account}`)

export const insertPackageGroup = (tx: Transaction, account: AccountId, name: string) =>
  tx.one<PackageGroup>(sql`
    insert into package_groups (account_id, name) values (${account}, ${name}) returning ${COLUMNS}`)

export const updatePackageGroup = (tx: Transaction, account: AccountId, { id, name }: PackageGroup) =>
  tx.rows(sql`update package_groups set name = ${name} where account_id = ${account} and package_group_id = ${id}`)

export const deletePackageGroup = (tx: Transaction, account: AccountId, id: PackageGroupId) =>
  tx.rows(sql`delete from package_groups where account_id = ${account} and package_group_id = ${id}`)
