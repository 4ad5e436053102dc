import { decimalText } from '../../kernel/decimal.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { rate, reference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { decimalDigits, orNull, outId, outList, outNumber, outObject, outText } from '../../platform/wire/write.ts'
import type { SettingRule, TaxSetting } from './queries.ts'

const RULES_MAX = 500

const TaxRuleOut = outObject(
  {
    taxRuleID: outId(),
    Perc: outNumber('A fraction from 0 to 1'),
    countryID: orNull(outId('ISO 3166-1 numeric code; null: every country')),
    countryStateID: orNull(outId('Null: the whole country')),
    TaxNumber: orNull(outText()),
  },
  'TaxRule',
)

const ruleToWire = (rule: SettingRule) => ({
  taxRuleID: rule.id,
  Perc: decimalDigits(rule.rate),
  countryID: rule.countryId,
  countryStateID: rule.countryStateId,
  TaxNumber: rule.taxNumber,
})

export const taxSettingShape = recordShape<TaxSetting>()('TaxSetting', {
  taxSettingID: [outId(), ({ id }) => id],
  Name: [outText(), ({ name }) => name],
  rules: [outList(TaxRuleOut), ({ rules }) => rules.map(ruleToWire)],
})

/** Changes with whatever a PUT would replace. */
export const taxSettingEtag = ({ id, name, rules }: TaxSetting): string =>
  etagOf(
    id,
    name,
    rules.map((rule) => [rule.id, decimalText(rule.rate), rule.countryId, rule.countryStateId, rule.taxNumber]),
  )

const ruleFields = {
  taxRuleID: optional(reference()),
  Perc: required(rate()),
  countryID: optional(reference()),
  countryStateID: optional(reference()),
  TaxNumber: optional(text({ takesNumbers: true })),
} satisfies Properties

const settingFields = {
  Name: required(text()),
  rules: optional(listOf(objectOf(ruleFields, { name: 'TaxRuleInput' }), { max: RULES_MAX, what: 'rules' })),
} satisfies Properties

export const TaxSettingIn = objectOf(settingFields, { name: 'TaxSettingInput', ignored: ['taxSettingID'] })
export type TaxRuleBody = BodyOf<typeof ruleFields>

/** Rules without an identifier are new ones. */
export const rulesFromWire = (bodies: readonly TaxRuleBody[]) =>
  bodies.map((body) => ({
    id: body.taxRuleID ?? null,
    rate: body.Perc,
    countryId: body.countryID ?? null,
    countryStateId: body.countryStateID ?? null,
    taxNumber: body.TaxNumber ?? null,
  }))
