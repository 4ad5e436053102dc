import { introduced } from '../../platform/http/tags.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { ComponentId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { fillComponentIds, filteredComponent } from '../packages/by-code.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { idIn } from '../../platform/http/sent-id.ts'
import { isJsonObject, type Json } from '../../platform/wire/json.ts'
import { foundSubscription, subscriptionKind } from '../subscriptions/record.ts'
import {
  type BulkBody,
  BULK_BYTES_MAX,
  BulkUsageIn,
  BulkUsageOut,
  type RecordUsageBody,
  RecordUsageIn,
  type UsageBody,
  usageFilters,
  usageShape,
} from '../subscription-components/wire.ts'
import { holdCustomersOf, type SubscriptionView } from '../subscriptions/queries.ts'
import { recordPlain } from './plain.ts'
import type { PlainUsage } from './plain-usage.ts'
import { readPlainUsage } from './plain-wire.ts'
import { findReported, recordBulk, recordUsage, type ReportedUsage } from './actions.ts'
import { findUsage, type FoundUsage } from './find-usage.ts'
import { countUsage, listUsage, type UsageFilter } from '../subscription-components/usage-queries.ts'
import type { UsageReport } from '../subscription-components/count-usage.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Usage',
  'Reports of what was used of metered components; it is charged when its cycle has ended.',
)

const reportOf = (entry: UsageBody, subscriptionId: bigint, field: string): UsageReport => ({
  subscriptionId,
  componentId: entry.componentID as ComponentId,
  units: entry.NumUnits,
  isSet: entry.isSetUnits ?? false,
  day: entry.Date?.day ?? null,
  at: entry.Date?.at ?? null,
  key: entry.UsageKey ?? null,
  memo: entry.Memo ?? null,
  field,
})

/** Returns the entries of a body that is a list, or one entry. What is missing of the one entry is noted. */
async function reportsOf(
  tx: Transaction,
  body: Partial<RecordUsageBody>,
  s: SubscriptionView,
  problems: Problems,
): Promise<UsageReport[]> {
  if (body.componentUsage) {
    await fillComponentIds(tx, tx.account, body.componentUsage, 'componentUsage', problems)
    return body.componentUsage.flatMap((entry, index) =>
      entry.componentID == null ? [] : [reportOf(entry, s.id, `componentUsage[${index}]`)],
    )
  }
  if (problems.found.some(({ field }) => field?.startsWith('componentUsage'))) return []
  const isRefused = (name: string) => problems.found.some(({ field }) => field === name)
  if (body.ComponentCode != null) await fillComponentIds(tx, tx.account, [body], '', problems)
  else if (!body.componentID && !isRefused('componentID'))
    problems.add(
      'required',
      'componentID',
      'componentID or ComponentCode is required, or componentUsage with a list of entries.',
    )
  if (body.NumUnits == null && !isRefused('NumUnits')) problems.add('required', 'NumUnits', 'NumUnits is required.')
  if (!body.componentID || body.NumUnits == null) return []
  return [reportOf({ ...body, componentID: body.componentID, NumUnits: body.NumUnits }, s.id, '')]
}

async function bulkReports(
  tx: Transaction,
  list: readonly Partial<BulkBody>[] | undefined,
  problems: Problems,
): Promise<UsageReport[]> {
  await fillComponentIds(tx, tx.account, list ?? [], 'Usage', problems)
  const reports: UsageReport[] = []
  list?.forEach((entry, index) => {
    if (entry.subscriptionID === undefined || entry.componentID == null || entry.NumUnits === undefined) return
    reports.push(reportOf(entry as BulkBody, entry.subscriptionID, `Usage[${index}]`))
  })
  return reports
}

const bulkAnswer = (Recorded: number, Duplicates: number) => ({
  status: 201,
  body: BulkUsageOut.write({ Recorded, Duplicates }),
})

/** Returns whether a body reports more than one entry. */
const isList = (body: Json | undefined): boolean => isJsonObject(body) && Object.hasOwn(body, 'componentUsage')

export const usageOperations = (): Operation[] => [
  writeOperation({
    id: 'recordUsage',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/components/recordusage',
    tag,
    summary: 'Report usage of components, one entry or a list in order; all of it is recorded or nothing',
    body: RecordUsageIn,
    success: { status: 204, headers: ['Perennial-Warning'] },
    representation: subscriptionKind.representation,
    refusals: {
      409: 'The subscription has ended or does not have the component, usage would fall below 0, or a UsageKey has other values',
    },
    grouping: {
      recordOf: ({ subscriptionID }, body) => (isList(body) ? undefined : idIn(subscriptionID)),
      hold: holdCustomersOf,
    },
    record: subscriptionKind.editing.record,
    references: async (tx, context, { body }, problems: Problems, s: SubscriptionView) =>
      findReported(tx, context, s, await reportsOf(tx, body, s, problems), problems),
    write: async (tx, context, _input, s: SubscriptionView, found: ReportedUsage) => {
      const isBilled = await recordUsage(tx, context, s, found)
      return isBilled ? noContent() : { status: 204, headers: { 'perennial-warning': 'billing_failed' } }
    },
  }),
  writeOperation({
    id: 'recordUsageInBulk',
    method: 'POST',
    path: '/v1/usage',
    tag,
    summary: 'Report usage of many subscriptions at once, up to 10,000 entries; all of it is recorded or nothing',
    body: BulkUsageIn,
    plans: 'fitted',
    bodyBytesMax: BULK_BYTES_MAX,
    plainWay: {
      read: readPlainUsage,
      write: async (tx: Transaction, context: RequestContext, usage: PlainUsage) =>
        bulkAnswer(await recordPlain(tx, context, usage), 0),
    },
    success: { status: 201, schema: BulkUsageOut.schema },
    refusals: {
      409: 'A subscription has ended or does not have the component, usage would fall below 0, or a UsageKey has other values',
    },
    references: async (tx, context, { body }, problems: Problems) => {
      const reports = await bulkReports(tx, body.Usage, problems)
      return { reports, found: await findUsage(tx, context, reports, problems) }
    },
    write: async (tx, context, _input, _record, { reports, found }: { reports: UsageReport[]; found: FoundUsage }) => {
      const { recorded, duplicates } = await recordBulk(tx, context, found, reports)
      return bulkAnswer(recorded, duplicates)
    },
  }),
  listOperation({
    id: 'listUsage',
    path: '/v1/subscriptions/{subscriptionID}/usage',
    tag,
    summary: 'List the usage that was reported for a subscription',
    out: usageShape,
    filters: usageFilters,
    filterOf: async (query, { account }, db) =>
      ({ from: query.from, to: query.to, componentId: await filteredComponent(db, account.id, query) }) as UsageFilter,
    parent: async (db, context, params) => ({ subscriptionId: (await foundSubscription(db, context, params)).id }),
    rows: listUsage,
    count: countUsage,
  }),
]
