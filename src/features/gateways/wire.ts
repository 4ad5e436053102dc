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
import { outFlag, outId, outList, outText, outWord } from '../../platform/wire/write.ts'
import { gatewayFactsOf, GATEWAY_TYPES, type GatewayType } from './facts.ts'
import type { Gateway, GatewayInput } from './queries.ts'
import { currenciesOf, isEnabled, kindsOf } from './rules.ts'

const bankKindsOf = (gateway: Gateway) => BANK_KINDS.filter((kind) => kindsOf(gateway).includes(kind))

export const gatewayShape = recordShape<Gateway>()('Gateway', {
  gatewayID: [outId(), ({ id }) => id],
  GatewayToken: [outText({ description: 'A UUID' }), ({ token }) => token],
  GatewayName: [outText(), ({ name }) => name],
  FriendlyName: [outText(), ({ friendlyName }) => friendlyName],
  GatewayType: [outWord(GATEWAY_TYPES), ({ type }) => type],
  isActive: [outFlag(), ({ isActive }) => isActive],
  isTestMode: [outFlag(), ({ type, isOfTestAccount }) => isOfTestAccount || gatewayFactsOf(type).isTestMode],
  isAcceptCC: [outFlag(), (gateway) => kindsOf(gateway).includes('credit_card')],
  isAcceptBankDD: [outFlag(), (gateway) => bankKindsOf(gateway).length > 0],
  isEnabled: [outFlag(), ({ settingNames, type }) => isEnabled(settingNames, gatewayFactsOf(type))],
  isPrimary: [outFlag(), ({ primaryKinds }) => primaryKinds.length > 0],
  isManualRecon: [outFlag(), ({ type }) => gatewayFactsOf(type).isManualRecon],
  isFourEyes: [outFlag(), ({ isFourEyes }) => isFourEyes],
  CurrencyCodes: [outList(outText()), currenciesOf],
  DebitMethods: [outList(outWord(BANK_KINDS)), bankKindsOf],
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
  GatewayName: optional(text()),
  FriendlyName: optional(text()),
  isActive: optional(flag()),
  isPrimary: optional(flag()),
  isFourEyes: optional(flag()),
  CurrencyCodes: optional(listOf(currencyCode(), { min: 1, max: 200, what: 'currencies' })),
  DebitMethods: optional(listOf(word(BANK_KINDS, { anyCase: true }), { max: BANK_KINDS.length, what: 'kinds' })),
  Settings: optional(sentSettings),
}
const computed = [
  'gatewayID',
  'GatewayToken',
  'isTestMode',
  'isAcceptCC',
  'isAcceptBankDD',
  'isEnabled',
  'isManualRecon',
]

const newInputs = { GatewayType: required(word(GATEWAY_TYPES)), ...inputs }
const editInputs = { GatewayType: optional(word(GATEWAY_TYPES)), ...inputs }
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
