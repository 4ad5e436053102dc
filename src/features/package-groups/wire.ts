import { identifies } from '../../platform/wire/shared-sentences.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { text } from '../../platform/wire/fields.ts'
import { namesOfInputs, objectOf, type Properties, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outId, outText } from '../../platform/wire/write.ts'
import type { PackageGroup } from './queries.ts'

export const packageGroupShape = recordShape<PackageGroup>()('PackageGroup', {
  packageGroupID: [outId(identifies('package group')), ({ id }) => id],
  GroupName: [outText('The name of the group.'), ({ name }) => name],
})

const inputs = { GroupName: required(text(), 'The name of the group.') } satisfies Properties

export const PackageGroupIn = objectOf(inputs, { name: 'PackageGroupInput', ignored: ['packageGroupID'] })

const textOfSet = packageGroupShape.writerOf(namesOfInputs(inputs))

/** Changes with whatever a PUT would replace. */
export const packageGroupEtag = (group: PackageGroup): string => etagOf(group.id, textOfSet(group))
