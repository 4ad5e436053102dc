import { etagOf } from '../../platform/http/etag.ts'
import { text } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outId, outText } from '../../platform/wire/write.ts'
import type { PackageGroup } from './queries.ts'

export const packageGroupShape = recordShape<PackageGroup>()('PackageGroup', {
  packageGroupID: [outId(), ({ id }) => id],
  GroupName: [outText(), ({ name }) => name],
})

export const PackageGroupIn = objectOf(
  { GroupName: required(text()) },
  { name: 'PackageGroupInput', ignored: ['packageGroupID'] },
)

/** Changes with whatever a PUT would replace. */
export const packageGroupEtag = ({ id, name }: PackageGroup): string => etagOf(id, name)
