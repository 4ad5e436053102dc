import type { BankKind } from '../../kernel/rails.ts'
import { type AnswerObject, nameOfOurs, record, textIn } from './answer-objects.ts'
import type {
  GatewayCall,
  MandateBegun,
  MandateFound,
  MandateToBegin,
  None,
  NotSent,
  MethodAtGateway,
  Unknown,
} from './contract.ts'
import type { Storing } from './storing.ts'
import { declined } from './gocardless-answers.ts'
import { type GoCardlessAnswer, type GoCardlessApi, NONE, NOT_KNOWN, unanswered } from './gocardless-api.ts'
import { dayOfMoment } from './gocardless-objects.ts'

/** Mandates at GoCardless, each given by its payer on a page of theirs: a billing request until it is given. */

/** The scheme of each currency, and the kind of accounts that it debits. */
export const MANDATE_SCHEMES = {
  EUR: { scheme: 'sepa_core', method: 'sepa' },
  USD: { scheme: 'ach', method: 'ach' },
  GBP: { scheme: 'bacs', method: 'debit_order' },
  AUD: { scheme: 'becs', method: 'debit_order' },
  CAD: { scheme: 'pad', method: 'debit_order' },
  DKK: { scheme: 'betalingsservice', method: 'debit_order' },
  NZD: { scheme: 'becs_nz', method: 'debit_order' },
  SEK: { scheme: 'autogiro', method: 'debit_order' },
} as const satisfies Readonly<Record<string, { scheme: string; method: BankKind }>>

const schemeOf = (currency: string) => MANDATE_SCHEMES[currency as keyof typeof MANDATE_SCHEMES].scheme

/** States of a mandate in which it debits, now or once the bank knows it. */
const KEPT = ['pending_customer_approval', 'pending_submission', 'submitted', 'active']
/** A mandate that was replaced as often as that is followed no further. */
const REPLACED_MAX = 5

const LAST_DIGITS = 4
const NAME_MAX = 70

export function gocardlessMandates(api: GoCardlessApi, { realNow }: { realNow: () => number }) {
  async function askStored(
    call: GatewayCall,
    token: string,
    replaced = 0,
  ): Promise<Extract<MethodAtGateway, { kind: 'account' }> | None | Unknown | NotSent> {
    if (!/^MD\w+$/.test(token)) return NONE
    const answer = await api.get(call, ['mandates', token])
    if (answer.kind !== 'ok') return isGone(answer) ? NONE : unanswered(answer)
    const mandate = answer.object
    const { new_mandate: successor, customer_bank_account: account } = record(mandate.links)
    if (typeof successor === 'string' && successor !== '' && replaced < REPLACED_MAX)
      return askStored(call, successor, replaced + 1)
    if (textIn(mandate, 'id') !== token) return NOT_KNOWN
    if (!KEPT.includes(textIn(mandate, 'status'))) return NONE
    const kept = await api.get(call, ['customer_bank_accounts', typeof account === 'string' ? account : ''])
    return kept.kind === 'ok' ? (accountOf(call, mandate, kept.object, realNow()) ?? NOT_KNOWN) : unanswered(kept)
  }

  /** Makes the billing request of a reference, or finds the one that was made under it. */
  async function requested(
    call: GatewayCall,
    { reference, gatewayReference, currency }: MandateToBegin,
  ): Promise<string | Unknown | NotSent> {
    if (gatewayReference !== null) return gatewayReference
    const name = nameOfOurs(call, 'mandate', reference)
    const { CreditorID: creditor } = call.settings
    const body = {
      mandate_request: { currency, scheme: schemeOf(currency) },
      metadata: { perennial: name },
      ...(typeof creditor === 'string' && { links: { creditor } }),
    }
    const answer = await api.post(call, ['billing_requests'], body, name)
    if (answer.kind === 'ok') return textIn(answer.object, 'id') || NOT_KNOWN
    if (answer.kind !== 'refused') return answer
    if (answer.meaning.kind === 'made') return answer.meaning.name
    return refusedRequest(answer)
  }

  return {
    beginMandate: async (call: GatewayCall, mandate: MandateToBegin): Promise<MandateBegun | Unknown | NotSent> => {
      const request = await requested(call, mandate)
      if (typeof request !== 'string') return request
      const { payer, returnUrl } = mandate
      const answer = await api.post(call, ['billing_request_flows'], {
        redirect_uri: returnUrl,
        exit_uri: returnUrl,
        prefilled_customer: prefilledOf(payer),
        lock_currency: true,
        language: payer.language,
        links: { billing_request: request },
      })
      if (answer.kind !== 'ok') return answer.kind === 'refused' ? refusedRequest(answer) : answer
      const url = textIn(answer.object, 'authorisation_url')
      return isPage(call, url) ? { kind: 'begun', gatewayReference: request, url } : NOT_KNOWN
    },

    findMandate: async (call: GatewayCall, { reference, gatewayReference }: Storing): Promise<MandateFound> => {
      if (gatewayReference === null) return NONE
      const answer = await api.get(call, ['billing_requests', gatewayReference])
      if (answer.kind !== 'ok') return unanswered(answer)
      const request = answer.object
      if (textIn(record(request.metadata), 'perennial') !== nameOfOurs(call, 'mandate', reference))
        return { kind: 'unknown', mismatch: `GoCardless answered with another billing request: ${gatewayReference}.` }
      switch (textIn(request, 'status')) {
        case 'pending':
          return { kind: 'open' }
        case 'ready_to_fulfil':
        case 'fulfilling':
          return { kind: 'signed' }
        case 'cancelled':
          return declined(call, 'no_mandate', 'cancelled', 'The mandate was not given.')
        case 'fulfilled': {
          const mandate = textIn(record(request.links), 'mandate_request_mandate')
          if (mandate === '') return { kind: 'signed' }
          const stored = await askStored(call, mandate)
          return stored.kind === 'none'
            ? declined(call, 'no_mandate', 'mandate_ended', 'The mandate was given and has ended.')
            : stored
        }
        default:
          return NOT_KNOWN
      }
    },

    askStored: (call: GatewayCall, token: string) => askStored(call, token),
    findToken: (call: GatewayCall, token: string) => askStored(call, token),

    removeStored: async (call: GatewayCall, token: string): Promise<{ kind: 'removed' } | Unknown | NotSent> => {
      const answer = await api.post(call, ['mandates', token, 'cancel'], {})
      if (answer.kind === 'ok' || isGone(answer)) return { kind: 'removed' }
      // One that has ended cannot be cancelled.
      return answer.kind === 'refused' && answer.meaning.kind === 'invalid' ? { kind: 'removed' } : unanswered(answer)
    },
  }
}

