import { firstOfNextMonth, type IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { customerStatus } from '../../engine/status.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { listQuery } from '../../platform/http/query.ts'
import { currencyCode, email, flag, languageTag, reference, text, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type Shape,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { CustomLabel, CustomValues } from './custom-value-queries.ts'
import type { FrozenCustomer } from './rules.ts'
import { type Customer, type CustomerInput, type CustomerView, PAYMENT_METHODS } from './queries.ts'

export const CUSTOMER_STATUSES = ['Active', 'Suspended', 'Archived'] as const

const shapes = {
  customerID: outId(),
  Reference: outText(),
  isCompany: outFlag(),
  Name: outText(),
  LastName: orNull(outText()),
  RegistrationNumber: orNull(outText()),
  VatNo: orNull(outText()),
  Company: orNull(outText()),
  Email: orNull(outText()),
  EmailCC: orNull(outText()),
  Cell: orNull(outText()),
  Tel: orNull(outText()),
  Fax: orNull(outText()),
  Address1: orNull(outText()),
  Address2: orNull(outText()),
  City: orNull(outText()),
  State: orNull(outText()),
  Country: orNull(outText()),
  ZipCode: orNull(outText()),
  CountryState: orNull(outText()),
  countryID: orNull(outId('ISO 3166-1 numeric code')),
  countryStateID: orNull(outId()),
  PrimaryGatewayID: orNull(outId()),
  CurrencyCode: outText(),
  CreatedDate: outDate('Instant'),
  isSuspended: outFlag(),
  SuspendedDate: orNull(outDate('Instant')),
  isActive: outFlag(),
  comp_status: outWord(CUSTOMER_STATUSES),
  isWaiveTaxes: outFlag(),
  PaymentMethod: outWord(PAYMENT_METHODS),
  ActiveSubs: outInteger(),
  Balance: outNumber('What the customer owes in its own currency'),
  autoSendInvoice: outFlag(),
  autoSendStatement: outFlag(),
  StatementDate: orNull(outDate('Calendar date')),
  StatementLastSentDate: orNull(outDate('Calendar date')),
  PrimaryPaymentMethodInfo: orNull(outObject({ paymentMethodID: outId(), Token: outText() })),
  PaymentTermDays: orNull(outInteger()),
  Locale: orNull(outText()),
  isCollectionHold: outFlag(),
}

export const CustomerOut = outObject(shapes, 'Customer')
export const CustomersOut = outList(CustomerOut)
export const CustomersByIdOut = outList(outObject({ ...shapes, PrimaryPaymentMethod: outFlag() }, 'CustomerById'))
export const CustomerWithFieldsOut = outObject(
  { ...shapes, CustomFields: outList(outObject({ Key: outText(), Value: orNull(outText()) })) },
  'CustomerWithCustomFields',
)
export const CustomersWithFieldsOut = outList(CustomerWithFieldsOut)

export type CustomerWire = ShapeOf<typeof CustomerOut>

export function customerToWire(
  c: CustomerView,
  { timeZone, today }: { timeZone: string; today: IsoDate },
): CustomerWire {
  return {
    customerID: c.id,
    Reference: c.reference,
    isCompany: c.isCompany,
    Name: c.name,
    LastName: c.lastName,
    RegistrationNumber: c.registrationNumber,
    VatNo: c.vatNumber,
    Company: c.company,
    Email: c.email,
    EmailCC: c.emailCc,
    Cell: c.cell,
    Tel: c.tel,
    Fax: c.fax,
    Address1: c.address1,
    Address2: c.address2,
    City: c.city,
    State: c.state,
    Country: c.country,
    ZipCode: c.zipCode,
    CountryState: c.countryState,
    countryID: c.countryId,
    countryStateID: c.countryStateId,
    PrimaryGatewayID: c.primaryGatewayId,
    CurrencyCode: c.currency,
    CreatedDate: c.createdAt,
    isSuspended: c.suspendedAt !== null,
    SuspendedDate: c.suspendedAt,
    isActive: c.archivedAt === null,
    comp_status: customerStatus({ isArchived: c.archivedAt !== null, isSuspended: c.suspendedAt !== null }),
    isWaiveTaxes: c.isWaiveTaxes,
    PaymentMethod: c.paymentMethod,
    ActiveSubs: c.activeSubscriptions,
    Balance: minorDigits(c.balanceMinor, digitsOf(c.currency)),
    autoSendInvoice: c.autoSendInvoice,
    autoSendStatement: c.autoSendStatement,
    StatementDate: c.autoSendStatement ? dateWithOffset(firstOfNextMonth(today), timeZone) : null,
    StatementLastSentDate: c.statementLastSentOn === null ? null : dateWithOffset(c.statementLastSentOn, timeZone),
    PrimaryPaymentMethodInfo: null,
    PaymentTermDays: c.paymentTermDays,
    Locale: c.locale,
    isCollectionHold: c.isCollectionHold,
  }
}

/** The spelling of what documents freeze of a customer. */
const FROZEN = {
  isCompany: 'isCompany',
  name: 'Name',
  lastName: 'LastName',
  registrationNumber: 'RegistrationNumber',
  vatNumber: 'VatNo',
  company: 'Company',
  email: 'Email',
  emailCc: 'EmailCC',
  tel: 'Tel',
  address1: 'Address1',
  address2: 'Address2',
  city: 'City',
  state: 'State',
  country: 'Country',
  zipCode: 'ZipCode',
  locale: 'Locale',
} as const satisfies Record<keyof FrozenCustomer, keyof CustomerWire>

const fieldsOfCustomer = Object.keys(shapes) as (keyof typeof shapes)[]

/** A customer as a document froze it: every field, null where it is not frozen. */
export const FrozenCustomerOut = outObject<Record<string, Shape<any>>>(
  Object.fromEntries(fieldsOfCustomer.map((name) => [name, orNull<unknown>(shapes[name])])),
)

export function frozenCustomerToWire(id: CustomerId, frozen: FrozenCustomer): Record<string, unknown> {
  const wire: Record<string, unknown> = Object.fromEntries(fieldsOfCustomer.map((name) => [name, null]))
  for (const [name, spelt] of Object.entries(FROZEN)) wire[spelt] = frozen[name as keyof FrozenCustomer] ?? null
  return { ...wire, customerID: id }
}

/** Changes with whatever a PUT would replace. */
export const customerEtag = (c: Customer): string =>
  etagOf(
    c.id,
    c.reference,
    c.isCompany,
    c.name,
    c.lastName,
    c.registrationNumber,
    c.vatNumber,
    c.company,
    c.email,
    c.emailCc,
    c.cell,
    c.tel,
    c.fax,
    c.address1,
    c.address2,
    c.city,
    c.state,
    c.country,
    c.countryState,
    c.zipCode,
    c.countryId,
    c.countryStateId,
    c.currency,
    c.isWaiveTaxes,
    c.paymentMethod,
    c.autoSendInvoice,
    c.autoSendStatement,
    c.paymentTermDays,
    c.locale,
    c.isCollectionHold,
    customPairs(c),
  )

// In one order, whatever order they were written or kept in.
const customPairs = ({ customValues }: Pick<Customer, 'customValues'>) =>
  Object.entries(customValues ?? {}).sort(([a], [b]) => Number(a) - Number(b))

/** Every label of the account with the customer's value, null when unset. */
export const customFieldsToWire = (c: Pick<Customer, 'customValues'>, labels: readonly CustomLabel[]) =>
  labels.map(({ id, label }) => ({ Key: label, Value: c.customValues?.[String(id)] ?? null }))

/** Labels that an account may define, and so values that a customer can have. */
export const CUSTOM_FIELDS_MAX = 100

/** What the service computes is ignored when sent, so that a record read can be sent back changed. */
const COMPUTED = [
  'customerID',
  'CreatedDate',
  'isSuspended',
  'SuspendedDate',
  'isActive',
  'comp_status',
  'ActiveSubs',
  'Balance',
  'StatementDate',
  'StatementLastSentDate',
  'PrimaryPaymentMethodInfo',
  'PrimaryPaymentMethod',
]

const inputs = {
  Name: required(text()),
  isCompany: optional(flag()),
  LastName: optional(text()),
  Reference: optional(text()),
  RegistrationNumber: optional(text()),
  VatNo: optional(text({ takesNumbers: true })),
  Company: optional(text()),
  Email: optional(email()),
  EmailCC: optional(email()),
  Cell: optional(text()),
  Tel: optional(text()),
  Fax: optional(text()),
  Address1: optional(text()),
  Address2: optional(text()),
  City: optional(text()),
  State: optional(text()),
  Country: optional(text()),
  ZipCode: optional(text()),
  CountryState: optional(text()),
  countryID: optional(reference()),
  countryStateID: optional(reference()),
  PrimaryGatewayID: optional(reference()),
  CurrencyCode: optional(currencyCode()),
  isWaiveTaxes: optional(flag()),
  PaymentMethod: optional(word(PAYMENT_METHODS)),
  autoSendInvoice: optional(flag()),
  autoSendStatement: optional(flag()),
  PaymentTermDays: optional(whole(0, 3650)),
  Locale: optional(languageTag()),
  isCollectionHold: optional(flag()),
  CustomFields: optional(
    listOf(objectOf({ Key: required(text()), Value: optional(text()) }, { name: 'CustomFieldValue' }), {
      max: CUSTOM_FIELDS_MAX,
      what: 'custom fields',
    }),
  ),
} satisfies Properties

export const CustomerIn = objectOf(inputs, { name: 'CustomerInput', ignored: COMPUTED })
export type CustomerBody = BodyOf<typeof inputs>

export const CustomerQuery = listQuery({
  Reference: optional(text()),
  Email: optional(text()),
  comp_status: optional(word(CUSTOMER_STATUSES, { anyCase: true }), 'comp_Status'),
})

/** The values of a body as they replace those of `present` (PUT), or start from the defaults (add). Checks come before. */
export function customerFromWire(
  body: CustomerBody,
  defaults: {
    currency: string
    countryId: bigint | null
    countryStateId: bigint | null
    customValues: CustomValues | null | undefined
  },
  present?: CustomerInput,
): Omit<CustomerInput, 'reference'> & { reference: string | null } {
  const isCompany = body.isCompany ?? false
  return {
    reference: body.Reference ?? present?.reference ?? null,
    isCompany,
    name: body.Name,
    lastName: body.LastName ?? null,
    registrationNumber: body.RegistrationNumber ?? null,
    vatNumber: body.VatNo ?? null,
    company: body.Company ?? null,
    email: body.Email ?? null,
    emailCc: body.EmailCC ?? null,
    cell: body.Cell ?? null,
    tel: body.Tel ?? null,
    fax: body.Fax ?? null,
    address1: body.Address1 ?? null,
    address2: body.Address2 ?? null,
    city: body.City ?? null,
    state: body.State ?? null,
    country: body.Country ?? null,
    countryState: body.CountryState ?? null,
    zipCode: body.ZipCode ?? null,
    countryId: defaults.countryId,
    countryStateId: defaults.countryStateId,
    currency: body.CurrencyCode ?? present?.currency ?? defaults.currency,
    isWaiveTaxes: body.isWaiveTaxes ?? false,
    paymentMethod: body.PaymentMethod ?? 'cash',
    autoSendInvoice: body.autoSendInvoice ?? true,
    autoSendStatement: body.autoSendStatement ?? false,
    // Not of the interface: absent keeps, null clears.
    paymentTermDays: body.PaymentTermDays === undefined ? (present?.paymentTermDays ?? null) : body.PaymentTermDays,
    locale: body.Locale === undefined ? (present?.locale ?? null) : body.Locale,
    isCollectionHold:
      body.isCollectionHold === undefined ? (present?.isCollectionHold ?? false) : (body.isCollectionHold ?? false),
    customValues: defaults.customValues === undefined ? (present?.customValues ?? null) : defaults.customValues,
  }
}
