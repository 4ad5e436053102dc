import type { Spread } from '../components/bracket-words.ts'
import { onlyUpdated } from '../events/queries.ts'
import { foundCondition, type FoundRecords, type Searched } from '../finding/word-queries.ts'
import type { ChargeKind } from '../../engine/subscription/charges.ts'
import type { PricedBrackets } from '../../engine/subscription/pricing.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import type { TaxCategory, TaxReason } from '../../kernel/tax.ts'
import { bracketsOf, type PricedBracketsJson, priceListOf } from '../components/brackets.ts'
import { orTooMany, type Queryable, type Snapshot } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, namesOf, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import { asTexts, inTexts } from '../../platform/database/text-rows.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import { ofCustomers } from './by-customer-queries.ts'
import { PLAIN_FIELD_NAMES, PLAIN_FIELDS, type PlainFields } from './fields.ts'

export const INVOICE_STATUSES = ['Cancelled', 'Draft', 'Paid', 'Pending', 'Due', 'Past Due'] as const
export type InvoiceStatusWord = (typeof INVOICE_STATUSES)[number]

export interface Invoice extends PlainFields {
  id: InvoiceId
  customerId: CustomerId
  subscriptionId: SubscriptionId | null
  recurringInvoiceId: Id | null
  number: bigint | null
  reference: string
  currency: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  /** Day of the supply that a caller gave; null: see `supplyOf`. */
  supplyDate: IsoDate | null
  dateSent: Instant | null
  lastUpdated: Instant
  isDraft: boolean
  isCancelled: boolean
  source: 'Auto' | 'App'
  gatewayId: Id | null
  paymentMethodId: Id | null
  /** Gateway or method were named by whoever wrote the invoice; else they are the defaults that it shows. */
  isMethodRequested: boolean
  /** Excluded from collection individually. */
  isCollectionHold: boolean
  tries: number
  nextTryDate: IsoDate | null
  /** That is the day of a line which waits in a batch; left out where it is not stored yet. */
  hasLine?: boolean
  totalMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
  /** Gross that credit notes settle for it, wherever their money is. */
  creditedMinor: bigint
  /** Bad debt allocated to it, which is part of `negativeMinor`. */
  writtenOffMinor: bigint
}

/** The sums of an invoice that no money and no credit note has touched. */
export const UNTOUCHED: Readonly<
  Record<'paidMinor' | 'pendingMinor' | 'negativeMinor' | 'creditedMinor' | 'writtenOffMinor', bigint>
> = { paidMinor: 0n, pendingMinor: 0n, negativeMinor: 0n, creditedMinor: 0n, writtenOffMinor: 0n }

export interface Charge {
  id: Id
  invoiceId: InvoiceId
  displayOrder: number
  kind: ChargeKind
  name: string | null
  description: string | null
  quantity: Decimal
  unitPrice: Decimal
  netMinor: bigint
  grossMinor: bigint
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  price: Decimal | null
  brackets: PricedBrackets | null
  subscriptionId: SubscriptionId | null
  stretch: number | null
  itemId: Id | null
  part: number | null
}

export interface InvoiceTaxRow {
  id: Id
  invoiceId: InvoiceId
  name: string
  rate: Decimal
  taxNumber: string | null
  ruleId: Id | null
  /** Null for 0 % taxes stored before categories existed. */
  category: TaxCategory | null
  /** VATEX. */
  reasonCode: string | null
  reason: TaxReason | null
  baseMinor: bigint
  amountMinor: bigint
}

/** Returns the account's text as it was at issue. */
const accountText = (column: string): string =>
  `case when i.account_version = a.version then a.${column} else v.document ->> '${column}' end`

const PLAIN = namesOf(
  PLAIN_FIELD_NAMES.map((name) => {
    const { column, hasAccountText } = PLAIN_FIELDS[name]
    return hasAccountText
      ? `nullif(coalesce(i.${column}, ${accountText(column)}), '') as "${name}"`
      : `i.${column} as "${name}"`
  }).join(', '),
)

// A reference of the service's own is made from the identifier.
const COLUMNS = fragment`
  i.invoice_id as "id", i.customer_id as "customerId", i.subscription_id as "subscriptionId", i.recurring_invoice_id as "recurringInvoiceId",
  i.number, coalesce(i.reference, 'I' || i.invoice_id) as "reference", i.currency, i.invoice_date as "invoiceDate",
  i.due_date as "dueDate", i.supply_date as "supplyDate", i.date_sent as "dateSent", i.last_updated as "lastUpdated", i.issued_at is null as "isDraft",
  i.cancelled_at is not null as "isCancelled", i.source, i.gateway_id as "gatewayId",
  i.payment_method_id as "paymentMethodId", i.is_method_requested as "isMethodRequested", i.is_collection_hold as "isCollectionHold", i.tries, i.next_try_date as "nextTryDate", i.has_line as "hasLine", ${PLAIN},
  i.total_minor as "totalMinor", i.paid_minor as "paidMinor", i.pending_minor as "pendingMinor", i.negative_minor as "negativeMinor",
  i.credited_minor as "creditedMinor", i.written_off_minor as "writtenOffMinor"`

