import { BANK_KINDS, type BankKind } from '../../kernel/rails.ts'
import type { Values } from '../../platform/http/page-forms.ts'
import { pageOperation, type PageOperation, type PageRequest, type Shown } from '../../platform/http/pages.ts'
import { formatsOf, languageOf } from '../../platform/locale/format.ts'
import { html, type Html } from '../../platform/page/html.ts'
import { fieldsOf } from '../gateways/call.ts'
import { ACCOUNT_TYPES } from '../payment-methods/wire.ts'
import { openMethod } from './captured.ts'
import {
  ACCOUNT_FIELDS,
  CARD_FIELDS,
  type FormField,
  NAME_FIELDS,
  NUMBER_FIELDS,
  readAccount,
  readCard,
  readHolder,
  type Wrong,
  type Wrongs,
} from './form.ts'
import { fieldsForm, fieldsPage } from './fields.ts'
import { type Frame, type FrameRequest, inFrame, OF_FRAMES } from './frame.ts'
import { bankKindOf, isSaleHeld, kindsOnPages, sessionState, soldOf, TRIES_MAX } from './rules.ts'
import { salePage, salePages } from './sale-page.ts'
import {
  openFields,
  refuseEntered,
  type NotTaken,
  submitAccount,
  submitCard,
  submitEntered,
  type FormDeps,
  type Submitted,
} from './submit.ts'
import { frameWords } from './words.ts'

/** The frame of a session: the form of a card, and below it that of a bank account, as far as the gateway takes them. */

type Way = 'card' | BankKind

/** Returns what may be entered, the usual way first. */
function waysOf({ session, gateway }: Frame): Way[] {
  const kinds = kindsOnPages(gateway)
  const takesCards = kinds.includes('credit_card')
  // Rule: a sale is by card only.
  const account = session.saleType === 'VaultOnly' ? bankKindOf(session.currency, kinds) : undefined
  return [...(takesCards ? (['card'] as const) : []), ...(account === undefined ? [] : [account])]
}

/** The card has the address of the frame itself, unless the gateway takes none. */
const BELOW_ACCOUNT = '/account'

/** Values of a form as they were sent, and what is wrong with them. */
export interface Entered {
  values: Values
  wrongs: Wrongs
  /** A sentence above the form. */
  refusal: string | null
}

const NOTHING: Entered = { values: new Map(), wrongs: {}, refusal: null }

const AUTOCOMPLETE: Partial<Record<FormField, string>> = {
  number: 'cc-number',
  expiry: 'cc-exp',
  givenName: 'cc-given-name',
  familyName: 'cc-family-name',
  holder: 'name',
}
const NUMERIC: readonly FormField[] = ['number', 'expiry', 'branchCode', 'routingNumber']
/** Fields whose values no answer repeats. */
const SECRET: readonly FormField[] = ['number', 'iban', 'accountNumber']

type Words = ReturnType<typeof frameWords>

function note(words: Words, field: FormField, wrong: Wrong | undefined): Html {
  const text = wrong === undefined ? (words.hints[field] ?? '') : words.wrongs[wrong]
  return html`<small id="${field}-note" class="${wrong === undefined ? 'soft' : 'bad'}">${text}</small>`
}

function input(words: Words, field: FormField, { values, wrongs }: Entered): Html {
  const wrong = wrongs[field]
  const hidden = SECRET.includes(field) || wrong === 'number_misplaced'
  return html`<div class="field">
    <label for="${field}">${words.labels[field]}</label>
    <input
      id="${field}"
      name="${field}"
      type="text"
      autocomplete="${AUTOCOMPLETE[field] ?? 'off'}"
      inputmode="${NUMERIC.includes(field) ? 'numeric' : 'text'}"
      maxlength="255"
      spellcheck="false"
      value="${hidden ? '' : values.get(field)}"
      aria-invalid="${wrong === undefined ? 'false' : 'true'}"
      aria-describedby="${field}-note"
    />
    ${note(words, field, wrong)}
  </div>`
}

function typeChoice(words: Words, { values, wrongs }: Entered): Html {
  const chosen = values.get('accountType')
  const option = (type: string) =>
    type === chosen
      ? html`<option value="${type}" selected>${words.accountTypes[type]}</option>`
      : html`<option value="${type}">${words.accountTypes[type]}</option>`
  return html`<div class="field">
    <label for="accountType">${words.labels.accountType}</label>
    <select
      id="accountType"
      name="accountType"
      aria-invalid="${wrongs.accountType === undefined ? 'false' : 'true'}"
      aria-describedby="accountType-note"
    >
      <option value="">${words.choose}</option>
      ${ACCOUNT_TYPES.map(option)}
    </select>
    ${note(words, 'accountType', wrongs.accountType)}
  </div>`
}

const inputsOf = (words: Words, way: Way, entered: Entered): Html[] =>
  way === 'card'
    ? CARD_FIELDS.map((field) => input(words, field, entered))
    : [
        ...(['holder', 'bank'] as const).map((field) => input(words, field, entered)),
        typeChoice(words, entered),
        ...NUMBER_FIELDS[way].map((field) => input(words, field, entered)),
      ]

