import { invalid } from '../../kernel/fault.ts'
import { languageOf, type Language } from '../../platform/locale/format.ts'
import { type PageOperation, pageOperation, type PageRequest, type Shown } from '../../platform/http/pages.ts'
import { html, type Html } from '../../platform/page/html.ts'
import { mandateState, mandateToken } from '../payment-methods/emandate.ts'
import { openMandateNumber } from './actions.ts'
import { SIGNING_SCRIPT } from './page-script.ts'
import { signingWords } from './page-words.ts'
import { findMandate } from './queries.ts'
import {
  BASICS,
  type Complaint,
  complaintsOf,
  declineMandate,
  DRAWING_MAX,
  hashOfTerms,
  isDrawing,
  noteOpened,
  nowOf,
  readSignee,
  type Signature,
  signMandate,
  type Signing,
  type SigningDeps,
} from './sign.ts'
import { type MandateText, mandateText, type Section } from './terms-text.ts'
import type { Mandate, Signee } from './types.ts'

/** The page on which a mandate is read and signed, or declined; of one that is signed it shows nothing. */

type Result = 'signed' | 'declined' | 'expired'
type Request = PageRequest<Mandate>

/** Input of a form that was not taken, as it is shown again. */
interface Retry extends Signature {
  complaints: readonly Complaint[]
  signee: Signee
  hasChanged?: boolean
}

const FIELD_MAX = 255
const FORM_BYTES_MAX = 64 * 1024

const FIELDS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(Object.values(BASICS).map((name) => [name, FIELD_MAX])),
  signature: FIELD_MAX,
  drawing: DRAWING_MAX,
  consent: 3,
  shown: 64,
  decision: 7,
}

export const signingPage = (deps: SigningDeps): PageOperation<any> =>
  pageOperation<Mandate>({
    id: 'signEMandate',
    link: 'm',
    below: '',
    find: async (db, { account }, { record }) => {
      const mandate = await findMandate(db, account.id, record)
      return mandate && { found: mandate, locale: null }
    },
    show: async (_db, request, visitor) => {
      const { context, found } = request
      const state = mandateState(found, nowOf({ deps, context }))
      if (state !== 'open') return ended(deps, request, state)
      if (visitor.isReader) await noteOpened({ deps, context, visitor }, found.id)
      return form(deps, request)
    },
    form: {
      fields: FIELDS,
      bytesMax: FORM_BYTES_MAX,
      submit: async (request, values, visitor) => {
        const signing: Signing = { deps, context: request.context, visitor, locale: request.locale }
        if (values.get('decision') === 'decline') return declined(signing, request)
        if (values.get('decision') === 'sign') return signed(signing, request, values)
        throw invalid('decision_unknown', 'The form must be sent by one of its buttons.', 'decision')
      },
    },
  })

async function declined(signing: Signing, request: Request): Promise<string | Shown | undefined> {
  if ((await declineMandate(signing, request.found.id)) === 'not open') return undefined
  return returnUrl(signing.deps, request, 'declined') ?? ended(signing.deps, request, 'declined')
}

async function signed(
  signing: Signing,
  request: Request,
  values: ReadonlyMap<string, string>,
): Promise<string | Shown | undefined> {
  const { deps, context } = signing
  const mandate = request.found
  // What is wrong with a form does not matter where there is nothing to sign any more.
  if (mandateState(mandate, nowOf(signing)) !== 'open') return undefined
  const { signee, complaints } = readSignee(mandate, values, context.account.timeZone)
  const sent = {
    typed: (values.get('signature') ?? '').replace(/\s+/g, ' ').trim(),
    drawing: values.get('drawing') ?? '',
    hasConsent: values.get('consent') === 'yes',
    shown: values.get('shown') ?? '',
    signee,
  }
  const all = [...complaints, ...complaintsOf(sent)]
  if (all.length > 0) return { ...form(deps, request, { ...sent, complaints: all }), status: 400 }
  const outcome = await signMandate(signing, mandate.id, sent)
  if (outcome === 'changed')
    return { ...form(deps, request, { ...sent, complaints: [], hasChanged: true }), status: 409 }
  return outcome === 'signed' ? (returnUrl(deps, request, 'signed') ?? undefined) : undefined
}