const joinedAccount = (account: AccountId): Fragment => fragment`
  join accounts a on a.account_id = ${account}
  left join account_versions v on v.account_id = ${account} and v.version = i.account_version and i.account_version <> a.version`

export const COUNTED_INVOICES = { list: 'invoices', id: 'invoice_id' } as const

export const findInvoice = (db: Queryable, account: AccountId, id: InvoiceId) =>
  db.first<Invoice>(sql`
    select ${COLUMNS} from invoices i ${joinedAccount(account)} where i.account_id = ${account} and i.invoice_id = ${id}`)

export const findInvoiceByNumber = (db: Queryable, account: AccountId, number: bigint) =>
  db.first<Invoice>(sql`
    select ${COLUMNS} from invoices i ${joinedAccount(account)} where i.account_id = ${account} and i.number = ${number}`)

export const listInvoicesByIds = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<Invoice>(
    sql`select ${COLUMNS} from invoices i ${joinedAccount(account)}
         where i.account_id = ${account} and i.invoice_id = any(${`{${ids.join(',')}}`}::bigint[])`,
  )

/** An issued invoice with what was frozen of account and customer when it was issued. */
export interface FrozenInvoice extends Invoice {
  timeZone: string
  /** The account's texts, by the names of FIELDS. */
  accountTexts: Partial<Record<keyof PlainFields, string | null>>
  /** Null while the customer is still of that version. */
  frozenCustomer: FrozenCustomer | null
}

const ACCOUNT_TEXTS = namesOf(
  PLAIN_FIELD_NAMES.filter((name) => PLAIN_FIELDS[name].hasAccountText)
    .map((name) => `'${name}', ${accountText(PLAIN_FIELDS[name].column)}`)
    .join(', '),
)

export const listFrozenInvoices = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<FrozenInvoice>(sql`
    select ${COLUMNS}, coalesce(v.document ->> 'timeZone', a.time_zone) as "timeZone", jsonb_build_object(${ACCOUNT_TEXTS}) as "accountTexts",
           w.document as "frozenCustomer"
      from invoices i ${joinedAccount(account)}
      left join customer_versions w
        on w.account_id = ${account} and w.customer_id = i.customer_id and w.version = i.customer_version
     where i.account_id = ${account} and i.invoice_id = any(${`{${ids.join(',')}}`}::bigint[])`)

export interface InvoiceFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  customerId?: bigint | null
  subscriptionId?: bigint | null
  recurringInvoiceId?: bigint | null
  status?: InvoiceStatusWord | null
  startDate?: IsoDate | null
  endDate?: IsoDate | null
  currency?: string | null
  /** All customers who have been billed in the currency; null where they are too many to be looked for one by one. */
  customersOfCurrency?: readonly CustomerId[] | null
  reference?: string | null
  poNumber?: string | null
  isWrittenOff?: boolean | null
  found?: FoundRecords | null
}

const ACTUAL = fragment`(i.total_minor - i.negative_minor - i.paid_minor)`

// The status rule of the engine as conditions, so that a filter needs no page of everything.
const issued = (today: IsoDate): Record<InvoiceStatusWord, Fragment> => ({
  Cancelled: fragment`and i.cancelled_at is not null`,
  Draft: fragment`and i.cancelled_at is null and i.issued_at is null`,
  Paid: fragment`and i.cancelled_at is null and i.issued_at is not null and ${ACTUAL} <= 0`,
  Pending: fragment`and i.cancelled_at is null and i.issued_at is not null and ${ACTUAL} > 0 and ${ACTUAL} - i.pending_minor <= 0`,
  'Past Due': fragment`and i.cancelled_at is null and i.issued_at is not null and ${ACTUAL} - i.pending_minor > 0 and i.due_date < ${today}`,
  Due: fragment`and i.cancelled_at is null and i.issued_at is not null and ${ACTUAL} - i.pending_minor > 0 and i.due_date >= ${today}`,
})

const WRITTEN_OFF = fragment`and i.written_off_minor > 0 and ${ACTUAL} <= 0`

