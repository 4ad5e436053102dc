import { languageOf, formatsOf } from '../../platform/locale/format.ts'
import type { Values } from '../../platform/http/page-forms.ts'
import type { PageRequest, Shown } from '../../platform/http/pages.ts'
import { html } from '../../platform/page/html.ts'
import type { Links } from '../../platform/page/links.ts'
import { fieldsForm, fieldsPage } from '../capture-sessions/fields.ts'
import { CARD_FIELDS, readCard, readHolder } from '../capture-sessions/form.ts'
import { cardFields, type Entered, nameFields } from '../capture-sessions/page.ts'
import { frameWords } from '../capture-sessions/words.ts'
import { findPaying, type Paying, type PayDeps } from '../collection/by-customer.ts'
import { openInvoiceFields, payByEntered } from '../collection/by-fields.ts'
import { payByNewCard } from '../collection/by-new-card.ts'
import type { InvoiceDocument } from '../documents/document.ts'
import { loadInvoiceDocument } from '../documents/load.ts'
import { fieldsOf } from '../gateways/call.ts'
import { PAY_FIELDS, seenFields, seenFromForm } from './pay.ts'
import type { LinkedInvoice } from './queries.ts'
import { invoicePageWords } from './words.ts'

/**
 * The form in which a customer enters a new card to pay an invoice. It is a page on its own, at an address of its own: nothing of the invoice's page is around
 * a card number, and no script but that of a gateway whose own fields stand there.
 */

export const CARD_PAGE_FIELDS = [...CARD_FIELDS, 'keep', ...PAY_FIELDS] as const

const EMPTY: Entered = { values: new Map(), wrongs: {}, refusal: null }

type Facts = Pick<PageRequest<LinkedInvoice>, 'context' | 'locale' | 'path' | 'beside'> & {
  document: Pick<InvoiceDocument, 'currency' | 'number'>
  paying: Paying | undefined
}

/** Writes the form, or that there is nothing to pay. */
export function cardPage(
  deps: Deps,
  { context, document, paying, locale, path, beside }: Facts,
  entered = EMPTY,
): Shown {
  const formats = formatsOf(locale)
  const words = invoicePageWords(formats.language)
  const { address, origin } = beside('i')
  const title = words.payTitle(document.number ?? '')
  const back = html`<p><a href="${address}">${words.back}</a></p>`
  if (!paying?.newCard) return { title, content: html`<h1>${title}</h1><p>${words.nothingToPay}</p>${back}` }
  const amount = formats.money(paying.amountMinor, document.currency)
  const box = entered.values.has('keep')
    ? html`<input id="keep" name="keep" type="checkbox" value="1" aria-describedby="keep-note" checked>`
    : html`<input id="keep" name="keep" type="checkbox" value="1" aria-describedby="keep-note">`
  const keep = html`<div class="field"><div class="check">${box}<label for="keep">${words.keep}</label></div><small id="keep-note" class="soft">${words.keepText}</small></div>`
  const rest = html`${paying.newCard.canBeKept ? keep : html`<p class="soft">${words.notKept}</p>`}
${seenFields(paying)}`
  const button = words.payNow(amount)
  const fields = fieldsOf(deps, context.account, paying.newCard.gateway)
  const { refusal } = entered
  const form = fields
    ? fieldsForm(
        {
          language: formats.language,
          fields,
          path,
          elsewhere: html`<p><a href="${address}">${words.otherWays}</a></p>`,
        },
        {
          heading: html`<h2 id="card-title">${frameWords(formats.language).card}</h2>`,
          names: nameFields(locale, entered),
          ...{ rest, button, refusal },
        },
      )
    : html`${refusal !== null && html`<p class="note bad" role="alert" tabindex="-1" autofocus>${refusal}</p>`}
<form method="post" action="${path}" novalidate autocomplete="on">
${cardFields(locale, entered)}
${rest}
<button type="submit">${button}</button>
</form>`
  return {
    title,
    returnsTo: origin,
    ...(fields && fieldsPage(fields)),
    content: html`<h1>${title}</h1>
<p class="due"><span>${words.toPay}</span> <strong>${amount}</strong></p>
${paying.debit && html`<p>${words.insteadOfDebit}</p>`}
${form}
${back}`,
  }
}

