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
  taxRuleID: optional(reference()),
  Perc: required(rate()),
  countryID: optional(reference()),
  countryStateID: optional(reference()),
  TaxNumber: optional(text({ takesNumbers: true })),
  Category: optional(word(TAX_CATEGORIES, { anyCase: true })),
  Area: optional(word(TAX_AREAS, { anyCase: true })),
  AppliesTo: optional(word(TAX_SUBJECTS, { anyCase: true })),
  Reason: optional(taxReason()),
  ReasonCode: optional(reasonCode()),
  GLCode: optional(
    glCode('Code of the tax in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
  RevenueGLCode: optional(
    glCode(
      'Code of revenue that the rule taxes, before that of the package or component; left out of an edit it stays',
    ),
  ),
  DatevKey: optional(datevKey()),
} satisfies Properties

export type TaxRuleBody = BodyOf<typeof ruleFields>
