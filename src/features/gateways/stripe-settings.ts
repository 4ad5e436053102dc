import { text } from '../../platform/wire/fields.ts'
import { listOf, optional, type Properties } from '../../platform/wire/read.ts'

/** Settings of gateways of type stripe (§35). */

const KEY_MAX = 255
const SUFFIX_MAX = 22
/** An old secret and its successor. */
const SECRETS_MAX = 2

const fitting = (max: number, form: RegExp, complaint: string) =>
  text({ max, check: (value) => (form.test(value) ? undefined : complaint) })

export const STRIPE_SETTINGS = {
  SecretKey: optional(
    fitting(KEY_MAX, /^[sr]k_(live|test)_\w+$/, 'must be a secret or restricted key, which begins with sk_ or rk_'),
  ),
  PublishableKey: optional(
    fitting(KEY_MAX, /^pk_(live|test)_\w+$/, 'must be a publishable key, which begins with pk_'),
  ),
  WebhookSecrets: optional(
    listOf(fitting(KEY_MAX, /^whsec_\S+$/, 'must be the secret of a webhook endpoint, which begins with whsec_'), {
      max: SECRETS_MAX,
      what: 'secrets',
    }),
  ),
  StatementSuffix: optional(
    fitting(SUFFIX_MAX, /^(?=.*[A-Za-z])[A-Za-z0-9 ]+$/, 'must be letters, digits and blanks, one letter at least'),
  ),
} satisfies Properties