/** Returns where a signee is sent back to, with how it ended; null where the account named no address. */
function returnUrl({ links }: Pick<SigningDeps, 'links'>, { context, found }: Request, result: Result): string | null {
  if (found.redirectUrl === null) return null
  const url = new URL(found.redirectUrl)
  url.searchParams.set('token', mandateToken(links, context.account.id, found.id))
  url.searchParams.set('result', result)
  return url.href
}

/** Pages that may show a frame whose host nobody has named: those that nobody on the way can have changed, and of a test account this computer's. */
const ANY_HOST = { live: 'https:', test: 'https: http://localhost:* http://127.0.0.1:*' } as const

/**
 * Returns what is shown, framed for whom it may be: of the embedded flow for the origin that was named, which alone hears of it; of the other for
 * nobody. Where none was named, the page that opened the frame hears of it, by its own origin.
 */
function framed({ context, found: { channel, authOrigin } }: Request, state: Result | 'open', page: Shown): Shown {
  return {
    ...page,
    content: html`<div data-state="${state}" data-host="${authOrigin}">${page.content}</div>`,
    script: SIGNING_SCRIPT,
    ...(channel === 'embedded' ? { framedBy: authOrigin ?? ANY_HOST[context.account.mode] } : {}),
  }
}

function ended(deps: SigningDeps, request: Request, result: Result): Shown {
  const words = signingWords(languageOf(request.locale))
  const { title, text } = words[result]
  const back = returnUrl(deps, request, result)
  const content = html`<h1>${title}</h1>
    <p>${text}</p>
    ${result === 'declined' && html`<p><a class="button plain" href="${request.path}">${words.declined.again}</a></p>`}
    ${back !== null && html`<p><a class="button" href="${back}">${words.back(new URL(back).host)}</a></p>`}`
  return framed(request, result, { title, content, ...(result === 'expired' ? { status: 410 } : {}) })
}

function form(deps: SigningDeps, request: Request, retry?: Retry): Shown {
  const { context, found: mandate } = request
  const language = languageOf(request.locale)
  const words = signingWords(language)
  const number = openMandateNumber(deps.envelope, context.account.id, mandate)
  const text = mandateText(mandate, number, language)
  const returnsTo = mandate.redirectUrl === null ? {} : { returnsTo: new URL(mandate.redirectUrl).origin }
  return framed(request, 'open', {
    title: text.title,
    ...returnsTo,
    content: html`<h1>${text.title}</h1>
      <p>${words.intro(mandate.terms.beneficiary.name)}</p>
      ${retry && complaintList(retry, language)} ${text.sections.map(sectionOf)}
      <form method="post" action="${request.path}" novalidate>
        <input type="hidden" name="shown" value="${hashOfTerms(mandate, number, language)}" />
        ${mandate.isCustomerEditable && basicsOf(mandate, retry, language)}
        ${signatureOf(text, retry, language)}
        <div class="actions">
          <button name="decision" value="sign">${words.sign}</button>
          <button class="plain" name="decision" value="decline">${words.decline}</button>
        </div>
      </form>`,
  })
}

function complaintList({ complaints, hasChanged }: Retry, language: Language): Html {
  const words = signingWords(language)
  const anchors: Partial<Record<Complaint, string>> = {
    signature: 'signature',
    drawing: 'signature',
    consent: 'consent',
  }
  return html`<div class="note" role="alert" tabindex="-1" autofocus>
    <h2>${words.problems}</h2>
    ${hasChanged && html`<p>${words.changed}</p>`}
    <ul>
      ${complaints.map(
        (complaint) =>
          html`<li>
            <a href="#${anchors[complaint] ?? BASICS[complaint as keyof Signee]}">${words.complaints[complaint]}</a>
          </li>`,
      )}
    </ul>
  </div>`
}

