import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { INVOICE_NUMBER_MAX } from '../../kernel/ids.ts'
import { dateWithOffset, isZone } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { isColour } from '../../platform/page/colour.ts'
import { currencyCode, date, email, flag, languageTag, longText, text, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties } from '../../platform/wire/read.ts'
import {
  orNull,
  outDay,
  outFlag,
  outId,
  outInteger,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { AccountSettings } from './queries.ts'
import type { AccountTexts } from './texts.ts'
import { accountTexts, outAccountTexts } from './texts-wire.ts'

const PAYMENT_TERM_DAYS_MAX = 3650
const LEAD_DAYS_MAX = 90

export const AccountOut = outObject(
  {
    AccountID: outId(identifies('account')),
    Name: outText('The name of the account; it stands on documents, pages and mails.'),
    Mode: outWord(
      ['test', 'live'] as const,
      'Whether the account is for tests, with a clock that can be moved, or live.',
    ),
    TimeZone: outText('The time zone (IANA name) whose calendar decides which day it is.'),
    CurrencyCode: outText(SHARED.CurrencyCode),
    Email: orNull(outText(SHARED.Email)),
    Tel: orNull(outText(SHARED.Tel)),
    WebPage: orNull(outText('The address of the website.')),
    Address1: orNull(outText(SHARED.Address1)),
    Address2: orNull(outText(SHARED.Address2)),
    City: orNull(outText(SHARED.City)),
    State: orNull(outText('The state or province of the address.')),
    Country: orNull(outText('The name of the country.')),
    ZipCode: orNull(outText(SHARED.ZipCode)),
    VatNo: orNull(outText('The VAT number, which decides with the country which taxes hold and stands on documents.')),
    BankDetails: orNull(outText('The bank account to which customers pay; it stands on invoices.')),
    Locale: outText('The language of documents and mails, as `de` or `en-GB`.'),
    Notes: orNull(outText('The notes that invoices carry which have none of their own.')),
    Terms: orNull(outText('The terms of payment that invoices carry which have none of their own.')),
    Texts: orNull(outAccountTexts()),
    PaymentTermDays: outInteger('After how many days invoices are due.'),
    numDaysBeforeToInv: outInteger(SHARED.numDaysBeforeToInv),
    NextInvoiceNum: outId('The number that the next issued invoice gets'),
    isAutoApplyUnallocated: outFlag('Whether new invoices are paid from unallocated money of their customer.'),
    MailFrom: orNull(outText('The address that mails come from.')),
    Colour: orNull(outText('Behind white letters, on pages; ours where they could not be read on it')),
    TestMailTo: orNull(outText('The one address to which mail of a test account goes; null holds all of it back.')),
    LockDate: orNull(
      outDay(
        'The last day that is closed in the books: nothing dated on it or before is added or changed; null where none is.',
      ),
    ),
  },
  'Account',
)

/** The record of the event of a new account. */
export const NewAccountOut = outObject({
  AccountID: outId(),
  Name: outText(),
  Mode: outWord(['test', 'live'] as const),
  CurrencyCode: outText(),
})

/** The record of the event of a raised NextInvoiceNum. */
export const ChangedLockDateOut = outObject({
  From: orNull(outDay()),
  To: orNull(outDay()),
})
export const RaisedNumberOut = outObject({ From: outId(), To: outId() })

/** The record of the event of a changed logo; nulls where it was taken away. */
export const LogoRecordOut = outObject({ MediaType: orNull(outText()), Bytes: orNull(outInteger()) })

export const accountToWire = (a: AccountSettings): ShapeOf<typeof AccountOut> => ({
  AccountID: a.id,
  Name: a.name,
  Mode: a.mode,
  TimeZone: a.timeZone,
  CurrencyCode: a.currency,
  Email: a.email,
  Tel: a.tel,
  WebPage: a.webPage,
  Address1: a.address1,
  Address2: a.address2,
  City: a.city,
  State: a.state,
  Country: a.country,
  ZipCode: a.zipCode,
  VatNo: a.vatNumber,
  BankDetails: a.bankDetails,
  Locale: a.locale,
  Notes: a.notes,
  Terms: a.terms,
  Texts: a.texts,
  PaymentTermDays: a.paymentTermDays,
  numDaysBeforeToInv: a.leadDays,
  NextInvoiceNum: a.nextInvoiceNumber,
  isAutoApplyUnallocated: a.isAutoApply,
  MailFrom: a.mailFrom,
  Colour: a.colour,
  TestMailTo: a.testMailTo,
  LockDate: a.lockDate === null ? null : dateWithOffset(a.lockDate, a.timeZone),
})

/** Changes with the settings and not with NextInvoiceNum: every invoice that is issued moves that on. */
export function accountEtag(a: AccountSettings): string {
  const { NextInvoiceNum: _, ...settings } = accountToWire(a)
  return etagOf(settings)
}

const inputs = {
  Name: optional(text(), 'The name of the account; it stands on documents, pages and mails.', LEFT_OUT.kept),
  TimeZone: optional(
    text({
      check: (zone) =>
        isZone(zone) ? undefined : 'must be a time zone of the IANA database, such as Africa/Johannesburg',
    }),
    'The time zone (IANA name) whose calendar decides which day it is.',
    LEFT_OUT.kept,
  ),
  CurrencyCode: optional(currencyCode(), SHARED.CurrencyCode, LEFT_OUT.kept),
  Email: optional(email(), SHARED.Email, LEFT_OUT.keptOrCleared),
  Tel: optional(text(), SHARED.Tel, LEFT_OUT.keptOrCleared),
  WebPage: optional(text(), 'The address of the website.', LEFT_OUT.keptOrCleared),
  Address1: optional(text(), SHARED.Address1, LEFT_OUT.keptOrCleared),
  Address2: optional(text(), SHARED.Address2, LEFT_OUT.keptOrCleared),
  City: optional(text(), SHARED.City, LEFT_OUT.keptOrCleared),
  State: optional(text(), 'The state or province of the address of the account.', LEFT_OUT.keptOrCleared),
  Country: optional(text(), 'The name of the country.', LEFT_OUT.keptOrCleared),
  ZipCode: optional(text(), SHARED.ZipCode, LEFT_OUT.keptOrCleared),
  VatNo: optional(
    text({ takesNumbers: true }),
    'The VAT number, which decides with the country which taxes hold and stands on documents.',
    LEFT_OUT.keptOrCleared,
  ),
  BankDetails: optional(
    longText(),
    'The bank account to which customers pay; it stands on invoices.',
    LEFT_OUT.keptOrCleared,
  ),
  Locale: optional(
    languageTag(),
    'The language of documents and mails, as `de` or `en-GB`.',
    'Left out, it stays as it is; null makes it `en`.',
  ),
  Notes: optional(longText(), 'The notes that invoices carry which have none of their own.', LEFT_OUT.keptOrCleared),
  Terms: optional(
    longText(),
    'The terms of payment that invoices carry which have none of their own.',
    LEFT_OUT.keptOrCleared,
  ),
  Texts: leftOut(optional(accountTexts()), LEFT_OUT.keptOrCleared),
  PaymentTermDays: optional(
    whole(0, PAYMENT_TERM_DAYS_MAX),
    'After how many days invoices are due.',
    'Left out, it stays as it is; null makes it 0.',
  ),
  numDaysBeforeToInv: optional(
    whole(0, LEAD_DAYS_MAX),
    SHARED.numDaysBeforeToInv,
    'Left out, it stays as it is; null makes it 0.',
  ),
  NextInvoiceNum: optional(whole(1, INVOICE_NUMBER_MAX), 'The number that the next invoice gets.', LEFT_OUT.kept),
  isAutoApplyUnallocated: optional(
    flag(),
    'Whether new invoices are paid from unallocated money of their customer.',
    'Left out, it stays as it is; null makes it true.',
  ),
  MailFrom: optional(email(), 'The address that mails come from.', LEFT_OUT.keptOrCleared),
  Colour: optional(
    text({ check: (colour) => (isColour(colour) ? undefined : 'must be a colour such as #1d4f73') }),
    'The colour of documents and pages, as `#1d4f73`; null is the one of the service.',
    LEFT_OUT.keptOrCleared,
  ),
  TestMailTo: optional(
    email(),
    'The one address to which mail of a test account goes; null holds all of it back.',
    LEFT_OUT.keptOrCleared,
  ),
  LockDate: optional(
    date(),
    'The last day that is closed in the books: nothing dated on it or before is added or changed; null where none is.',
    LEFT_OUT.keptOrCleared,
  ),
} satisfies Properties

export const AccountIn = objectOf(inputs, { name: 'AccountInput', ignored: ['AccountID', 'Mode'] })
export type AccountBody = BodyOf<typeof inputs>

/** Returns texts by language; null where there are none at all. */
const textsFrom = (texts: AccountTexts | null): AccountTexts | null =>
  texts === null || Object.keys(texts).length === 0 ? null : texts

/** Reads the settings of a body: absent keeps, null clears or goes back to the default. Checks come before. */
export function accountFromWire(body: AccountBody, present: AccountSettings): AccountSettings {
  const to = <T>(sent: T | null | undefined, kept: T, cleared: T): T => (sent === undefined ? kept : (sent ?? cleared))
  return {
    ...present,
    name: body.Name ?? present.name,
    timeZone: body.TimeZone ?? present.timeZone,
    currency: body.CurrencyCode ?? present.currency,
    email: to(body.Email, present.email, null),
    tel: to(body.Tel, present.tel, null),
    webPage: to(body.WebPage, present.webPage, null),
    address1: to(body.Address1, present.address1, null),
    address2: to(body.Address2, present.address2, null),
    city: to(body.City, present.city, null),
    state: to(body.State, present.state, null),
    country: to(body.Country, present.country, null),
    zipCode: to(body.ZipCode, present.zipCode, null),
    vatNumber: to(body.VatNo, present.vatNumber, null),
    bankDetails: to(body.BankDetails, present.bankDetails, null),
    locale: to(body.Locale, present.locale, 'en'),
    notes: to(body.Notes, present.notes, null),
    terms: to(body.Terms, present.terms, null),
    texts: textsFrom(to(body.Texts, present.texts, null)),
    paymentTermDays: to(body.PaymentTermDays, present.paymentTermDays, 0),
    leadDays: to(body.numDaysBeforeToInv, present.leadDays, 0),
    nextInvoiceNumber: body.NextInvoiceNum == null ? present.nextInvoiceNumber : BigInt(body.NextInvoiceNum),
    isAutoApply: to(body.isAutoApplyUnallocated, present.isAutoApply, true),
    mailFrom: to(body.MailFrom, present.mailFrom, null),
    colour: to(body.Colour?.toLowerCase() ?? body.Colour, present.colour, null),
    testMailTo: to(body.TestMailTo, present.testMailTo, null),
    lockDate: to(body.LockDate, present.lockDate, null),
  }
}
