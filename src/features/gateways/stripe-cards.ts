import type { CardBrand } from '../../kernel/bank-numbers.ts'
import { type AnswerObject, listIn, nameIn, record, textIn, wholeIn } from './answer-objects.ts'
import type { GatewayCall, None, NotSent, StoredCard, Unknown } from './contract.ts'
import { NONE, type StripeAnswer, type StripeApi, unanswered } from './stripe-api.ts'

/** Cards at Stripe: a token of ours names the customer of Stripe and the method that is attached to it. */

const BRANDS: Readonly<Record<string, CardBrand>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'American Express',
  american_express: 'American Express',
  diners: 'Diners Club',
  diners_club: 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
}

/** Splits the token of a card: a customer of Stripe and the method that is attached to it. */
export function tokenParts(token: string | null): { customer: string; method: string } | undefined {
  const [, customer, method] = /^(cus_\w+)\/((?:pm|card)_\w+)$/.exec(token ?? '') ?? []
  return customer === undefined || method === undefined ? undefined : { customer, method }
}

const MONTHS = 12

/** Reads a method as a stored card; undefined where it is no card, or belongs to no customer. */
export function cardOf(method: AnswerObject): ({ kind: 'stored' } & StoredCard) | undefined {
  const card = record(method.card)
  const customer = nameIn(method, 'customer')
  const [id, lastFour] = [textIn(method, 'id'), textIn(card, 'last4')]
  const [expiryMonth, expiryYear] = [wholeIn(card, 'exp_month') ?? 0, wholeIn(card, 'exp_year') ?? 0]
  if (textIn(method, 'type') !== 'card' || tokenParts(`${customer}/${id}`) === undefined) return undefined
  if (!/^\d{4}$/.test(lastFour) || expiryMonth < 1 || expiryMonth > MONTHS || expiryYear < 2000) return undefined
  return {
    kind: 'stored',
    token: `${customer}/${id}`,
    fingerprint: textIn(card, 'fingerprint') || null,
    cardType: BRANDS[textIn(card, 'brand')] ?? 'Unknown',
    lastFour,
    expiryMonth,
    expiryYear,
    holderName: textIn(record(method.billing_details), 'name') || null,
  }
}

export const isGone = (answer: StripeAnswer): boolean => answer.kind === 'refused' && answer.meaning.kind === 'gone'

type Stored = { kind: 'stored' } & StoredCard
type Found = Stored | None | { kind: 'ambiguous' } | Unknown | NotSent

/** Lists two methods of a customer: none, one or several is all that matters. */
const methodsOf = (api: StripeApi, call: GatewayCall, customer: string, type?: 'card') =>
  api.get(
    call,
    ['customers', customer, 'payment_methods'],
    [
      ['type', type],
      ['limit', '2'],
    ],
  )

/** Deletes a customer of Stripe that we made and that has no card any more; best effort. */
export async function removeEmpty(api: StripeApi, call: GatewayCall, customer: string): Promise<void> {
  const answer = await api.get(call, ['customers', customer])
  const isOurs =
    answer.kind === 'ok' && textIn(record(answer.object.metadata), 'perennial').startsWith(`${call.scope}/`)
  if (!isOurs) return
  const list = await methodsOf(api, call, customer)
  if (list.kind === 'ok' && Array.isArray(list.object.data) && list.object.data.length === 0)
    await api.remove(call, ['customers', customer])
}

export function stripeCards(api: StripeApi) {
  async function askStored(call: GatewayCall, token: string): Promise<Stored | None | Unknown | NotSent> {
    const parts = tokenParts(token)
    if (!parts) return NONE
    const found = await ofMethod(call, parts.method)
    return found.kind === 'stored' && found.token !== token ? NONE : found
  }

  async function ofMethod(call: GatewayCall, method: string): Promise<Stored | None | Unknown | NotSent> {
    const answer = await api.get(call, ['payment_methods', method])
    if (answer.kind === 'ok') return cardOf(answer.object) ?? NONE
    return isGone(answer) ? NONE : unanswered(answer)
  }

  /** Finds the card of a customer: its default for invoices, else its default source, else its only one. */
  async function ofCustomer(call: GatewayCall, customer: string): Promise<Found> {
    const answer = await api.get(call, ['customers', customer])
    if (answer.kind !== 'ok') return isGone(answer) ? NONE : unanswered(answer)
    if (answer.object.deleted === true) return NONE
    const chosen =
      nameIn(record(answer.object.invoice_settings), 'default_payment_method') ||
      nameIn(answer.object, 'default_source')
    if (chosen !== '') return askStored(call, `${customer}/${chosen}`)
    const list = await methodsOf(api, call, customer, 'card')
    if (list.kind !== 'ok') return unanswered(list)
    const [one, ...others] = listIn(list.object, 'data')
    if (others.length > 0) return { kind: 'ambiguous' }
    return (one && cardOf(one)) ?? NONE
  }

  return {
    askStored,

    removeStored: async (call: GatewayCall, token: string): Promise<{ kind: 'removed' } | Unknown | NotSent> => {
      const parts = tokenParts(token)
      if (!parts) return { kind: 'removed' }
      const answer = await api.post(call, ['payment_methods', parts.method, 'detach'])
      if (answer.kind === 'ok') {
        await removeEmpty(api, call, parts.customer)
        return { kind: 'removed' }
      }
      if (isGone(answer)) return { kind: 'removed' }
      // One that is attached to nobody cannot be detached.
      const isOfRequest = answer.kind === 'refused' || (answer.kind === 'not_sent' && answer.refused?.by === 'request')
      if (!isOfRequest) return unanswered(answer)
      return (await askStored(call, token)).kind === 'none' ? { kind: 'removed' } : unanswered(answer)
    },

    /** Finds a card that others stored, by whichever name of it (§36). */
    findToken: async (call: GatewayCall, text: string): Promise<Found> => {
      if (tokenParts(text)) return askStored(call, text)
      if (/^(pm|card)_\w+$/.test(text)) return ofMethod(call, text)
      return /^cus_\w+$/.test(text) ? ofCustomer(call, text) : NONE
    },
  }
}
