import { assert } from '../../kernel/assert.ts'
import { addDays, daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { formatsOf } from '../../platform/locale/format.ts'
import { findLogo, getAccountSettings } from '../accounts/queries.ts'
import { frozenOfAccount } from '../accounts/rules.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import { frozenOf } from '../customers/fields.ts'
import { findCustomer } from '../customers/queries.ts'
import type { DocumentHead } from './document.ts'
import { glyphWarningsOfParties } from './glyphs.ts'
import { accountParty, customerParty, localeOf, paperOf } from './parties.ts'
import type { FrozenParties } from './queries.ts'
import { wordsOf } from './words.ts'

/** Head of a document as it is loaded, with the bank details that some documents show at their end. */
export interface LoadedHead extends DocumentHead {
  bankDetails: string | null
}

/**
 * Loads sender and receiver as they were frozen, where nothing was frozen as they are now, in their language unless another is wanted. The logo is
 * always the present one.
 */
export async function loadHead(
  db: Queryable,
  { account: { id: account }, moment }: Pick<RequestContext, 'account' | 'moment'>,
  customerId: CustomerId,
  frozen: FrozenParties | null,
  wantedLocale?: string,
): Promise<LoadedHead> {
  const [settings, present, logo] = await Promise.all([
    getAccountSettings(db, account),
    findCustomer(db, account, customerId),
    findLogo(db, account),
  ])
  assert(present, `customer ${customerId} of a document exists`)
  const sender = frozen?.account ?? frozenOfAccount(settings)
  const receiver = frozen?.customer ?? frozenOf(present)
  const locale = wantedLocale ?? localeOf(sender, receiver)
  return {
    locale,
    paper: paperOf(sender.country),
    account: accountParty(sender, locale),
    logo: logo?.content ?? null,
    customer: customerParty(receiver, locale, frozen ? frozen.countryId : present.countryId),
    createdAt: moment.now,
    glyphsMissing: glyphWarningsOfParties(sender, receiver, locale),
    bankDetails: paperTextsOf(sender, locale).bankDetails,
  }
}

/** Days that a line covers, half-open, and the whole period that they are a part of. */
interface CoveredDays {
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
}

/** Writes the days of a line: "1 Feb 2027 to 28 Feb 2027, 21 of 28 days"; null for what covers no days. */
export function daysText({ from, until, wholeFrom, wholeUntil }: CoveredDays, locale: string): string | null {
  if (from === null || until === null) return null
  const formats = formatsOf(locale)
  const words = wordsOf(formats.language)
  const span = words.span(formats.date(from), formats.date(addDays(until, -1)))
  const days = daysBetween(from, until)
  const wholeDays = wholeFrom === null || wholeUntil === null ? days : daysBetween(wholeFrom, wholeUntil)
  return days === wholeDays ? span : `${span}, ${words.partOf(days, wholeDays)}`
}
