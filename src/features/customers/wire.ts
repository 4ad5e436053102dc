import { search } from '../../platform/wire/search.ts'
import { firstOfNextMonth } from '../../kernel/calendar.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { EXEMPT_CATEGORIES } from '../../kernel/tax.ts'
import { VAT_NUMBER_STATUSES, vatNumberStatus } from '../../kernel/vat-numbers.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { REMINDER_KINDS } from '../../engine/collection/rules.ts'
import { customerStatus } from '../../engine/status.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { type Column, columnIn, type Columns, own, ownAmount, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, email, flag, languageTag, reference, text, whole } from '../../platform/wire/fields.ts'
import { glCode, outGlCode } from '../../platform/wire/gl-code.ts'
import {
  type BodyOf,
  distinct,
  listOf,
  objectOf,
  optional,
  type Property,
  required,
  word,
} from '../../platform/wire/read.ts'
import {
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outList,
  outObject,
  outText,
  outWord,
  type Shape,
} from '../../platform/wire/write.ts'
import type { CustomLabel, CustomValues } from './custom-value-queries.ts'
import {
  type CustomerInput,
  CUSTOMER_FIELD_NAMES,
  CUSTOMER_FIELDS,
  type FrozenCustomer,
  PAYMENT_METHODS,
} from './fields.ts'
import type { Customer, CustomerView } from './queries.ts'

export const CUSTOMER_STATUSES = ['Active', 'Suspended', 'Archived'] as const

type AnyProperty = Property<any, 'required' | 'optional'>

/** A field that callers set: the property that it is kept in, how a body is read, and its value where a body has none. */
interface SetEntry<P extends AnyProperty> {
  of: Exclude<keyof CustomerInput, 'customValues'>
  in: P
  column: Column<CustomerView>
  blank: unknown
  /** A body without the field keeps the present value, as of fields that other programs do not know; null clears it. */
  isKept: boolean
}

const set = <P extends AnyProperty, K extends SetEntry<P>['of']>(
  of: K,
  property: P,
  out: Shape<CustomerInput[K]>,
  { blank = null, isKept = false }: { blank?: CustomerInput[K] | null; isKept?: boolean } = {},
): SetEntry<P> => ({ of, in: property, column: own(out, of), blank, isKept })

type TextField = {
  [K in keyof CustomerInput]: CustomerInput[K] extends string | null
    ? null extends CustomerInput[K]
      ? K
      : never
    : never
}[keyof CustomerInput]

const setText = (of: TextField, field = text()) => set(of, optional(field), orNull(outText()))

const computed = <T>(shape: Shape<T>, valueOf: Column<CustomerView, T>[1]): { column: Column<CustomerView> } => ({
  column: [shape, valueOf],
})

const kept = (column: Column<CustomerView>): { column: Column<CustomerView> } => ({ column })

