import type { UsageBatch, UsageColumns } from '../subscription-components/usage-batch-queries.ts'
import { BATCH_END, LINE_END, NO_TEXT } from '../subscription-components/usage-batch-queries.ts'
import type { PlainGroup, PlainUsage } from './plain-usage.ts'

/** Puts plain usage into the order in which it is stored: reports of one subscription follow each other, and those of some subscriptions share a row. */

/** Reports of a row, unless one subscription has more: who reads an event reads its row. */
const REPORTS_MAX = 256

export interface ArrangedUsage {
  groups: PlainGroup[]
  columns: UsageColumns
}

/** Arranges usage: subscriptions in the order in which the first report of each comes, and the reports of each as they were sent. */
export function arranged(usage: PlainUsage): ArrangedUsage {
  const { order, ends } = bySubscription(usage)
  const groups = usage.groups.map((group, index) => ({ group, index, of: usage.subscriptionOf(index) }))
  groups.sort((one, other) => one.of - other.of)
  const placeOf = new Int32Array(groups.length)
  groups.forEach(({ index }, place) => (placeOf[index] = place + 1))
  const batches: UsageBatch[] = []
  const places: number[] = []
  const texts = { units: [] as string[], keys: [] as string[], memos: [] as string[] }
  for (let from = 0, event = 0; event < ends.length;) {
    const begin = event
    for (event += 1; event < ends.length && (ends[event] as number) - from <= REPORTS_MAX;) event += 1
    const until = ends[event - 1] as number
    const [units, keys, memos] = [[] as string[], [] as string[], [] as string[]]
    const firstGroup = placeOf[usage.groupOf(order[from] as number)] as number
    let lastGroup = firstGroup
    for (let at = from; at < until; at += 1) {
      const report = order[at] as number
      const group = placeOf[usage.groupOf(report)] as number
      if (group > lastGroup) lastGroup = group
      places.push(group - firstGroup + 1)
      units.push(usage.unitsOf(report))
      keys.push(usage.keyOf(report))
      if (usage.hasMemos) memos.push(usage.memoOf(report) ?? NO_TEXT)
    }
    texts.units.push(units.join())
    texts.keys.push(keys.join(LINE_END))
    if (usage.hasMemos) texts.memos.push(memos.join(LINE_END))
    batches.push({ events: event - begin, firstReport: from + 1, lastReport: until, firstGroup, lastGroup })
    from = until
  }
  return {
    groups: groups.map(({ group }) => group),
    columns: {
      batches,
      places,
      units: texts.units.join(BATCH_END),
      keys: texts.keys.join(BATCH_END),
      ...(usage.hasMemos && { memos: texts.memos.join(BATCH_END) }),
    },
  }
}

/** Returns the reports by subscription, each as its index, and where those of each end. */
function bySubscription(usage: PlainUsage): { order: Int32Array; ends: Int32Array } {
  const ends = new Int32Array(usage.subscriptions)
  const subscriptionOf = (report: number) => usage.subscriptionOf(usage.groupOf(report))
  for (let report = 0; report < usage.length; report += 1) ends[subscriptionOf(report)]! += 1
  for (let place = 1; place < ends.length; place += 1) ends[place]! += ends[place - 1] as number
  const order = new Int32Array(usage.length)
  const next = ends.slice()
  for (let report = usage.length - 1; report >= 0; report -= 1) order[(next[subscriptionOf(report)]! -= 1)] = report
  return { order, ends }
}
