import type { Calling } from './calling.ts'
import type { GatewayAdapter, GatewayCall } from './contract.ts'
import { type GatewayFields, STRIPE } from './facts.ts'
import { stripeApi } from './stripe-api.ts'
import { stripeCards } from './stripe-cards.ts'
import { checkKey } from './stripe-key.ts'
import { stripeCharges } from './stripe-charges.ts'
import { stripeConnect } from './stripe-connect.ts'
import { stripeRefunds } from './stripe-refunds.ts'
import { readStripeReport, stripeReports } from './stripe-reports.ts'
import { stripeStoring } from './stripe-storing.ts'
import { stripeTrial } from './stripe-trial.ts'

/** Cards charged by Stripe (§35): its requests are of this service's own making. */

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
    check: (call: GatewayCall) => checkKey(api, call),
    ...stripeCharges(api, { ...calling, askStored: cards.askStored }),
    ...stripeRefunds(api, calling),
    ...cards,
    ...stripeStoring(api),
    ...stripeReports(api, calling),
    ...stripeConnect(api),
    ...stripeTrial(calling),
    readReport: readStripeReport,
  }
}
