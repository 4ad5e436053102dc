import { findCountry, findState } from '../../kernel/countries.ts'
import type { Problems } from '../../kernel/fault.ts'
import { type CustomLabel, type CustomValues, labelKey } from './custom-value-queries.ts'
import type { Customer, Pause } from './queries.ts'
import { type CustomerBody, exemptionOf } from './wire.ts'

/** Returns country and state as numbers: given ones, else what the texts name. A text that names no country is kept as it is. */
export function placeOf(body: Partial<CustomerBody>): { countryId: bigint | null; countryStateId: bigint | null } {
  const named = body.Country ? findCountry(body.Country)?.countryId : undefined
  const countryId = body.countryID ?? (named === undefined ? null : BigInt(named))
  if (body.countryStateID) return { countryId, countryStateId: body.countryStateID }
  const stateText = body.CountryState ?? body.State
  const state = countryId !== null && stateText ? findState(Number(countryId), stateText) : undefined
  return { countryId, countryStateId: state ? BigInt(state.countryStateId) : null }
}

/** Notes what is wrong with a customer's fields taken together. */
export function checkCustomer(
  body: Partial<CustomerBody>,
  problems: Problems,
  present?: Pick<Customer, 'taxCategory' | 'taxReason'>,
): void {
  const isRefused = (field: string) => problems.found.some((problem) => problem.field === field)
  if (!body.isCompany && body.LastName == null && !isRefused('LastName') && !isRefused('isCompany')) {
    problems.add('required', 'LastName', 'LastName is required for an individual (isCompany false).')
  }
  if (!['isWaiveTaxes', 'TaxCategory', 'TaxReason'].some(isRefused)) checkExemption(body, problems, present)
}

/** Notes what is wrong with why a customer is exempt. Rule: the category needs isWaiveTaxes, the reason the category; E has none on its own. */
function checkExemption(
  body: Partial<CustomerBody>,
  problems: Problems,
  present: Pick<Customer, 'taxCategory' | 'taxReason'> | undefined,
): void {
  const { TaxCategory, TaxReason, isWaiveTaxes } = body
  const { taxCategory, taxReason } = exemptionOf(body, present)
  if (TaxCategory != null && !isWaiveTaxes)
    problems.add('not_exempt', 'TaxCategory', `TaxCategory ${TaxCategory} is for customers with isWaiveTaxes true.`)
  else if (TaxReason != null && taxCategory === null)
    problems.add('not_exempt', 'TaxReason', 'TaxReason is for customers with isWaiveTaxes true and a TaxCategory.')
  else if (taxCategory === 'E' && taxReason === null)
    problems.add('required', 'TaxReason', 'TaxReason is required with TaxCategory E.')
}

type CustomField = NonNullable<CustomerBody['CustomFields']>[number]

/**
 * Returns the custom values that a body asks for, by label; undefined where it leaves them out, so that they stay as they are. A list
 * replaces them all: what it leaves out, or names without a value, is unset.
 */
export function customValuesOf(
  body: Partial<CustomerBody>,
  labels: readonly CustomLabel[],
  problems: Problems,
): CustomValues | null | undefined {
  if (body.CustomFields == null) return undefined
  const values = new Map<string, string>()
  const named = new Set<string>()
  for (const [index, { Key, Value }] of (body.CustomFields as Partial<CustomField>[]).entries()) {
    // A key that could not be read is reported already.
    if (Key === undefined) continue
    const place = `CustomFields[${index}].Key`
    const found = labels.find(({ label }) => label === Key)
    if (!found) {
      const near = labels.find(({ label }) => labelKey(label) === labelKey(Key))
      const hint = near ? `; did you mean ${JSON.stringify(near.label)}?` : '.'
      problems.add('custom_field_unknown', place, `This account has no custom field ${JSON.stringify(Key)}${hint}`)
    } else if (named.has(Key)) {
      problems.add('custom_field_repeated', place, `CustomFields may name ${JSON.stringify(Key)} once.`)
    } else if (Value != null) values.set(String(found.id), Value)
    named.add(Key)
  }
  return values.size === 0 ? null : Object.fromEntries(values)
}

/** Returns the state after suspending, unsuspending, archiving or reopening; repeating one changes nothing. */
export function pauseAfter(
  customer: Pick<Customer, 'suspendedAt' | 'archivedAt' | 'pausedOn'>,
  change: 'suspend' | 'unsuspend' | 'archive' | 'reopen',
  { now, today }: { now: string; today: string },
): Pause {
  const suspendedAt =
    change === 'suspend' ? (customer.suspendedAt ?? now) : change === 'unsuspend' ? null : customer.suspendedAt
  const archivedAt =
    change === 'archive' ? (customer.archivedAt ?? now) : change === 'reopen' ? null : customer.archivedAt
  const isPaused = suspendedAt !== null || archivedAt !== null
  return { suspendedAt, archivedAt, pausedOn: isPaused ? (customer.pausedOn ?? today) : null }
}
