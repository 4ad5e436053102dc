import type { Decimal } from '../../kernel/decimal.ts'
import type { Problems } from '../../kernel/fault.ts'
import { defaultCategory, defaultReasonCode, type TaxCategory, type TaxReason } from '../../kernel/tax.ts'
import type { SettingRule, TaxSetting } from './queries.ts'
import type { TaxRuleBody } from './rule-wire.ts'

/**
 * Checks a list of rules taken together. Rule: a state needs its country, an area has none, a place has one rule for all and one each for
 * businesses and consumers, an identifier names a rule of this very setting, and once. `present` is undefined for a setting that is being
 * added: identifiers are made by the service then.
 */
export function checkRules(
  bodies: readonly Partial<TaxRuleBody>[],
  present: Pick<TaxSetting, 'id' | 'rules'> | undefined,
  problems: Problems,
): void {
  const places = new Map<string, number>()
  const ids = new Set<bigint>()
  for (const [index, body] of bodies.entries()) {
    const at = `rules[${index}]`
    if (present && body.taxRuleID) checkRuleId(body.taxRuleID, present, ids, at, problems)
    const before = present?.rules.find(({ id }) => id === body.taxRuleID)
    const { Category, ReasonCode, Reason } = keptOf(body, before)
    if (body.Perc) checkCategory(at, { Perc: body.Perc, Category, ReasonCode, Reason }, problems)
    const place = placeOf(at, body, before, problems)
    if (place === undefined) continue
    const first = places.get(place)
    if (first === undefined) places.set(place, index)
    else
      problems.add(
        'duplicate_place',
        `${at}.countryID`,
        `${at} is for the same place and AppliesTo as rules[${first}]; a setting has one rule for these.`,
      )
  }
}

/** Returns the place of a rule and whom it is for as one text; undefined where they are refused. */
function placeOf(
  at: string,
  body: Partial<TaxRuleBody>,
  before: SettingRule | undefined,
  problems: Problems,
): string | undefined {
  const isRefused = problems.found.some(
    ({ field }) => field?.startsWith(`${at}.country`) || field === `${at}.Area` || field === `${at}.AppliesTo`,
  )
  if (isRefused) return undefined
  const { Area, AppliesTo } = keptOf(body, before)
  if (body.countryStateID && !body.countryID) {
    problems.add(
      'required',
      `${at}.countryID`,
      `${at}.countryStateID is a state of a country: countryID is needed too.`,
    )
    return undefined
  }
  if (Area !== null && body.countryID) {
    problems.add(
      'area_with_country',
      `${at}.Area`,
      `${at} has a countryID, so it can have no Area; ${Area} is its Area.`,
    )
    return undefined
  }
  return `${body.countryID ?? ''}/${body.countryStateID ?? ''}/${Area ?? ''}/${AppliesTo}`
}

/** Returns the fields of a rule that only newer programs know. Rule: absent ones stay as they are, null clears them. */
export function keptOf(body: Partial<TaxRuleBody>, before: SettingRule | undefined) {
  const kept = <Sent, Kept>(sent: Sent | null | undefined, present: Kept | undefined) =>
    sent === undefined ? (present ?? null) : sent
  return {
    Category: kept(body.Category, before?.category),
    Area: kept(body.Area, before?.area),
    AppliesTo: kept(body.AppliesTo, before?.appliesTo) ?? ('all' as const),
    Reason: kept(body.Reason, before?.reason),
    ReasonCode: kept(body.ReasonCode, before?.reasonCode),
    GLCode: kept(body.GLCode, before?.glCode),
    RevenueGLCode: kept(body.RevenueGLCode, before?.revenueGlCode),
    DatevKey: kept(body.DatevKey, before?.datevKey),
  }
}

/** A tax with its category and the reason of none, as rules and lists of taxes have them. */
interface Categorised {
  Perc: Decimal
  Category: TaxCategory | null
  ReasonCode: string | null
  Reason: TaxReason | null
}

/**
 * Checks that the category of a tax goes with its rate. Rule (EN 16931): S is above 0, all others are 0, and all of them but Z have a reason
 * or its code, which AE, K, G and O bring themselves.
 */
export function checkCategory(
  at: string,
  { Perc, Category, ReasonCode, Reason }: Categorised,
  problems: Problems,
): void {
  const refused = ['Perc', 'Category', 'Reason', 'ReasonCode'].map((name) => `${at}.${name}`)
  if (problems.found.some(({ field }) => refused.some((name) => field === name || field?.startsWith(`${name}.`))))
    return
  const isZero = Perc.coefficient === 0n
  const category = Category ?? defaultCategory(isZero)
  if ((category === 'S') === isZero)
    problems.add(
      'category_of_rate',
      `${at}.Category`,
      isZero
        ? `${at}.Category S is a standard rate, which is above 0; Perc is 0.`
        : `${at}.Category ${category} has no tax, so Perc must be 0.`,
    )
  else if (
    category !== 'S' &&
    category !== 'Z' &&
    Reason === null &&
    (ReasonCode ?? defaultReasonCode(category)) === null
  )
    problems.add('required', `${at}.Reason`, `${at}.Category ${category} needs a Reason or a ReasonCode.`)
}

function checkRuleId(
  id: bigint,
  present: Pick<TaxSetting, 'id' | 'rules'>,
  seen: Set<bigint>,
  at: string,
  problems: Problems,
): void {
  const field = `${at}.taxRuleID`
  if (!present.rules.some((rule) => rule.id === id))
    problems.add('tax_rule_unknown', field, `The tax setting ${present.id} has no rule ${id}.`)
  else if (seen.has(id)) problems.add('repeated', field, `The rule ${id} is in the list twice.`)
  seen.add(id)
}
