import { type AnswerObject, listIn, record, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type { AskedCharge, ChargeChange, GatewayCall, NotSent, Unknown } from './contract.ts'
import { plainSentence } from './stripe-answers.ts'
import { listAll, type StripeApi, unanswered } from './stripe-api.ts'
import { stripeDay, fromStripe } from './stripe-objects.ts'

/** Changes of a charge at Stripe after it had succeeded: refunds of its console, and each movement of money of a dispute. */

/** A change, and the moment by which changes are put in order. */
interface Dated {
  change: ChargeChange
  created: number
}
interface About {
  call: GatewayCall
  charge: Pick<AskedCharge, 'currency' | 'amountMinor'>
  realNow: number
}

/** Lists the changes of a charge, oldest first. Movements of a dispute that cannot be counted in the charge's currency are for a person. */
export async function changesOf(
  api: StripeApi,
  call: GatewayCall,
  charge: Pick<AskedCharge, 'currency' | 'amountMinor'>,
  { name, realNow }: { name: string; realNow: number },
): Promise<{ kind: 'read'; changes: ChargeChange[] } | Unknown | NotSent> {
  // Both are asked for whatever the charge itself shows: a refund that failed, or a dispute that was won, leaves no trace on it.
  const refunds = await listAll(api, call, ['refunds'], [['payment_intent', name]])
  if (refunds.kind !== 'ok') return unanswered(refunds)
  const disputes = await listAll(api, call, ['disputes'], [['payment_intent', name]])
  if (disputes.kind !== 'ok') return unanswered(disputes)
  const about = { call, charge, realNow }
  // Stripe lists the newest first, and many are of one second.
  const found: Dated[] = [
    ...refunds.objects.toReversed().flatMap((refund) => changeOfRefund(about, refund)),
    ...disputes.objects.toReversed().flatMap((dispute) => movementsOf(about, dispute)),
  ]
  return {
    kind: 'read',
    changes: found.sort((a, b) => a.created - b.created).map(({ change }) => change),
  }
}

/** Reads a refund as a change of its charge, if it was made at the console and succeeded or came back. Ours are asked about on their own. */
function changeOfRefund({ call, charge, realNow }: About, refund: AnswerObject): Dated[] {
  const id = textIn(refund, 'id')
  const created = wholeIn(refund, 'created') ?? 0
  const amountMinor = fromStripe(wholeIn(refund, 'amount'), charge.currency)
  if (
    referenceIn(call, 'refund', refund.metadata) !== undefined ||
    id === '' ||
    amountMinor === undefined ||
    amountMinor <= 0n
  )
    return []
  const about = { on: stripeDay(call, created, realNow), amountMinor, class: 'refunded_late' as const }
  switch (textIn(refund, 'status')) {
    case 'succeeded': {
      const code = textIn(refund, 'reason') || 'refunded'
      const message = 'Refunded at the gateway.'
      return [{ created, change: { ...about, kind: 'refunded', reference: id, code, message } }]
    }
    case 'failed': {
      const code = textIn(refund, 'failure_reason') || 'failed'
      const message = 'A refund of the gateway came back.'
      // The day it came back stands nowhere: the day it is known.
      const failed = { kind: 'refund_failed', reference: `${id}/failed`, undoes: id } as const
      return [{ created, change: { ...about, ...failed, on: call.today, code, message } }]
    }
    default:
      return []
  }
}

/** Divides to the whole, halves up; all are 0 or more. */
const halfUp = (a: bigint, b: bigint): bigint => (2n * a + b) / (2n * b)

/**
 * Reads each movement of money of a dispute. Rule (§33): the first withdrawal is the dispute's amount, any other that × its own amount ÷ the first's, since
 * they are of the gateway's own currency; a reinstatement is at most what is still withdrawn, and the last of a dispute that was won is all of it.
 * What was before all of it was withdrawn once more was all of it, too. A movement of a dispute in another currency than its charge is for a person.
 */
function movementsOf({ call, charge, realNow }: About, dispute: AnswerObject): Dated[] {
  const id = textIn(dispute, 'id')
  const movements = listIn(dispute, 'balance_transactions')
    .filter((movement) => (wholeIn(movement, 'amount') ?? 0) !== 0)
    .sort((a, b) => (wholeIn(a, 'created') ?? 0) - (wholeIn(b, 'created') ?? 0))
  if (movements.length === 0) return []
  const whole = fromStripe(wholeIn(dispute, 'amount'), charge.currency)
  const isForeign = whole === undefined || textIn(dispute, 'currency') !== charge.currency.toLowerCase()
  const first = BigInt(Math.abs(wholeIn(movements[0]!, 'amount') ?? 0))
  const isWon = textIn(dispute, 'status') === 'won'
  const reasonCode = textIn(record(record(dispute.payment_method_details).card), 'network_reason_code')
  const code = reasonCode || textIn(dispute, 'reason') || 'disputed'
  let withdrawn = 0n
  let lastWithdrawal: string | undefined
  return movements.flatMap((movement, at): Dated[] => {
    const amount = wholeIn(movement, 'amount') ?? 0
    const created = wholeIn(movement, 'created') ?? 0
    const reference = textIn(movement, 'id')
    const about = { reference, on: stripeDay(call, created, realNow), class: 'refunded_late' as const, code }
    if (isForeign) {
      const unbookable = `The dispute ${id} at Stripe is in another currency than its payment: book its movement ${reference} by hand.`
      return [
        { created, change: { ...about, kind: 'disputed', amountMinor: 0n, message: messageOf(dispute), unbookable } },
      ]
    }
    const part = halfUp(whole * BigInt(Math.abs(amount)), first)
    if (amount < 0) {
      withdrawn += part
      lastWithdrawal = reference
      return [{ created, change: { ...about, kind: 'disputed', amountMinor: part, message: messageOf(dispute) } }]
    }
    const isLast = movements.slice(at + 1).every((later) => (wholeIn(later, 'amount') ?? 0) < 0)
    const next = Math.min(0, wholeIn(movements[at + 1] ?? {}, 'amount') ?? 0)
    const isWhole = (isWon && isLast) || BigInt(-next) >= first
    const back = isWhole || part > withdrawn ? withdrawn : part
    if (back === 0n || lastWithdrawal === undefined) return []
    withdrawn -= back
    const message = 'The dispute was decided for you.'
    return [{ created, change: { ...about, kind: 'dispute_won', undoes: lastWithdrawal, amountMinor: back, message } }]
  })
}

const messageOf = (dispute: AnswerObject): string => {
  const reason = textIn(dispute, 'reason').replaceAll('_', ' ')
  return plainSentence(
    reason === '' ? 'The customer disputes the payment' : `The customer disputes the payment: ${reason}`,
  )
}
