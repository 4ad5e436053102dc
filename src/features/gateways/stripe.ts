import type { Calling } from './calling.ts'
import type { AccountAnswer, GatewayAdapter, GatewayCall } from './contract.ts'
import { type GatewayFields, STRIPE } from './facts.ts'
import { stripeApi } from './stripe-api.ts'
import { stripeCards } from './stripe-cards.ts'
import { stripeCharges } from './stripe-charges.ts'
import { type StripeObject, textIn } from './stripe-objects.ts'
import { stripeRefunds } from './stripe-refunds.ts'
import { readStripeReport, stripeReports } from './stripe-reports.ts'
import { stripeStoring } from './stripe-storing.ts'

/** Cards charged by Stripe (§35): its requests are of this service's own making. */

const accountIn = (object: StripeObject): { account?: string } => {
  const account = textIn(object, 'id')
  return /^acct_\w+$/.test(account) ? { account } : {}
}

/** Makes the card fields of a simulator: its script, frames and answers are all of its one address. */
function fieldsAt(endpoint: string): GatewayFields {
  const { origin } = new URL(endpoint)
  return { script: `${origin}/endive/stripe.js`, scripts: [origin], frames: [origin], connects: [origin] }
}

export function stripeAdapter(calling: Calling): GatewayAdapter {
  const api = stripeApi(calling)
  const cards = stripeCards(api)
  const { stripe: endpoint } = calling.endpoints
  return {
    ...STRIPE,
    ...(endpoint !== undefined && { fields: fieldsAt(endpoint) }),
    check: async (call: GatewayCall): Promise<AccountAnswer> => {
      const answer = await api.get(call, ['account'])
      if (answer.kind === 'ok') return { kind: 'accepted', ...accountIn(answer.object) }
      if (answer.kind !== 'not_sent') return { kind: 'unknown' }
      // A restricted key need not be allowed to read its account.
      if (answer.refused?.by === 'permission') return { kind: 'accepted' }
      return answer.refused?.by === 'key'
        ? { kind: 'refused', reason: 'The gateway does not accept SecretKey.' }
        : { kind: 'not_sent' }
    },
    ...stripeCharges(api, { ...calling, askStored: cards.askStored }),
    ...stripeRefunds(api, calling),
    ...cards,
    ...stripeStoring(api),
    ...stripeReports(api, calling),
    readReport: readStripeReport,
  }
}
