import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { flag, instant, text, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, distinct, listOf, objectOf, optional, required } from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outList,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { type Delivery, DELIVERY_STATES } from '../events/delivery-queries.ts'
import { EVENT_TYPES } from '../events/types.ts'
import { endOfPeriod } from '../events/wire.ts'
import type { Webhook, WebhookInput } from './queries.ts'
import { isEventPattern } from './rules.ts'

export const webhookShape = recordShape<Webhook>()('Webhook', {
  webhookID: [outId(identifies('webhook')), ({ id }) => id],
  Url: [outText('The address that is called.'), ({ url }) => url],
  Types: [
    described(orNull(outList(outText())), 'The types of events that it gets, as `invoice.*`; null stands for all.'),
    ({ types }) => types,
  ],
  Description: [orNull(outText('A text of your own.')), ({ description }) => description],
  isActive: [
    outFlag('Whether events are sent to it; the service switches it off after five days of failures.'),
    ({ isActive }) => isActive,
  ],
  CreatedDate: [outInstant('When the webhook was added.'), ({ createdAt }) => createdAt],
})

const outSecret = () => outText('Signs what is sent, see Standard Webhooks; shown here and never again')

/** A webhook that was added just now, with its secret. */
export const newWebhookShape = recordShape<Webhook & { plainSecret: string }>()('NewWebhook', {
  ...(webhookShape.columns as (typeof webhookShape)['columns']),
  Secret: [outSecret(), ({ plainSecret }) => plainSecret],
})

export const RotatedSecretOut = outObject({ Secret: outSecret() }, 'RotatedSecret')

const STATE_WORDS = ['Waiting', 'Delivered', 'Failed'] as const
const STATE_WORD = Object.fromEntries(DELIVERY_STATES.map((state, index) => [state, STATE_WORDS[index]!]))

export const deliveryShape = recordShape<Delivery>()('WebhookDelivery', {
  deliveryID: [outId(identifies('delivery')), ({ id }) => id],
  eventID: [outId(identifies('event')), ({ eventId }) => eventId],
  Type: [outWord(EVENT_TYPES, 'The type of the event that is sent.'), ({ type }) => type],
  State: [
    outWord(STATE_WORDS, 'Whether the delivery waits, has arrived, or was given up.'),
    ({ state }) => STATE_WORD[state]!,
  ],
  Tries: [outInteger('How often it was sent.'), ({ tries }) => tries],
  LastStatus: [orNull(outInteger('Of the last answer; null where none came')), (row) => row.lastStatus],
  LastTryDate: [orNull(outDate('Instant of real time')), ({ lastTryAt }) => lastTryAt],
  NextTryDate: [orNull(outDate('Instant of real time; null unless it waits')), ({ nextTryAt }) => nextTryAt],
})

const URL_LENGTH_MAX = 2_000
const TYPES_MAX = 200

const pattern = () =>
  text({
    description: 'A type of events such as invoice.issued, or all of a resource as invoice.*',
    check: (value) =>
      isEventPattern(value)
        ? undefined
        : 'must be a type of events such as invoice.issued, or invoice.* for a resource',
  })
const patterns = () => distinct(listOf(pattern(), { min: 1, max: TYPES_MAX, what: 'types' }))

const inputs = {
  Url: required(
    text({
      max: URL_LENGTH_MAX,
      description: 'An https address of a public host; others as far as the operator allows them',
      check: (value) => (URL.canParse(value) ? undefined : 'must be an address such as https://example.org/hook'),
    }),
  ),
  Types: optional(
    patterns(),
    'The types of events that it gets, as `invoice.*`; null stands for all.',
    'Left out, it gets all.',
  ),
  Description: optional(text(), 'A text of your own.', LEFT_OUT.none),
}
const computed = ['webhookID', 'CreatedDate', 'Secret']
export const WebhookIn = objectOf(inputs, { name: 'WebhookInput', ignored: [...computed, 'isActive'] })

const edits = {
  ...whenLeftOut(inputs, {
    Types: 'Left out, they stay as they are; null stands for all.',
    Description: LEFT_OUT.keptOrCleared,
  }),
  Url: leftOut(optional(inputs.Url.field), LEFT_OUT.kept),
  isActive: optional(flag(), 'Whether events are sent to it.', 'Left out, it stays as it is; null makes it true.'),
}
export const WebhookEditIn = objectOf(edits, { name: 'WebhookEditInput', ignored: computed })
export type WebhookBody = BodyOf<typeof edits>

const HOURS_MAX = 168
export const HOURS_PRESET = 24
export const RotateIn = objectOf(
  {
    Hours: optional(
      whole(0, HOURS_MAX),
      'For how many hours the present Secret signs beside the new one.',
      'Left out, it is 24.',
    ),
  },
  { name: 'RotateWebhookInput' },
)

const range = {
  from: required(instant(), 'The instant of the first events that are sent again.'),
  to: required(endOfPeriod(), 'The instant before which the last of them lies.'),
  Types: optional(patterns(), 'The types of events that are sent again.', 'Left out, they are those of the webhook.'),
}
export const ReplayIn = objectOf(range, { name: 'ReplayWebhookInput' })

/** Returns the fields of a webhook after a body: only what is sent changes, and null stands for the default. */
export const webhookFromWire = (body: WebhookBody, present: WebhookInput): WebhookInput => ({
  url: body.Url ?? present.url,
  types: body.Types === undefined ? present.types : body.Types,
  description: body.Description === undefined ? present.description : body.Description,
  isActive: body.isActive === undefined ? present.isActive : (body.isActive ?? true),
})

/** Changes with whatever a PUT would replace, and with a rotation. */
export const webhookEtag = ({ id, version }: Webhook): string => etagOf(id, version)
