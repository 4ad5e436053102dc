import { addDays, daysBetween } from '../../kernel/calendar.ts'
import { assert } from '../../kernel/assert.ts'
import { missing } from '../../kernel/fault.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { formatsOf } from '../../platform/locale/format.ts'
import { findLogo, getAccountSettings } from '../accounts/queries.ts'
import { frozenOfAccount } from '../accounts/rules.ts'
import { findCustomer } from '../customers/queries.ts'
import { frozenOf } from '../customers/rules.ts'
import { loadLines } from '../invoices/load.ts'
import { type Charge, findInvoice, type Invoice } from '../invoices/queries.ts'
import type { Applied, DocumentLine, InvoiceDocument } from './document.ts'
import { accountParty, customerParty, localeOf, paperOf } from './parties.ts'
import { getFrozenParties, listAppliedCredits } from './queries.ts'
import { wordsOf } from './words.ts'

/**
 * An invoice as its document shows it: names, addresses and texts as they were at issue, what was paid and credited as it is now. A draft
 * shows everything as it is now. Throws a Fault (404) when there is no such invoice.
 */
export async function loadInvoiceDocument(
  db: Queryable,
  { account, moment }: RequestContext,
  id: InvoiceId,
): Promise<InvoiceDocument> {
  const invoice = await findInvoice(db, account.id, id)
  if (!invoice) throw missing('invoice_unknown', `There is no invoice ${id}.`, 'invoiceID')
  const [parties, [lines], applied, logo] = await Promise.all([
    loadParties(db, account.id, invoice),
    loadLines(db, account.id, [invoice]),
    loadApplied(db, account.id, invoice),
    findLogo(db, account.id),
  ])
  assert(lines, `invoice ${id} was loaded`)
  const locale = localeOf(parties.account, parties.customer)
  return {
    locale,
    paper: paperOf(parties.account.country),
    account: accountParty(parties.account, locale),
    logo: logo?.content ?? null,
    customer: customerParty(parties.customer, locale),
    createdAt: moment.now,
    state: invoice.isCancelled ? 'cancelled' : invoice.isDraft ? 'draft' : 'issued',
    number: invoice.number?.toString() ?? null,
    reference: invoice.reference,
    poNumber: invoice.poNumber,
    invoiceDate: invoice.invoiceDate,
    dueDate: invoice.dueDate,
    currency: invoice.currency,
    lines: lines.charges.map((charge) => lineOf(charge, locale)),
    taxes: lines.taxes,
    totalMinor: invoice.totalMinor,
    applied,
    balanceMinor: invoice.totalMinor - invoice.negativeMinor - invoice.paidMinor - invoice.pendingMinor,
    notes: invoice.notes,
    terms: invoice.terms,
    bankDetails: parties.account.bankDetails,
  }
}

async function loadParties(db: Queryable, account: bigint, invoice: Invoice) {
  const [frozen, settings, customer] = await Promise.all([
    getFrozenParties(db, account, invoice.id),
    getAccountSettings(db, account),
    findCustomer(db, account, invoice.customerId),
  ])
  assert(customer, `the customer of invoice ${invoice.id} exists`)
  const present = { account: frozenOfAccount(settings), customer: frozenOf(customer) }
  if (invoice.isDraft) return present
  return { account: frozen.account ?? present.account, customer: frozen.customer ?? present.customer }
}

async function loadApplied(db: Queryable, account: bigint, invoice: Invoice): Promise<Applied[]> {
  if (invoice.negativeMinor === 0n) return []
  const credits = await listAppliedCredits(db, account, invoice.id)
  return credits.map((credit) => ({ ...credit, kind: 'credit_note', isPending: false }))
}

/** Lines of the rules are told in the document's language; what a caller wrote stays as it is. */
function lineOf(charge: Charge, locale: string): DocumentLine {
  const { kind, name, description, quantity, unitPrice, netMinor } = charge
  const words = wordsOf(formatsOf(locale).language)
  const ownName = kind === 'setup' ? words.setup : kind === 'trial' ? words.trial : name
  return { name: ownName, description: description ?? daysText(charge, locale), quantity, unitPrice, netMinor }
}

/** "1 Feb 2027 to 28 Feb 2027, 21 of 28 days"; null for what covers no days. */
function daysText({ from, until, wholeFrom, wholeUntil }: Charge, locale: string): string | null {
  if (from === null || until === null) return null
  const formats = formatsOf(locale)
  const words = wordsOf(formats.language)
  const span = words.span(formats.date(from), formats.date(addDays(until, -1)))
  const days = daysBetween(from, until)
  const wholeDays = wholeFrom === null || wholeUntil === null ? days : daysBetween(wholeFrom, wholeUntil)
  return days === wholeDays ? span : `${span}, ${words.partOf(days, wholeDays)}`
}
