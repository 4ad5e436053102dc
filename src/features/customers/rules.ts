import { findCountry, findState } from '../../kernel/countries.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Customer, CustomerInput, Pause } from './queries.ts'
import type { CustomerBody } from './wire.ts'

/** Country and state as numbers: given ones, else what the texts name. A text that names no country is kept as it is. */
export function placeOf(body: Partial<CustomerBody>): { countryId: bigint | null; countryStateId: bigint | null } {
  const named = body.Country ? findCountry(body.Country)?.countryId : undefined
  const countryId = body.countryID ?? (named === undefined ? null : BigInt(named))
  if (body.countryStateID) return { countryId, countryStateId: body.countryStateID }
  const stateText = body.CountryState ?? body.State
  const state = countryId !== null && stateText ? findState(Number(countryId), stateText) : undefined
  return { countryId, countryStateId: state ? BigInt(state.countryStateId) : null }
}

/** What is wrong with a customer's fields taken together. */
export function checkCustomer(body: Partial<CustomerBody>, problems: Problems): void {
  const isRefused = (field: string) => problems.found.some((problem) => problem.field === field)
  if (!body.isCompany && body.LastName == null && !isRefused('LastName') && !isRefused('isCompany')) {
    problems.add('required', 'LastName', 'LastName is required for an individual (isCompany false).')
  }
  if (body.PrimaryGatewayID)
    problems.add('not_available', 'PrimaryGatewayID', `This account has no gateway ${body.PrimaryGatewayID}.`)
  for (const [index, field] of (body.CustomFields ?? []).entries()) {
    problems.add(
      'custom_field_unknown',
      `CustomFields[${index}].Key`,
      `This account has no custom field "${field.Key}".`,
    )
  }
}

/** What documents freeze of a customer; an edit of any of these starts a new version. */
export const frozenOf = (c: CustomerInput) => ({
  isCompany: c.isCompany,
  name: c.name,
  lastName: c.lastName,
  registrationNumber: c.registrationNumber,
  vatNumber: c.vatNumber,
  company: c.company,
  email: c.email,
  emailCc: c.emailCc,
  tel: c.tel,
  address1: c.address1,
  address2: c.address2,
  city: c.city,
  state: c.state,
  country: c.country,
  zipCode: c.zipCode,
  locale: c.locale,
})

/** The state after suspending, unsuspending, archiving or reopening; repeating one changes nothing. */
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
