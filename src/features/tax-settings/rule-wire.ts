import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { leftOut } from '../../platform/wire/described.ts'
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
  taxRuleID: optional(
    reference(),
    identifies('tax rule'),
    'Left out, the rule is added; one that is not in the list is deleted.',
  ),
  Perc: required(rate(), SHARED.Perc),
  countryID: optional(
    reference(),
    identifies('country (its numeric code of ISO 3166-1)'),
    'Left out, the rule holds for Area, else for all places that no other rule names.',
  ),
  countryStateID: optional(
    reference(),
    identifies('subdivision of the country'),
    'Left out, the rule holds for the whole country.',
  ),
  TaxNumber: optional(text({ takesNumbers: true }), SHARED.TaxNumber, LEFT_OUT.none),
  Category: optional(
    word(TAX_CATEGORIES, { anyCase: true }),
    SHARED.Category,
    'Left out, it is S above 0 and Z at 0; of a rule named by taxRuleID it stays as it is.',
  ),
  Area: optional(
    word(TAX_AREAS, { anyCase: true }),
    "Whether the rule holds inside of the EU or outside, the account's own country in neither; only without countryID.",
    'Left out, there is none; of a rule named by taxRuleID it stays as it is.',
  ),
  AppliesTo: optional(
    word(TAX_SUBJECTS, { anyCase: true }),
    'Whether the rule holds for all, or for businesses or consumers alone.',
    'Left out, it is `all`; of a rule named by taxRuleID it stays as it is.',
  ),
  Reason: leftOut(optional(taxReason()), 'Left out, there is none; of a rule named by taxRuleID it stays as it is.'),
  ReasonCode: optional(
    reasonCode(),
    SHARED.ReasonCode,
    'Left out, there is none; of a rule named by taxRuleID it stays as it is.',
  ),
  GLCode: optional(
    glCode('Code of the tax in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
  RevenueGLCode: optional(
    glCode(
      'Code of revenue that the rule taxes, before that of the package or component; left out of an edit it stays',
    ),
  ),
  DatevKey: optional(
    datevKey(),
    'The tax key of DATEV with which revenue of this rule is booked; null on automatic accounts.',
    'Left out, there is none; of a rule named by taxRuleID it stays as it is.',
  ),
} satisfies Properties

export type TaxRuleBody = BodyOf<typeof ruleFields>
