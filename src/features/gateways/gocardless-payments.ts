import type { Id } from '../../kernel/ids.ts'
import { type AnswerObject, isMoved, nameOfOurs, record, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type {
  AskedCharge,
  BatchToBuild,
  Built,
  ChargeState,
  GatewayCall,
  LineOutcome,
  LinesAnswered,
  LineToBuild,
  None,
  NotSent,
  Outcome,
  Unknown,
} from './contract.ts'
import { declined } from './gocardless-answers.ts'
import { type GoCardlessAnswer, type GoCardlessApi, listAll, NONE, NOT_KNOWN, unanswered } from './gocardless-api.ts'
import { historyOf } from './gocardless-changes.ts'
import { debitDay } from './gocardless-objects.ts'

/** Debits at GoCardless: each line of a batch is a payment of its own, made once by its key. */

const DESCRIPTION_MAX = 100
/** Requests of a portion that are under way at a time. */
const AT_ONCE = 8

/** So long after it was sent a payment that GoCardless does not list was never made. */
const ARRIVES_MS = 10 * 60_000
/** Payments are looked for from so long before their sending on: clocks differ. */
const BEFORE_MS = 3_600_000

/** Returns what was asked for and did not come: a payment of another charge, amount or currency. Undefined: it is the one. */
function mismatchOf(
  call: GatewayCall,
  charge: Pick<AskedCharge, 'reference' | 'amountMinor' | 'currency'>,
  payment: AnswerObject,
): string | undefined {
  const id = textIn(payment, 'id')
  if (!/^PM\w+$/.test(id) || referenceIn(call, 'charge', payment.metadata) !== charge.reference)
    return `GoCardless answered with another payment: ${id || 'without a name'}.`
  const isSame =
    wholeIn(payment, 'amount') === Number(charge.amountMinor) && textIn(payment, 'currency') === charge.currency
  return isSame ? undefined : `The payment ${id} at GoCardless has another amount or currency.`
}

export function gocardlessPayments(api: GoCardlessApi, { realNow }: { realNow: () => number }) {
  const pending = (call: GatewayCall, payment: AnswerObject) => ({
    kind: 'pending' as const,
    gatewayReference: textIn(payment, 'id'),
    ...(!isMoved(call, realNow()) &&
      textIn(payment, 'charge_date') !== '' && { debitOn: debitDay(call, payment, realNow()) }),
  })

  /** Makes a payment on a day; without one GoCardless takes the first that it can. */
  const make = (call: GatewayCall, { currency }: BatchToBuild, line: LineToBuild, day: string | undefined) => {
    const name = nameOfOurs(call, 'charge', line.chargeReference)
    const description = line.invoiceNumbers.length === 0 ? '' : `Invoice ${line.invoiceNumbers.join(', ')}`
    const body = {
      amount: Number(line.amountMinor),
      currency,
      ...(day !== undefined && { charge_date: day }),
      ...(description !== '' && { description: description.slice(0, DESCRIPTION_MAX) }),
      retry_if_possible: false,
      links: { mandate: line.token ?? '' },
      metadata: { perennial: name },
    }
    return api.post(call, ['payments'], body, name)
  }

  async function submitLine(call: GatewayCall, batch: BatchToBuild, line: LineToBuild): Promise<LineOutcome> {
    const charge = { reference: line.chargeReference, amountMinor: line.amountMinor, currency: batch.currency }
    const day = isMoved(call, realNow()) ? undefined : batch.actionDate
    const first = await make(call, batch, line, day)
    const answer = day !== undefined && isAboutDay(first) ? await make(call, batch, line, undefined) : first
    if (answer.kind === 'ok') return named(call, charge, answer.object)
    if (answer.kind !== 'refused') return answer
    const { meaning } = answer
    switch (meaning.kind) {
      case 'made': {
        const found = await api.get(call, ['payments', meaning.name])
        return found.kind === 'ok' ? named(call, charge, found.object) : NOT_KNOWN
      }
      case 'gone':
        return declined(call, 'invalid_account', 'mandate_unknown', 'The gateway does not know the mandate.')
      case 'invalid':
        return /mandate/.test(meaning.about)
          ? declined(call, 'invalid_account', meaning.code, meaning.message)
          : { kind: 'not_sent', refused: { by: 'request', code: meaning.code } }
      case 'forbidden':
        return unanswered(answer)
    }
  }

  const named = (
    call: GatewayCall,
    charge: Pick<AskedCharge, 'reference' | 'amountMinor' | 'currency'>,
    payment: AnswerObject,
  ): LineOutcome => {
    const mismatch = mismatchOf(call, charge, payment)
    return mismatch === undefined ? pending(call, payment) : { kind: 'unknown', mismatch }
  }

  /** Finds the payment of a charge: by its name, else among those of its mandate. */
  async function find(
    call: GatewayCall,
    { gatewayReference: name, token, reference, sentAt }: AskedCharge,
  ): Promise<{ kind: 'found'; payment: AnswerObject } | None | Unknown | NotSent> {
    if (name !== null) {
      const answer = await api.get(call, ['payments', name])
      return answer.kind === 'ok' ? { kind: 'found', payment: answer.object } : unanswered(answer)
    }
    if (token === null) return NOT_KNOWN
    const since = sentAt === null ? undefined : new Date(Date.parse(sentAt) - BEFORE_MS).toISOString()
    const all = await listAll(api, call, 'payments', { mandate: token, 'created_at[gte]': since })
    if (all.kind !== 'ok') return unanswered(all)
    const payment = all.objects.find((one) => referenceIn(call, 'charge', one.metadata) === reference)
    if (payment) return { kind: 'found', payment }
    return sentAt === null || realNow() - Date.parse(sentAt) > ARRIVES_MS ? NONE : NOT_KNOWN
  }

  async function askCharge(call: GatewayCall, charge: AskedCharge): Promise<ChargeState | Unknown | NotSent> {
    const found = await find(call, charge)
    if (found.kind === 'none') return { outcome: NONE, changes: [] }
    if (found.kind !== 'found') return found
    const { payment } = found
    const mismatch = mismatchOf(call, charge, payment)
    if (mismatch !== undefined) return { kind: 'unknown', mismatch }
    const status = textIn(payment, 'status')
    if (BEFORE_CONFIRMED.includes(status)) return { outcome: pending(call, payment), changes: [] }
    const history = await historyOf(api, call, { payment, charge, realNow: realNow() })
    if (history.kind !== 'read') return history
    const { failure, isConfirmed, changes } = history
    if (!isConfirmed && failure) return { outcome: failure, changes: [] }
    // Its events come later than its state.
    if (!isConfirmed && !CONFIRMED.includes(status)) return NOT_KNOWN
    const gatewayReference = textIn(payment, 'id')
    const outcome: Outcome = { kind: 'succeeded', gatewayReference, on: debitDay(call, payment, realNow()) }
    return { outcome, changes }
  }

  return {
    buildBatch: async (): Promise<Built> => ({ kind: 'built', file: null }),
    submitLines: async (call: GatewayCall, batch: BatchToBuild): Promise<LinesAnswered> => {
      const outcomes = new Map<Id, LineOutcome>()
      for (let at = 0; at < batch.lines.length; at += AT_ONCE)
        await Promise.all(
          batch.lines.slice(at, at + AT_ONCE).map(async (line) => {
            outcomes.set(line.paymentId, await submitLine(call, batch, line))
          }),
        )
      const all = [...outcomes.values()]
      const refused = all.flatMap((one) => (one.kind === 'not_sent' && one.refused ? [one.refused] : []))[0]
      return { kind: 'answered', outcomes, ...(refused && { refused }) }
    },
    askCharge,
  }
}

const BEFORE_CONFIRMED = ['pending_customer_approval', 'pending_submission', 'submitted']
const CONFIRMED = ['confirmed', 'paid_out']

/** Returns whether a payment was refused for its day. */
const isAboutDay = (answer: GoCardlessAnswer): boolean =>
  answer.kind === 'refused' && answer.meaning.kind === 'invalid' && /charge_date/.test(answer.meaning.about)

/** Returns how much of a payment was given back, in minor units. */
export const refundedOf = (payment: AnswerObject): number => wholeIn(payment, 'amount_refunded') ?? 0

/** Returns the payment that an object names. */
export const paymentOf = (object: AnswerObject): string => textIn(record(object.links), 'payment')
