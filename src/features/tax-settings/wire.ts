import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import {
  defaultCategory,
  defaultReasonCode,
  TAX_AREAS,
  TAX_CATEGORIES,
  TAX_SUBJECTS,
  type TaxCategory,
} from '../../kernel/tax.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { text } from '../../platform/wire/fields.ts'
import { listOf, namesOfInputs, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { outTaxReason } from '../../platform/wire/tax-reason.ts'
import { decimalDigits, orNull, outId, outNumber, outText, outWord } from '../../platform/wire/write.ts'
import type { SettingRule, TaxSetting } from './queries.ts'
import { keptOf } from './rules.ts'
import { ruleFields, type TaxRuleBody } from './rule-wire.ts'

const RULES_MAX = 500

const categoryOf = ({ category, rate: fraction }: Pick<SettingRule, 'category' | 'rate'>): TaxCategory =>
  category ?? defaultCategory(fraction.coefficient === 0n)

const ruleShape = recordShape<SettingRule>()('TaxRule', {
  taxRuleID: [outId(identifies('tax rule')), ({ id }) => id],
  Perc: [outNumber(SHARED.PercAnswered), ({ rate: fraction }) => decimalDigits(fraction)],
  countryID: [orNull(outId('ISO 3166-1 numeric code; null: every country')), ({ countryId }) => countryId],
  countryStateID: [orNull(outId('Null: the whole country')), ({ countryStateId }) => countryStateId],
  TaxNumber: [orNull(outText(SHARED.TaxNumber)), ({ taxNumber }) => taxNumber],
  Category: [outWord(TAX_CATEGORIES, SHARED.Category), categoryOf],
  Area: [
    orNull(
      outWord(
        TAX_AREAS,
        "Whether the rule holds inside of the EU or outside, the account's own country in neither; only without countryID.",
      ),
    ),
    ({ area }) => area,
  ],
  AppliesTo: [
    outWord(TAX_SUBJECTS, 'Whether the rule holds for all, or for businesses or consumers alone.'),
    ({ appliesTo }) => appliesTo,
  ],
  Reason: [orNull(outTaxReason()), ({ reason }) => reason],
  ReasonCode: [orNull(outText(SHARED.ReasonCode)), (rule) => rule.reasonCode ?? defaultReasonCode(categoryOf(rule))],
  GLCode: [orNull(outText("The code in the accountant's chart of accounts.")), ({ glCode }) => glCode],
  RevenueGLCode: [
    orNull(outText('The code of revenue that this rule taxes; null: that of the package, component or account.')),
    ({ revenueGlCode }) => revenueGlCode,
  ],
  DatevKey: [
    orNull(outText('The tax key of DATEV with which revenue of this rule is booked; null on automatic accounts.')),
    ({ datevKey }) => datevKey,
  ],
})

export const taxSettingShape = recordShape<TaxSetting>()('TaxSetting', {
  taxSettingID: [outId(identifies('tax setting')), ({ id }) => id],
  Name: [outText('The name of the tax; it stands on documents.'), ({ name }) => name],
  rules: recordsColumn(
    ruleShape,
    ({ rules }) => rules,
    'The rules of the tax; the one that fits a customer best decides.',
  ),
})

const settingFields = {
  Name: required(text(), 'The name of the tax; it stands on documents.'),
  rules: optional(
    listOf(objectOf(ruleFields, { name: 'TaxRuleInput' }), { max: RULES_MAX, what: 'rules' }),
    'The rules of the tax; the one that fits a customer best decides.',
    'Left out, there are none: an edit deletes those that were.',
  ),
} satisfies Properties

export const TaxSettingIn = objectOf(settingFields, { name: 'TaxSettingInput', ignored: ['taxSettingID'] })
const textOfSet = taxSettingShape.writerOf(namesOfInputs(settingFields, 'rules'))
const textOfRule = ruleShape.writerOf(namesOfInputs(ruleFields))

/** Changes with whatever a PUT would replace. */
export const taxSettingEtag = (setting: TaxSetting): string =>
  etagOf(setting.id, textOfSet(setting), setting.rules.map(textOfRule))

/** Returns those fields as rows have them. What the rate or the category brings on its own is not stored: it follows them. */
function newerOf(body: TaxRuleBody, before: SettingRule | undefined) {
  const { Category, ReasonCode, ...kept } = keptOf(body, before)
  const byRate = defaultCategory(body.Perc.coefficient === 0n)
  return {
    category: Category === byRate ? null : Category,
    reasonCode: ReasonCode === defaultReasonCode(Category ?? byRate) ? null : ReasonCode,
    area: kept.Area,
    appliesTo: kept.AppliesTo,
    reason: kept.Reason,
    glCode: kept.GLCode,
    revenueGlCode: kept.RevenueGLCode,
    datevKey: kept.DatevKey,
  }
}

/** Returns the rules of a body. Those without an identifier are new ones; of the others, what only newer programs know stays where it is absent. */
export const rulesFromWire = (bodies: readonly TaxRuleBody[], present: readonly SettingRule[] = []) =>
  bodies.map((body) => ({
    ...newerOf(
      body,
      present.find(({ id }) => id === body.taxRuleID),
    ),
    id: body.taxRuleID ?? null,
    rate: body.Perc,
    countryId: body.countryID ?? null,
    countryStateId: body.countryStateID ?? null,
    taxNumber: body.TaxNumber ?? null,
  }))
