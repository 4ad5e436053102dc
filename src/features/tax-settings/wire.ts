import { etagOf } from '../../platform/http/etag.ts'
import { rate, reference, text } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  listOf,
  namesOfInputs,
  objectOf,
  optional,
  type Properties,
  required,
} from '../../platform/wire/read.ts'
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { decimalDigits, orNull, outId, outNumber, outText } from '../../platform/wire/write.ts'
import type { SettingRule, TaxSetting } from './queries.ts'

const RULES_MAX = 500

const ruleShape = recordShape<SettingRule>()('TaxRule', {
  taxRuleID: [outId(), ({ id }) => id],
  Perc: [outNumber('A fraction from 0 to 1'), ({ rate: fraction }) => decimalDigits(fraction)],
  countryID: [orNull(outId('ISO 3166-1 numeric code; null: every country')), ({ countryId }) => countryId],
  countryStateID: [orNull(outId('Null: the whole country')), ({ countryStateId }) => countryStateId],
  TaxNumber: [orNull(outText()), ({ taxNumber }) => taxNumber],
})

export const taxSettingShape = recordShape<TaxSetting>()('TaxSetting', {
  taxSettingID: [outId(), ({ id }) => id],
  Name: [outText(), ({ name }) => name],
  rules: recordsColumn(ruleShape, ({ rules }) => rules),
})

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
const textOfSet = taxSettingShape.writerOf(namesOfInputs(settingFields, 'rules'))
const textOfRule = ruleShape.writerOf(namesOfInputs(ruleFields))

/** Changes with whatever a PUT would replace. */
export const taxSettingEtag = (setting: TaxSetting): string =>
  etagOf(setting.id, textOfSet(setting), setting.rules.map(textOfRule))

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
