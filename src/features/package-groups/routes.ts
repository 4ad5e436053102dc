import { conflict, missing } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import {
  countPackageGroups,
  deletePackageGroup,
  findPackageGroup,
  insertPackageGroup,
  listPackageGroups,
  lockPackageGroup,
  type PackageGroup,
  updatePackageGroup,
} from './queries.ts'
import { packageGroupEtag, PackageGroupIn, PackageGroupOut, PackageGroupsOut, packageGroupToWire } from './wire.ts'

const tag = 'Package groups'

const unknownGroup = (id: bigint | string) =>
  missing('package_group_unknown', `There is no package group ${id}.`, 'packageGroupID')

const groupId = (params: PathParams): bigint => pathId(params, 'packageGroupID', unknownGroup)

async function lockedGroup(tx: Transaction, params: PathParams): Promise<PackageGroup> {
  const id = groupId(params)
  const group = await lockPackageGroup(tx, tx.account, id)
  if (!group) throw unknownGroup(id)
  return group
}

const nameTaken = (name: string) => ({
  package_groups_name_key: () =>
    conflict(
      'group_name_taken',
      `Another package group is named ${JSON.stringify(name)} (letter case does not count).`,
      'GroupName',
    ),
})

async function recordGroup(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  group: PackageGroup,
): Promise<string> {
  const record = PackageGroupOut.write(packageGroupToWire(group))
  await recordEvent(tx, context, { type, recordId: group.id, record })
  return record
}

export const packageGroupOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listPackageGroups',
    method: 'GET',
    path: '/v1/packagegroups',
    tag,
    summary: 'List package groups',
    query: listQuery({}),
    success: { status: 200, schema: PackageGroupsOut.schema },
    read: async (db, { account }, { query, url }) => {
      const page = pageOf(query)
      const rows = await listPackageGroups(db, account.id, (page.page - 1) * page.size, page.size + 1)
      return listAnswer(
        { rows, page, url, count: () => countPackageGroups(db, account.id) },
        (some) => PackageGroupsOut.write(some.map(packageGroupToWire)),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getPackageGroup',
    method: 'GET',
    path: '/v1/packagegroups/{packageGroupID}',
    tag,
    summary: 'Read a package group',
    success: { status: 200, schema: PackageGroupOut.schema },
    read: async (db, { account }, { params }) => {
      const id = groupId(params)
      const group = await findPackageGroup(db, account.id, id)
      if (!group) throw unknownGroup(id)
      return { status: 200, body: PackageGroupOut.write(packageGroupToWire(group)), etag: packageGroupEtag(group) }
    },
  }),
  writeOperation({
    id: 'addPackageGroup',
    method: 'POST',
    path: '/v1/packagegroups',
    tag,
    summary: 'Add a package group',
    body: PackageGroupIn,
    success: { status: 201, schema: PackageGroupOut.schema },
    refusals: { 409: 'Another package group has the GroupName' },
    write: async (tx, context, { body }) => {
      const group = await refuseOn(insertPackageGroup(tx, tx.account, body.GroupName), nameTaken(body.GroupName))
      return {
        status: 201,
        body: await recordGroup(tx, context, 'package_group.created', group),
        etag: packageGroupEtag(group),
        headers: { location: `/v1/packagegroups/${group.id}` },
      }
    },
  }),
  writeOperation({
    id: 'editPackageGroup',
    method: 'PUT',
    path: '/v1/packagegroups/{packageGroupID}',
    tag,
    summary: 'Rename a package group',
    body: PackageGroupIn,
    success: { status: 204 },
    refusals: { 409: 'Another package group has the GroupName' },
    record: (tx, _context, { params }) => lockedGroup(tx, params),
    etag: packageGroupEtag,
    write: async (tx, context, { body }, present) => {
      const group = { ...present, name: body.GroupName }
      await refuseOn(updatePackageGroup(tx, tx.account, group), nameTaken(group.name))
      await recordGroup(tx, context, 'package_group.updated', group)
      return noContent(packageGroupEtag(group))
    },
  }),
  writeOperation({
    id: 'deletePackageGroup',
    method: 'DELETE',
    path: '/v1/packagegroups/{packageGroupID}',
    tag,
    summary: 'Delete a package group that holds nothing',
    success: { status: 204 },
    refusals: { 409: 'The group has packages or components' },
    record: (tx, _context, { params }) => lockedGroup(tx, params),
    etag: packageGroupEtag,
    write: async (tx, context, _input, group: PackageGroup) => {
      const used = (what: string) => () =>
        conflict(
          'package_group_used',
          `The package group ${group.id} has ${what}; move or delete them first.`,
          'packageGroupID',
        )
      await refuseOn(deletePackageGroup(tx, tx.account, group.id), {
        packages_group_fkey: used('packages'),
        components_group_fkey: used('components'),
      })
      await recordGroup(tx, context, 'package_group.deleted', group)
      return noContent()
    },
  }),
]
