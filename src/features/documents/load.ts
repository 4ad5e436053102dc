import { invoiceBalances } from '../../engine/status.ts'
import { supplyOf } from '../../engine/supply.ts'
import { assert } from '../../kernel/assert.ts'
import { missing } from '../../kernel/fault.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { formatsOf } from '../../platform/locale/format.ts'
import { pricedBy, type Spread } from '../components/bracket-words.ts'
import { plainFieldsOf } from '../invoices/fields.ts'
import { CHARGE_LINES_MAX } from '../invoices/lines.ts'
import { loadLines } from '../invoices/load-parts.ts'
import { type Charge, findInvoice, type Invoice, listSpreads } from '../invoices/queries.ts'
import type { Applied, DocumentLine, InvoiceDocument } from './document.ts'
import { daysText, loadHead } from './load-head.ts'
import { type FrozenParties, getFrozenParties, listAppliedLines } from './queries.ts'
import { type Words, wordsOf } from './words.ts'

/**
 * Loads an invoice as its document shows it: names, addresses and texts as they were at issue, what was paid and credited as it is now. A
 * draft shows everything as it is now. It is written in the language of its parties unless another is wanted. Throws a Fault (404) when there is no such invoice.
 */
export async function loadInvoiceDocument(
  db: Queryable,
  context: RequestContext,
  id: InvoiceId,
  wantedLocale?: string,
): Promise<InvoiceDocument> {
  const { account } = context
  const invoice = await findInvoice(db, account.id, id)
  if (!invoice) throw missing('invoice_unknown', `There is no invoice ${id}.`, 'invoiceID')
  const [head, [lines], applied, spreads] = await Promise.all([
    loadFrozen(db, account.id, invoice).then((frozen) =>
      loadHead(db, context, invoice.customerId, frozen, wantedLocale),
    ),
    loadLines(db, account.id, [invoice]),
    loadApplied(db, account.id, invoice),
    invoice.subscriptionId === null ? new Map<Id, Spread>() : listSpreads(db, account.id, id),
  ])
  assert(lines, `invoice ${id} was loaded`)
  const { bankDetails, ...letter } = head
  return {
    ...letter,
    ...plainFieldsOf(invoice),
    state: invoice.isCancelled ? 'cancelled' : invoice.isDraft ? 'draft' : 'issued',
    number: invoice.number?.toString() ?? null,
    reference: invoice.reference,
    invoiceDate: invoice.invoiceDate,
    dueDate: invoice.dueDate,
    supply: supplyOf(invoice, lines.charges),
    currency: invoice.currency,
    lines: lines.charges.map((charge) => lineOf(charge, spreads.get(charge.id), letter.locale)),
    taxes: lines.taxes,
    totalMinor: invoice.totalMinor,
    applied,
    appliedAfterMinor: appliedMinorOf(invoice) - sumMinor(applied, 'amountMinor'),
    balanceMinor: invoiceBalances(invoice).balanceMinor,
    writtenOffMinor: invoice.writtenOffMinor,
    bankDetails,
  }
}

const loadFrozen = (db: Queryable, account: AccountId, invoice: Invoice): Promise<FrozenParties | null> =>
  invoice.isDraft ? Promise.resolve(null) : getFrozenParties(db, account, invoice.id)

/** Payments and credits that a document lists one by one: more make it long, and nobody the wiser. */
export const APPLIED_LISTED_MAX = 1000

const appliedMinorOf = ({ negativeMinor, paidMinor, pendingMinor }: Invoice): bigint =>
  negativeMinor + paidMinor + pendingMinor

const loadApplied = (db: Queryable, account: AccountId, invoice: Invoice): Promise<Applied[]> =>
  appliedMinorOf(invoice) === 0n ? Promise.resolve([]) : listAppliedLines(db, account, invoice.id, APPLIED_LISTED_MAX)

/**
 * Returns the days of a line, how many units it is for where its quantity does not show it, as answers in JSON describe it, and which step,
 * bracket or free units of its price list it is charged by.
 */
function describe(charge: Charge, spread: Spread | undefined, locale: string): string | null {
  const days = daysText(charge, locale)
  const by = pricedBy(charge, spread, locale)
  return [boughtText(charge, days, locale), by].filter((part) => part !== null).join(' · ') || null
}

function boughtText(charge: Charge, days: string | null, locale: string): string | null {
  if (days === null || charge.brackets === null) return days
  const formats = formatsOf(locale)
  const words = wordsOf(formats.language)
  const { quantity, before } = charge.brackets
  const bought = words.units(formats.number(quantity))
  const change = before === null ? bought : `${formats.number(before)} → ${bought}`
  return `${days}, ${charge.kind === 'late_usage' ? `${words.late}: ` : ''}${change}`
}

/** Returns the text of a line. Lines of the rules are written in the document's language; what a caller wrote stays as it is, and nothing is called a charge. */
function lineOf(charge: Charge, spread: Spread | undefined, locale: string): DocumentLine {
  const { kind, name, description, quantity, unitPrice, netMinor } = charge
  const words = wordsOf(formatsOf(locale).language)
  const ownName = kind === 'setup' ? words.setup : kind === 'trial' ? words.trial : name
  const shown = description === null ? describe(charge, spread, locale) : cutText(description, words)
  const isNamed = Boolean(ownName) || Boolean(shown)
  return { name: isNamed ? ownName : words.charge, description: shown, quantity, unitPrice, netMinor }
}

/** Returns a text that was taken before there was a limit of lines, cut to it. */
function cutText(text: string, words: Words): string {
  const lines = text.split('\n')
  const left = lines.length - CHARGE_LINES_MAX
  return left <= 0 ? text : [...lines.slice(0, CHARGE_LINES_MAX), words.moreLines(left)].join('\n')
}