/** Writes the fields of a card, as the frame has them. */
export const cardFields = (locale: string, entered: Entered): Html[] =>
  inputsOf(frameWords(languageOf(locale)), 'card', entered)

/** Writes the names on a card, which this service asks for beside the gateway's own fields. */
export const nameFields = (locale: string, entered: Entered): Html[] =>
  NAME_FIELDS.map((field) => input(frameWords(languageOf(locale)), field, entered))

function formPage(
  deps: FormDeps,
  { context, found, locale, path }: FrameRequest,
  way: Way,
  entered: Entered,
  error?: string,
): Shown {
  const fields = way === 'card' ? fieldsOf(deps, context.account, found.gateway) : undefined
  const words = frameWords(languageOf(locale))
  const title = way === 'card' ? words.card : words.account
  const others = waysOf(found).filter((other) => other !== way)
  const action = way === 'card' ? path : `${path}${BELOW_ACCOUNT}`
  const { amountMinor, currency } = found.session
  const amount = amountMinor > 0n ? formatsOf(locale).money(amountMinor, currency) : undefined
  const button = amount === undefined ? words.send : words.pay(amount)
  const form = fields
    ? fieldsForm(
        { language: languageOf(locale), fields, path },
        { names: nameFields(locale, entered), button, refusal: entered.refusal },
      )
    : html`${entered.refusal !== null && html`<p class="note bad" role="alert" tabindex="-1" autofocus>${entered.refusal}</p>`}
        <form method="post" action="${action}" novalidate autocomplete="on">
          ${inputsOf(words, way, entered)}
          <button type="submit">${button}</button>
        </form>`
  const content = html`<h1 id="card-title">${title}</h1>
    ${amount !== undefined && html`<p class="due"><strong>${words.toPay(amount)}</strong></p>`}
    ${found.session.description !== null && html`<p><bdi>${found.session.description}</bdi></p>`} ${form}
    ${others.map(
      (other) =>
        html`<p><a href="${other === 'card' ? path : `${path}${BELOW_ACCOUNT}`}">${other === 'card' ? words.toCard : words.toAccount}</a></p>`,
    )}`
  const shown = inFrame(
    found,
    { title, content, ...(error === undefined ? {} : { status: 400 }) },
    error === undefined ? {} : { error },
  )
  return fields ? { ...shown, ...fieldsPage(fields) } : shown
}

/** Shows how a session ended. */
function endPage(deps: FormDeps, request: FrameRequest): Shown {
  const { context, found, locale } = request
  const words = frameWords(languageOf(locale))
  const page = (title: string, text: string, facts: { result?: string; error?: string }, what?: string) =>
    inFrame(
      found,
      {
        title,
        content: html`<h1 tabindex="-1">${title}</h1>
          ${what !== undefined && html`<p class="state good">${what}</p>`}
          <p role="status">${text}</p>`,
      },
      facts,
    )
  const { session } = found
  switch (sessionState(session, context.moment.now)) {
    case 'failed':
      return page(words.failed, words.failedText, { error: 'declined' })
    case 'expired':
      return page(words.expired, words.expiredText, { error: 'session_expired' })
    default: {
      const kept = session.method === null ? undefined : openMethod(deps.envelope, context.account.id, session)
      const what = kept && words.holds(kept.kind === 'card' ? kept.card.cardBrand : null, kept.lastFour)
      const amount = formatsOf(locale).money(session.amountMinor, session.currency)
      if (soldOf(session)) return page(words.paid, words.paidText(amount), { result: 'captured' }, what)
      const text = session.saleType === 'VaultOnly' ? words.capturedText : words.unpaidText
      return page(words.captured, text, { result: 'captured' }, what)
    }
  }
}

/** Shows the form of a way, or how the session ended. */
function framePage(deps: FormDeps, request: FrameRequest, way: Way | undefined): Shown {
  const { found, context } = request
  if (sessionState(found.session, context.moment.now) !== 'open') return endPage(deps, request)
  if (found.session.sale?.state === 'open') return salePage(deps, request, found.session.sale)
  const isHeld = isSaleHeld(found.session, found.gateway)
  const [first] = isHeld ? [] : waysOf(found)
  const chosen = way !== undefined && !isHeld && waysOf(found).includes(way) ? way : first
  if (chosen !== undefined) return formPage(deps, request, chosen, NOTHING)
  const words = frameWords(languageOf(request.locale))
  const content = html`<h1>${words.card}</h1>
    <p role="status">${words.refusals[isHeld ? 'gateway_held' : 'gateway_inactive']}</p>`
  return inFrame(found, { title: words.card, content }, { error: 'gateway_unavailable' })
}

const ERROR_CODES: Record<NotTaken, string> = {
  declined: 'declined',
  no_answer: 'gateway_unavailable',
  not_yet: 'gateway_unavailable',
  busy: 'gateway_unavailable',
  gateway_inactive: 'gateway_unavailable',
  gateway_held: 'gateway_unavailable',
}

