import { formatsOf } from '../../platform/locale/format.ts'
import type { PageContent } from '../../platform/page/frame.ts'
import { type Html, html } from '../../platform/page/html.ts'
import type { Values } from '../../platform/http/page-forms.ts'
import { invalid } from '../../kernel/fault.ts'
import type { InvoiceDocument } from '../documents/document.ts'
import type { Paying, Seen } from '../collection/by-customer.ts'
import { invoicePageWords, type Words } from './words.ts'

/** Paying on the page of an invoice: what can be pressed there, and what came of the last press. */

/** Fields of the form: what its reader saw. */
export const PAY_FIELDS = ['amount', 'after'] as const

/** Reads what was seen when the button was pressed, from a form that this page made. */
export function seenFromForm(values: Values): Seen {
  const [amount = '', after = ''] = PAY_FIELDS.map((name) => values.get(name))
  if (!/^[1-9]\d{0,17}$/.test(amount) || !/^(0|[1-9]\d{0,17})$/.test(after))
    throw invalid('form_unreadable', 'The form is not as this page made it.')
  return { amountMinor: BigInt(amount), newest: BigInt(after) }
}

interface Facts {
  document: Pick<InvoiceDocument, 'currency' | 'number'>
  paying: Paying
  locale: string
  path: string
  /** The address of the form for a new card. */
  cardPath: string
}

/** Writes what its reader sees into a form. */
export const seenFields = ({ amountMinor, newest }: Paying): Html =>
  html`<input type="hidden" name="amount" value="${amountMinor}"><input type="hidden" name="after" value="${newest}">`

const form = ({ path, paying }: Facts, button: string): Html =>
  html`<form method="post" action="${path}/pay">${seenFields(paying)}<button type="submit">${button}</button></form>`

const newCardLink = ({ paying, cardPath }: Facts, name: string, kind = 'button plain'): Html | false =>
  paying.newCard !== null && html`<a class="${kind}" href="${cardPath}">${name}</a>`

/** Writes how a charge is confirmed: on a page of its own by the gateway's script, at its gateway where that has an address, else by another press. */
function confirmSection(facts: Facts, words: Words): Html {
  const { confirmUrl } = facts.paying
  // A gateway is trusted with money, and not with what runs in this page.
  const isAddress = confirmUrl !== null && /^https:\/\//i.test(confirmUrl)
  const here = facts.paying.confirming && html`<a class="button" href="${facts.cardPath}/confirm">${words.toBank}</a>`
  const steps = here
    ? html`<div class="actions">${here}</div>`
    : isAddress
      ? html`<div class="actions"><a class="button" href="${confirmUrl}" rel="noreferrer">${words.toBank}</a></div><p>${words.toBankText}</p>${form(facts, words.confirmed)}`
      : form(facts, words.confirm)
  return html`<div class="note"><p><strong>${words.toConfirm}</strong></p><p>${words.toConfirmText}</p>${steps}${facts.paying.newCard && html`<p>${newCardLink(facts, words.otherCard, '')}</p>`}</div>`
}

/** Writes what the page of an invoice offers and shows about paying it. */
export function payingSection(facts: Facts): Html {
  const { document, paying, locale, path } = facts
  const formats = formatsOf(locale)
  const words = invoicePageWords(formats.language)
  const { amountMinor, card, debit, open, declined } = paying
  const amount = formats.money(amountMinor, document.currency)
  if (open === 'confirm') return confirmSection(facts, words)
  if (open === 'unknown') return html`<p class="note">${words.unknown}</p>`
  if (paying.isLater) return html`<p class="note" role="status">${words.later}</p>`
  return html`${declined !== null && html`<p class="note bad" role="alert">${words.declined[declined] ?? words.declinedOther}</p>`}
${debit && html`<p class="note">${words.debit(formats.longDate(debit.on), debit.lastFour)}</p>`}
${card && html`<div class="actions"><a class="button" href="${path}/pay">${debit ? words.payByCard(amount) : words.pay(amount)}</a>${newCardLink(facts, words.otherCard)}</div>`}
${!card && paying.newCard && html`<div class="actions">${newCardLink(facts, debit ? words.payByCard(amount) : words.payByNewCard(amount), 'button')}</div>`}`
}

/** Writes the page on which a payment by the card on file is confirmed. */
export function payPage(facts: Facts): PageContent {
  const { document, paying, locale, path } = facts
  const formats = formatsOf(locale)
  const words = invoicePageWords(formats.language)
  const amount = formats.money(paying.amountMinor, document.currency)
  const title = words.payTitle(document.number ?? '')
  return {
    title,
    content: html`<h1>${title}</h1>
<p class="due"><span>${words.toPay}</span> <strong>${amount}</strong></p>
<p>${words.withCard} <strong>${paying.card?.brand === 'Unknown' ? words.card : paying.card?.brand} <span class="whole">•••• ${paying.card?.lastFour}</span></strong></p>
${paying.debit && html`<p>${words.insteadOfDebit}</p>`}
${form(facts, words.payNow(amount))}
${paying.newCard && html`<p>${newCardLink(facts, words.otherCard, '')}</p>`}
<p><a href="${path}">${words.back}</a></p>`,
  }
}
