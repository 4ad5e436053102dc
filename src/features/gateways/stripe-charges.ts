import { type AnswerObject, nameIn, nameOfOurs, record, textIn, wholeIn } from './answer-objects.ts'
import type {
  AskedCharge,
  ChargeState,
  ChargeToMake,
  ChargingCall,
  Declined,
  GatewayCall,
  None,
  NotSent,
  Outcome,
  Unknown,
} from './contract.ts'
import type { ClientFacts } from './storing.ts'
import { declined, declinedByError } from './stripe-answers.ts'
import { type Form, NONE, type Path, type StripeAnswer, type StripeApi, unanswered, NOT_KNOWN } from './stripe-api.ts'
import { type stripeCards, tokenParts } from './stripe-cards.ts'
import { changesOf } from './stripe-changes.ts'
import { stripeDay, fromStripe, toStripe } from './stripe-objects.ts'

/**
 * Charges at Stripe (§35), each by a payment intent: made without being confirmed, its name kept, then confirmed. Only the last can move money, and it has a
 * key that names both.
 */

const EXPAND: Form = [['expand[0]', 'latest_charge']]

/** Characters of a description, and of a value of metadata, that Stripe takes. */
const DESCRIPTION_MAX = 500
const METADATA_MAX = 500

const isName = (id: string): boolean => /^pi_\w+$/.test(id)

const intentPath = (name: string, action?: string): Path =>
  action === undefined ? ['payment_intents', name] : ['payment_intents', name, action]

/** Returns what was asked for and did not come: an intent of another charge, amount, currency or card. Undefined: it is the one. */
function mismatchOf(call: GatewayCall, charge: AskedCharge, intent: AnswerObject): string | undefined {
  const id = textIn(intent, 'id')
  const name = textIn(record(intent.metadata), 'perennial')
  if (id !== charge.gatewayReference || name !== nameOfOurs(call, 'charge', charge.reference))
    return `Stripe answered with another payment: ${id || 'without a name'}.`
  const amountMinor = fromStripe(wholeIn(intent, 'amount'), charge.currency)
  if (amountMinor !== charge.amountMinor || textIn(intent, 'currency') !== charge.currency.toLowerCase())
    return `The payment ${id} at Stripe has another amount or currency.`
  const card = tokenParts(charge.token)
  if (card && nameIn(intent, 'customer') !== card.customer) return `The payment ${id} at Stripe is another customer's.`
  return undefined
}

