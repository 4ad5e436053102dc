import type { Calling } from './calling.ts'
import type { AccountAnswer, GatewayAdapter, GatewayCall } from './contract.ts'
import { STRIPE } from './facts.ts'
import { stripeApi } from './stripe-api.ts'
import { stripeCards } from './stripe-cards.ts'
import { stripeCharges } from './stripe-charges.ts'
import { type StripeObject, textIn } from './stripe-objects.ts'
import { stripeRefunds } from './stripe-refunds.ts'
import { readStripeReport, stripeReports } from './stripe-reports.ts'

/** Cards charged by Stripe (§35): its requests are of this service's own making. */

const accountIn = (object: StripeObject): { account?: string } => {
  const account = textIn(object, 'id')
  return /^acct_\w+$/.test(account) ? { account } : {}
}

export function stripeAdapter(calling: Calling): GatewayAdapter {
  const api = stripeApi(calling)
  const cards = stripeCards(api)
  return {
    ...STRIPE,
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
    ...stripeReports(api, calling),
    readReport: readStripeReport,
  }
}
