import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { leftOut } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { BANK_KINDS } from '../../kernel/rails.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, flag, text } from '../../platform/wire/fields.ts'
import { isJsonObject, type Json } from '../../platform/wire/json.ts'
import {
  type BodyOf,
  type Field,
  listOf,
  objectOf,
  optional,
  REFUSED,
  required,
  word,
} from '../../platform/wire/read.ts'
import { orNull, outFlag, outId, outList, outText, outWord } from '../../platform/wire/write.ts'
import { GATEWAY_TYPES, gatewayFactsOf, type GatewayType } from './facts.ts'
import { type Gateway, type GatewayInput, HOLD_REASONS } from './queries.ts'
import { currenciesOf, isEnabled, kindsOf } from './rules.ts'

const bankKindsOf = (gateway: Gateway) => BANK_KINDS.filter((kind) => kindsOf(gateway).includes(kind))

export const gatewayShape = recordShape<Gateway>()('Gateway', {
  gatewayID: [outId(identifies('gateway')), ({ id }) => id],
  GatewayToken: [
    outText('The token by which batches and capture sessions name the gateway. A UUID.'),
    ({ token }) => token,
  ],
  GatewayName: [outText('The name of the gateway.'), ({ name }) => name],
  FriendlyName: [outText('The name of the gateway for those who work with it.'), ({ friendlyName }) => friendlyName],
  GatewayType: [
    outWord(GATEWAY_TYPES, 'The kind of gateway; it decides which Settings there are.'),
    ({ type }) => type,
  ],
  isActive: [outFlag('Whether the gateway is used for what is collected from now on.'), ({ isActive }) => isActive],
  isTestMode: [
    outFlag('Whether the gateway moves no real money.'),
    ({ type, isOfTestAccount }) => isOfTestAccount || gatewayFactsOf(type).isTestMode,
  ],
  isAcceptCC: [outFlag('Whether the gateway charges cards.'), (gateway) => kindsOf(gateway).includes('credit_card')],
  isAcceptBankDD: [outFlag('Whether the gateway debits bank accounts.'), (gateway) => bankKindsOf(gateway).length > 0],
  isEnabled: [
    outFlag(
      'Whether its Settings are complete and the gateway has accepted them, so that it can be used. A gateway that refuses its key, or has not answered yet whether it takes it, is asked again, and what was to be collected waits.',
    ),
    isEnabled,
  ],
  SettingsSet: [
    outList(outText(), 'The names of the Settings that are set; their values are never answered.'),
    ({ settingNames }) => settingNames,
  ],
  KeyEnding: [
    orNull(outText('The last four characters of its secret key. null where it has none.')),
    ({ keyEnding }) => keyEnding,
  ],
  HeldFor: [
    orNull(
      outWord(
        HOLD_REASONS,
        'Why no money moves through the gateway until an operator releases it: records of money may be missing after a restore, an import or a failover, or it was held by hand. null where it does.',
      ),
    ),
    ({ heldFor }) => heldFor,
  ],
  isPrimary: [outFlag('Whether it is the one that is used first.'), ({ primaryKinds }) => primaryKinds.length > 0],
  isManualRecon: [
    outFlag('Whether results of the gateway are recorded by hand.'),
    ({ type }) => gatewayFactsOf(type).isManualRecon,
  ],
  isFourEyes: [
    outFlag('Whether a batch has to be released by another key than the one that submitted it.'),
    ({ isFourEyes }) => isFourEyes,
  ],
  CurrencyCodes: [outList(outText(), 'The currencies that the gateway collects.'), currenciesOf],
  DebitMethods: [outList(outWord(BANK_KINDS), 'The ways in which the gateway debits bank accounts.'), bankKindsOf],
})

/** Reads Settings as they are sent: what they may hold depends on the type, so settings.ts reads them again. */
const sentSettings: Field<{ [name: string]: Json }> = {
  isBlankNull: false,
  isSecret: true,
  schema: {
    type: 'object',
    additionalProperties: true,
    description: 'Write-only, encrypted; what a type of gateway takes stands in its documentation. null takes one away',
  },
  read(value, path, context) {
    if (isJsonObject(value)) return value
    context.problems.add('wrong_type', path, `${path} must be a JSON object.`)
    return REFUSED
  },
}

