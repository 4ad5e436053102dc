import { record, textIn } from './answer-objects.ts'
import type { GatewayCall, NotSent, Unknown } from './contract.ts'
import { type Form, listAll, NOT_KNOWN, type StripeApi, unanswered, VERSION } from './stripe-api.ts'
import { EVENT_TYPES_READ } from './stripe-reports.ts'

/** Webhook endpoints at Stripe that this service makes and deletes (§35). Those of this gateway bear its scope, whoever made them and lost the answer. */

export function stripeConnect(api: StripeApi) {
  return {
    /** Makes an endpoint. Its secret is answered this once. */
    connect: async (
      call: GatewayCall,
      url: string,
    ): Promise<{ kind: 'connected'; name: string; secret: string } | Unknown | NotSent> => {
      const types: Form = EVENT_TYPES_READ.map((type, at) => [`enabled_events[${at}]`, type])
      const form: Form = [['url', url], ...types, ['api_version', VERSION], ['metadata[perennial]', call.scope]]
      const answer = await api.post(call, ['webhook_endpoints'], form)
      if (answer.kind !== 'ok') return unanswered(answer)
      const [name, secret] = [textIn(answer.object, 'id'), textIn(answer.object, 'secret')]
      return name === '' || secret === '' ? NOT_KNOWN : { kind: 'connected', name, secret }
    },

    /** Deletes the endpoints of this gateway but one; null: all. */
    disconnect: async (
      call: GatewayCall,
      but: string | null,
    ): Promise<{ kind: 'disconnected' } | Unknown | NotSent> => {
      const all = await listAll(api, call, ['webhook_endpoints'], [])
      if (all.kind !== 'ok') return unanswered(all)
      for (const one of all.objects) {
        const id = textIn(one, 'id')
        if (id === but || textIn(record(one.metadata), 'perennial') !== call.scope) continue
        const answer = await api.remove(call, ['webhook_endpoints', id])
        const isGone = answer.kind === 'refused' && answer.meaning.kind === 'gone'
        if (answer.kind !== 'ok' && !isGone) return unanswered(answer)
      }
      return { kind: 'disconnected' }
    },
  }
}
