import type { ReminderKind } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type Fragment, fragment, namesOf } from '../../platform/database/sql.ts'
import { isDueInCycle } from '../subscriptions/state-queries.ts'

/** The records whose dates reminders are about: which can be reminded of, by statements that an index over their days leads to. */

export type DocumentKind = 'subscription' | 'recurring_invoice' | 'payment_method' | 'invoice'

/** The dates that a statement looks at, from the first to the last. */
export interface Dates {
  from: IsoDate
  until: IsoDate
}

/** The records of one sort that a kind of reminders is about. Names stand in the code and become part of statements. */
export interface Source {
  kind: ReminderKind
  document: DocumentKind
  id: string
  customerId: string
  about: string
  /** The day on which the document was sent; SQL, null where nothing is sent. */
  sentOn(timeZone: string): Fragment
  /** Columns that its mail shows of a record; columns that its kind has none of are null. */
  shown(account: AccountId): Fragment
  /** The records of an account that can be reminded of, with their dates. */
  rows(account: AccountId, dates: Dates): Fragment
}

const NEVER_SENT = () => fragment`null::date`

const contract = (name: Fragment): Fragment => fragment`
  ${name} as "name", null::bigint as "number", null::text as "currency", null::bigint as "openMinor", null::text as "brand",
  null::text as "lastFour"`

const subscription = {
  document: 'subscription',
  id: 's.subscription_id',
  customerId: 's.customer_id',
  sentOn: NEVER_SENT,
  shown: (account: AccountId) =>
    contract(fragment`(select p.name from packages p where p.account_id = ${account} and p.package_id = s.package_id)`),
} as const

/** Builds the condition that a subscription has not ended, and will not have, on a day of its own. */
const goesOnAt = (day: string): Fragment => fragment`
  s.cancelled_on is null and (s.end_date is null or s.end_date > ${namesOf(day)})
  and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${namesOf(day)})`

/** A subscription is due no later than its next renewal, and at most this many days earlier (numDaysBeforeToInv). */
const LEAD_DAYS_MAX = 90

/** The earlier of EndDate and the day of a pending cancellation: the expression and the condition of the index subscriptions_ending. */
const ENDS_ON = fragment`least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end)`
const IS_ENDING = fragment`not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')`

/** Every sort of record that a kind is about. */
export const SOURCES: readonly Source[] = [
  {
    ...subscription,
    kind: 'upcoming_renewal',
    about: 'b.next_from',
    rows: (account, { from, until }) => fragment`
      (select * from subscription_billing
        where account_id = ${account} and due_on between ${from}::date - ${LEAD_DAYS_MAX}::integer and ${until}
       union all
       select d.* from subscription_billing d where ${isDueInCycle(account, until)}) b
        join subscriptions s on s.account_id = ${account} and s.subscription_id = b.subscription_id
       where b.next_from between ${from} and ${until} and ${goesOnAt('b.next_from')}`,
  },
  {
    ...subscription,
    kind: 'trial_expiring',
    about: 's.trial_end_date',
    rows: (account, { from, until }) => fragment`
      subscriptions s
       where s.account_id = ${account} and s.trial_end_date between ${from} and ${until} and ${goesOnAt('s.trial_end_date')}`,
  },
  {
    ...subscription,
    kind: 'end_near',
    about: 's.end_date',
    rows: (account, { from, until }) => fragment`
      subscriptions s
       where s.account_id = ${account} and ${IS_ENDING} and ${ENDS_ON} between ${from} and ${until} and s.end_date = ${ENDS_ON}
         and s.cancelled_on is null`,
  },
  {
    kind: 'end_near',
    document: 'recurring_invoice',
    id: 'r.recurring_invoice_id',
    customerId: 'r.customer_id',
    about: 'r.end_date',
    sentOn: NEVER_SENT,
    shown: (account) =>
      contract(fragment`
        coalesce((select coalesce(l.name, l.description) from recurring_invoice_charges l
                   where l.account_id = ${account} and l.recurring_invoice_id = r.recurring_invoice_id order by l.display_order limit 1),
                 r.reference, r.recurring_invoice_id::text)`),
    rows: (account, { from, until }) => fragment`
      recurring_invoices r
       where r.account_id = ${account} and r.end_date between ${from} and ${until} and r.cancelled_on is null and not r.is_end_recorded`,
  },
  {
    kind: 'card_expiring',
    document: 'payment_method',
    id: 'm.payment_method_id',
    customerId: 'm.customer_id',
    about: 'm.expires_on',
    sentOn: NEVER_SENT,
    shown: () => fragment`
      null::text as "name", null::bigint as "number", null::text as "currency", null::bigint as "openMinor", m.card_brand as "brand",
      m.last_four as "lastFour"`,
    rows: (account, { from, until }) => fragment`
      payment_methods m where m.account_id = ${account} and m.is_primary and m.expires_on between ${from} and ${until}`,
  },
  {
    kind: 'payment_due',
    document: 'invoice',
    id: 'i.invoice_id',
    customerId: 'i.customer_id',
    about: 'i.due_date',
    sentOn: (timeZone) => fragment`(i.issued_at at time zone ${timeZone})::date`,
    shown: () => fragment`
      null::text as "name", i.number, i.currency, i.total_minor - i.negative_minor - i.paid_minor - i.pending_minor as "openMinor",
      null::text as "brand", null::text as "lastFour"`,
    rows: (account, { from, until }) => fragment`
      invoices i
       where i.account_id = ${account} and i.due_date between ${from} and ${until} and i.issued_at is not null and i.cancelled_at is null
         and i.total_minor > i.negative_minor + i.paid_minor + i.pending_minor`,
  },
]