/** Reference of the service's own: nothing is stored of it. */
const OWN_REFERENCE = /^I([1-9]\d{0,15})$/

function referenceCondition(reference: string | null | undefined): Fragment {
  const [, own] = OWN_REFERENCE.exec(reference ?? '') ?? []
  return own === undefined
    ? onlyWith('i.reference', reference)
    : fragment`and i.invoice_id = ${own}::bigint and i.reference is null`
}

const conditions = (account: AccountId, filter: InvoiceFilter, today: IsoDate): Fragment => fragment`
  ${onlyUpdated(account, 'invoice', 'i.invoice_id', filter.since)} ${foundCondition(account, filter.found, SEARCHED_INVOICES, 'i')} ${onlyWith('i.customer_id', filter.customerId)} ${onlyWith('i.subscription_id', filter.subscriptionId)}
  ${onlyWith('i.recurring_invoice_id', filter.recurringInvoiceId)}
  ${onlyWith('i.currency', filter.currency)} ${ofCustomers(filter.customersOfCurrency)} ${onlyWith('i.po_number', filter.poNumber)} ${referenceCondition(filter.reference)}
  ${filter.isWrittenOff == null ? NOTHING : filter.isWrittenOff ? WRITTEN_OFF : fragment`and not (i.written_off_minor > 0 and ${ACTUAL} <= 0)`}
  ${filter.startDate == null ? NOTHING : fragment`and i.invoice_date >= ${filter.startDate}`}
  ${filter.endDate == null ? NOTHING : fragment`and i.invoice_date <= ${filter.endDate}`}
  ${filter.status == null ? NOTHING : issued(today)[filter.status]}`

/**
 * Returns the relation of the invoices that a page is chosen from. Of a customer it is two: those whose lines are rows, of which there may be any number, in their order
 * by an index of their own; and those that are kept with templates, one a period, which are all read ("offset 0": the planner would go through the whole account for the newest).
 */
const candidates = (account: AccountId, { customerId }: InvoiceFilter, start: PageStart): Fragment =>
  customerId == null
    ? fragment`invoices`
    : fragment`(
        select * from (
          select * from invoices where account_id = ${account} and customer_id = ${customerId} and template_id is null
           order by invoice_id ${direction(start)}) r
        union all
        select * from (
          select * from invoices where account_id = ${account} and customer_id = ${customerId} and template_id is not null offset 0) k)`

// The page is chosen by identifier first: joins and texts of records that are passed over would be work for nothing.
export const listInvoices = (
  db: Queryable,
  account: AccountId,
  filter: InvoiceFilter,
  start: PageStart,
  limit: number,
  today: IsoDate,
) =>
  db.rows<Invoice>(
    asTexts(sql`
    select ${COLUMNS} from (
      select * from ${candidates(account, filter, start)} i where i.account_id = ${account} ${onward(start, 'i.invoice_id')} ${conditions(account, filter, today)}
       order by i.invoice_id ${inPage(start, limit)}) i ${joinedAccount(account)}
     order by i.invoice_id ${direction(start)}`),
  )

/** Lists the newest invoices and drafts, the newest first. */
export const listNewestInvoices = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<Invoice>(sql`
    select ${COLUMNS} from (
      select * from invoices where account_id = ${account} order by invoice_id desc limit ${limit}) i ${joinedAccount(account)}
     order by i.invoice_id desc`)

export const countInvoices = async (
  db: Queryable,
  account: AccountId,
  filter: InvoiceFilter,
  today: IsoDate,
): Promise<number> =>
  Number(
    await db.value<bigint>(sql`
      select count(*) as "n" from invoices i where i.account_id = ${account} ${conditions(account, filter, today)}`),
  )

/** How much is read, and whether as text rows: for answers that are written at once. */
export interface LinesRead {
  linesMax?: number | undefined
  areTexts?: boolean
}

const CHARGE_COLUMNS = fragment`
  charge_id as "id", invoice_id as "invoiceId", display_order as "displayOrder", kind, name, description, quantity,
  unit_price as "unitPrice", net_minor as "netMinor", gross_minor as "grossMinor", period_from as "from", period_until as "until",
  whole_from as "wholeFrom", whole_until as "wholeUntil", price, brackets as "storedBrackets", subscription_id as "subscriptionId",
  stretch, item_id as "itemId", part`

type ChargeRow = Omit<Charge, 'brackets'> & { storedBrackets: PricedBracketsJson | null }

// Not copied: text rows cannot be.
const withBrackets = (rows: readonly ChargeRow[]): Charge[] =>
  rows.map((row) => Object.assign(row, { brackets: bracketsOf(row.storedBrackets) }))

