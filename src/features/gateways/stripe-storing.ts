import { type AnswerObject, nameIn, nameOfOurs, record, textIn } from './answer-objects.ts'
import type { GatewayCall, None, NotSent, StoredCard, Unknown } from './contract.ts'
import type { ClientFacts, Storing, StoringToBegin } from './storing.ts'
import type { StoreOutcome } from './contract.ts'
import { declinedByError } from './stripe-answers.ts'
import { type Form, NONE, NOT_KNOWN, type StripeApi, unanswered } from './stripe-api.ts'
import { cardOf, isGone, removeEmpty, tokenParts } from './stripe-cards.ts'

/** Cards that a browser hands to Stripe itself, each by a setup intent (§35). This service learns of it what it asks for, never the number. */

type Stored = { kind: 'stored' } & StoredCard
type Begun = { kind: 'begun'; gatewayReference: string; client: ClientFacts }

/** The customer of Stripe that a storing uses; `isOurs`: it was made for it. */
interface Customer {
  kind: 'customer'
  name: string
  isOurs: boolean
}

export function stripeStoring(api: StripeApi) {
  const read = (call: GatewayCall, name: string) =>
    api.get(call, ['setup_intents', name], [['expand[0]', 'payment_method']])

  async function newCustomer(
    call: GatewayCall,
    { reference, payer }: StoringToBegin,
  ): Promise<Customer | Unknown | NotSent> {
    const answer = await api.post(
      call,
      ['customers'],
      [
        ['metadata[perennial]', nameOfOurs(call, 'card', reference)],
        ['description', payer === null ? 'Capture session' : `Customer ${payer.customerId}`],
      ],
    )
    if (answer.kind !== 'ok') return unanswered(answer)
    const name = textIn(answer.object, 'id')
    return /^cus_\w+$/.test(name) ? { kind: 'customer', name, isOurs: true } : NOT_KNOWN
  }

  const newIntent = (call: GatewayCall, { reference, isForLater }: StoringToBegin, customer: string) => {
    const form: Form = [
      ['customer', customer],
      ['metadata[perennial]', nameOfOurs(call, 'card', reference)],
      ['allowed_payment_method_types[0]', 'card'],
      ['usage', isForLater ? 'off_session' : 'on_session'],
    ]
    return api.post(call, ['setup_intents'], form)
  }

  /** Makes a setup intent, for the customer that the payer has there already. One that was deleted there is made anew. */
  async function begun(call: GatewayCall, storing: StoringToBegin): Promise<Begun | Unknown | NotSent> {
    const beside = tokenParts(storing.besideToken)?.customer
    const customer: Customer | Unknown | NotSent =
      beside === undefined ? await newCustomer(call, storing) : { kind: 'customer', name: beside, isOurs: false }
    if (customer.kind !== 'customer') return customer
    const answer = await newIntent(call, storing, customer.name)
    if (isGone(answer) && !customer.isOurs) return begun(call, { ...storing, besideToken: null })
    return answer.kind === 'ok' ? opened(call, storing, answer.object) : unanswered(answer)
  }

  function opened(call: GatewayCall, storing: Storing, intent: AnswerObject): Begun | Unknown {
    const [gatewayReference, clientSecret] = [textIn(intent, 'id'), textIn(intent, 'client_secret')]
    const { PublishableKey: publishableKey } = call.settings
    const isWhole = /^seti_\w+$/.test(gatewayReference) && clientSecret !== '' && typeof publishableKey === 'string'
    if (!isWhole || !isOf(call, storing, intent)) return NOT_KNOWN
    return { kind: 'begun', gatewayReference, client: { publishableKey, clientSecret } }
  }

  async function findStored(call: GatewayCall, storing: Storing): Promise<StoreOutcome | None> {
    const { gatewayReference: name } = storing
    if (name === null) return NONE
    const answer = await read(call, name)
    // Also where Stripe knows no intent of a kept name: one of another Stripe account does not know it either.
    return answer.kind === 'ok' ? outcomeOf(call, storing, answer.object) : unanswered(answer)
  }

  return {
    findStored,

    beginStore: async (call: GatewayCall, storing: StoringToBegin): Promise<Begun | Stored | Unknown | NotSent> => {
      const { gatewayReference: name } = storing
      if (name === null) return begun(call, storing)
      const answer = await read(call, name)
      if (answer.kind !== 'ok') return unanswered(answer)
      const outcome = outcomeOf(call, storing, answer.object)
      if (outcome.kind === 'stored') return outcome
      if (outcome.kind === 'none') return begun(call, storing)
      return opened(call, storing, answer.object)
    },

    endStore: async (call: GatewayCall, storing: Storing): Promise<Stored | None | Unknown | NotSent> => {
      const { gatewayReference: name } = storing
      if (name === null) return NONE
      const answer = await api.post(call, ['setup_intents', name, 'cancel'])
      if (isGone(answer)) return NONE
      if (answer.kind === 'ok') {
        if (textIn(answer.object, 'status') !== 'canceled') return NOT_KNOWN
        await removeEmpty(api, call, nameIn(answer.object, 'customer'))
        return NONE
      }
      // One that is over cannot be cancelled: it has stored a card, or was cancelled before.
      const isOfRequest = answer.kind === 'refused' || (answer.kind === 'not_sent' && answer.refused?.by === 'request')
      if (!isOfRequest) return unanswered(answer)
      const found = await findStored(call, storing)
      return found.kind === 'declined' ? NOT_KNOWN : found
    },
  }
}

/** Returns whether an intent is that of a storing. */
const isOf = (call: GatewayCall, { reference }: Storing, intent: AnswerObject): boolean =>
  textIn(record(intent.metadata), 'perennial') === nameOfOurs(call, 'card', reference)

/** Reads what an intent has stored. Unknown: it waits for its page, or for the customer's bank. */
function outcomeOf(call: GatewayCall, storing: Storing, intent: AnswerObject): StoreOutcome | None {
  if (textIn(intent, 'id') !== storing.gatewayReference || !isOf(call, storing, intent)) return NOT_KNOWN
  const error = record(intent.last_setup_error)
  switch (textIn(intent, 'status')) {
    case 'succeeded': {
      // A method that was attached to its customer names it.
      const method = record(intent.payment_method)
      return cardOf({ ...method, customer: nameIn(method, 'customer') || nameIn(intent, 'customer') }) ?? NOT_KNOWN
    }
    case 'canceled':
      return NONE
    case 'requires_payment_method':
      return Object.keys(error).length > 0 ? declinedByError(call, error) : NOT_KNOWN
    default:
      return NOT_KNOWN
  }
}
