import { Problems } from '../../kernel/fault.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { NotPlain } from '../../platform/http/plain-body.ts'
import type { UsageReport } from '../subscription-components/count-usage.ts'
import { upsertUsageCycles } from '../subscription-components/cycle-queries.ts'
import {
  insertUsageInGroups,
  KEY_HASH,
  listKnownKeys,
  type UsageGroup,
} from '../subscription-components/usage-queries.ts'
import { USAGE_TEXTS } from '../subscription-components/wire.ts'
import { findUsage, recordBulk } from './actions.ts'
import type { PlainGroup, PlainUsage } from './plain-wire.ts'

/**
 * Recording plain usage in bulk. Reports of one subscription, component and day are counted as one, by the rules of all reports; the database writes what
 * each of them leaves behind.
 */

const reportOf = ({ subscriptionId, componentId, day, units, eachUnits }: PlainGroup): UsageReport => ({
  subscriptionId,
  componentId,
  units,
  eachUnits,
  isSet: false,
  day,
  key: null,
  memo: null,
  field: '',
})

/** Records plain usage; returns the number of entries. Throws NotPlain where a key was used before, and a Fault where anything is wrong. */
export async function recordPlain(tx: Transaction, context: RequestContext, usage: PlainUsage): Promise<number> {
  const reports = usage.of.map(reportOf)
  const problems = new Problems()
  const found = await findUsage(tx, context, reports, problems)
  problems.throwIfAny()
  if (await isRepeated(tx, usage)) throw new NotPlain()
  await recordBulk(tx, context, found, reports, async (_tx, _context, entries, tallies) => {
    const { actor, moment } = context
    const event = { type: 'usage.recorded', happenedAt: moment.now, actor, reason: null } as const
    // Entries are in the order of the groups, and none is missing: they have no keys that could repeat.
    const writing = insertUsageInGroups(tx, usage, entries as readonly UsageGroup[], event, USAGE_TEXTS)
    await Promise.all([
      refuseOn(writing, { [KEY_HASH]: () => new NotPlain() }),
      upsertUsageCycles(tx, tx.account, tallies.settle()),
    ])
  })
  return usage.keys.length
}

/** Keys that are looked for before anything is written. */
const LOOKED_AT = 16

/**
 * Returns whether a few of the keys, from all over the request, are known: then it was sent before, and the rows that it would write in vain are spared. That no
 * key is stored twice is seen to by the index.
 */
async function isRepeated(tx: Transaction, { of, groups, keys }: PlainUsage): Promise<boolean> {
  const step = Math.max(1, Math.floor(keys.length / LOOKED_AT))
  const some = keys.flatMap((key, index) => {
    const { subscriptionId, componentId } = of[(groups[index] as number) - 1] as PlainGroup
    return index % step === 0 ? [{ subscriptionId, componentId, key }] : []
  })
  return (await listKnownKeys(tx, tx.account, some)).length > 0
}
