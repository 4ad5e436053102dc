import { type AnswerObject, record, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type { AskedCharge, ChargeChange, Declined, GatewayCall, NotSent, Unknown } from './contract.ts'
import { causeClassOf, plainSentence } from './gocardless-answers.ts'
import { type GoCardlessApi, listAll, unanswered } from './gocardless-api.ts'
import { dayOfMoment } from './gocardless-objects.ts'

/** History of payments at GoCardless, as their events and refunds have it. */

interface About {
  payment: AnswerObject
  charge: Pick<AskedCharge, 'amountMinor' | 'currency'>
  realNow: number
}

/** History of a payment: how it failed before it was confirmed, whether it was, and what came after that, oldest first. */
export interface History {
  kind: 'read'
  failure: Declined | null
  isConfirmed: boolean
  changes: ChargeChange[]
}

interface Dated {
  at: string
  change: ChargeChange
}

/** Reads the history of a payment from its events and its refunds. */
export async function historyOf(
  api: GoCardlessApi,
  call: GatewayCall,
  about: About,
): Promise<History | Unknown | NotSent> {
  const payment = textIn(about.payment, 'id')
  const events = await listAll(api, call, 'events', { payment })
  if (events.kind !== 'ok') return unanswered(events)
  // They are listed the newest first.
  const ordered = events.objects
    .toReversed()
    .filter((event) => textIn(event, 'resource_type') === 'payments')
    .toSorted((a, b) => compare(textIn(a, 'created_at'), textIn(b, 'created_at')))
  const { failure, isConfirmed, dated } = walk(call, about, ordered)
  if (!isConfirmed) return { kind: 'read', failure, isConfirmed, changes: [] }
  // Asked for whatever the payment itself shows: a refund that came back leaves no trace on it.
  const refunds = await listAll(api, call, 'refunds', { payment })
  if (refunds.kind !== 'ok') return unanswered(refunds)
  const all = [...dated, ...refunds.objects.flatMap((refund) => changeOfRefund(call, about, refund))]
  const changes = all.toSorted((a, b) => compare(a.at, b.at)).map(({ change }) => change)
  return { kind: 'read', failure: null, isConfirmed, changes }
}

const compare = (a: string, b: string): number => Date.parse(a) - Date.parse(b) || 0

const FAILURES = ['failed', 'cancelled', 'customer_approval_denied']

/** Walks through the events of a payment, oldest first. Rule (§38): until it is confirmed a failure is its outcome, after that it is a loss. */
function walk(call: GatewayCall, { charge, realNow }: About, events: readonly AnswerObject[]) {
  let failure: Declined | null = null
  let isConfirmed = false
  let lastLoss: string | undefined
  const dated: Dated[] = []
  for (const event of events) {
    const action = textIn(event, 'action')
    const [reference, at] = [textIn(event, 'id'), textIn(event, 'created_at')]
    const why = { ...reasonOf(event), on: dayOfMoment(call, at, realNow) }
    const about = { ...why, reference, amountMinor: charge.amountMinor }
    if (action === 'confirmed' || action === 'paid_out') [isConfirmed, failure] = [true, null]
    else if (FAILURES.includes(action) && !isConfirmed) failure = { kind: 'declined', ...why }
    else if (action === 'resubmission_requested') failure = null
    else if ((action === 'failed' || action === 'charged_back') && isConfirmed) {
      lastLoss = reference
      dated.push({ at, change: { ...about, kind: 'returned' } })
    } else if (action === 'chargeback_cancelled' && lastLoss !== undefined)
      dated.push({ at, change: { ...about, kind: 'dispute_won', undoes: lastLoss, class: 'refunded_late' } })
  }
  return { failure, isConfirmed, dated }
}

/** Reads class, code and sentence of an event. A chargeback without a cause is a payer who claims the money back. */
function reasonOf(event: AnswerObject): Pick<ChargeChange, 'class' | 'code' | 'message'> {
  const details = record(event.details)
  const cause = textIn(details, 'cause')
  const isClaim = textIn(event, 'action') === 'charged_back' && ['', 'other'].includes(cause)
  return {
    class: isClaim ? 'refunded_late' : causeClassOf(cause),
    code: textIn(details, 'reason_code') || cause || textIn(event, 'action'),
    message: plainSentence(textIn(details, 'description')),
  }
}

const RETURNED = ['bounced', 'funds_returned']

/** Reads a refund as a change of its payment, if it was made at the console and was paid or came back. Ours are asked about on their own. */
function changeOfRefund(call: GatewayCall, { charge, realNow }: About, refund: AnswerObject): Dated[] {
  const [id, at, status] = [textIn(refund, 'id'), textIn(refund, 'created_at'), textIn(refund, 'status')]
  const amount = wholeIn(refund, 'amount') ?? 0
  const isOther = textIn(refund, 'currency') !== charge.currency
  if (referenceIn(call, 'refund', refund.metadata) !== undefined || id === '' || amount <= 0 || isOther) return []
  const about = { amountMinor: BigInt(amount), class: 'refunded_late' as const, code: status }
  if (status === 'paid') {
    const made = { kind: 'refunded', reference: id, on: dayOfMoment(call, at, realNow) } as const
    return [{ at, change: { ...about, ...made, message: 'Refunded at the gateway.' } }]
  }
  if (!RETURNED.includes(status)) return []
  const failed = { kind: 'refund_failed', reference: `${id}/failed`, undoes: id, on: call.today } as const
  return [{ at, change: { ...about, ...failed, message: 'A refund of the gateway came back.' } }]
}
