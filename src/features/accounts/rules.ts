import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { AccountSettings } from './queries.ts'
import type { AccountBody } from './wire.ts'

/** An account always has these: they can be changed and not cleared. */
const NEVER_NULL = ['Name', 'TimeZone', 'CurrencyCode', 'NextInvoiceNum'] as const

/** Notes what is wrong with account settings taken on their own. */
export function checkAccount(body: Partial<AccountBody>, today: IsoDate, problems: Problems): void {
  for (const field of NEVER_NULL)
    if (body[field] === null) problems.add('required', field, `${field} may be left out but must not be null or blank.`)
  if (body.LockDate && body.LockDate >= today)
    problems.add(
      'out_of_range',
      'LockDate',
      `LockDate must lie before today, ${today}: days that are not over cannot be closed.`,
    )
}

/** Picks what documents freeze of an account; an edit of any of these starts a new version. */
export const frozenOfAccount = (a: AccountSettings) => ({
  name: a.name,
  email: a.email,
  tel: a.tel,
  webPage: a.webPage,
  address1: a.address1,
  address2: a.address2,
  city: a.city,
  state: a.state,
  country: a.country,
  zipCode: a.zipCode,
  vatNumber: a.vatNumber,
  bankDetails: a.bankDetails,
  locale: a.locale,
  notes: a.notes,
  terms: a.terms,
  texts: a.texts,
  // No document shows it; the event of an issue writes its dates in it.
  timeZone: a.timeZone,
})

/**
 * Refuses with 409 to date anything on or before the day up to which the books are closed (LockDate). `what` names what bears the days;
 * `field` is the one of the body that they come from.
 */
export function checkNotLocked(
  lockDate: IsoDate | null,
  days: readonly IsoDate[],
  what: string,
  field: 'Date' | 'InvoiceDate' | 'TaxReliefDate' | 'Refund.Date' = 'Date',
): void {
  const locked = days.find((day) => lockDate !== null && day <= lockDate)
  if (locked !== undefined)
    throw conflict(
      'books_locked',
      `The books are closed up to ${lockDate}; ${what} is dated ${locked} and must lie after that.`,
      field,
    )
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const JPEG = Buffer.from([0xff, 0xd8, 0xff])

/** Returns the media type of an image by its first bytes; undefined for anything but PNG and JPEG. */
export function imageTypeOf(content: Buffer): 'image/png' | 'image/jpeg' | undefined {
  if (content.subarray(0, PNG.length).equals(PNG)) return 'image/png'
  return content.subarray(0, JPEG.length).equals(JPEG) ? 'image/jpeg' : undefined
}
