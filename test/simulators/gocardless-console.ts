import { createInterface } from 'node:readline'
import { type GoCardlessAccount, GoCardlessSimulator } from './gocardless.ts'

/** `npm run simulator gocardless`: lines of a terminal are what payers, banks and people at the console of GoCardless do. */

interface Line {
  usage: string
  run: (account: GoCardlessAccount, ...words: string[]) => unknown
}

const MOVES = [
  'submitted',
  'confirmed',
  'paid_out',
  'cancelled',
  'failed',
  'charged_back',
  'chargeback_cancelled',
] as const

const LINES: Record<string, Line> = {
  mandate: {
    usage: 'mandate [currency]         a mandate that was given before; it is for /v1/paymentmethods/gatewaytoken',
    run: ({ book }, currency = 'EUR') => book.addMandate(currency),
  },
  give: { usage: 'give BRQ…                  the payer gives the mandate', run: ({ book }, id = '') => book.give(id) },
  leave: { usage: 'leave BRQ…                 the payer does not', run: ({ book }, id = '') => book.cancelRequest(id) },
  end: {
    usage: 'end MD…                    the payer ends the mandate',
    run: ({ book }, id = '') => book.setMandate(id, 'cancelled'),
  },
  replace: {
    usage: 'replace MD…                the payer changes banks',
    run: ({ book }, id = '') => book.replaceMandate(id),
  },
  requests: {
    usage: 'requests                   all billing requests',
    run: ({ book }) => [...book.requests.values()].map(({ id, status }) => `${id}  ${status}`).join('\n'),
  },
  payments: {
    usage: 'payments                   all payments',
    run: ({ book }) =>
      [...book.payments.values()]
        .map(({ id, amount, currency, status, charge_date: day }) => `${id}  ${amount} ${currency}  ${day}  ${status}`)
        .join('\n'),
  },
  move: {
    usage: `move PM… what [cause]      ${MOVES.join(', ')}`,
    run: ({ book }, id = '', what = '', cause = 'insufficient_funds') => {
      const move = MOVES.find((one) => one === what)
      if (move === undefined) throw new Error(`One of ${MOVES.join(', ')}`)
      book.movePayment(id, move, { cause })
    },
  },
  hook: {
    usage: 'hook url                   sends what has happened there, signed',
    run: ({ webhooks }, url = '') => webhooks.deliver(url),
  },
}

/** Starts a simulator, and takes lines until the terminal ends. */
export async function runGoCardless(port: number): Promise<void> {
  const simulator = await GoCardlessSimulator.start(port)
  const account = simulator.openAccount()
  console.log(`The simulator of GoCardless listens on ${simulator.address}. It is not GoCardless: it answers as this project reads its documents.

  GATEWAY_ENDPOINTS="gocardless=${simulator.address}"
  AccessToken       ${account.token}
  WebhookSecrets    ${account.webhooks.secret}

Here is its console:`)
  for (const { usage } of Object.values(LINES)) console.log(`  ${usage}`)
  console.log('  problems                   requests that GoCardless would refuse')
  for await (const line of createInterface({ input: process.stdin })) {
    const [word = '', ...words] = line.trim().split(/\s+/)
    if (word === '') continue
    try {
      if (word === 'problems') console.log(simulator.problems.join('\n') || 'none')
      else console.log((await LINES[word]?.run(account, ...words)) ?? (LINES[word] ? 'done' : `There is no "${word}"`))
    } catch (error) {
      console.log(error instanceof Error ? error.message : error)
    }
  }
  await simulator.stop()
}
