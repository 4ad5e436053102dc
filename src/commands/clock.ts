import { afterDayOf, ORDER_OF_DAY } from '../duties.ts'
import { clockMoving, moveClock } from '../features/billing-run/clock.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { daysBetween } from '../kernel/calendar.ts'
import { assert } from '../kernel/assert.ts'
import type { AccountId } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import { dateIn } from '../kernel/zone.ts'
import { momentOf } from '../kernel/context.ts'
import { whileAlone } from '../platform/long/presence.ts'
import { sendsMail } from '../platform/config.ts'
import { readInstant } from '../platform/wire/dates.ts'
import { failuresAsJson, recordName } from './billing-run.ts'
import { chosenAccount } from './chosen-account.ts'
import { callingOf } from './calling.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'
import { showProgress } from './progress.ts'

/** `perennial clock advance`: moves the clock of a test account, doing on the way what falls due. */

export async function advanceClockCommand(
  context: CommandContext,
  /** `to` is a day, then its midnight in the account's zone, or a moment. */
  wish: { account: AccountId | undefined; to: string },
): Promise<number> {
  const move = await withDatabase(context, async (db, opened) => {
    const account = await chosenAccount(db, wish.account)
    const to = readInstant(wish.to, account.timeZone)
    assert(to, 'the option was read before')
    const { today } = momentOf(account, Date.now)
    const total = daysBetween(today, dateIn(to, account.timeZone))
    const hasMailServer = sendsMail(context.config)
    const envelope = await opened.openEnvelope()
    const calling = {
      envelope,
      adapters: makeAdapters({ db, envelope, calling: callingOf(context.config, db), onCardGone: reportLostCard }),
    }
    const afterDay = afterDayOf({ ...calling, realClock: Date.now, hasMailServer })
    const progress = await showProgress(`clock of account ${account.id}, days`)
    const deps = { db, realClock: Date.now, order: ORDER_OF_DAY, hasMailServer, afterDay }
    const alone = { kind: 'clock', state: 'running', refusal: clockMoving } as const
    const moved = await whileAlone(db, account.id, alone, (presence) =>
      moveClock(deps, {
        account: account.id,
        to,
        actor: 'command line',
        onProgress: (day, { invoices }) => progress.update(daysBetween(today, day), total, `${invoices} invoices`),
        onDays: presence.progress,
      }),
    ).finally(progress.end)
    return { ...moved, account: account.id }
  })
  const { account, now, from, days, totals } = move
  if (context.isJson)
    printJson({
      AccountID: account,
      Now: now,
      From: from,
      Days: days,
      Invoices: totals.invoices,
      Renewals: totals.renewals,
      Expired: totals.expired,
      Collected: totals.collected,
      Declined: totals.declined,
      Unknown: totals.unknown,
      Failed: failuresAsJson(totals.failures),
    })
  else {
    printLine(
      `The clock of account ${account} went from ${from} to ${now} (${plural(days, 'day')}): ${plural(totals.invoices, 'invoice')}, ${plural(totals.renewals, 'renewal')}, ${totals.expired} expired, ${totals.failures.length} failed.`,
    )
    for (const failure of totals.failures) remark(`  ${recordName(failure)}, due ${failure.dueOn}: ${failure.reason}`)
  }
  return totals.failures.length > 0 ? EXIT.someFailed : EXIT.done
}
