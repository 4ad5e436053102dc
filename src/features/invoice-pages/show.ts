import type { IsoDate } from '../../kernel/calendar.ts'
import { compare, ONE } from '../../kernel/decimal.ts'
import { formatsOf, type Formats } from '../../platform/locale/format.ts'
import type { PageContent } from '../../platform/page/frame.ts'
import { type Html, html } from '../../platform/page/html.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { DocumentLine, InvoiceDocument } from '../documents/document.ts'
import { reasonOfNoTax, supplyFact, type Words, wordsOf } from '../documents/words.ts'
import type { Paying } from '../collection/by-customer.ts'
import { payingSection } from './pay.ts'
import { invoicePageWords } from './words.ts'

/** An invoice as its page shows it: what its document has, in one column, and how it stands. */

/** How an invoice stands for the one who is to pay it. */
export type Standing = 'paid' | 'settled' | 'cancelled' | 'pending' | 'open'

/**
 * Returns how an invoice stands. Rule: pending money leaves nothing to do, and is no payment yet. Nobody is thanked for what was written off, or
 * settled by credits alone.
 */
export function standingOf({
  state,
  balanceMinor,
  applied,
}: Pick<InvoiceDocument, 'state' | 'balanceMinor' | 'applied'>): Standing {
  if (state === 'cancelled') return 'cancelled'
  if (balanceMinor > 0n) return 'open'
  if (applied.some(({ isPending }) => isPending)) return 'pending'
  const isPaid = applied.some(({ kind }) => kind === 'payment') && !applied.some(({ kind }) => kind === 'bad_debt')
  return isPaid ? 'paid' : 'settled'
}

interface Showing {
  document: InvoiceDocument
  formats: Formats
  locale: string
  /** The path of the link. */
  path: string
  /** The address of the form for a new card. */
  cardPath: string
  today: IsoDate
  /** How it can be paid, or is being paid; undefined: nothing is open. */
  paying: Paying | undefined
}

/** Writes the page of an invoice. */
export function invoicePage(shown: Omit<Showing, 'formats'>): PageContent {
  const formats = formatsOf(shown.locale)
  const showing = { ...shown, formats }
  const own = invoicePageWords(formats.language)
  const title = own.invoice(shown.document.number ?? '')
  return {
    title,
    content: html`<h1>${title}</h1>
${standing(showing)}
${shown.paying && payingSection({ ...shown, paying: shown.paying })}
<div class="actions"><a class="button plain" href="${shown.path}/pdf">${own.pdf}</a></div>
${lines(showing)}
${details(showing)}
${notes(showing)}`,
  }
}

function standing({ document, formats, today, paying }: Showing): Html {
  const own = invoicePageWords(formats.language)
  const words = wordsOf(formats.language)
  const { currency, balanceMinor, dueDate, applied } = document
  const pendingMinor = sumMinor(
    applied.filter(({ isPending }) => isPending),
    'amountMinor',
  )
  switch (standingOf(document)) {
    case 'cancelled':
      return html`<p class="state bad">${own.cancelled}</p><p>${words.cancelledNotice}</p>`
    case 'paid':
      return html`<p class="state good">✓ ${own.paid}</p><p>${own.paidText}</p>`
    case 'settled':
      return html`<p class="state good">✓ ${own.settled}</p><p>${own.settledText}</p>`
    case 'pending':
      // Whatever there is to do about it stands where it can be paid.
      if (paying?.open === 'confirm') return html`<p class="state">${own.unconfirmed}</p>`
      return html`<p class="state">${own.pending}</p>${!paying?.open && html`<p>${own.pendingText}</p>`}`
    case 'open': {
      const isLate = dueDate < today
      const due = (isLate ? own.overdue : own.due)(formats.longDate(dueDate))
      return html`<p class="due"><span>${own.toPay}</span> <strong>${formats.money(balanceMinor, currency)}</strong></p>
<p class="${isLate ? 'state bad' : 'state'}">${due}</p>
${pendingMinor > 0n && html`<p>${own.partly(formats.money(pendingMinor, currency))}</p>`}`
    }
  }
}

