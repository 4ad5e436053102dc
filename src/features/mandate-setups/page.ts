import type { RequestContext } from '../../kernel/context.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { type PageOperation, pageOperation, type PageRequest, type Shown } from '../../platform/http/pages.ts'
import { html, type Html } from '../../platform/page/html.ts'
import type { Links } from '../../platform/page/links.ts'
import { getLook } from '../accounts/queries.ts'
import { findCustomer } from '../customers/queries.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { beginSetup, type SetupCallDeps } from './actions.ts'
import { setupWords } from './page-words.ts'
import { findSetup, type MandateSetup, wantLook } from './queries.ts'
import { setupState } from './wire.ts'

/** The page from which a payer goes to a gateway to give a mandate, and to which they come back (§38). */

interface Found extends MandateSetup {
  gateway: Gateway
  /** The name of the account, as its payers know it. */
  creditor: string
}

type Request = PageRequest<Found>

interface SetupPageDeps extends SetupCallDeps {
  links: Links
}

/** Loads the page again; without it there is a link that does. */
const LOOK_AGAIN = 'setTimeout(()=>location.reload(),5000)'

export const mandateSetupPage = (deps: SetupPageDeps): PageOperation<any> =>
  pageOperation<Found>({
    id: 'setUpMandate',
    link: 'd',
    below: '',
    find: async (db, { account }, { record }) => {
      const setup = await findSetup(db, account.id, record)
      const gateway = setup && (await findGateway(db, account.id, setup.gatewayId))
      if (!gateway) return undefined
      const customer = await findCustomer(db, account.id, setup.customerId)
      const { name: creditor } = await getLook(db, account.id)
      return { found: { ...setup, gateway, creditor }, locale: customer?.locale ?? null }
    },
    show: async (_db, request, visitor) => {
      const { context, found } = request
      const state = setupState(found)
      if (state !== 'open' && state !== 'pending') return ended(request, state)
      const isBegun = found.gatewayReference !== null
      if (isBegun && found.mayLook && visitor.isReader)
        await deps.db.transaction(context.account.id, (tx) => wantLook(tx, found.id))
      if (state === 'pending') return waiting(request, 'pending')
      return isBegun && found.mayLook ? waiting(request, 'looking') : begin(deps, request)
    },
    form: {
      fields: {},
      submit: async ({ context, link, locale, ...request }) => {
        const { found } = request
        if (setupState(found) !== 'open') return undefined
        const returnUrl = deps.links.url(link)
        const address = await beginSetup(deps, context, found, { returnUrl: returnUrl ?? PLACE + request.path, locale })
        const words = setupWords(languageOf(locale))
        if (address === undefined)
          return {
            ...{ status: 503, title: words.away.title },
            content: html`<h1>${words.away.title}</h1>
              <p>${words.away.text}</p>
              <p><a class="button" href="${request.path}">${words.away.again}</a></p>`,
          }
        if (new URL(address).origin === originOf(deps, context, found.gateway)) return address
        // The browser follows no form to an origin that its page has not named.
        return {
          title: words.leave.title,
          content: html`<h1>${words.leave.title}</h1>
            <p>${words.leave.text}</p>
            <p><a class="button" href="${address}">${words.open.go(nameOf(found.gateway))}</a></p>`,
        }
      },
    },
  })

/** The address of a service that nobody has named: of a test account on this computer. */
const PLACE = 'http://localhost'

const nameOf = ({ type }: Gateway): string => gatewayFactsOf(type).name

const originOf = ({ adapters }: SetupCallDeps, { account }: RequestContext, { type }: Gateway): string | undefined =>
  adapters.get(type)?.mandateOrigins?.[account.mode]

function begin(deps: SetupPageDeps, { context, found, locale, path }: Request): Shown {
  const { open } = setupWords(languageOf(locale))
  const { creditor } = found
  const gateway = nameOf(found.gateway)
  return {
    title: open.title(creditor),
    returnsTo: originOf(deps, context, found.gateway),
    content: html`<h1>${open.title(creditor)}</h1>
      <p>${open.text(creditor, gateway)}</p>
      <form method="post" action="${path}">
        <div class="actions"><button>${open.go(gateway)}</button></div>
      </form>`,
  }
}

function waiting({ locale, path }: Request, state: 'looking' | 'pending'): Shown {
  const words = setupWords(languageOf(locale))
  const { title, text } = words[state]
  return {
    title,
    script: LOOK_AGAIN,
    content: html`<h1>${title}</h1>
      <p role="status">${text}</p>
      <p><a class="button plain" href="${path}">${words.looking.again}</a></p>`,
  }
}

function ended({ found, locale }: Request, state: 'done' | 'failed' | 'expired'): Shown {
  const words = setupWords(languageOf(locale))
  const { title, text } = words[state]
  return {
    title,
    content: html`<h1>${title}</h1>
      <p>${text}</p>
      ${backLink(found, state, words.back)}`,
    ...(state === 'expired' ? { status: 410 } : {}),
  }
}

/** Returns the way back to the address that the account named, with how it ended. */
function backLink(
  { id, returnUrl }: MandateSetup,
  state: 'done' | 'failed' | 'expired',
  words: (host: string) => string,
): Html | false {
  if (returnUrl === null) return false
  const url = new URL(returnUrl)
  url.searchParams.set('setup', String(id))
  url.searchParams.set('result', state === 'done' ? 'done' : 'failed')
  return html`<p><a class="button" href="${url.href}">${words(url.host)}</a></p>`
}