export function stripeCharges(
  api: StripeApi,
  { realNow, askStored }: { realNow: () => number } & Pick<ReturnType<typeof stripeCards>, 'askStored'>,
) {
  const ended = (call: GatewayCall, name: string, reason: 'abandoned' | 'requested_by_customer') =>
    api.post(call, intentPath(name, 'cancel'), [['cancellation_reason', reason]])

  const read = (call: GatewayCall, name: string) => api.get(call, intentPath(name), EXPAND)

  /** Reads the outcome of an intent by its status. `requires_confirmation` and, for a customer who is not there, `requires_action` are ended by the caller. */
  function outcomeOf(call: GatewayCall, intent: AnswerObject): Outcome | None {
    const gatewayReference = textIn(intent, 'id')
    const error = record(intent.last_payment_error)
    const hasError = Object.keys(error).length > 0
    switch (textIn(intent, 'status')) {
      case 'succeeded': {
        const created = wholeIn(record(intent.latest_charge), 'created')
        return { kind: 'succeeded', gatewayReference, on: stripeDay(call, created, realNow()) }
      }
      case 'processing':
        return { kind: 'pending', gatewayReference }
      case 'requires_action':
        return { kind: 'requires_action', gatewayReference, url: null, step: 'client' }
      case 'requires_payment_method':
        return hasError ? declinedByError(call, error) : NOT_KNOWN
      case 'canceled':
        return hasError ? declinedByError(call, error) : cancelled(call, textIn(intent, 'cancellation_reason'))
      default:
        return NOT_KNOWN
    }
  }

  function cancelled(call: GatewayCall, reason: string): Outcome | None {
    switch (reason) {
      case 'abandoned':
        return NONE
      case 'duplicate':
        return declined(call, 'duplicate', reason, 'The payment was cancelled at the gateway as a duplicate.')
      case 'fraudulent':
        return declined(call, 'blocked', reason, 'The payment was cancelled at the gateway as fraudulent.')
      default:
        return declined(
          call,
          'action_required',
          reason || 'canceled',
          'The payment was not confirmed and was cancelled.',
        )
    }
  }

  /** Ends an intent that nobody confirms any more. `none` only where Stripe answers that it is cancelled. */
  async function abandon(call: GatewayCall, charge: AskedCharge, name: string): Promise<Outcome | None> {
    const answer = await ended(call, name, 'abandoned')
    if (answer.kind === 'ok') return checked(call, charge, answer.object)
    // It was confirmed meanwhile, or is over: what it is now is asked once more, and nothing is ended then.
    if (answer.kind === 'refused' && answer.meaning.kind === 'state') {
      const found = await read(call, name)
      return found.kind === 'ok' ? checked(call, charge, found.object) : unanswered(found)
    }
    return unanswered(answer)
  }

  const checked = (call: GatewayCall, charge: AskedCharge, intent: AnswerObject): Outcome | None => {
    const mismatch = mismatchOf(call, charge, intent)
    return mismatch === undefined ? outcomeOf(call, intent) : { kind: 'unknown', mismatch }
  }

  /** Reads an intent as the outcome of its charge, and ends what waits for nobody: one that was declined, or not confirmed. */
  async function settle(call: GatewayCall, charge: AskedCharge, intent: AnswerObject): Promise<Outcome | None> {
    const outcome = checked(call, charge, intent)
    const name = textIn(intent, 'id')
    const status = textIn(intent, 'status')
    if (outcome.kind === 'unknown' && outcome.mismatch !== undefined) return outcome
    if (status === 'requires_confirmation') return abandon(call, charge, name)
    if (status === 'requires_payment_method' && outcome.kind === 'declined') await ended(call, name, 'abandoned')
    return outcome
  }

  /** Makes an intent that is not confirmed. What goes wrong is not_sent: such an intent charges nobody. */
  async function made(
    call: ChargingCall,
    charge: ChargeToMake,
    card: { customer: string; method: string },
    amount: bigint,
  ): Promise<{ kind: 'made'; name: string } | Outcome> {
    const suffix = call.settings.StatementSuffix
    const form: Form = [
      ['amount', String(amount)],
      ['currency', charge.currency.toLowerCase()],
      ['customer', card.customer],
      ['payment_method', card.method],
      ['allowed_payment_method_types[0]', 'card'],
      ['description', charge.description.slice(0, DESCRIPTION_MAX) || undefined],
      ['metadata[perennial]', nameOfOurs(call, 'charge', charge.reference)],
      ['metadata[invoices]', charge.invoiceNumbers.join(', ').slice(0, METADATA_MAX) || undefined],
      ['statement_descriptor_suffix', typeof suffix === 'string' ? suffix : undefined],
    ]
    const answer = await api.post(call, ['payment_intents'], form)
    if (answer.kind === 'refused') return declinedIn(call, answer) ?? { kind: 'not_sent' }
    if (answer.kind !== 'ok')
      return answer.kind === 'not_sent' ? orCardGone(call, charge, answer) : { kind: 'not_sent' }
    const name = textIn(answer.object, 'id')
    // What is not this charge's is neither confirmed nor ended: another may wait for it.
    const mismatch = isName(name)
      ? mismatchOf(call, { ...charge, gatewayReference: name }, answer.object)
      : `Stripe made something else than a payment: ${name || 'without a name'}.`
    if (mismatch !== undefined) return { kind: 'unknown', mismatch }
    return textIn(answer.object, 'status') === 'requires_confirmation' ? { kind: 'made', name } : { kind: 'not_sent' }
  }

  /** Returns the decline that a refused request is; undefined where it is none. */
  function declinedIn(call: GatewayCall, { meaning, error }: Extract<StripeAnswer, { kind: 'refused' }>) {
    if (meaning.kind === 'declined') return declinedByError(call, error, meaning.class)
    if (meaning.kind === 'declined_by_code') return declinedByError(call, error)
    return meaning.kind === 'gone' ? cardGone(declinedByError(call, error, 'invalid_account')) : undefined
  }

  const cardGone = (refusal: Declined): Declined => ({ ...refusal, isCardGone: true })

  /** Returns a request that was refused for a reason without a code as what it is where its card is detached: that is a decline, and no mistake of this version. */
  async function orCardGone(call: GatewayCall, { token }: ChargeToMake, answer: NotSent): Promise<NotSent | Declined> {
    if (answer.refused?.by !== 'request' || (await askStored(call, token)).kind !== 'none') return answer
    return cardGone(declined(call, 'invalid_account', 'card_gone', 'The gateway does not keep this card any more.'))
  }

  /** Confirms an intent: the one request of a charge that moves money. */
  async function confirm(call: ChargingCall, charge: ChargeToMake, name: string): Promise<Outcome | None> {
    const present: Form = [
      ['use_stripe_sdk', 'true'],
      ['return_url', charge.returnUrl ?? undefined],
    ]
    const form: Form = [...EXPAND, ...(charge.isCustomerPresent ? present : [['off_session', 'true'] as const])]
    const key = `${nameOfOurs(call, 'charge', charge.reference)}/confirm/${name}`
    const answer = await api.post(call, intentPath(name, 'confirm'), form, key)
    const kept = { ...charge, gatewayReference: name }
    if (answer.kind === 'ok') return afterConfirm(call, kept, answer.object)
    if (answer.kind === 'not_sent') {
      const outcome = await orCardGone(call, charge, answer)
      if (outcome.kind === 'declined') await ended(call, name, 'abandoned')
      return outcome
    }
    if (answer.kind !== 'refused') return answer
    const refusal = answer.meaning.kind === 'gone' ? undefined : declinedIn(call, answer)
    if (refusal) {
      // Best effort: it has no card to charge any more, and only clutters the console.
      await ended(call, name, 'abandoned')
      return refusal
    }
    // Its card is gone, or the intent itself is not known: that is another Stripe account.
    const found = await read(call, name)
    if (found.kind !== 'ok') return unanswered(found)
    const isUnconfirmed = textIn(found.object, 'status') === 'requires_confirmation'
    if (answer.meaning.kind !== 'gone' || !isUnconfirmed || mismatchOf(call, kept, found.object) !== undefined)
      return afterConfirm(call, kept, found.object)
    await ended(call, name, 'abandoned')
    return cardGone(declinedByError(call, answer.error, 'invalid_account'))
  }

  /** Reads an intent after it was confirmed; ends one that was declined, and one that waits for a customer who is not there. */
  async function afterConfirm(call: GatewayCall, charge: ChargeToMake, intent: AnswerObject): Promise<Outcome | None> {
    const outcome = checked(call, charge, intent)
    const name = textIn(intent, 'id')
    if (outcome.kind === 'declined' && textIn(intent, 'status') === 'requires_payment_method')
      await ended(call, name, 'abandoned')
    if (outcome.kind !== 'requires_action' || charge.isCustomerPresent) return outcome
    const answer = await ended(call, name, 'abandoned')
    if (answer.kind === 'ok' && textIn(answer.object, 'status') === 'canceled')
      return declined(call, 'action_required', 'action_required', 'The bank asks the customer to confirm the payment.')
    const found = await read(call, name)
    return found.kind === 'ok' ? checked(call, charge, found.object) : NOT_KNOWN
  }

  /** Takes up a charge by its kept name: confirmed where it is not yet, made anew where nothing will come of it. */
  async function takenUp(call: ChargingCall, charge: ChargeToMake, name: string): Promise<Outcome | None> {
    const found = await read(call, name)
    if (found.kind !== 'ok') return unanswered(found)
    const outcome = checked(call, charge, found.object)
    if (outcome.kind === 'unknown' && outcome.mismatch !== undefined) return outcome
    if (textIn(found.object, 'status') === 'requires_confirmation') return confirm(call, charge, name)
    return afterConfirm(call, charge, found.object)
  }

  return {
    charge: async (call: ChargingCall, charge: ChargeToMake): Promise<Outcome> => {
      const amount = toStripe(charge.amountMinor, charge.currency)
      if (amount === undefined)
        return declined(call, 'format', 'amount_indivisible', 'The gateway cannot charge this amount of the currency.')
      const card = tokenParts(charge.token)
      if (!card) return declined(call, 'invalid_account', 'token_unknown', 'The gateway does not hold this card.')
      if (charge.gatewayReference !== null) {
        const outcome = await takenUp(call, charge, charge.gatewayReference)
        if (outcome.kind !== 'none') return outcome
      }
      const begun = await made(call, charge, card, amount)
      if (begun.kind !== 'made') return begun
      if (!(await call.keep(begun.name))) {
        await ended(call, begun.name, 'abandoned')
        return NOT_KNOWN
      }
      const outcome = await confirm(call, charge, begun.name)
      // Somebody ended it before it was confirmed: whoever comes next makes another.
      return outcome.kind === 'none' ? { kind: 'not_sent' } : outcome
    },

    askCharge: async (call: GatewayCall, charge: AskedCharge): Promise<ChargeState | Unknown | NotSent> => {
      if (charge.gatewayReference === null) return { outcome: NONE, changes: [] }
      const found = await read(call, charge.gatewayReference)
      // Also where Stripe knows no intent of a kept name: one of another Stripe account does not know it either.
      if (found.kind !== 'ok') return unanswered(found)
      const outcome = await settle(call, charge, found.object)
      if (outcome.kind !== 'succeeded') return { outcome, changes: [] }
      const changes = await changesOf(api, call, charge, { name: charge.gatewayReference, realNow: realNow() })
      return changes.kind === 'read' ? { outcome, changes: changes.changes } : changes
    },

    cancelCharge: async (call: GatewayCall, charge: AskedCharge): Promise<Outcome | None> => {
      const { gatewayReference: name } = charge
      if (name === null) return NONE
      const open = await read(call, name)
      if (open.kind !== 'ok') return unanswered(open)
      const mismatch = mismatchOf(call, charge, open.object)
      if (mismatch !== undefined) return { kind: 'unknown', mismatch }
      const answer = await ended(call, name, 'requested_by_customer')
      if (answer.kind === 'ok') return checked(call, charge, answer.object)
      if (answer.kind !== 'refused') return answer
      const found = await read(call, name)
      return found.kind === 'ok' ? checked(call, charge, found.object) : unanswered(found)
    },

    clientStep: async (
      call: GatewayCall,
      { gatewayReference: name }: AskedCharge,
    ): Promise<{ kind: 'client'; client: ClientFacts } | None | Unknown | NotSent> => {
      if (name === null) return NONE
      const found = await read(call, name)
      if (found.kind !== 'ok') return unanswered(found)
      const clientSecret = textIn(found.object, 'client_secret')
      const { PublishableKey: publishableKey } = call.settings
      if (textIn(found.object, 'status') !== 'requires_action') return NONE
      if (clientSecret === '' || typeof publishableKey !== 'string') return NOT_KNOWN
      return { kind: 'client', client: { publishableKey, clientSecret } }
    },
  }
}