function lines({ document, formats }: Showing): Html {
  const own = invoicePageWords(formats.language)
  const words = wordsOf(formats.language)
  const { currency, taxes, totalMinor, applied, appliedAfterMinor, balanceMinor, writtenOffMinor, state } = document
  const money = (minor: bigint) => formats.money(minor, currency)
  const row = (name: string, minor: bigint, kind = 'sum', small: string | null = null) =>
    html`<tr class="${kind}"><th scope="row">${name}${small !== null && html`<div class="soft"><bdi>${small}</bdi></div>`}</th><td class="money">${money(minor)}</td></tr>`
  return html`<h2>${own.lines}</h2>
<table>
<thead><tr><th scope="col">${words.description}</th><th scope="col" class="money">${words.amountIn(currency)}</th></tr></thead>
<tbody>${document.lines.map((line) => lineRow(line, document, formats, own.times))}</tbody>
<tbody>
${row(words.subtotal, sumMinor(document.lines, 'netMinor'))}
${taxes.map((tax) => row(words.taxLabel(tax.name, formats.rate(tax.rate)), tax.amountMinor, 'sum', reasonOfNoTax({ words, formats }, tax)))}
${row(words.total, totalMinor, 'sum total')}
${applied.map((one) => row(appliedText(one, formats, words), -one.amountMinor))}
${appliedAfterMinor > 0n && row(words.appliedAfter, -appliedAfterMinor)}
${applied.length > 0 && state !== 'cancelled' && row(words.balanceDue, balanceMinor, 'sum total')}
</tbody>
</table>
${writtenOffMinor > 0n && html`<p>${words.writtenOff(money(writtenOffMinor))}</p>`}`
}

function lineRow(
  { name, description, quantity, unitPrice, netMinor }: DocumentLine,
  { currency }: InvoiceDocument,
  formats: Formats,
  times: (quantity: string, price: string) => string,
): Html {
  const isOne = compare(quantity, ONE) === 0
  return html`<tr><td><bdi>${name ?? description}</bdi>${name !== null && description !== null && html`<div class="lines"><bdi>${description}</bdi></div>`}${!isOne && html`<div class="soft">${times(formats.number(quantity), formats.price(unitPrice, currency))}</div>`}</td><td class="money">${formats.money(netMinor, currency)}</td></tr>`
}

function appliedText(
  { kind, method, date, isPending }: InvoiceDocument['applied'][number],
  formats: Formats,
  words: Words,
): string {
  const name = kind === 'payment' && method !== null ? words.methods[method] : words.applied[kind]
  return `${name}, ${formats.date(date)}${isPending ? ` (${words.pending})` : ''}`
}

function details({ document, formats }: Showing): Html {
  const own = invoicePageWords(formats.language)
  const words = wordsOf(formats.language)
  const { account, customer, invoiceDate, dueDate, supply, reference, poNumber } = document
  const fact = (name: string, value: string | null | undefined) =>
    value != null && value !== '' && html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`
  const lined = (values: readonly (string | null)[]) =>
    html`${values.filter((value) => value !== null).map((value, index) => html`${index > 0 && html`<br>`}<bdi>${value}</bdi>`)}`
  return html`<h2>${own.details}</h2>
<dl>
${fact(words.invoiceDate, formats.longDate(invoiceDate))}
${fact(words.dueDate, formats.longDate(dueDate))}
${fact(...supplyFact({ words, formats }, supply))}
${fact(words.reference, reference)}
${fact(words.poNumber, poNumber)}
<dt>${words.to}</dt><dd>${lined([customer.name, ...customer.address, customer.vatNumber && `${words.vatNumber} ${customer.vatNumber}`])}</dd>
<dt>${words.from}</dt><dd>${lined([account.name, ...account.address, account.email, account.tel])}</dd>
${fact(words.vatNumber, account.vatNumber)}
</dl>`
}

function notes({ document, formats }: Showing): Html {
  const own = invoicePageWords(formats.language)
  const words = wordsOf(formats.language)
  const block = (title: string, text: string | null | undefined) =>
    text != null && text !== '' && html`<h2>${title}</h2><p class="lines"><bdi>${text}</bdi></p>`
  return html`${standingOf(document) === 'open' && block(own.transfer, document.bankDetails)}${block(words.notes, document.notes)}${block(words.terms, document.terms)}`
}
