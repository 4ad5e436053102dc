import { flag, text } from '../../platform/wire/fields.ts'
import { listOf, optional, type Properties, word } from '../../platform/wire/read.ts'

/** Settings of gateways of type gocardless (§38), those of their batches apart. */

const SECRET_MAX = 255
/** An old secret and its successor. */
const SECRETS_MAX = 2

/** Who announces debits to their payers: the gateway, or this service by its own mails. */
export const NOTICES = ['gateway', 'service'] as const

export const GOCARDLESS_SETTINGS = {
  AccessToken: optional(
    text({
      max: SECRET_MAX,
      check: (token) => (/^[\w-]+$/.test(token) ? undefined : 'must be an access token of letters, digits, - and _'),
    }),
  ),
  WebhookSecrets: optional(listOf(text({ max: SECRET_MAX }), { max: SECRETS_MAX, what: 'secrets' })),
  CreditorID: optional(
    text({
      max: SECRET_MAX,
      check: (id) => (/^CR\w+$/.test(id) ? undefined : 'must be the ID of a creditor, which begins with CR'),
    }),
  ),
  Notices: optional(word(NOTICES, { anyCase: true })),
  AutoSubmit: optional(flag()),
} satisfies Properties
