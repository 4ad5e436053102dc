import { type AnswerObject, nameIn, nameOfOurs, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type { GatewayCall, None, Outcome, Refund } from './contract.ts'
import { declined, declinedByError } from './stripe-answers.ts'
import { listAll, NONE, type StripeApi, unanswered, NOT_KNOWN } from './stripe-api.ts'
import { stripeDay, fromStripe, toStripe } from './stripe-objects.ts'

/** Refunds at Stripe (§35). They always have the same key, because a process that slept may still send the first: where Stripe answered with an error, it repeats that for a day. */

/** So long after it was sent a refund that Stripe does not list was never made. */
const ARRIVES_MS = 10 * 60_000

export function stripeRefunds(api: StripeApi, { realNow }: { realNow: () => number }) {
  function outcomeOf(call: GatewayCall, refund: Refund, found: AnswerObject): Outcome {
    const gatewayReference = textIn(found, 'id')
    const mismatch = mismatchOf(call, refund, found)
    if (mismatch !== undefined) return { kind: 'unknown', mismatch }
    switch (textIn(found, 'status')) {
      case 'succeeded':
        return { kind: 'succeeded', gatewayReference, on: stripeDay(call, wholeIn(found, 'created'), realNow()) }
      case 'pending':
      case 'requires_action':
        return { kind: 'pending', gatewayReference }
      case 'failed':
      case 'canceled': {
        const code = textIn(found, 'failure_reason') || textIn(found, 'status')
        return declined(call, 'declined', code, 'The refund came back.')
      }
      default:
        return NOT_KNOWN
    }
  }

  async function found(call: GatewayCall, refund: Refund): Promise<Outcome | None> {
    const { gatewayReference: name, charge, sentAt } = refund
    if (charge.gatewayReference === null) return NONE
    if (name !== null) {
      const answer = await api.get(call, ['refunds', name])
      if (answer.kind === 'ok') return outcomeOf(call, refund, answer.object)
      if (answer.kind !== 'refused' || answer.meaning.kind !== 'gone') return unanswered(answer)
    }
    const all = await listAll(api, call, ['refunds'], [['payment_intent', charge.gatewayReference]])
    if (all.kind !== 'ok') return unanswered(all)
    const ours = all.objects.find((one) => referenceIn(call, 'refund', one.metadata) === refund.reference)
    if (ours) return outcomeOf(call, refund, ours)
    return sentAt === null || realNow() - Date.parse(sentAt) > ARRIVES_MS ? NONE : NOT_KNOWN
  }

  return {
    refund: async (call: GatewayCall, refund: Refund): Promise<Outcome> => {
      const { gatewayReference: charged } = refund.charge
      const amount = toStripe(refund.amountMinor, refund.currency)
      if (charged === null)
        return declined(call, 'declined', 'charge_unknown', 'The gateway does not know the payment.')
      if (amount === undefined)
        return declined(call, 'format', 'amount_indivisible', 'The gateway cannot refund this amount of the currency.')
      const name = nameOfOurs(call, 'refund', refund.reference)
      const answer = await api.post(
        call,
        ['refunds'],
        [
          ['payment_intent', charged],
          ['amount', String(amount)],
          ['reason', 'requested_by_customer'],
          ['metadata[perennial]', name],
        ],
        name,
      )
      if (answer.kind === 'ok') return outcomeOf(call, refund, answer.object)
      if (answer.kind !== 'refused') return answer
      if (['declined', 'declined_by_code', 'gone'].includes(answer.meaning.kind))
        return declinedByError(call, answer.error, 'declined')
      const state = await found(call, refund)
      return state.kind === 'none' ? NOT_KNOWN : state
    },
    askRefund: found,
    repeatsRefunds: true as const,
  }
}

function mismatchOf(call: GatewayCall, refund: Refund, found: AnswerObject): string | undefined {
  const id = textIn(found, 'id')
  const isOurs =
    referenceIn(call, 'refund', found.metadata) === refund.reference &&
    nameIn(found, 'payment_intent') === refund.charge.gatewayReference
  if (!isOurs) return `Stripe answered with another refund: ${id || 'without a name'}.`
  const isSame =
    fromStripe(wholeIn(found, 'amount'), refund.currency) === refund.amountMinor &&
    textIn(found, 'currency') === refund.currency.toLowerCase()
  return isSame ? undefined : `The refund ${id} at Stripe has another amount or currency.`
}
