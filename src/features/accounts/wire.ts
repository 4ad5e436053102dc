import { dateWithOffset, isZone } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { isColour } from '../../platform/page/colour.ts'
import { currencyCode, date, email, flag, languageTag, longText, text, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties } from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
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

const INVOICE_NUMBER_MAX = 999_999_999_999
const PAYMENT_TERM_DAYS_MAX = 3650
const LEAD_DAYS_MAX = 90

export const AccountOut = outObject(
  {
    AccountID: outId(),
    Name: outText(),
    Mode: outWord(['test', 'live'] as const),
    TimeZone: outText(),
    CurrencyCode: outText(),
    Email: orNull(outText()),
    Tel: orNull(outText()),
    WebPage: orNull(outText()),
    Address1: orNull(outText()),
    Address2: orNull(outText()),
    City: orNull(outText()),
    State: orNull(outText()),
    Country: orNull(outText()),
    ZipCode: orNull(outText()),
    VatNo: orNull(outText()),
    BankDetails: orNull(outText()),
    Locale: outText(),
    Notes: orNull(outText()),
    Terms: orNull(outText()),
    Texts: orNull(outAccountTexts()),
    PaymentTermDays: outInteger(),
    numDaysBeforeToInv: outInteger(),
    NextInvoiceNum: outId('The number that the next issued invoice gets'),
    isAutoApplyUnallocated: outFlag(),
    MailFrom: orNull(outText()),
    Colour: orNull(outText({ description: 'Behind white letters, on pages; ours where they could not be read on it' })),
    TestMailTo: orNull(outText()),
    LockDate: orNull(outDate('Calendar date')),
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
  From: orNull(outDate('Calendar date')),
  To: orNull(outDate('Calendar date')),
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
  Name: optional(text()),
  TimeZone: optional(
    text({
      check: (zone) =>
        isZone(zone) ? undefined : 'must be a time zone of the IANA database, such as Africa/Johannesburg',
    }),
  ),
  CurrencyCode: optional(currencyCode()),
  Email: optional(email()),
  Tel: optional(text()),
  WebPage: optional(text()),
  Address1: optional(text()),
  Address2: optional(text()),
  City: optional(text()),
  State: optional(text()),
  Country: optional(text()),
  ZipCode: optional(text()),
  VatNo: optional(text({ takesNumbers: true })),
  BankDetails: optional(longText()),
  Locale: optional(languageTag()),
  Notes: optional(longText()),
  Terms: optional(longText()),
  Texts: optional(accountTexts()),
  PaymentTermDays: optional(whole(0, PAYMENT_TERM_DAYS_MAX)),
  numDaysBeforeToInv: optional(whole(0, LEAD_DAYS_MAX)),
  NextInvoiceNum: optional(whole(1, INVOICE_NUMBER_MAX)),
  isAutoApplyUnallocated: optional(flag()),
  MailFrom: optional(email()),
  Colour: optional(text({ check: (colour) => (isColour(colour) ? undefined : 'must be a colour such as #1d4f73') })),
  TestMailTo: optional(email()),
  LockDate: optional(date()),
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
