import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { fragment, type Fragment, NOTHING } from '../../platform/database/sql.ts'

/** Days and currency that a report is of. */
export interface ReportPeriod {
  account: AccountId
  /** Both days are included. */
  from: IsoDate
  to: IsoDate
  /** Null: all. */
  currency: string | null
}

/** A report as at the end of a day. */
export interface AsAt {
  account: AccountId
  date: IsoDate
  /** When it is asked for: batches count as they are then. */
  now: Instant
  /** Null: all. */
  currency: string | null
}

export const inPeriod = (day: Fragment, { from, to }: ReportPeriod): Fragment =>
  fragment`${day} between ${from} and ${to}`

export const inCurrency = (column: Fragment, { currency }: Pick<ReportPeriod, 'currency'>): Fragment =>
  currency === null ? NOTHING : fragment`and ${column} = ${currency}`

/** Name of a customer as they are now: a company's own, of a person that of the company they belong to, else first and last name. */
export const SHOWN_NAME = fragment`
  case when c.is_company then c.name else coalesce(nullif(c.company, ''), concat_ws(' ', c.name, nullif(c.last_name, ''))) end`

/** Place and VAT number of the customer, as an invoice or a note without one froze them. */
export const PLACE = fragment`customer_country_id as country, customer_state_id as state, customer_vat_number as vat_number`

/** Lists invoices of the period by their InvoiceDate. */
export const issued = (period: ReportPeriod): Fragment => fragment`
    select invoice_id, customer_id, currency, total_minor as total, 1 as sign, invoice_date as dated, ${PLACE} from invoices
     where account_id = ${period.account} and issued_at is not null and ${inPeriod(fragment`invoice_date`, period)}
           ${inCurrency(fragment`currency`, period)}`

/** Lists invoices that were cancelled in the period, on that day, with the sign turned. */
export const cancelled = (period: ReportPeriod): Fragment => fragment`
    select invoice_id, customer_id, currency, total_minor as total, -1 as sign, greatest(cancelled_on, invoice_date) as dated, ${PLACE} from invoices
     where account_id = ${period.account} and cancelled_on is not null
       and ${inPeriod(fragment`greatest(cancelled_on, invoice_date)`, period)} ${inCurrency(fragment`currency`, period)}`