const sectionOf = ({ heading, facts, paragraphs }: Section): Html =>
  html`<section>
    <h2>${heading}</h2>
    ${
      facts.length > 0 &&
      html`<dl>
        ${facts.map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd><bdi>${value}</bdi></dd>`,
        )}
      </dl>`
    }
    ${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)}
  </section>`

/** Words by which browsers fill in fields themselves, by the properties of a signee. */
const AUTOFILL: Record<keyof Signee, string> = {
  name: 'given-name',
  lastName: 'family-name',
  company: 'organization',
  tradingAs: 'off',
  tel: 'tel',
  email: 'email',
  address1: 'address-line1',
  address2: 'address-line2',
  postalCode: 'postal-code',
  city: 'address-level2',
  state: 'address-level1',
  country: 'off',
}

function basicsOf(mandate: Mandate, retry: Retry | undefined, language: Language): Html {
  const words = signingWords(language)
  const labels: Record<keyof Signee, string> = { ...words.names, ...words.address }
  const ofCompany = ['company', 'tradingAs']
  const shown = (Object.keys(BASICS) as (keyof Signee)[]).filter(
    (key) => mandate.isCompanySignee || !ofCompany.includes(key),
  )
  const signee = retry?.signee ?? mandate.signee
  return html`<fieldset>
    <legend>${words.basics}</legend>
    <p class="soft">${words.basicsHint}</p>
    ${shown.map((key) =>
      inputOf({
        name: BASICS[key],
        label: labels[key],
        value: signee[key] ?? '',
        type: key === 'email' || key === 'tel' ? key : 'text',
        autocomplete: AUTOFILL[key],
        wrong: retry?.complaints.includes(key) ? words.complaints[key] : undefined,
      }),
    )}
  </fieldset>`
}

interface Input {
  name: string
  label: string
  value: string
  type: string
  autocomplete: string
  /** A sentence about what is wrong with it. */
  wrong: string | undefined
  hint?: string
}

function inputOf({ name, label, value, type, autocomplete, wrong, hint }: Input): Html {
  const note = wrong ?? hint
  return html`<p class="field">
    <label for="${name}">${label}</label>
    ${note !== undefined && html`<small id="${name}-note" class="${wrong === undefined ? 'soft' : 'bad'}">${note}</small>`}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      maxlength="255"
      autocomplete="${autocomplete}"
      aria-invalid="${wrong === undefined ? 'false' : 'true'}"
      aria-describedby="${note === undefined ? '' : `${name}-note`}"
    />
  </p>`
}

function signatureOf(text: MandateText, retry: Retry | undefined, language: Language): Html {
  const words = signingWords(language)
  const drawing = retry && isDrawing(retry.drawing) ? retry.drawing : ''
  const wrong = retry?.complaints.find((complaint) => complaint === 'signature' || complaint === 'drawing')
  return html`<fieldset>
      <legend>${words.signature}</legend>
      ${inputOf({
        name: 'signature',
        label: words.typed,
        hint: words.typedHint,
        value: retry?.typed ?? '',
        type: 'text',
        autocomplete: 'name',
        wrong: wrong && words.complaints[wrong],
      })}
      <div id="draw" hidden>
        <p id="draw-label"><strong>${words.drawn}</strong> <small>${words.drawnHint}</small></p>
        <svg id="pad" class="pad" viewBox="0 0 600 200" role="img" aria-labelledby="draw-label">
          <path d="${drawing}" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" />
        </svg>
        <p><button type="button" class="plain" id="clear">${words.clear}</button></p>
      </div>
      <input type="hidden" id="drawing" name="drawing" value="${drawing}" />
    </fieldset>
    <p class="check">
      <input type="checkbox" id="consent" name="consent" value="yes" />
      <label for="consent">${text.consent}</label>
    </p>`
}
