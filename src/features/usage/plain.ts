import { Problems } from '../../kernel/fault.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { NotPlain } from '../../platform/http/plain-body.ts'
import type { UsageReport } from '../subscription-components/count-usage.ts'
import { type CountedCycleRow, updateCountedCycles, sendUsageCycles } from '../subscription-components/cycle-queries.ts'
import { insertUsageInBatches, KEY_HASH, type UsageGroup } from '../subscription-components/usage-batch-queries.ts'
import { listKnownKeys } from '../subscription-components/usage-queries.ts'
import { recordBulk } from './actions.ts'
import { findUsage } from './find-usage.ts'
import { arranged } from './plain-batches.ts'
import type { PlainGroup, PlainUsage } from './plain-usage.ts'

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
  at: null,
  key: null,
  memo: null,
  field: '',
})

/** Records plain usage; returns the number of entries. Throws NotPlain where a key was used before, and a Fault where anything is wrong. */
export async function recordPlain(tx: Transaction, context: RequestContext, usage: PlainUsage): Promise<number> {
  const { groups, columns } = arranged(usage)
  const reports = groups.map(reportOf)
  const problems = new Problems()
  const [found, isKnown] = await Promise.all([findUsage(tx, context, reports, problems), isRepeated(tx, usage)])
  problems.throwIfAny()
  if (isKnown) throw new NotPlain()
  await recordBulk(tx, context, found, reports, async (_tx, _context, entries, tallies, customerOf) => {
    const { actor, moment } = context
    const event = { type: 'usage.recorded', happenedAt: moment.now, actor, reason: null } as const
    const ids = new Set(groups.map(({ subscriptionId }) => subscriptionId))
    const events = [...ids].map((subscriptionId) => ({ subscriptionId, customerId: customerOf(subscriptionId) }))
    // Entries are in the order of the groups, and none is missing: they have no keys that could repeat.
    const writing = insertUsageInBatches(tx, columns, entries as readonly UsageGroup[], events, event)
    await Promise.all([
      refuseOn(writing, { [KEY_HASH]: () => new NotPlain() }),
      writeCountedCycles(tx, tallies.settle()),
    ])
  })
  return usage.length
}

/** Writes what reports have made of cycles, of one subscription or thousands, whose customers are locked. */
async function writeCountedCycles(tx: Transaction, cycles: readonly CountedCycleRow[]): Promise<void> {
  const isOpen = ({ isStored, invoiced }: CountedCycleRow) => isStored && invoiced === null
  const open = cycles.filter(isOpen)
  if (open.length > 0) await updateCountedCycles(tx, tx.account, open)
  const others = cycles.filter((cycle) => !isOpen(cycle))
  sendUsageCycles(tx, others)
}

/** Keys that are looked for before anything is written. */
const LOOKED_AT = 16

/**
 * Returns whether a few of the keys, from all over the request, are known: then it was sent before, and the rows that it would write in vain are spared. That no
 * key is stored twice is seen to by the index.
 */
async function isRepeated(tx: Transaction, usage: PlainUsage): Promise<boolean> {
  const { groups } = usage
  const step = Math.max(1, Math.floor(usage.length / LOOKED_AT))
  const some = []
  for (let index = 0; index < usage.length; index += step) {
    const { subscriptionId, componentId } = groups[usage.groupOf(index)] as PlainGroup
    some.push({ subscriptionId, componentId, key: usage.keyOf(index) })
  }
  return (await listKnownKeys(tx, tx.account, some)).length > 0
}
