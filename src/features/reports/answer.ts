import { introduced } from '../../platform/http/tags.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { wantsForm } from '../../platform/http/media.ts'
import type { Answer } from '../../platform/http/answer.ts'
import { checkDates } from '../../platform/http/query.ts'
import type { RecordShape } from '../../platform/wire/columns.ts'
import type { Portions } from '../../platform/wire/write.ts'
import { refuseUnknownCurrency } from '../currencies/held.ts'
import { csvPieces, type ReportLocale } from './csv.ts'
import type { AsAt, ReportPeriod } from './period-queries.ts'

/** Questions that all reports take, and the form of their answers. */

/** Properties of all reports. */
export const REPORT = {
  hasStrictQuery: true,
  isExpensive: true,
  method: 'GET',
  tag: introduced('Reports', 'Figures of an account by day or period, which agree with the ledger.'),
} as const

interface AskedForm {
  query: { format?: 'json' | 'csv' | null; locale?: ReportLocale | null }
  headers: Record<string, string | string[] | undefined>
}

/** Answers the rows of a report as JSON or CSV while they are read; `file` is the name of the CSV. */
export const answerOf = <Row extends { currency: string }>(
  context: RequestContext,
  { query, headers }: AskedForm,
  file: string,
  rows: Portions<Row>,
  { columns, list }: Pick<RecordShape<Row>, 'columns' | 'list'>,
): Answer =>
  wantsForm('csv', 'text/csv', { format: query.format, accept: headers['accept'] })
    ? {
        status: 200,
        pieces: csvPieces(columns, rows, query.locale ?? 'en', writingOf(context)),
        contentType: 'text/csv; charset=utf-8',
        headers: { 'content-disposition': `attachment; filename="${file}.csv"` },
      }
    : { status: 200, pieces: list.pieces(rows, writingOf(context)) }

async function currencyOf(db: Queryable, context: RequestContext, currency: string | null | undefined) {
  if (currency) await refuseUnknownCurrency(db, context.account.id, currency, 'currency')
  return currency ?? null
}

/** Returns the period that is asked for: by default from the first of the month until today. Throws a Fault (400) of days that are reversed and of a currency that the account does not have. */
export async function periodOf(
  db: Queryable,
  context: RequestContext,
  query: { from?: IsoDate | null; to?: IsoDate | null; currency?: string | null },
): Promise<ReportPeriod> {
  const to = query.to ?? context.moment.today
  const from = query.from ?? `${to.slice(0, 8)}01`
  checkDates({ from, to }, 'from', 'to')
  return { account: context.account.id, from, to, currency: await currencyOf(db, context, query.currency) }
}

/** Returns the day that is asked for, by default today. Throws a Fault (400) of a currency that the account does not have. */
export async function asAtOf(
  db: Queryable,
  context: RequestContext,
  query: { date?: IsoDate | null; currency?: string | null },
): Promise<AsAt> {
  const currency = await currencyOf(db, context, query.currency)
  return { account: context.account.id, date: query.date ?? context.moment.today, now: context.moment.now, currency }
}
