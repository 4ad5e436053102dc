import { introduced } from '../../platform/http/tags.ts'
import { conflict } from '../../kernel/fault.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import { recordChange } from '../events/record.ts'
import {
  countPackageGroups,
  deletePackageGroup,
  findPackageGroup,
  insertPackageGroup,
  listPackageGroups,
  lockPackageGroup,
  updatePackageGroup,
} from './queries.ts'
import { packageGroupEtag, PackageGroupIn, packageGroupShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Package groups', 'Groups of packages and components; a subscription changes within its group.')

const packageGroup = recordKind({
  code: 'package_group',
  name: 'package group',
  param: 'packageGroupID',
  path: '/v1/packagegroups',
  out: packageGroupShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findPackageGroup(db, account.id, id),
  lock: (tx, { account }, id) => lockPackageGroup(tx, account.id, id),
  etag: packageGroupEtag,
})

const nameTaken = (name: string) => ({
  package_groups_name_key: () =>
    conflict(
      'group_name_taken',
      `Another package group is named ${JSON.stringify(name)} (letter case does not count).`,
      'GroupName',
    ),
})

export const packageGroupOperations = (): Operation[] => [
  listOperation({
    id: 'listPackageGroups',
    path: '/v1/packagegroups',
    tag,
    summary: 'List package groups',
    out: packageGroupShape,
    rows: listPackageGroups,
    count: countPackageGroups,
  }),
  packageGroup.readOperation({ id: 'getPackageGroup', tag, summary: 'Read a package group' }),
  writeOperation({
    id: 'addPackageGroup',
    method: 'POST',
    path: '/v1/packagegroups',
    tag,
    summary: 'Add a package group',
    body: PackageGroupIn,
    success: { status: 201, schema: packageGroupShape.schema },
    refusals: { 409: 'Another package group has the GroupName' },
    write: async (tx, context, { body }) => {
      const group = await refuseOn(insertPackageGroup(tx, tx.account, body.GroupName), nameTaken(body.GroupName))
      await recordChange(tx, context, packageGroup, { type: 'package_group.created', row: group })
      return packageGroup.created(group, context)
    },
  }),
  writeOperation({
    ...packageGroup.editing,
    id: 'editPackageGroup',
    tag,
    summary: 'Rename a package group',
    body: PackageGroupIn,
    refusals: { 409: 'Another package group has the GroupName' },
    write: async (tx, context, { body }, present) => {
      const group = { ...present, name: body.GroupName }
      await refuseOn(updatePackageGroup(tx, tx.account, group), nameTaken(group.name))
      await recordChange(tx, context, packageGroup, { type: 'package_group.updated', row: group })
      return packageGroup.edited(group)
    },
  }),
  writeOperation({
    ...packageGroup.deleting,
    id: 'deletePackageGroup',
    tag,
    summary: 'Delete a package group that holds nothing',
    refusals: { 409: 'The group has packages or components' },
    write: async (tx, context, _input, group) => {
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
      await recordChange(tx, context, packageGroup, { type: 'package_group.deleted', row: group })
      return noContent()
    },
  }),
]