/** The fields of a customer under their names in the interface, in the order in which they are written. */
const ENTRIES = {
  customerID: kept(own(outId(), 'id')),
  Reference: set('reference', optional(text()), outText()),
  isCompany: set('isCompany', optional(flag()), outFlag(), { blank: false }),
  Name: set('name', required(text()), outText()),
  LastName: setText('lastName'),
  RegistrationNumber: setText('registrationNumber'),
  VatNo: setText('vatNumber', text({ takesNumbers: true })),
  VatNoStatus: computed(orNull(outWord(VAT_NUMBER_STATUSES)), ({ vatNumber, countryId }) =>
    vatNumber === null ? null : vatNumberStatus(vatNumber, countryId === null ? null : Number(countryId)),
  ),
  Company: setText('company'),
  Email: setText('email', email()),
  EmailCC: setText('emailCc', email()),
  Cell: setText('cell'),
  Tel: setText('tel'),
  Fax: setText('fax'),
  Address1: setText('address1'),
  Address2: setText('address2'),
  City: setText('city'),
  State: setText('state'),
  Country: setText('country'),
  ZipCode: setText('zipCode'),
  CountryState: setText('countryState'),
  countryID: set('countryId', optional(reference()), orNull(outId('ISO 3166-1 numeric code'))),
  countryStateID: set('countryStateId', optional(reference()), orNull(outId())),
  PrimaryGatewayID: set('primaryGatewayId', optional(reference()), orNull(outId())),
  CurrencyCode: set('currency', optional(currencyCode()), outText()),
  CreatedDate: kept(own(outDate('Instant'), 'createdAt')),
  isSuspended: computed(outFlag(), (c) => c.suspendedAt !== null),
  SuspendedDate: kept(own(orNull(outDate('Instant')), 'suspendedAt')),
  isActive: computed(outFlag(), (c) => c.archivedAt === null),
  comp_status: computed(outWord(CUSTOMER_STATUSES), (c) =>
    customerStatus({ isArchived: c.archivedAt !== null, isSuspended: c.suspendedAt !== null }),
  ),
  isWaiveTaxes: set('isWaiveTaxes', optional(flag()), outFlag(), { blank: false }),
  TaxCategory: set(
    'taxCategory',
    optional(word(EXEMPT_CATEGORIES, { anyCase: true })),
    orNull(outWord(EXEMPT_CATEGORIES)),
    { isKept: true },
  ),
  TaxReason: set('taxReason', optional(text()), orNull(outText()), { isKept: true }),
  PaymentMethod: set('paymentMethod', optional(word(PAYMENT_METHODS)), outWord(PAYMENT_METHODS), { blank: 'cash' }),
  ActiveSubs: kept(own(outInteger(), 'activeSubscriptions')),
  Balance: kept(ownAmount('balanceMinor', 'What the customer owes in its own currency')),
  autoSendInvoice: set('autoSendInvoice', optional(flag()), outFlag(), { blank: true }),
  autoSendStatement: set('autoSendStatement', optional(flag()), outFlag(), { blank: false }),
  StatementDate: computed(orNull(outDate('Calendar date')), (c, { today, timeZone }) =>
    c.autoSendStatement ? dateWithOffset(firstOfNextMonth(today), timeZone) : null,
  ),
  StatementLastSentDate: computed(orNull(outDate('Calendar date')), ({ statementLastSentOn: day }, { timeZone }) =>
    day === null ? null : dateWithOffset(day, timeZone),
  ),
  PrimaryPaymentMethodInfo: computed(orNull(outObject({ paymentMethodID: outId(), Token: outText() })), (c) =>
    c.primaryMethodId === null || c.primaryMethodToken === null
      ? null
      : { paymentMethodID: c.primaryMethodId, Token: c.primaryMethodToken },
  ),
  PaymentTermDays: set('paymentTermDays', optional(whole(0, 3650)), orNull(outInteger()), { isKept: true }),
  Locale: set('locale', optional(languageTag()), orNull(outText()), { isKept: true }),
  isCollectionHold: set('isCollectionHold', optional(flag()), outFlag(), { blank: false, isKept: true }),
  StoppedReminders: set(
    'stoppedReminders',
    optional(
      distinct(
        listOf(word(REMINDER_KINDS, { anyCase: true }), { max: REMINDER_KINDS.length, what: 'kinds of reminders' }),
      ),
    ),
    outList(outWord(REMINDER_KINDS)),
    { blank: [], isKept: true },
  ),
  GLCode: set(
    'glCode',
    optional(
      glCode(
        'Code of the customer in the chart of the accountant, as the number of a debtor; left out of an edit it stays',
      ),
    ),
    outGlCode('Code of the customer in the chart of the accountant; null: the collective Debtor of GLCodes'),
    { isKept: true },
  ),
}

type Entries = typeof ENTRIES
type ReadName = { [Name in keyof Entries]: Entries[Name] extends { in: AnyProperty } ? Name : never }[keyof Entries]
type Inputs = { [Name in ReadName]: Entries[Name]['in'] }

type AnyEntry = { column: Column<CustomerView>; in?: AnyProperty } | SetEntry<AnyProperty>
const ALL: readonly (readonly [name: string, entry: AnyEntry])[] = Object.entries(ENTRIES)
const SETTABLE = ALL.flatMap(([name, entry]) => ('of' in entry ? [[name, entry] as const] : []))
const columns: Columns<CustomerView> = Object.fromEntries(ALL.map(([name, { column }]) => [name, column]))

export const customerShape = recordShape<CustomerView>()('Customer', columns)

export const customerByIdShape = recordShape<CustomerView>()('CustomerById', {
  ...columns,
  PrimaryPaymentMethod: [outFlag(), ({ primaryMethodId }) => primaryMethodId !== null],
})

/** A customer with the labels of its account, which CustomFields shows with the customer's values. */
interface LabelledCustomer {
  customer: CustomerView
  labels: readonly CustomLabel[]
}