const inputs = {
  GatewayName: optional(text(), 'The name of the gateway.', 'Left out, it is that of its type.'),
  FriendlyName: optional(text(), 'The name of the gateway for those who work with it.', 'Left out, it is GatewayName.'),
  isActive: optional(flag(), 'Whether the gateway is used for what is collected from now on.', LEFT_OUT.true),
  isPrimary: optional(
    flag(),
    'Whether it is taken where nothing names a gateway, for the methods that it takes.',
    'Left out, it is true for what no other gateway is primary for yet.',
  ),
  isFourEyes: optional(
    flag(),
    'Whether a batch has to be released by another key than the one that submitted it.',
    LEFT_OUT.false,
  ),
  CurrencyCodes: optional(
    listOf(currencyCode(), { min: 1, max: 200, what: 'currencies' }),
    'The currencies that the gateway collects.',
    'Left out, it collects every currency that its type takes.',
  ),
  DebitMethods: optional(
    listOf(word(BANK_KINDS, { anyCase: true }), { max: BANK_KINDS.length, what: 'kinds' }),
    'The ways in which the gateway debits bank accounts.',
    'Left out, it debits in every way that its type takes.',
  ),
  Settings: leftOut(optional(sentSettings), LEFT_OUT.none),
}
const computed = [
  'gatewayID',
  'GatewayToken',
  'isTestMode',
  'isAcceptCC',
  'isAcceptBankDD',
  'isEnabled',
  'SettingsSet',
  'KeyEnding',
  'HeldFor',
  'isManualRecon',
]

const newInputs = {
  GatewayType: required(word(GATEWAY_TYPES), 'The kind of gateway; it decides which Settings there are.'),
  ...inputs,
}
const editInputs = {
  GatewayType: optional(
    word(GATEWAY_TYPES),
    'The kind of gateway; it decides which Settings there are.',
    LEFT_OUT.kept,
  ),
  ...whenLeftOut(inputs, {
    GatewayName: 'Left out, it stays as it is; null makes it that of its type.',
    FriendlyName: 'Left out, it stays as it is; null makes it GatewayName.',
    isActive: 'Left out, it stays as it is; null makes it true.',
    isPrimary: LEFT_OUT.kept,
    isFourEyes: 'Left out, it stays as it is; null makes it false.',
    CurrencyCodes: 'Left out, they stay as they are; null stands for all that its type takes.',
    DebitMethods: 'Left out, they stay as they are; null stands for all that its type takes.',
    Settings: LEFT_OUT.kept,
  }),
}
export const GatewayIn = objectOf(newInputs, { name: 'GatewayInput', ignored: computed })
export const GatewayEditIn = objectOf(editInputs, { name: 'GatewayEditInput', ignored: computed })
export type GatewayBody = BodyOf<typeof editInputs>

/** Returns the fields of a gateway after a body: only what is sent changes; null returns to the default. */
export function gatewayFromWire(body: GatewayBody, type: GatewayType, present?: GatewayInput): GatewayInput {
  const facts = gatewayFactsOf(type)
  const name = body.GatewayName === undefined ? (present?.name ?? facts.name) : (body.GatewayName ?? facts.name)
  const kept = <T>(sent: T | null | undefined, before: T | null | undefined): T | null =>
    sent === undefined ? (before ?? null) : sent
  return {
    name,
    friendlyName: kept(body.FriendlyName, present?.friendlyName) ?? name,
    isActive: kept(body.isActive, present?.isActive) ?? true,
    isFourEyes: kept(body.isFourEyes, present?.isFourEyes) ?? false,
    currencies: facts.currencies === 'chosen' ? kept(body.CurrencyCodes, present?.currencies) : null,
    debitMethods: kept(body.DebitMethods, present?.debitMethods),
  }
}

/** Changes with whatever a PUT would replace, Settings included. */
export const gatewayEtag = ({ id, version, primaryKinds }: Gateway): string => etagOf(id, version, primaryKinds)
