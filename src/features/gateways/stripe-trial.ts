import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { instantOf } from '../../kernel/zone.ts'
import { textIn } from './answer-objects.ts'
import type { Calling } from './calling.ts'
import type { ChargeToMake, ChargingCall, GatewayCall, TriedStep } from './contract.ts'
import { drawNonce, referenceFor } from './references.ts'
import { stripeApi } from './stripe-api.ts'
import { stripeCards } from './stripe-cards.ts'
import { stripeCharges } from './stripe-charges.ts'
import { checkKey } from './stripe-key.ts'
import { stripeRefunds } from './stripe-refunds.ts'
import { stripeReports } from './stripe-reports.ts'

/**
 * A trial of keys of Stripe's test mode (§36): a charge by the very requests of real ones, under a scope that is nobody's, so that its reports are strangers to every
 * service.
 */

/** Stripe's name of a card for tests, which becomes a new one of the customer to whom it is attached. */
const CARD = 'pm_card_visa'
/** Amounts in minor units, of which the first that Stripe does not find too small is charged: its least differs by currency. */
const AMOUNTS = [50n, 500n, 5_000n, 50_000n]
/** How long a report is waited for, and how often Stripe is asked for it, in milliseconds. */
const REPORTED_WITHIN_MS = 90_000
const ASK_EVERY_MS = 3_000
/** Clocks differ by less. */
const SKEW_MS = 60_000

export function stripeTrial(calling: Calling) {
  return {
    tryOut: async (
      given: GatewayCall,
      { currency, onStep }: { currency: string; onStep: (step: TriedStep) => void },
    ): Promise<{ kind: 'tried'; isRight: boolean }> => {
      let requests: string[] = []
      const ask: Calling['outbound']['ask'] = async (url, question) => {
        const answer = await calling.outbound.ask(url, question)
        const id = answer.kind === 'answered' ? String(answer.headers['request-id'] ?? 'without a name') : answer.kind
        requests.push(`${question.method} ${url.pathname} ${id}`)
        return answer
      }
      const means = { ...calling, outbound: { ask } }
      const api = stripeApi(means)
      const cards = stripeCards(api)
      const charges = stripeCharges(api, { ...means, askStored: cards.askStored })
      const refunds = stripeRefunds(api, means)
      const reports = stripeReports(api, means)
      const call: ChargingCall = { ...given, scope: randomUUID(), keep: async () => true }
      let isRight = true
      /** Does a step; undefined is one that went wrong. */
      const step = async <Made>(what: string, work: () => Promise<Made | undefined>): Promise<Made | undefined> => {
        requests = []
        const made = await work()
        isRight &&= made !== undefined
        onStep({ what, isRight: made !== undefined, requests })
        return made
      }
      const done = (is: boolean): true | undefined => (is ? true : undefined)

      const accepted = await step('the key is accepted', async () =>
        done((await checkKey(api, call)).kind === 'accepted'),
      )
      const customer =
        accepted &&
        (await step('a customer is made', async () => {
          const form = [
            ['description', 'A trial of Perennial'],
            ['metadata[perennial]', call.scope],
          ] as const
          const answer = await api.post(call, ['customers'], form)
          return answer.kind === 'ok' ? textIn(answer.object, 'id') || undefined : undefined
        }))
      const method =
        customer &&
        (await step(`the card ${CARD} is attached to them`, async () => {
          const answer = await api.post(call, ['payment_methods', CARD, 'attach'], [['customer', customer]])
          return answer.kind === 'ok' ? textIn(answer.object, 'id') || undefined : undefined
        }))
      const charged =
        method &&
        (await step('the card is charged', () =>
          chargeLeast(charges, call, { token: `${customer}/${method}`, currency }),
        ))
      if (charged) {
        await step('the charge is there when it is asked for', async () => {
          const state = await charges.askCharge(call, charged)
          return done('outcome' in state && state.outcome.kind === 'succeeded')
        })
        await step('it is refunded', async () => {
          const reference = referenceFor({ id: 1n, nonce: drawNonce() })
          const { amountMinor } = charged
          const wish = { reference, charge: charged, amountMinor, currency, gatewayReference: null, sentAt: null }
          const { kind } = await refunds.refund(call, wish)
          return done(kind === 'succeeded' || kind === 'pending')
        })
        await step('the charge is reported', () => reported(reports, call, charged.reference, means.realNow))
      }
      if (customer)
        await step('the customer is deleted', async () =>
          done((await api.remove(call, ['customers', customer])).kind === 'ok'),
        )
      return { kind: 'tried', isRight }
    },
  }
}

/** Charges the first of some amounts that is not too small; undefined where it is declined. */
async function chargeLeast(
  charges: ReturnType<typeof stripeCharges>,
  call: ChargingCall,
  by: Pick<ChargeToMake, 'token' | 'currency'>,
) {
  for (const amountMinor of AMOUNTS) {
    const reference = referenceFor({ id: 1n, nonce: drawNonce() })
    const asked = { ...by, reference, amountMinor, gatewayReference: null, sentAt: null }
    const words = { description: 'A trial of Perennial', invoiceNumbers: [], payer: null }
    const outcome = await charges.charge(call, { ...asked, ...words, isCustomerPresent: false, returnUrl: null })
    if (outcome.kind === 'succeeded') return { ...asked, gatewayReference: outcome.gatewayReference }
    if (outcome.kind !== 'declined' || outcome.class !== 'format') return undefined
  }
  return undefined
}

/** Lists reports until that of a charge is among them; undefined where it does not come. */
async function reported(
  reports: ReturnType<typeof stripeReports>,
  call: GatewayCall,
  reference: string,
  realNow: () => number,
): Promise<true | undefined> {
  const begunAt = realNow()
  const since = instantOf(begunAt - SKEW_MS)
  for (;;) {
    const listed = await reports.listReports(call, { cursor: null, since })
    if (listed.kind === 'listed' && listed.reports.some((one) => one.reference === reference)) return true
    if (realNow() - begunAt > REPORTED_WITHIN_MS) return undefined
    await setTimeout(ASK_EVERY_MS)
  }
}
