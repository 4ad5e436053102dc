import { datesOfPass, dayOfReminder, isReminderDue } from '../../engine/collection/reminders.ts'
import type { Reminder, ReminderKind } from '../../engine/collection/rules.ts'
import { addDays, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { GoOn } from '../../platform/duty.ts'
import { lockCustomers } from '../customers/queries.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import {
  deleteSentBefore,
  findPassedOn,
  listCustomersToRemind,
  listFirstDates,
  savePass,
  type Windows,
} from './queries.ts'
import { remindCustomers } from './remind.ts'
import type { Dates } from './source-queries.ts'

/**
 * The reminders of a day, for one account. A pass can be killed anywhere: what went out is written with its mail, and the day counts as passed
 * when all of it is done.
 */

/** Customers whose identifiers are read at once, and those of a transaction. */
const A_LOOK = 20_000
const CHUNK = 500

/** Days for which sent reminders are kept after their date: a change of the time zone may bring back a day. */
const KEPT_DAYS = 7

const activeOf = (reminders: readonly Reminder[]): Reminder[] => reminders.filter(({ isActive }) => isActive)

const windowsOf = (reminders: readonly Reminder[], datesOf: (reminder: Reminder) => Dates): Windows =>
  Object.fromEntries(reminders.map((reminder) => [reminder.kind, datesOf(reminder)]))

/** Sends the reminders of a day that have not gone out. */
export async function remindDay(
  db: Database,
  context: RequestContext,
  { chunk = CHUNK, goOn = () => {} }: { chunk?: number; goOn?: GoOn } = {},
): Promise<void> {
  const { account, moment } = context
  const { reminders } = await getCollectionRules(db.reader(account.id), account.id)
  const active = activeOf(reminders)
  if (active.length === 0) return
  const windows = windowsOf(active, (reminder) => datesOfPass(reminder, moment.today))
  const byKind = new Map<ReminderKind, Reminder>(active.map((reminder) => [reminder.kind, reminder]))
  for (let after: CustomerId = 0n; ;) {
    const ids = await listCustomersToRemind(db.reader(account.id), account.id, windows, after, A_LOOK)
    const last = ids.at(-1)
    if (last === undefined) break
    after = last
    for (let start = 0; start < ids.length; start += chunk) {
      goOn()
      await db.transaction(account.id, (tx) =>
        remindSome(tx, context, ids.slice(start, start + chunk), { windows, byKind }),
      )
    }
  }
  await db.transaction(account.id, async (tx) => {
    await deleteSentBefore(tx, addDays(moment.today, -KEPT_DAYS))
    await savePass(tx, reminders, moment.today)
  })
}

/** Reminds some customers. They are locked, so that nobody is reminded of what they pay at the same moment, and nothing goes out twice. */
async function remindSome(
  tx: Transaction,
  context: RequestContext,
  ids: readonly CustomerId[],
  { windows, byKind }: { windows: Windows; byKind: ReadonlyMap<ReminderKind, Reminder> },
): Promise<void> {
  const { today } = context.moment
  const { active, paused } = await lockCustomers(tx, ids, true)
  await remindCustomers(tx, context, [...active, ...paused], windows, (item) => {
    const reminder = byKind.get(item.kind)
    return reminder !== undefined && isReminderDue(reminder, { ...item, today })
  })
}

/**
 * Finds the first day after another, up to a last one, on which a reminder may be to go out. Days whose reminders have gone out by the present
 * rules count as over; where the rules have changed since, today counts as a day to come.
 */
export async function findReminderDay(
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  const { reminders } = await getCollectionRules(db, account)
  const active = activeOf(reminders)
  if (active.length === 0) return null
  const passedOn = await findPassedOn(db, account, reminders)
  if (passedOn === null) return addDays(day, 1) <= until ? addDays(day, 1) : null
  const first = addDays(later(day, passedOn), 1)
  if (first > until) return null
  const ahead = (reminder: Reminder): Dates => ({
    from: datesOfPass(reminder, first).until,
    until: datesOfPass(reminder, until).until,
  })
  let found: IsoDate | null = null
  for (const { kind, about } of await listFirstDates(db, account, windowsOf(active, ahead))) {
    const reminder = active.find((each) => each.kind === kind)
    if (reminder && about !== null) found = earliest(found, dayOfReminder(reminder, about))
  }
  return found
}
