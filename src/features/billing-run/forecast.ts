import { Fault } from '../../kernel/fault.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import { type Account, momentOf } from '../../platform/http/context.ts'
import { planContext, planSubscription } from '../subscriptions/bill.ts'
import { listDueForPlanning } from '../subscriptions/queries.ts'
import type { RunFailure } from './queries.ts'
import type { RunDeps } from './run.ts'

/** What a billing run would do: the same planning from the same facts, and nothing written. */

export interface Forecast {
  subscriptions: number
  invoices: number
  /** Totals of the invoices in minor units, by currency. */
  totalMinor: Map<string, bigint>
  failures: RunFailure[]
}

const PAGE = 1000

/** Plans everything due up to a day. `onPage` is told how many subscriptions have been looked at. */
export async function forecastRun(
  { db, realClock }: Pick<RunDeps, 'db' | 'realClock'>,
  account: Account,
  until: IsoDate,
  onPage: (done: number) => void = () => {},
): Promise<Forecast> {
  const reader = db.reader(account.id)
  const context = await planContext(reader, { account, moment: momentOf(account, realClock) })
  const forecast: Forecast = { subscriptions: 0, invoices: 0, totalMinor: new Map(), failures: [] }
  let after: SubscriptionId = 0n
  for (;;) {
    const page = await listDueForPlanning(reader, account.id, until, after, PAGE)
    for (const subscription of page) addPlan(forecast, subscription, context)
    onPage(forecast.subscriptions)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return forecast
    after = last.id
  }
}

function addPlan(
  forecast: Forecast,
  subscription: Parameters<typeof planSubscription>[0],
  context: Parameters<typeof planSubscription>[1],
): void {
  forecast.subscriptions += 1
  try {
    const { invoices } = planSubscription(subscription, context)
    forecast.invoices += invoices.length
    for (const { currency, totalMinor } of invoices)
      forecast.totalMinor.set(currency, (forecast.totalMinor.get(currency) ?? 0n) + totalMinor)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    forecast.failures.push({
      recordType: 'subscription',
      recordId: subscription.id,
      customerId: subscription.customerId,
      dueOn: subscription.dueOn as IsoDate,
      reason: error.message,
    })
  }
}
