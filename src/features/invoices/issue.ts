import type { PlannedCharge } from '../../engine/charges.ts'
import { postingsOfInvoice } from '../../engine/postings.ts'
import { taxInvoice, type TaxRule } from '../../engine/tax.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { invalid } from '../../kernel/fault.ts'
import type { CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { isAmountInBounds } from '../../kernel/money.ts'
import { arrayLiteral } from '../../platform/database/sql.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Account, Moment } from '../../platform/http/context.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { insertLikeEvents } from '../events/queries.ts'
import { post } from '../ledger/post.ts'
import type { HasUnapplied } from '../ledger/queries.ts'
import type { GivenFields } from './fields.ts'
import { writeKept } from './fields-wire.ts'
import { bracketsText, spreadText } from './brackets.ts'
import {
  type ChargeRow,
  drawInvoiceIds,
  insertCharges,
  insertInvoices,
  insertInvoiceTaxes,
  type TaxRow,
} from './issue-queries.ts'
import type { CollectionMethod } from './collection.ts'

/** Issuing what the rules compose: taxes, numbers, lines with their facts, events and what the customer owes, in the caller's transaction. */

export interface ComposedInvoice {
  customerId: CustomerId
  customerVersion: number
  subscriptionId: SubscriptionId
  currency: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  poNumber: string | null
  collectionMethod: CollectionMethod
  /** Lines that are written: none of them zero. */
  charges: readonly PlannedCharge[]
  netMinor: readonly bigint[]
  grossMinor: readonly bigint[]
  totalMinor: bigint
  taxes: readonly ComposedTax[]
}

export interface ComposedTax {
  rule: TaxRule
  baseMinor: bigint
  amountMinor: bigint
  shares: readonly bigint[]
}

/** Lines and taxes of an invoice. Charges that round to zero are on no line. Throws a Fault when an amount is out of bounds. */
export function composeInvoice(
  about: Omit<ComposedInvoice, 'charges' | 'netMinor' | 'grossMinor' | 'totalMinor' | 'taxes'>,
  planned: readonly PlannedCharge[],
  rules: readonly TaxRule[],
  digits: number,
): ComposedInvoice | undefined {
  const charges = planned.every(({ netMinor }) => netMinor !== 0n)
    ? planned
    : planned.filter(({ netMinor }) => netMinor !== 0n)
  if (charges.length === 0) return undefined
  const netMinor = charges.map((charge) => charge.netMinor)
  const { taxes, grossMinor, totalMinor } = taxInvoice(
    netMinor,
    rules.map(({ rate }) => rate),
  )
  if (![...netMinor, totalMinor].every((amount) => isAmountInBounds(amount, digits))) {
    throw invalid('amount_too_large', 'An amount of the invoice reaches 1,000,000,000,000.')
  }
  // Fields one by one: copying with a spread costs several times as much, and a run composes millions.
  return {
    customerId: about.customerId,
    customerVersion: about.customerVersion,
    subscriptionId: about.subscriptionId,
    currency: about.currency,
    invoiceDate: about.invoiceDate,
    dueDate: about.dueDate,
    poNumber: about.poNumber,
    collectionMethod: about.collectionMethod,
    charges,
    netMinor,
    grossMinor,
    totalMinor,
    taxes: taxes.map(({ baseMinor, amountMinor, shares }, index) => ({
      rule: rules[index] as TaxRule,
      baseMinor,
      amountMinor,
      shares,
    })),
  }
}

/** A charge that stands on no invoice, billed at zero or turned into a credit: kept so that it counts as billed. */
export interface ZeroCharge {
  subscriptionId: SubscriptionId
  charge: PlannedCharge
}

export interface IssueContext {
  /** Where given, the identifiers of what is issued are added to it: a change tells what it made. */
  issued?: InvoiceId[]
  account: Account
  moment: Moment
  actor: string
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
}

export interface Issued {
  /** In the order given. */
  ids: InvoiceId[]
  /** Who of their customers has unallocated money that could pay them. */
  unapplied: HasUnapplied[]
}

/** Writes composed invoices and posts them. The account's number counter is locked last. */
export async function issueInvoices(
  tx: Transaction,
  context: IssueContext,
  invoices: readonly ComposedInvoice[],
  zeroCharges: readonly ZeroCharge[],
): Promise<Issued> {
  const ids = invoices.length === 0 ? [] : await drawInvoiceIds(tx, invoices.length)
  const charges = [...chargeRows(invoices, ids), ...zeroCharges.map(zeroRow)]
  if (charges.length > 0) await insertCharges(tx, charges)
  if (invoices.length === 0) return { ids, unapplied: [] }
  const taxes = taxRows(invoices, ids)
  if (taxes.length > 0) await insertInvoiceTaxes(tx, taxes)
  await recordIssued(tx, context, invoices, ids)
  const unapplied = await post(
    tx,
    invoices.map((invoice, place) => postedOf(invoice, ids[place] as InvoiceId)),
    context.moment.now,
  )
  const firstNumber = await takeInvoiceNumbers(tx, tx.account, invoices.length)
  context.issued?.push(...ids)
  await insertInvoices(tx, invoices, {
    ids,
    firstNumber,
    issuedAt: context.moment.now,
    accountVersion: context.account.version,
  })
  return { ids, unapplied }
}

const postedOf = ({ customerId, currency, invoiceDate, totalMinor, taxes }: ComposedInvoice, id: InvoiceId) => ({
  customerId,
  currency,
  postings: postingsOfInvoice({
    id,
    issuedOn: invoiceDate,
    cancelledOn: null,
    totalMinor,
    taxes: taxes.map(({ rule, amountMinor }) => ({
      name: rule.settingName,
      rate: rule.rate,
      taxNumber: rule.taxNumber,
      amountMinor,
    })),
  }),
})

/** Records that invoices were issued. The event stores only the fields that can change after issue: all else is frozen in their own rows. */
export function recordIssued(
  tx: Transaction,
  context: Pick<IssueContext, 'moment' | 'actor'>,
  invoices: readonly (GivenFields & { customerId: CustomerId })[],
  ids: readonly InvoiceId[],
): Promise<void> {
  const events = invoices.map((invoice, index) => ({
    recordId: ids[index] as InvoiceId,
    customerId: invoice.customerId,
    record: writeKept(invoice),
  }))
  const common = { type: 'invoice.issued', happenedAt: context.moment.now, actor: context.actor, reason: null } as const
  return insertLikeEvents(tx, common, events)
}

function chargeRows(invoices: readonly ComposedInvoice[], ids: readonly InvoiceId[]): ChargeRow[] {
  const rows: ChargeRow[] = []
  invoices.forEach((invoice, place) => {
    invoice.charges.forEach((charge, line) => {
      rows.push(
        chargeRow(
          charge,
          invoice.subscriptionId,
          ids[place] as InvoiceId,
          line + 1,
          invoice.grossMinor[line] as bigint,
        ),
      )
    })
  })
  return rows
}

const zeroRow = ({ charge, subscriptionId }: ZeroCharge): ChargeRow =>
  chargeRow(charge, subscriptionId, null, 0, charge.netMinor)

function chargeRow(
  charge: PlannedCharge,
  subscriptionId: Id,
  invoiceId: InvoiceId | null,
  displayOrder: number,
  grossMinor: bigint,
): ChargeRow {
  return {
    invoiceId,
    displayOrder,
    kind: charge.kind,
    name: charge.name,
    quantity: decimalText(charge.quantity),
    unitPrice: decimalText(charge.unitPrice),
    netMinor: charge.netMinor,
    grossMinor,
    subscriptionId,
    stretch: charge.stretch,
    itemId: charge.itemId,
    part: charge.part,
    bracketIndex: charge.bracketIndex,
    from: charge.from,
    until: charge.until,
    wholeFrom: charge.wholeFrom,
    wholeUntil: charge.wholeUntil,
    price: decimalText(charge.price),
    brackets: bracketsText(charge.brackets) ?? spreadText(charge.spreadBy),
  }
}

function taxRows(invoices: readonly ComposedInvoice[], ids: readonly InvoiceId[]): TaxRow[] {
  const rows: TaxRow[] = []
  invoices.forEach((invoice, place) => {
    for (const { rule, baseMinor, amountMinor, shares } of invoice.taxes) {
      rows.push({
        invoiceId: ids[place] as InvoiceId,
        name: rule.settingName,
        rate: decimalText(rule.rate),
        taxNumber: rule.taxNumber,
        baseMinor,
        amountMinor,
        shares: shares.length > 1 ? arrayLiteral(shares) : null,
      })
    }
  })
  return rows
}
