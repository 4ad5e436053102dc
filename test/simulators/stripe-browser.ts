import { readFileSync } from 'node:fs'
import type Stripe from 'stripe'
import type { Book } from './stripe-book.ts'
import { cardOf, isNumber } from './stripe-cards.ts'
import { StripeRefusal } from './stripe-error.ts'
import { answerChallenge, confirmSetupIntent } from './stripe-intents.ts'
import type { StripeJudge } from './stripe-judge.ts'
import type { Kept } from './stripe-keys.ts'

/** The part of Stripe that browsers talk to: its script, the frame that takes a number, the page of a bank. All of it is of the simulator's origin. */

const SCRIPT = readFileSync(new URL('stripe-browser.js', import.meta.url), 'utf8')

/** Finds the book of a publishable key. */
type BookOf = (publishableKey: string) => Book | undefined

/** An answer to a browser, and problems of what it asked. */
export interface BrowserAnswer extends Kept {
  problems: string[]
}

const answered = (body: string, type: string, problems: string[] = []): BrowserAnswer => ({
  ...{ status: 200, body, problems },
  headers: { 'content-type': type, 'access-control-allow-origin': '*' },
})
const json = (value: object, problems: string[] = []) => answered(JSON.stringify(value), 'application/json', problems)
const page = (markup: string) => answered(markup, 'text/html; charset=utf-8')

/** Answers a browser; undefined for a path that is none of its. */
export function answerBrowser(
  path: string,
  query: string,
  body: string,
  { judge, bookOf, books }: { judge: StripeJudge; bookOf: BookOf; books: Book[] },
): BrowserAnswer | undefined {
  const given = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>)
  switch (path) {
    case '/endive/stripe.js':
      return answered(SCRIPT, 'text/javascript')
    case '/browser/frame':
      return page(FRAME)
    case '/browser/bank':
      return page(BANK.replace('INTENT', JSON.stringify(new URLSearchParams(query).get('intent'))))
    case '/browser/judge':
      return json({}, judge.judgeCall(String(given['call']), given['options']))
    case '/browser/confirm':
      return json(confirmed(given as unknown as Typed, bookOf))
    case '/browser/intent':
      return json(intentOf(given as unknown as Typed, bookOf))
    case '/browser/answer': {
      const { intent, isConfirmed } = given as { intent: string; isConfirmed: boolean }
      const book = books.find(({ intents, setups }) => intents.has(intent) || setups.has(intent))
      try {
        book?.byItself(() => answerChallenge(book, intent, isConfirmed))
      } catch (error) {
        // The intent was cancelled meanwhile: the bank asks for nothing any more.
        if (!(error instanceof StripeRefusal)) throw error
      }
      return json({})
    }
    default:
      return undefined
  }
}

/** The fields of the frame, and whose they are. */
interface Typed {
  key: string
  clientSecret: string
  number: string
  month: number
  year: number
  name: string | null
}

type Shown = { intent: object } | { error: object }

/** Stores the card that was typed, as far as its bank takes it. */
function confirmed({ clientSecret, ...typed }: Typed, bookOf: BookOf): Shown {
  const book = bookOf(typed.key)
  const setup = found(book?.setups, clientSecret)
  if (book === undefined || setup === undefined) return NO_INTENT
  if (!isNumber(typed.number))
    return { error: { type: 'card_error', code: 'incorrect_number', message: 'Your card number is incorrect.' } }
  return book.byItself(() => {
    const facts = { name: typed.name, expMonth: typed.month, expYear: typed.year }
    const method = book.addMethod(cardOf(typed.number), facts)
    try {
      return { intent: confirmSetupIntent(book, setup.id, { payment_method: method.id }) }
    } catch (error) {
      if (error instanceof StripeRefusal) return { error: error.error }
      throw error
    }
  })
}

function intentOf({ key, clientSecret }: Typed, bookOf: BookOf): Shown {
  const book = bookOf(key)
  const intent = found(book?.setups, clientSecret) ?? found(book?.intents, clientSecret)
  return intent === undefined ? NO_INTENT : { intent }
}

const NO_INTENT = { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such intent.' } }

/** A secret opens the intent that it belongs to, in the book of its key alone. */
const found = <T extends Stripe.SetupIntent | Stripe.PaymentIntent>(
  intents: Map<string, T> | undefined,
  secret: string,
) => [...(intents?.values() ?? [])].find(({ client_secret: own }) => own === secret)

const STYLE = 'font: 16px sans-serif; color-scheme: light dark'

const FRAME = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Card</title>
<body style="${STYLE}"><form>
<p><label>Card number <input name="number" inputmode="numeric" autocomplete="cc-number" required></label>
<p><label>Expiry <input name="expiry" placeholder="MM / YY" autocomplete="cc-exp" required></label>
<p><label>Security code <input name="cvc" inputmode="numeric" autocomplete="cc-csc" required></label>
</form><script>
const form = document.forms[0]
const of = (name) => form.elements[name].value.replaceAll(/\\D/g, '')
const isComplete = () => of('number').length > 11 && of('expiry').length === 4 && of('cvc').length > 2
const emit = (event, details) => parent.postMessage({ event, details }, '*')
const incomplete = { error: { type: 'validation_error', code: 'incomplete_number', message: 'Your card number is incomplete.' } }
const CALLS = {
  focus: () => form.elements.number.focus(),
  submit: () => (isComplete() ? { selectedPaymentMethod: 'card' } : incomplete),
  confirm: async ({ key, clientSecret, name }) => {
    if (!isComplete()) return incomplete
    const [month, year] = [Number(of('expiry').slice(0, 2)), 2000 + Number(of('expiry').slice(2))]
    const body = JSON.stringify({ key, clientSecret, name, number: of('number'), month, year })
    return (await fetch('confirm', { method: 'POST', body })).json()
  },
}
addEventListener('message', async ({ source, origin, data }) => {
  if (source === parent && CALLS[data.call]) parent.postMessage({ number: data.number, answer: await CALLS[data.call](data) }, origin)
})
form.addEventListener('input', () => emit('change', { complete: isComplete(), empty: of('number') === '', value: { type: 'card' } }))
form.addEventListener('submit', (event) => event.preventDefault())
emit('ready', {})
</script>`

const BANK = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Bank</title>
<body style="${STYLE}"><main><h1>Your bank asks</h1><p>Is it you?
<p><button id="yes">Confirm</button> <button id="no">Refuse</button> <button id="close">Close</button></main><script>
const answer = (isConfirmed) => fetch('answer', { method: 'POST', body: JSON.stringify({ intent: INTENT, isConfirmed }) })
document.getElementById('yes').onclick = async () => { await answer(true); parent.postMessage({}, '*') }
document.getElementById('no').onclick = async () => { await answer(false); parent.postMessage({}, '*') }
document.getElementById('close').onclick = () => parent.postMessage({}, '*')
</script>`
