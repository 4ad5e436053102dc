import { type AnswerObject, nameOfOurs, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type { GatewayCall, None, Outcome, Refund } from './contract.ts'
import { declined } from './gocardless-answers.ts'
import { type GoCardlessApi, listAll, NONE, NOT_KNOWN, unanswered } from './gocardless-api.ts'
import { dayOfMoment } from './gocardless-objects.ts'
import { paymentOf, refundedOf } from './gocardless-payments.ts'

/** Refunds at GoCardless (§38), which has to allow them; each once by its key. */

/** So long after it was sent a refund that GoCardless does not list was never made. */
const ARRIVES_MS = 10 * 60_000

export function gocardlessRefunds(api: GoCardlessApi, { realNow }: { realNow: () => number }) {
  function outcomeOf(call: GatewayCall, refund: Refund, found: AnswerObject): Outcome {
    const gatewayReference = textIn(found, 'id')
    const mismatch = mismatchOf(call, refund, found)
    if (mismatch !== undefined) return { kind: 'unknown', mismatch }
    const status = textIn(found, 'status')
    switch (status) {
      case 'created':
      case 'pending_submission':
      case 'submitted':
        return { kind: 'pending', gatewayReference }
      case 'paid':
        return { kind: 'succeeded', gatewayReference, on: dayOfMoment(call, textIn(found, 'created_at'), realNow()) }
      case 'cancelled':
      case 'bounced':
      case 'funds_returned':
        return declined(call, 'declined', status, 'The refund came back.')
      default:
        return NOT_KNOWN
    }
  }

  async function askRefund(call: GatewayCall, refund: Refund): Promise<Outcome | None> {
    const { gatewayReference: name, charge, sentAt } = refund
    if (charge.gatewayReference === null) return NONE
    if (name !== null) {
      const answer = await api.get(call, ['refunds', name])
      return answer.kind === 'ok' ? outcomeOf(call, refund, answer.object) : unanswered(answer)
    }
    const all = await listAll(api, call, 'refunds', { payment: charge.gatewayReference })
    if (all.kind !== 'ok') return unanswered(all)
    const ours = all.objects.find((one) => referenceIn(call, 'refund', one.metadata) === refund.reference)
    if (ours) return outcomeOf(call, refund, ours)
    return sentAt === null || realNow() - Date.parse(sentAt) > ARRIVES_MS ? NONE : NOT_KNOWN
  }

  return {
    refund: async (call: GatewayCall, refund: Refund): Promise<Outcome> => {
      const { gatewayReference: charged } = refund.charge
      if (charged === null)
        return declined(call, 'declined', 'charge_unknown', 'The gateway does not know the payment.')
      const present = await api.get(call, ['payments', charged])
      // Nothing was asked for yet.
      if (present.kind !== 'ok') return present.kind === 'not_sent' ? present : { kind: 'not_sent' }
      const amount = Number(refund.amountMinor)
      const name = nameOfOurs(call, 'refund', refund.reference)
      const body = {
        amount,
        total_amount_confirmation: refundedOf(present.object) + amount,
        links: { payment: charged },
        metadata: { perennial: name },
      }
      const answer = await api.post(call, ['refunds'], body, name)
      if (answer.kind === 'ok') return outcomeOf(call, refund, answer.object)
      if (answer.kind !== 'refused') return answer
      const { meaning } = answer
      switch (meaning.kind) {
        case 'made': {
          const made = await api.get(call, ['refunds', meaning.name])
          return made.kind === 'ok' ? outcomeOf(call, refund, made.object) : NOT_KNOWN
        }
        case 'forbidden':
          return declined(call, 'declined', 'refunds_not_enabled', 'GoCardless has not allowed refunds by this token.')
        case 'gone':
          return declined(call, 'declined', 'charge_unknown', 'The gateway does not know the payment.')
        case 'invalid':
          return declined(call, 'declined', meaning.code, meaning.message)
      }
    },
    askRefund,
  }
}

function mismatchOf(call: GatewayCall, refund: Refund, found: AnswerObject): string | undefined {
  const id = textIn(found, 'id')
  const isOurs =
    referenceIn(call, 'refund', found.metadata) === refund.reference &&
    paymentOf(found) === refund.charge.gatewayReference
  if (!isOurs) return `GoCardless answered with another refund: ${id || 'without a name'}.`
  const isSame =
    wholeIn(found, 'amount') === Number(refund.amountMinor) && textIn(found, 'currency') === refund.currency
  return isSame ? undefined : `The refund ${id} at GoCardless has another amount or currency.`
}