/** Answers the script of the page, which is about to show the gateway's own fields. */
export async function cardFieldsAnswer(
  deps: Deps,
  { context, found, locale, path }: PageRequest<LinkedInvoice>,
): Promise<object> {
  const language = languageOf(locale)
  const opened = await openInvoiceFields(deps, context, found.id)
  switch (opened.kind) {
    case 'client':
      return { client: opened.client }
    case 'stored':
      return { stored: frameWords(language).holds(opened.card.cardType, opened.card.lastFour) }
    case 'too_many':
      return { refusal: invoicePageWords(language).tooMany }
    case 'over':
      return { next: path }
  }
}

type Deps = PayDeps & { links: Links }

/** Takes the form of a card that was entered into the gateway's own fields: whose it is, and what its reader saw. */
async function payWithEntered(
  deps: Deps,
  request: PageRequest<LinkedInvoice>,
  values: Values,
): Promise<Shown | string> {
  const { context, found, link, locale, path } = request
  const { refusals, somethingWrong } = frameWords(languageOf(locale))
  const read = readHolder(values)
  if ('wrongs' in read) return again(deps, request, { values, wrongs: read.wrongs, refusal: somethingWrong })
  const press = { seen: seenFromForm(values), returnUrl: deps.links.url({ ...link, kind: 'i' }) }
  const names = { holder: read.holder, isWanted: values.has('keep') }
  const pressed = await payByEntered(deps, context, found.id, press, names)
  if (pressed === 'not_begun') return path
  if (pressed !== 'done') return again(deps, request, { values, wrongs: {}, refusal: refusals[pressed] })
  const paying = await deps.db.transaction(context.account.id, (tx) => findPaying(tx, context, deps, found.id))
  return paying?.confirming ? `${path}/confirm` : request.beside('i').address
}

/** Takes the form: leads on to the page of the invoice, which shows what came of the payment, or shows the form again with what is wrong. */
export async function payWithCard(
  deps: Deps,
  request: PageRequest<LinkedInvoice>,
  values: Values,
): Promise<Shown | string> {
  const { context, found, link, locale } = request
  const { refusals, somethingWrong } = frameWords(languageOf(locale))
  const gateway = (await deps.db.transaction(context.account.id, (tx) => findPaying(tx, context, deps, found.id)))
    ?.newCard?.gateway
  if (gateway && fieldsOf(deps, context.account, gateway)) return payWithEntered(deps, request, values)
  const read = readCard(values, context.moment.today)
  if ('wrongs' in read) return again(deps, request, { values, wrongs: read.wrongs, refusal: somethingWrong })
  const press = { seen: seenFromForm(values), returnUrl: deps.links.url({ ...link, kind: 'i' }) }
  const isWanted = values.has('keep')
  const pressed = await payByNewCard(deps, context, found.id, press, { card: read.card, isWanted })
  if (pressed === 'done') return request.beside('i').address
  const refusal = pressed === 'too_many' ? invoicePageWords(languageOf(locale)).tooMany : refusals[pressed]
  return again(deps, request, { values, wrongs: {}, refusal })
}

/** Shows the form once more, as the invoice stands now. */
async function again(deps: Deps, request: PageRequest<LinkedInvoice>, entered: Entered): Promise<Shown> {
  const { context, found, locale } = request
  const [document, paying] = await Promise.all([
    loadInvoiceDocument(deps.db.reader(context.account.id), context, found.id, locale),
    deps.db.transaction(context.account.id, (tx) => findPaying(tx, context, deps, found.id)),
  ])
  return { ...cardPage(deps, { ...request, document, paying }, entered), status: 400 }
}