/** Answers a form: a redirect where the session ended, else the form again with what is wrong. */
function afterSubmit(
  deps: FormDeps,
  request: FrameRequest,
  way: Way,
  values: Values,
  submitted: Submitted | { wrongs: Wrongs },
): Shown | string {
  const words = frameWords(languageOf(request.locale))
  if (typeof submitted === 'object')
    return formPage(
      deps,
      request,
      way,
      { values, wrongs: submitted.wrongs, refusal: words.somethingWrong },
      'validation_error',
    )
  if (submitted === 'captured' || submitted === 'closed' || submitted === 'waiting') return request.path
  const refusal = words.refusals[submitted]
  return formPage(deps, request, way, { values, wrongs: {}, refusal }, ERROR_CODES[submitted])
}

async function takeCard(deps: FormDeps, request: PageRequest<Frame>, values: Values): Promise<Shown | string> {
  const { context, found } = request
  if (!waysOf(found).includes('card')) return request.path
  if (fieldsOf(deps, context.account, found.gateway)) return takeEntered(deps, request, values)
  const read = readCard(values, context.moment.today)
  if ('wrongs' in read) return afterSubmit(deps, request, 'card', values, read)
  const submitted = await submitCard(deps, context, found.session.id, read.card)
  // The fifth refusal ends the session, and its page shows that.
  const isLast = submitted === 'declined' && found.session.refusedTries + 1 >= TRIES_MAX
  return isLast ? request.path : afterSubmit(deps, request, 'card', values, submitted)
}

/** Takes the form of a card that was entered into the gateway's own fields: its names. */
async function takeEntered(deps: FormDeps, request: PageRequest<Frame>, values: Values): Promise<Shown | string> {
  const read = readHolder(values)
  if ('wrongs' in read) return afterSubmit(deps, request, 'card', values, read)
  const submitted = await submitEntered(deps, request.context, request.found.session.id, read.holder)
  return submitted === 'not_begun' ? request.path : afterSubmit(deps, request, 'card', values, submitted)
}

/** Answers the script of the frame, which is about to show the gateway's own fields. */
async function fieldsAnswer(deps: FormDeps, { context, found, locale, path }: PageRequest<Frame>): Promise<object> {
  if (!fieldsOf(deps, context.account, found.gateway) || !waysOf(found).includes('card')) return { next: path }
  const words = frameWords(languageOf(locale))
  const opened = await openFields(deps, context, found.session.id)
  switch (opened.kind) {
    case 'client':
      return { client: opened.client }
    case 'stored':
      return { stored: words.holds(opened.card.cardType, opened.card.lastFour) }
    case 'refused':
      return { refusal: words.refusals[opened.why] }
    case 'over':
      return { next: path }
  }
}

async function takeAccount(deps: FormDeps, request: PageRequest<Frame>, values: Values): Promise<Shown | string> {
  const { context, found } = request
  const way = waysOf(found).find((one) => one !== 'card')
  const kind = BANK_KINDS.find((one) => one === way)
  if (kind === undefined) return request.path
  const read = readAccount(values, kind, context.moment.today)
  if ('wrongs' in read) return afterSubmit(deps, request, kind, values, read)
  const lastFour = read.checked.number.slice(-4)
  const submitted = await submitAccount(deps, context, found.session.id, { kind: 'account', lastFour, ...read })
  return afterSubmit(deps, request, kind, values, submitted)
}

/** Returns the pages of the frame: of a card, of a bank account, and of a charge that waits. */
export const capturePages = (deps: FormDeps): PageOperation<any>[] => {
  return [
    pageOperation<Frame>({
      ...OF_FRAMES,
      id: 'captureCard',
      below: '',
      show: async (_db, request) => framePage(deps, request, undefined),
      form: { fields: CARD_FIELDS, submit: (request, values) => takeCard(deps, request, values) },
    }),
    pageOperation<Frame>({
      ...OF_FRAMES,
      id: 'captureFields',
      below: '/fields',
      form: { fields: [], submit: async (request) => ({ facts: await fieldsAnswer(deps, request) }) },
    }),
    pageOperation<Frame>({
      ...OF_FRAMES,
      id: 'captureRefused',
      below: '/refused',
      form: {
        fields: [],
        submit: async ({ context, found, path }) => ({
          facts: (await refuseEntered(deps, context, found.session.id)) ? { next: path } : {},
        }),
      },
    }),
    pageOperation<Frame>({
      ...OF_FRAMES,
      id: 'captureAccount',
      below: BELOW_ACCOUNT,
      show: async (_db, request) =>
        framePage(
          deps,
          request,
          waysOf(request.found).find((way) => way !== 'card'),
        ),
      form: { fields: ACCOUNT_FIELDS, submit: (request, values) => takeAccount(deps, request, values) },
    }),
    ...salePages(deps, (request) => framePage(deps, request, undefined)),
  ]
}
