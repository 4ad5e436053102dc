import type { Problems } from '../../kernel/fault.ts'
import type { TaxSetting } from './queries.ts'
import type { TaxRuleBody } from './wire.ts'

/**
 * Checks a list of rules taken together. Rule: a state needs its country, a place has one rule, an identifier names a rule of
 * this very setting, and once. `present` is undefined for a setting that is being added: identifiers are made by the service then.
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
    const isRefused = problems.found.some(({ field }) => field?.startsWith(`${at}.country`))
    if (isRefused) continue
    if (body.countryStateID && !body.countryID) {
      problems.add(
        'required',
        `${at}.countryID`,
        `${at}.countryStateID is a state of a country: countryID is needed too.`,
      )
      continue
    }
    const place = `${body.countryID ?? ''}/${body.countryStateID ?? ''}`
    const first = places.get(place)
    if (first === undefined) places.set(place, index)
    else
      problems.add(
        'duplicate_place',
        `${at}.countryID`,
        `${at} is for the same place as rules[${first}]; a setting has one rule for a place.`,
      )
  }
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
