import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { missing } from '../../kernel/fault.ts'
import { pageOperation, type PageOperation, type PageRequest, type Shown } from '../../platform/http/pages.ts'
import { formatsOf, languageOf } from '../../platform/locale/format.ts'
import { html, type Html } from '../../platform/page/html.ts'
import { askGateway, fieldsOf } from '../gateways/call.ts'
import { clientStep } from '../payment-methods/card-fields.ts'
import type { GatewayType } from '../gateways/facts.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { isStopped } from '../gateways/rules.ts'
import { fieldsPage, stepForm } from './fields.ts'
import { type Frame, type FrameRequest, inFrame, OF_FRAMES } from './frame.ts'
import type { SessionSale } from './queries.ts'
import { chargeOfSale, findSale } from './sale-queries.ts'
import { resumeSale, type SaleDeps } from './sale-calls.ts'
import { BANK_SCRIPT } from './script.ts'
import { frameWords } from './words.ts'

/**
 * The frame while a charge waits: for its outcome, or for whoever pays to confirm it to their bank (3-D Secure). The page of the bank is framed inside
 * of the frame, by a policy that is wider for the gateway of the session alone.
 */

const BELOW_CONFIRM = '/confirm'
const BELOW_BANK = '/bank'

/** Returns the address of the page on which a charge is confirmed, if the gateway may show it here. */
export function bankUrl(type: GatewayType, url: string | null, path: string): string | undefined {
  const { frames = [] } = gatewayFactsOf(type).frame ?? {}
  if (url === null) return undefined
  if (url.startsWith('./')) return frames.includes("'self'") ? path + url.slice(1) : undefined
  return URL.canParse(url) && frames.includes(new URL(url).origin) ? url : undefined
}

/** Shows a charge that waits; with a sentence above it where somebody went on too early. */
export function salePage(
  deps: SaleDeps,
  request: FrameRequest,
  { awaitsCustomer, confirmUrl }: SessionSale,
  isTooEarly = false,
): Shown {
  const { context, found, locale, path } = request
  const language = languageOf(locale)
  const words = frameWords(language)
  if (!awaitsCustomer) {
    const content = html`<h1>${words.waiting}</h1>
      <p role="status">${words.waitingText}</p>
      <p><a href="${path}" data-again>${words.look}</a></p>`
    return inFrame(found, { title: words.waiting, content })
  }
  const { type } = found.gateway
  const { amountMinor, currency } = found.session
  const toPay = html`<p class="due"><strong>${words.toPay(formatsOf(locale).money(amountMinor, currency))}</strong></p>`
  const fields = fieldsOf(deps, context.account, found.gateway)
  if (fields && confirmUrl === null && isStopped(found.gateway)) {
    const content = html`<h1>${words.confirm}</h1>
      <p role="status">${words.refusals.gateway_held}</p>`
    return inFrame(found, { title: words.confirm, content }, { error: 'gateway_unavailable' })
  }
  if (fields && confirmUrl === null) {
    const form = stepForm({ language, fields, path }, { hasBeenThere: isTooEarly, button: words.fields.toBank })
    // The gateway shows the bank over the frame, which has to be high enough for it.
    const content = html`<div class="tall"><h1>${words.confirm}</h1>
      ${toPay}
      <p>${words.confirmText}</p>
      ${form}</div>`
    return { ...inFrame(found, { title: words.confirm, content }), ...fieldsPage(fields) }
  }
  const url = bankUrl(type, confirmUrl, path)
  const content = html`<h1>${words.confirm}</h1>
    ${isTooEarly && html`<p class="note bad" role="alert" tabindex="-1">${words.unconfirmed}</p>`}
    ${toPay}
    <p>${words.confirmText}</p>
    ${url !== undefined && html`<iframe class="bank" src="${url}" title="${words.bankFrame}"></iframe>`}
    <form method="post" action="${path}${BELOW_CONFIRM}">
      <button type="submit" name="answer" value="confirmed" id="go-on">${words.confirmed}</button>
      <button type="submit" name="answer" value="cancel" class="plain">${words.cancel}</button>
    </form>`
  return { ...inFrame(found, { title: words.confirm, content }), ...gatewayFactsOf(type).frame }
}

