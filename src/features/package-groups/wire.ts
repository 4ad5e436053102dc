import { etagOf } from '../../platform/http/etag.ts'
import { text } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { outId, outList, outObject, outText } from '../../platform/wire/write.ts'
import type { PackageGroup } from './queries.ts'

export const PackageGroupOut = outObject({ packageGroupID: outId(), GroupName: outText() }, 'PackageGroup')
export const PackageGroupsOut = outList(PackageGroupOut)

export const PackageGroupIn = objectOf({ GroupName: required(text()) }, { ignored: ['packageGroupID'] })

export const packageGroupToWire = ({ id, name }: PackageGroup) => ({ packageGroupID: id, GroupName: name })

/** Changes with whatever a PUT would replace. */
export const packageGroupEtag = ({ id, name }: PackageGroup): string => etagOf(id, name)
