import { identifies } from '../../platform/wire/shared-sentences.ts'
import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { flag, reference, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outInstant, outText, outWord } from '../../platform/wire/write.ts'
import { type MandateSetup, SETUP_OUTCOMES } from './queries.ts'

/** A set-up as it is answered. */
export interface SetupView extends MandateSetup {
  /** The address of its page. */
  url: string | null
}

export const SETUP_STATES = ['open', 'pending', ...SETUP_OUTCOMES] as const

export const setupState = ({ outcome, signedAt }: Pick<MandateSetup, 'outcome' | 'signedAt'>) =>
  outcome ?? (signedAt === null ? 'open' : 'pending')

export const setupShape = recordShape<SetupView>()('MandateSetup', {
  mandateSetupID: [outId(identifies('set-up')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  gatewayID: [outId(identifies('gateway')), ({ gatewayId }) => gatewayId],
  CurrencyCode: [outText('The currency in which the account is debited.'), ({ currency }) => currency],
  State: [
    outWord(
      SETUP_STATES,
      'How far it is: `open` until the mandate is given, `pending` until the gateway has confirmed it; `done`, `failed` and `expired` are final.',
    ),
    setupState,
  ],
  Reason: [orNull(outText('Why it failed; null where it did not.')), ({ reason }) => reason],
  Url: [orNull(outText('The page on which the payer begins; null in events.')), ({ url }) => url],
  Expires: [outInstant('Until when the mandate can be given, by real time.'), ({ expiresAt }) => expiresAt],
  customerPaymentMethodID: [
    orNull(outId('The payment method that came of it; null until then.')),
    ({ paymentMethodId }) => paymentMethodId,
  ],
})

const URL_MAX = 2000

const inputs = {
  customerID: required(requiredReference(), identifies('customer')),
  gatewayID: optional(
    reference(),
    identifies('gateway'),
    'Left out, it is the first choice among those that keep accounts in the currency of the customer.',
  ),
  ReturnUrl: optional(
    text({ max: URL_MAX }),
    'Where the page leads back to at its end, with `setup` and `result`: https, or localhost for a test account.',
    'Left out, the payer stays on the page of the service.',
  ),
  isPrimary: optional(flag(), 'Whether the payment method becomes the primary one of its customer.', LEFT_OUT.false),
} satisfies Properties

export const SetupIn = objectOf(inputs, { name: 'MandateSetupInput' })
export type SetupBody = BodyOf<typeof inputs>