/** Lists the lines of invoices, by identifier of the invoice and in their order on it; no more than `linesMax`. */
export const listCharges = async (
  db: Queryable,
  account: AccountId,
  invoiceIds: readonly InvoiceId[],
  { linesMax, areTexts }: LinesRead = {},
): Promise<Charge[]> => {
  const rows = await db.rows<ChargeRow>(
    inTexts(
      areTexts,
      sql`
    select ${CHARGE_COLUMNS}
      from charges where account_id = ${account} and invoice_id = any(${`{${invoiceIds.join(',')}}`}::bigint[])
     order by invoice_id, display_order ${linesMax === undefined ? NOTHING : fragment`limit ${linesMax}`}`,
    ),
  )
  return withBrackets(rows)
}

/** Lists the lines of one invoice in their order on it, which is made here: to prepare sorts costs PostgreSQL more than reading so few rows. */
export const lookUpCharges = async (db: Queryable, account: AccountId, id: InvoiceId): Promise<Charge[]> =>
  withBrackets(
    await db.rows<ChargeRow>(
      sql`select ${CHARGE_COLUMNS} from charges where account_id = ${account} and invoice_id = ${id}`,
    ),
  ).toSorted((a, b) => a.displayOrder - b.displayOrder)

/**
 * Lists the bases of spreads by charge, except for charges that are one amount on their own: their own brackets have a quantity. Lines that came
 * to 0.00 stand on no invoice, and their units count here as well.
 */
export async function listSpreads(db: Queryable, account: AccountId, invoice: InvoiceId): Promise<Map<Id, Spread>> {
  const rows = await db.rows<{ chargeId: Id; quantity: Decimal; bracketIndex: number; stored: PricedBracketsJson }>(sql`
    select c.charge_id as "chargeId", sum(s.quantity) as "quantity", min(c.bracket_index) as "bracketIndex",
           (array_agg(s.brackets) filter (where s.brackets is not null))[1] as "stored"
      from charges c cross join lateral (
        select * from charge_rows where account_id = ${account} and subscription_id = c.subscription_id and stretch = c.stretch
        union all
        select * from charges where account_id = ${account} and invoice_id = ${invoice} and exists (
          select 1 from invoices where account_id = ${account} and invoice_id = ${invoice} and template_id is not null)) s
     where s.stretch = c.stretch and s.item_id = c.item_id and s.kind = c.kind and s.period_from = c.period_from and s.part = c.part and c.account_id = ${account} and c.invoice_id = ${invoice} and c.kind in ('component', 'metered')
     group by c.charge_id
    having bool_or(s.brackets is not null) and not coalesce(bool_or(s.brackets ? 'quantity'), false)`)
  return new Map(
    rows.map(({ chargeId, quantity, bracketIndex, stored }) => [
      chargeId,
      { priceList: priceListOf(stored), quantity, bracketIndex },
    ]),
  )
}

/** The category of a row of `invoice_taxes`: a rate above 0 is standard and keeps none. */
export const TAX_CATEGORY = fragment`coalesce(category, case when rate > 0 then 'S' end)`

const TAX_COLUMNS = fragment`
  invoice_tax_id as "id", invoice_id as "invoiceId", name, rate, tax_number as "taxNumber", tax_rule_id as "ruleId",
  ${TAX_CATEGORY} as "category", reason_code as "reasonCode", reason, base_minor as "baseMinor", amount_minor as "amountMinor"`

export const listInvoiceTaxes = (
  db: Queryable,
  account: AccountId,
  invoiceIds: readonly InvoiceId[],
  { areTexts }: Pick<LinesRead, 'areTexts'> = {},
) =>
  db.rows<InvoiceTaxRow>(
    inTexts(
      areTexts,
      sql`
    select ${TAX_COLUMNS}
      from invoice_taxes where account_id = ${account} and invoice_id = any(${`{${invoiceIds.join(',')}}`}::bigint[])
     order by invoice_id, invoice_tax_id`,
    ),
  )

const byId = (a: { id: Id }, b: { id: Id }): number => (a.id < b.id ? -1 : 1)

/** Lists the taxes of one invoice, in the order of `listInvoiceTaxes`. */
export const lookUpTaxes = async (db: Queryable, account: AccountId, id: InvoiceId): Promise<InvoiceTaxRow[]> =>
  (
    await db.rows<InvoiceTaxRow>(
      sql`select ${TAX_COLUMNS} from invoice_taxes where account_id = ${account} and invoice_id = ${id}`,
    )
  ).toSorted(byId)

