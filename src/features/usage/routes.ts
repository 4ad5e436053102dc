import { dateWithOffset } from '../../kernel/zone.ts'
import type { Problems } from '../../kernel/fault.ts'
import { pathId } from '../../platform/http/handle.ts'
import { noContent, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { decimalDigits } from '../../platform/wire/write.ts'
import { unknownSubscription } from '../subscriptions/actions.ts'
import { recordOf } from '../subscriptions/change-routes.ts'
import {
  type BulkBody,
  BULK_BYTES_MAX,
  BulkUsageIn,
  BulkUsageOut,
  type RecordUsageBody,
  RecordUsageIn,
  type UsageBody,
  UsageOut,
  UsageQuery,
} from '../subscription-components/wire.ts'
import { findSubscription, type SubscriptionView } from '../subscriptions/queries.ts'
import { findReported, findUsage, type FoundUsage, recordBulk, recordUsage, type ReportedUsage } from './actions.ts'
import { countUsage, listUsage } from '../subscription-components/usage-queries.ts'
import type { UsageReport } from '../subscription-components/count-usage.ts'

const tag = 'Usage'
const param = 'subscriptionID'

const reportOf = (entry: UsageBody, subscriptionId: bigint, field: string): UsageReport => ({
  subscriptionId,
  componentId: entry.componentID,
  units: entry.NumUnits,
  isSet: entry.isSetUnits ?? false,
  day: entry.Date ?? null,
  key: entry.UsageKey ?? null,
  memo: entry.Memo ?? null,
  field,
})

/** The entries of a body that is a list, or one entry. What is missing of the one entry is noted. */
function reportsOf(body: Partial<RecordUsageBody>, s: SubscriptionView, problems: Problems): UsageReport[] {
  if (body.componentUsage)
    return body.componentUsage.map((entry, index) => reportOf(entry, s.id, `componentUsage[${index}]`))
  if (problems.found.some(({ field }) => field?.startsWith('componentUsage'))) return []
  const isRefused = (name: string) => problems.found.some(({ field }) => field === name)
  if (!body.componentID && !isRefused('componentID'))
    problems.add('required', 'componentID', 'componentID is required, or componentUsage with a list of entries.')
  if (body.NumUnits == null && !isRefused('NumUnits')) problems.add('required', 'NumUnits', 'NumUnits is required.')
  if (!body.componentID || body.NumUnits == null) return []
  return [reportOf({ ...body, componentID: body.componentID, NumUnits: body.NumUnits }, s.id, '')]
}

function bulkReports(list: readonly Partial<BulkBody>[] | undefined): UsageReport[] {
  const reports: UsageReport[] = []
  list?.forEach((entry, index) => {
    if (entry.subscriptionID === undefined || entry.componentID === undefined || entry.NumUnits === undefined) return
    reports.push(reportOf(entry as BulkBody, entry.subscriptionID, `Usage[${index}]`))
  })
  return reports
}

export const usageOperations = ({ publicUrl }: { publicUrl: string | undefined }): Operation[] => [
  writeOperation({
    id: 'recordUsage',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/components/recordusage',
    tag,
    summary: 'Report usage of components, one entry or a list in order; all of it is recorded or nothing',
    body: RecordUsageIn,
    success: { status: 204 },
    refusals: {
      409: 'The subscription has ended or does not have the component, usage would fall below 0, or a UsageKey has other values',
    },
    record: (tx, _context, { params }) => recordOf(tx, params),
    references: (tx, context, { body }, problems: Problems, s: SubscriptionView) =>
      findReported(tx, context, s, reportsOf(body, s, problems), problems),
    write: async (tx, context, _input, s: SubscriptionView, found: ReportedUsage) => {
      await recordUsage(tx, context, s, found)
      return noContent()
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
    success: { status: 201, schema: BulkUsageOut.schema },
    refusals: {
      409: 'A subscription has ended or does not have the component, usage would fall below 0, or a UsageKey has other values',
    },
    references: async (tx, context, { body }, problems: Problems) => {
      const reports = bulkReports(body.Usage)
      return { reports, found: await findUsage(tx, context, reports, problems) }
    },
    write: async (tx, context, _input, _record, { reports, found }: { reports: UsageReport[]; found: FoundUsage }) => {
      const { recorded, duplicates } = await recordBulk(tx, context, found, reports)
      return { status: 201, body: BulkUsageOut.write({ Recorded: recorded, Duplicates: duplicates }) }
    },
  }),
  readOperation({
    id: 'listUsage',
    method: 'GET',
    path: '/v1/subscriptions/{subscriptionID}/usage',
    tag,
    summary: 'List the usage that was reported for a subscription',
    query: UsageQuery,
    success: { status: 200, schema: UsageOut.schema },
    record: async (db, context, params) => {
      const id = pathId(params, param, unknownSubscription)
      if (!(await findSubscription(db, context.account.id, id))) throw unknownSubscription(id)
    },
    read: async (db, { account }, { params, query, url }) => {
      const id = pathId(params, param, unknownSubscription)
      if (!(await findSubscription(db, account.id, id))) throw unknownSubscription(id)
      const filter = { from: query.from, to: query.to, componentId: query.componentID }
      const page = pageOf(query)
      const rows = await listUsage(db, account.id, id, filter, (page.page - 1) * page.size, page.size + 1)
      return listAnswer(
        { rows, page, url, count: () => countUsage(db, account.id, id, filter) },
        (some) =>
          UsageOut.write(
            some.map((row) => ({
              usageID: row.id,
              componentID: row.componentId,
              NumUnits: decimalDigits(row.units),
              isSetUnits: row.isSet,
              Date: dateWithOffset(row.day, account.timeZone),
              UsageKey: row.key,
              Memo: row.memo,
              RecordedDate: row.recordedAt,
              invoiceID: row.invoiceId,
            })),
          ),
        publicUrl,
      )
    },
  }),
]
