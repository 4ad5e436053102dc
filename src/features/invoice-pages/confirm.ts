import { formatsOf } from '../../platform/locale/format.ts'
import type { Values } from '../../platform/http/page-forms.ts'
import type { PageRequest, Shown } from '../../platform/http/pages.ts'
import { html } from '../../platform/page/html.ts'
import { fieldsPage, stepForm } from '../capture-sessions/fields.ts'
import { findPaying, type Paying, type PayDeps } from '../collection/by-customer.ts'
import { answerTry, stepOfTry } from '../collection/confirming.ts'
import type { InvoiceDocument } from '../documents/document.ts'
import { loadInvoiceDocument } from '../documents/load.ts'
import { fieldsOf } from '../gateways/call.ts'
import { isStopped } from '../gateways/rules.ts'
import type { LinkedInvoice } from './queries.ts'
import { invoicePageWords } from './words.ts'

/** The page on which a customer confirms a charge to their bank by the script of its gateway. */

type Facts = Pick<PageRequest<LinkedInvoice>, 'context' | 'locale' | 'path' | 'beside'> & {
  document: Pick<InvoiceDocument, 'currency' | 'number'>
  paying: Paying | undefined
}

/** Writes the page; with `hasBeenThere` somebody has come back from their bank without an answer. */
export function confirmPage(
  deps: PayDeps,
  { context, document, paying, locale, path, beside }: Facts,
  hasBeenThere = false,
): Shown {
  const { language, money } = formatsOf(locale)
  const words = invoicePageWords(language)
  const { address, origin } = beside('i')
  const title = words.payTitle(document.number ?? '')
  const back = html`<p><a href="${address}">${words.back}</a></p>`
  const fields = paying?.confirming && fieldsOf(deps, context.account, paying.confirming.gateway)
  if (!paying || !fields)
    return { title, content: html`<h1>${title}</h1><p role="status">${words.nothingToConfirm}</p>${back}` }
  if (paying.confirming && isStopped(paying.confirming.gateway))
    return { title, content: html`<h1>${title}</h1><p role="status">${words.later}</p>${back}` }
  const facts = { language, fields, path, elsewhere: back }
  return {
    title,
    returnsTo: origin,
    ...fieldsPage(fields),
    content: html`<h1>${title}</h1>
<p class="due"><span>${words.toPay}</span> <strong>${money(paying.amountMinor, document.currency)}</strong></p>
<p><strong>${words.toConfirm}</strong></p>
<p>${words.toConfirmText}</p>
${stepForm(facts, { hasBeenThere, button: words.toBank })}
${back}`,
  }
}

const payingOf = ({ db, ...deps }: PayDeps, { context, found }: PageRequest<LinkedInvoice>) =>
  db.transaction(context.account.id, (tx) => findPaying(tx, context, { db, ...deps }, found.id))

/** Answers the script of the page, which is about to have the bank shown. */
export async function confirmStep(deps: PayDeps, request: PageRequest<LinkedInvoice>): Promise<object> {
  const paying = await payingOf(deps, request)
  return paying?.confirming
    ? stepOfTry(deps, request.context, paying.confirming)
    : { next: request.beside('i').address }
}

/** Takes the form: leads on to the page of the invoice, which shows what came of the payment, or shows this one again while nothing has. */
export async function answerConfirm(
  deps: PayDeps,
  request: PageRequest<LinkedInvoice>,
  values: Values,
): Promise<Shown | string> {
  const { context, found, locale, beside } = request
  const paying = await payingOf(deps, request)
  if (!paying?.confirming) return beside('i').address
  const answer = values.get('answer') === 'cancel' ? 'cancel' : 'confirmed'
  const became = await answerTry(deps, context, paying.confirming, answer)
  if (became !== 'open') return beside('i').address
  const still = await payingOf(deps, request)
  if (!still?.confirming) return beside('i').address
  const document = await loadInvoiceDocument(deps.db.reader(context.account.id), context, found.id, locale)
  return confirmPage(deps, { ...request, document, paying: still }, true)
}
