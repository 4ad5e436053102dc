import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { type Account, momentOf } from '../../kernel/context.ts'
import type { DueKind, Planned } from './due-kind.ts'
import type { RunFailure } from './queries.ts'
import type { RunDeps } from './chunk.ts'

/** The forecast of a billing run: the same planning from the same facts, and nothing written. */

export interface Forecast {
  /** Number of records that were planned. */
  records: number
  invoices: number
  /** Totals of the invoices in minor units, by currency. */
  totalMinor: Map<string, bigint>
  failures: RunFailure[]
}

const PAGE = 1000

/** Plans everything due up to a day. `onPage` gets the number of records planned so far. */
export async function forecastRun(
  deps: Pick<RunDeps, 'db' | 'realClock' | 'order'>,
  account: Account,
  until: IsoDate,
  onPage: (done: number) => void = () => {},
): Promise<Forecast> {
  const forecast: Forecast = { records: 0, invoices: 0, totalMinor: new Map(), failures: [] }
  for (const kind of deps.order.flat()) await forecastKind(deps, account, until, kind, forecast, onPage)
  return forecast
}

async function forecastKind(
  { db, realClock }: Pick<RunDeps, 'db' | 'realClock'>,
  account: Account,
  until: IsoDate,
  kind: DueKind,
  forecast: Forecast,
  onPage: (done: number) => void,
): Promise<void> {
  if (!kind.listForecast) return
  const reader = db.reader(account.id)
  const moment = momentOf(account, realClock)
  let after: Id = 0n
  for (;;) {
    const page = await kind.listForecast(reader, account.id, until, after, PAGE)
    addPlans(forecast, page.length, await kind.plan(reader, { account, moment }, page))
    onPage(forecast.records)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.id
  }
}

function addPlans(forecast: Forecast, records: number, { plans, failures }: Planned): void {
  forecast.records += records
  for (const { invoices } of plans) {
    forecast.invoices += invoices.length
    for (const { currency, totalMinor } of invoices)
      forecast.totalMinor.set(currency, (forecast.totalMinor.get(currency) ?? 0n) + totalMinor)
  }
  forecast.failures.push(...failures)
}
