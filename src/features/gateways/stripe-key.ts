import { type AnswerObject, textIn } from './answer-objects.ts'
import type { AccountAnswer, GatewayCall } from './contract.ts'
import type { StripeApi } from './stripe-api.ts'

/** Asking about the secret key of a gateway at Stripe (§35). */

const accountIn = (object: AnswerObject): { account?: string } => {
  const account = textIn(object, 'id')
  return /^acct_\w+$/.test(account) ? { account } : {}
}

/** Asks for the account that a key opens. One that may not read it is accepted. */
export async function checkKey(api: StripeApi, call: GatewayCall): Promise<AccountAnswer> {
  const answer = await api.get(call, ['account'])
  if (answer.kind === 'ok') return { kind: 'accepted', ...accountIn(answer.object) }
  if (answer.kind !== 'not_sent') return { kind: 'unknown' }
  if (answer.refused?.by === 'permission') return { kind: 'accepted' }
  return answer.refused?.by === 'key'
    ? { kind: 'refused', reason: 'The gateway does not accept SecretKey.' }
    : { kind: 'not_sent' }
}