const isGone = (answer: GoCardlessAnswer): boolean => answer.kind === 'refused' && answer.meaning.kind === 'gone'

/** Returns what is left of a request that GoCardless does not take: nothing was made. */
function refusedRequest(answer: Extract<GoCardlessAnswer, { kind: 'refused' }>): Unknown | NotSent {
  const { meaning } = answer
  if (meaning.kind === 'forbidden') return unanswered(answer)
  const code = meaning.kind === 'invalid' ? meaning.code : meaning.kind
  return { kind: 'not_sent', refused: { by: 'request', code } }
}

/** Pages without TLS are those of a simulator, which no live account is sent to. */
const isPage = ({ isLive }: GatewayCall, url: string): boolean =>
  URL.canParse(url) && (isLive ? ['https:'] : ['https:', 'http:']).includes(new URL(url).protocol)

const prefilledOf = ({
  company,
  firstName,
  lastName,
  email,
  street,
  city,
  postalCode,
  country,
}: MandateToBegin['payer']) =>
  Object.fromEntries(
    Object.entries({
      company_name: company,
      given_name: firstName,
      family_name: lastName,
      email,
      address_line1: street,
      city,
      postal_code: postalCode,
      country_code: country,
    }).filter(([, value]) => value !== null && value !== ''),
  )

/** Reads a mandate with its account; undefined where its scheme is none of ours. */
function accountOf(
  call: GatewayCall,
  mandate: AnswerObject,
  account: AnswerObject,
  realNow: number,
): Extract<MethodAtGateway, { kind: 'account' }> | undefined {
  const scheme = textIn(mandate, 'scheme')
  const [currency, { method } = {}] = Object.entries(MANDATE_SCHEMES).find(([, one]) => one.scheme === scheme) ?? []
  if (currency === undefined || method === undefined) return undefined
  return {
    kind: 'account',
    token: textIn(mandate, 'id'),
    method,
    currency,
    accountHolder: textIn(account, 'account_holder_name').slice(0, NAME_MAX),
    bank: textIn(account, 'bank_name').slice(0, NAME_MAX),
    lastFour: textIn(account, 'account_number_ending').slice(-LAST_DIGITS),
    mandateReference: textIn(mandate, 'reference') || null,
    mandateDate: dayOfMoment(call, textIn(mandate, 'created_at'), realNow),
  }
}
