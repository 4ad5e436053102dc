import { createInterface } from 'node:readline'
import { runGoCardless } from './gocardless-console.ts'
import { StripeSimulator, type Side } from './stripe.ts'

/** `npm run simulator stripe` or `gocardless`: starts a simulator for screens and trials, and is its console: lines of a terminal are what a person does at Stripe. */

const [name = '', port = '4010'] = process.argv.slice(2)
if (name !== 'stripe' && name !== 'gocardless') {
  console.error('Usage: npm run simulator stripe|gocardless [port]')
  process.exit(1)
}
if (name === 'gocardless') {
  await runGoCardless(Number(port))
  process.exit(0)
}

const simulator = await StripeSimulator.start(Number(port))
const account = simulator.openAccount()
const side = account.test
side.webhooks.isAutomatic = true

console.log(`The simulator of Stripe listens on ${simulator.address}. It is not Stripe: it answers as this project reads Stripe's documents.

  GATEWAY_ENDPOINTS="stripe=${simulator.address}"
  SecretKey         ${side.secretKey}
  PublishableKey    ${side.publishableKey}

Here is its console:`)

const LINES: Record<string, { usage: string; run: (side: Side, ...words: string[]) => unknown }> = {
  card: {
    usage: 'card [number]              a customer with a card; its token is for /v1/paymentmethods/gatewaytoken',
    run: ({ console }, number = '4242424242424242') => console.addCard(number).token,
  },
  payments: { usage: 'payments                   all payment intents', run: ({ book }) => table(book.intents) },
  refunds: { usage: 'refunds                    all refunds', run: ({ book }) => table(book.refunds) },
  refund: {
    usage: 'refund pi_… [amount]       refunds a charge, amounts in cents',
    run: ({ console }, intent = '', amount) =>
      console.refund(intent, amount === undefined ? undefined : Number(amount)).id,
  },
  dispute: {
    usage: 'dispute pi_… [amount]      the bank takes it back',
    run: ({ console }, intent = '', amount) =>
      console.dispute(intent, amount === undefined ? {} : { amount: Number(amount) }).id,
  },
  win: { usage: 'win dp_…                   a dispute is won', run: ({ console }, id = '') => console.win(id) },
  lose: { usage: 'lose dp_…                  a dispute is lost', run: ({ console }, id = '') => console.lose(id) },
  remove: { usage: 'remove pm_…                removes a card', run: ({ console }, id = '') => console.removeCard(id) },
  confirm: {
    usage: 'confirm pi_…|seti_…        the customer confirms to the bank',
    run: ({ console }, id = '') => console.answerChallenge(id, true),
  },
  refuse: {
    usage: 'refuse pi_…|seti_…         the customer does not',
    run: ({ console }, id = '') => console.answerChallenge(id, false),
  },
  hook: {
    usage: 'hook url                   sends webhooks there; the answer is their secret',
    run: ({ console }, url = '') => console.addEndpoint(url).secret,
  },
  advance: {
    usage: 'advance seconds            moves the clock',
    run: (_side, seconds = '0') => simulator.advance(Number(seconds)),
  },
  problems: {
    usage: 'problems                   requests that Stripe would refuse',
    run: () => simulator.problems.join('\n') || 'none',
  },
}

const table = (things: Map<string, { id: string; amount: number; currency: string; status: string | null }>) =>
  [...things.values()].map(({ id, amount, currency, status }) => `${id}  ${amount} ${currency}  ${status}`).join('\n')

for (const { usage } of Object.values(LINES)) console.log(`  ${usage}`)

for await (const line of createInterface({ input: process.stdin })) {
  const [word = '', ...words] = line.trim().split(/\s+/)
  if (word === '') continue
  try {
    console.log(LINES[word]?.run(side, ...words) ?? (LINES[word] ? 'done' : `There is no "${word}"`))
  } catch (error) {
    console.log(error instanceof Error ? error.message : error)
  }
}
await simulator.stop()