export const customerWithFieldsShape = recordShape<LabelledCustomer>()('CustomerWithCustomFields', {
  ...(Object.fromEntries(
    ALL.map(([name, { column }]) => [name, columnIn('customer', column)]),
  ) as Columns<LabelledCustomer>),
  CustomFields: [
    outList(outObject({ Key: outText(), Value: orNull(outText()) })),
    ({ labels, customer: { customValues } }) =>
      labels.map(({ id, label }) => ({ Key: label, Value: customValues?.[String(id)] ?? null })),
  ],
})

/** A customer as a document froze it: every field, null where it is not frozen. */
export const FrozenCustomerOut = outObject<Record<string, Shape<any>>>(
  Object.fromEntries(ALL.map(([name, { column }]) => [name, orNull<unknown>(column[0])])),
)

export function frozenCustomerToWire(id: CustomerId, frozen: FrozenCustomer): Record<string, unknown> {
  const values: Partial<CustomerInput> = frozen
  const valueOf = (entry: AnyEntry) =>
    ('of' in entry && CUSTOMER_FIELDS[entry.of].isFrozen ? values[entry.of] : null) ?? null
  return { ...Object.fromEntries(ALL.map(([name, entry]) => [name, valueOf(entry)])), customerID: id }
}

/** Changes with whatever a PUT would replace. */
export const customerEtag = (c: Customer): string =>
  etagOf(c.id, ...CUSTOMER_FIELD_NAMES.map((name) => (name === 'customValues' ? customPairs(c) : c[name])))

// In one order, whatever order they were written or kept in.
const customPairs = ({ customValues }: Pick<Customer, 'customValues'>) =>
  Object.entries(customValues ?? {}).sort(([a], [b]) => Number(a) - Number(b))

/** Labels that an account may define, and so values that a customer can have. */
export const CUSTOM_FIELDS_MAX = 100

const CustomFields = optional(
  listOf(objectOf({ Key: required(text()), Value: optional(text()) }, { name: 'CustomFieldValue' }), {
    max: CUSTOM_FIELDS_MAX,
    what: 'custom fields',
  }),
)

const inputs = {
  ...(Object.fromEntries(ALL.flatMap(([name, entry]) => (entry.in ? [[name, entry.in]] : []))) as unknown as Inputs),
  CustomFields,
}

export const CustomerIn = objectOf(inputs, {
  name: 'CustomerInput',
  // What the service computes is passed over when sent, so that a record read can be sent back changed.
  ignored: [...ALL.flatMap(([name, entry]) => (entry.in ? [] : [name])), 'PrimaryPaymentMethod'],
})
export type CustomerBody = BodyOf<typeof inputs>

export const customerFilters = {
  q: optional(search()),
  Reference: optional(text()),
  Email: optional(text()),
  comp_status: optional(word(CUSTOMER_STATUSES, { anyCase: true }), 'comp_Status'),
  VatNo: optional(text({ takesNumbers: true })),
  countryID: optional(reference()),
  hasCountry: optional(flag()),
  CurrencyCode: optional(currencyCode()),
}

/** Returns why a customer is exempt. Rule: absent fields stay while he is exempt; one who is taxed again, or for no reason, has none. */
export function exemptionOf(
  body: Partial<CustomerBody>,
  present?: Pick<CustomerInput, 'taxCategory' | 'taxReason'>,
): Pick<CustomerInput, 'taxCategory' | 'taxReason'> {
  const taxCategory = body.TaxCategory === undefined ? (present?.taxCategory ?? null) : body.TaxCategory
  if (!body.isWaiveTaxes || taxCategory === null) return { taxCategory: null, taxReason: null }
  return { taxCategory, taxReason: body.TaxReason === undefined ? (present?.taxReason ?? null) : body.TaxReason }
}

/** Returns the values of a body as they replace those of `present` (PUT), or start from the defaults (add). Checks come before. */
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
  const plain: Record<string, unknown> = {}
  for (const [name, { of, blank, isKept }] of SETTABLE) {
    const value = body[name as keyof CustomerBody]
    plain[of] = isKept && value === undefined && present ? present[of] : (value ?? blank)
  }
  return {
    ...(plain as unknown as CustomerInput),
    reference: body.Reference ?? present?.reference ?? null,
    currency: body.CurrencyCode ?? present?.currency ?? defaults.currency,
    countryId: defaults.countryId,
    countryStateId: defaults.countryStateId,
    ...exemptionOf(body, present),
    customValues: defaults.customValues === undefined ? (present?.customValues ?? null) : defaults.customValues,
  }
}