/** Throws where the gateway of a session plays no bank itself. */
function checkPlays({ adapters }: SaleDeps, { gateway }: Frame): void {
  if (!adapters.get(gateway.type)?.playBank) throw missing('link_unknown', 'There is no such link.')
}

/** Shows a page inside of the frame, which its host page frames. */
const insideFrame = ({ session }: Frame, page: { title: string; content: Html }): Shown => ({
  ...page,
  script: BANK_SCRIPT,
  framedBy: session.sale === null ? session.authOrigin : `'self' ${session.authOrigin}`,
})

function bankPage(deps: SaleDeps, request: FrameRequest): Shown {
  const { found, locale, path } = request
  const { bank } = frameWords(languageOf(locale))
  checkPlays(deps, found)
  const form = html`<p>${bank.text}</p>
    <form method="post" action="${path}${BELOW_BANK}">
      <button type="submit" name="answer" value="confirm">${bank.confirm}</button>
      <button type="submit" name="answer" value="refuse">${bank.refuse}</button>
    </form>`
  const content = html`<h1>${bank.title}</h1>
    ${found.session.sale?.awaitsCustomer ? form : html`<p role="status">${bank.done}</p>`}`
  return insideFrame(found, { title: bank.title, content })
}

/** Answers a charge in place of a bank. The gateway is asked for the outcome when the frame goes on. */
async function playBank(
  deps: SaleDeps,
  context: RequestContext,
  { session, gateway }: Frame,
  isConfirmed: boolean,
): Promise<void> {
  const { id: account } = context.account
  const sale = session.sale?.awaitsCustomer
    ? await findSale(deps.db.reader(account), account, session.sale.chargeId)
    : undefined
  if (!sale) return
  await askGateway(deps, context, gateway, async (adapter, call) => {
    assert(adapter.playBank, `a gateway of type ${gateway.type} plays the bank`)
    return adapter.playBank(call, chargeOfSale(sale), isConfirmed)
  })
}

/** Answers the script of a page on which a charge is confirmed by the gateway's own. Empty: there is nothing to confirm there any more. */
async function stepAnswer(deps: SaleDeps, { context, found, path }: PageRequest<Frame>): Promise<object> {
  const { id: account } = context.account
  const { sale } = found.session
  if (!sale?.awaitsCustomer) return { next: path }
  const waiting = await findSale(deps.db.reader(account), account, sale.chargeId)
  return waiting ? clientStep(deps, context, found.gateway, chargeOfSale(waiting)) : { next: path }
}

/** Returns the pages of a charge that waits. */
export const salePages = (deps: SaleDeps, showFrame: (request: FrameRequest) => Shown): PageOperation<any>[] => [
  pageOperation<Frame>({
    ...OF_FRAMES,
    id: 'captureConfirm',
    below: BELOW_CONFIRM,
    show: async (_db, request) => showFrame(request),
    form: {
      fields: ['answer'],
      submit: async (request, values) => {
        const { context, found, path } = request
        const { sale } = found.session
        if (!sale?.awaitsCustomer) return path
        const answering = values.get('answer') === 'cancel' ? 'cancel' : 'ask'
        const became = await resumeSale(deps, context, sale.chargeId, { answering })
        return became === 'waiting' && answering === 'ask' ? salePage(deps, request, sale, true) : path
      },
    },
  }),
  pageOperation<Frame>({
    ...OF_FRAMES,
    id: 'captureStep',
    below: '/step',
    form: { fields: [], submit: async (request) => ({ facts: await stepAnswer(deps, request) }) },
  }),
  pageOperation<Frame>({
    ...OF_FRAMES,
    id: 'captureBank',
    below: BELOW_BANK,
    show: async (_db, request) => bankPage(deps, request),
    form: {
      fields: ['answer'],
      submit: async (request, values) => {
        const { context, found, locale } = request
        checkPlays(deps, found)
        await playBank(deps, context, found, values.get('answer') === 'confirm')
        const { bank } = frameWords(languageOf(locale))
        const content = html`<h1>${bank.title}</h1>
          <p role="status" data-answered="yes">${bank.done}</p>`
        return insideFrame(found, { title: bank.title, content })
      },
    },
  }),
]
