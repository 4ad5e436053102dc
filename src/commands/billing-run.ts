import { setTimeout as delay } from 'node:timers/promises'
import { getAccount, listAllAccounts } from '../features/accounts/queries.ts'
import { type Forecast, forecastRun } from '../features/billing-run/forecast.ts'
import { countDue, failedRecordIds } from '../features/billing-run/due-kind.ts'
import { ORDER_OF_DAY } from '../duties.ts'
import { findRun, insertRun, listFailures, type RunFailure } from '../features/billing-run/queries.ts'
import type { RunDeps } from '../features/billing-run/chunk.ts'
import { workRun } from '../features/billing-run/run.ts'
import { assert } from '../kernel/assert.ts'
import { type IsoDate, earlier } from '../kernel/calendar.ts'
import { digitsOf } from '../kernel/currencies.ts'
import { invalid } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { minorText } from '../kernel/money.ts'
import { plural } from '../kernel/text.ts'
import { instantOf } from '../kernel/zone.ts'
import { sendsMail } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { type Account, momentOf } from '../kernel/context.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'
import { type Progress, showProgress } from './progress.ts'

/** `perennial billing run`: bills what is due now instead of at midnight, on one account or on all. */

export interface BillingRunOptions {
  /** Undefined: every account. */
  account: AccountId | undefined
  /** The last day that is billed; undefined: today of each account. */
  until: IsoDate | undefined
  /** Tell what would be billed, and bill nothing. */
  isDry: boolean
}

interface Outcome {
  account: AccountId
  until: IsoDate
  /** Undefined for a dry run, which leaves nothing behind. */
  run: Id | undefined
  /** Due records of all kinds that the run has finished. */
  records: number
  invoices: number
  totals: Forecast['totalMinor'] | undefined
  failures: RunFailure[]
}

const FOLLOW_EVERY_MS = 200

export async function billingRunCommand(context: CommandContext, wish: BillingRunOptions): Promise<number> {
  const outcomes = await withDatabase(context, async (db) => {
    const accounts = await accountsOf(db, wish.account)
    const deps: RunDeps = {
      db,
      realClock: Date.now,
      order: ORDER_OF_DAY,
      hasMailServer: sendsMail(context.config),
    }
    const days = accounts.map((account) => momentOf(account, Date.now).today)
    checkDay(wish.until, days)
    const found: Outcome[] = []
    for (const [index, account] of accounts.entries()) {
      const today = days[index] as IsoDate
      const until = wish.until === undefined ? today : earlier(wish.until, today)
      found.push(await (wish.isDry ? foresee(db, account, until) : bill(deps, account, until)))
      if (!context.isJson) print(found.at(-1) as Outcome)
    }
    return found
  })
  if (context.isJson) printJson(outcomes.map(outcomeAsJson))
  return outcomes.some(({ failures }) => failures.length > 0) ? EXIT.someFailed : EXIT.done
}

async function accountsOf(db: Database, named: AccountId | undefined): Promise<Account[]> {
  const ids =
    named === undefined
      ? (await listAllAccounts(db.unscoped)).map(({ id }) => id)
      : [(await chosenAccount(db, named)).id]
  return Promise.all(ids.map((id) => getAccount(db.reader(id), id)))
}

// What has not come yet cannot be billed: prices, taxes and customers may be others by then.
function checkDay(until: IsoDate | undefined, days: readonly IsoDate[]): void {
  if (until === undefined || days.length === 0 || days.some((today) => until <= today)) return
  const latest = days.reduce((a, b) => (a > b ? a : b))
  throw invalid('until_in_future', `--until may be at most today, and that is ${latest}.`)
}

async function bill(deps: RunDeps, account: Account, until: IsoDate): Promise<Outcome> {
  const { db } = deps
  const progress = await showProgress(`account ${account.id}`)
  const total = await countDue(ORDER_OF_DAY, db.reader(account.id), account.id, until)
  const run = await db.transaction(account.id, (tx) =>
    insertRun(tx, account.id, { cause: 'command', untilDate: until, createdAt: instantOf(Date.now()) }),
  )
  const worked = await workRun(deps, account.id, run.id, ({ done, invoices }) =>
    progress.update(done, total, `${invoices} invoices`),
  )
  // A worker of a running service may have been faster in taking it up.
  if (!worked) await follow(deps, account.id, run.id, progress)
  progress.end()
  const ended = await findRun(db.reader(account.id), account.id, run.id)
  assert(ended, 'a run that has ended is kept')
  const failures = await listFailures(db.reader(account.id), account.id, run.id)
  const { done, invoices } = ended
  return { account: account.id, until, run: run.id, records: done, invoices, totals: undefined, failures }
}

async function follow(deps: RunDeps, account: AccountId, id: Id, progress: Progress): Promise<void> {
  const { db } = deps
  for (;;) {
    const run = await findRun(db.reader(account), account, id)
    assert(run, 'a run that has begun is kept')
    if (run.finishedAt !== null) return
    progress.update(run.done, run.total, `${run.invoices} invoices`)
    // Its worker may have been killed; then this process goes on with it.
    if (await workRun(deps, account, id)) return
    await delay(FOLLOW_EVERY_MS)
  }
}

async function foresee(db: Database, account: Account, until: IsoDate): Promise<Outcome> {
  const progress = await showProgress(`account ${account.id}`)
  const total = await countDue(ORDER_OF_DAY, db.reader(account.id), account.id, until)
  const forecast = await forecastRun({ db, realClock: Date.now, order: ORDER_OF_DAY }, account, until, (done) =>
    progress.update(done, total, 'nothing is written'),
  )
  progress.end()
  const { records, invoices, totalMinor, failures } = forecast
  return { account: account.id, until, run: undefined, records, invoices, totals: totalMinor, failures }
}

const amounts = (totals: NonNullable<Outcome['totals']>) =>
  [...totals].map(([currency, minor]) => ({ currency, total: minorText(minor, digitsOf(currency)) }))

function print({ account, until, run, records, invoices, totals, failures }: Outcome): void {
  const sums = totals ? amounts(totals).map(({ currency, total }) => `${total} ${currency}`) : []
  const sum = sums.length > 0 ? ` (${sums.join(', ')})` : ''
  const done = run === undefined ? 'would make' : 'made'
  printLine(
    `Account ${account}, until ${until}: ${done} ${plural(invoices, 'invoice')}${sum} for ${plural(records, 'due record')}, ${failures.length} failed.`,
  )
  for (const failure of failures)
    remark(`  ${recordName(failure)} of customer ${failure.customerId}, due ${failure.dueOn}: ${failure.reason}`)
}

const outcomeAsJson = ({ account, until, run, records, invoices, totals, failures }: Outcome) => ({
  AccountID: account,
  billingRunID: run ?? null,
  Until: until,
  Done: records,
  Invoices: invoices,
  ...(totals
    ? { Totals: amounts(totals).map(({ currency, total }) => ({ CurrencyCode: currency, Total: total })) }
    : {}),
  Failed: failures.length,
  Failures: failuresAsJson(failures),
})

export const recordName = ({ recordType, recordId }: Pick<RunFailure, 'recordType' | 'recordId'>): string =>
  `${recordType.replace('_', ' ')} ${recordId}`

export const failuresAsJson = (failures: readonly RunFailure[]) =>
  failures.map((failure) => ({
    ...failedRecordIds(ORDER_OF_DAY, failure),
    customerID: failure.customerId,
    DueDate: failure.dueOn,
    Reason: failure.reason,
  }))
