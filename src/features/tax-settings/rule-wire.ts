import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { TAX_AREAS, TAX_CATEGORIES, TAX_SUBJECTS } from '../../kernel/tax.ts'
import { rate, reference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { glCode } from '../../platform/wire/gl-code.ts'
import { taxReason } from '../../platform/wire/tax-reason.ts'

const REASON_CODE = /^VATEX-[A-Z]{2}-[A-Z0-9]+(-[A-Z0-9]+)*$/

/** Declares a code of the list VATEX. */
export const reasonCode = () =>
  text({
    max: 50,
    check: (code) => (REASON_CODE.test(code) ? undefined : 'must be a code of the list VATEX, as VATEX-EU-AE'),
  })

const datevKey = () =>
  text({
    takesNumbers: true,
    check: (key) => (/^\d{1,4}$/.test(key) ? undefined : 'must be a key of DATEV, which has one to four digits'),
  })

export const ruleFields = {
  taxRuleID: described(optional(reference()), identifies('tax rule')),
  Perc: described(required(rate()), SHARED.Perc),
  countryID: described(optional(reference()), identifies('country (its numeric code of ISO 3166-1)')),
  countryStateID: described(optional(reference()), identifies('subdivision of the country')),
  TaxNumber: described(optional(text({ takesNumbers: true })), SHARED.TaxNumber),
  Category: described(optional(word(TAX_CATEGORIES, { anyCase: true })), SHARED.Category),
  Area: described(
    optional(word(TAX_AREAS, { anyCase: true })),
    "Whether the rule holds inside of the EU or outside, the account's own country in neither; only without countryID.",
  ),
  AppliesTo: described(
    optional(word(TAX_SUBJECTS, { anyCase: true })),
    'Whether the rule holds for all, or for businesses or consumers alone.',
  ),
  Reason: optional(taxReason()),
  ReasonCode: described(optional(reasonCode()), SHARED.ReasonCode),
  GLCode: optional(
    glCode('Code of the tax in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
  RevenueGLCode: optional(
    glCode(
      'Code of revenue that the rule taxes, before that of the package or component; left out of an edit it stays',
    ),
  ),
  DatevKey: described(
    optional(datevKey()),
    'The tax key of DATEV with which revenue of this rule is booked; null on automatic accounts.',
  ),
} satisfies Properties

export type TaxRuleBody = BodyOf<typeof ruleFields>