/** Money applied to an invoice: from a payment, or from a credit note or other negative adjustment. */
export interface AppliedMoney {
  id: Id
  invoiceId: InvoiceId
  givenKind: 'payment' | 'negative_adjustment'
  givenId: Id
  appliedMinor: bigint
}

const APPLIED = fragment`
  allocation_id as "id", owed_id as "invoiceId", given_kind as "givenKind", given_id as "givenId", amount_minor as "appliedMinor"`

/** Lists what is applied to invoices, by identifier of the invoice and in the order in which it was applied; no more than `appliedMax`. */
export const listAppliedMoney = (
  db: Queryable,
  account: AccountId,
  invoiceIds: readonly InvoiceId[],
  appliedMax?: number,
) =>
  db.rows<AppliedMoney>(
    asTexts(sql`
    select ${APPLIED}
      from allocations
     where account_id = ${account} and owed_kind = 'invoice' and ended_on is null and owed_id = any(${`{${invoiceIds.join(',')}}`}::bigint[])
     order by owed_id, allocation_id ${appliedMax === undefined ? NOTHING : fragment`limit ${appliedMax}`}`),
  )

/** Lists what is applied to one invoice, in the order in which it was applied. */
export const lookUpApplied = async (db: Queryable, account: AccountId, id: InvoiceId): Promise<AppliedMoney[]> =>
  (
    await db.rows<AppliedMoney>(sql`
      select ${APPLIED} from allocations
       where account_id = ${account} and owed_kind = 'invoice' and owed_id = ${id} and ended_on is null ${orTooMany(db)}`)
  ).toSorted(byId)

/** Returns the same of one kind alone, so many at a time. */
export const portionsOfApplied = (
  db: Snapshot,
  account: AccountId,
  id: InvoiceId,
  kind: AppliedMoney['givenKind'],
  size: number,
) =>
  db.portions<AppliedMoney>(
    sql`select ${APPLIED} from allocations
         where account_id = ${account} and owed_kind = 'invoice' and owed_id = ${id} and given_kind = ${kind} and ended_on is null
         order by allocation_id`,
    size,
  )

/** Returns the ranges of numbers whose digits begin so, as lowest and highest. */
function rangesOf(digits: string): { low: bigint; high: bigint }[] {
  if (!/^[1-9]\d{0,14}$/.test(digits)) return []
  const first = BigInt(digits)
  return Array.from({ length: 16 - digits.length }, (_, more) => {
    const unit = 10n ** BigInt(more)
    return { low: first * unit, high: (first + 1n) * unit - 1n }
  })
}

/** Returns the ranges of numbers, and those of identifiers that references of the service's own are made of, which begin so. */
const numbersOf = (word: string) => ({
  numbers: rangesOf(word),
  own: rangesOf(word.startsWith('i') ? word.slice(1) : ''),
})

type Ranges = ReturnType<typeof rangesOf>
const unnested = (ranges: Ranges): Fragment =>
  fragment`unnest(${column(ranges, 'low')}::bigint[], ${column(ranges, 'high')}::bigint[]) as g(low, high)`
const within = (value: Fragment, ranges: Ranges): Fragment =>
  fragment`exists (select 1 from ${unnested(ranges)} where ${value} between g.low and g.high)`

/** Lists some invoices whose number, or the reference that the service gave, begins so. */
export async function listInvoicesNumbered(
  db: Queryable,
  account: AccountId,
  word: string,
  limit: number,
): Promise<{ id: InvoiceId }[]> {
  const { numbers, own } = numbersOf(word)
  if (numbers.length + own.length === 0) return []
  return db.rows<{ id: InvoiceId }>(sql`
    select i.invoice_id as "id" from (
      (select n.invoice_id from ${unnested(numbers)}
         join invoices n on n.account_id = ${account} and n.number between g.low and g.high limit ${limit})
      union (select n.invoice_id from ${unnested(own)}
         join invoices n on n.account_id = ${account} and n.invoice_id between g.low and g.high and n.reference is null limit ${limit})) i`)
}

/** Invoices as they are searched: the numbers and references that the service gives begin with what was sent, and no words are written of them. */
export const SEARCHED_INVOICES: Searched = {
  list: 'invoices',
  numbers: {
    condition(row, word) {
      const { numbers, own } = numbersOf(word)
      const [number, id, reference] = ['number', 'invoice_id', 'reference'].map((name) => namesOf(`${row}.${name}`))
      return fragment`(${within(number as Fragment, numbers)} or ${reference as Fragment} is null and ${within(id as Fragment, own)})`
    },
    list: listInvoicesNumbered,
  },
}
