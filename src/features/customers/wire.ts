import { filter, LEFT_OUT, searchOfCustomers } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
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
  outDay,
  outFlag,
  outId,
  outInstant,
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
): SetEntry<P> & { of: K } => ({ of, in: property, column: own(out, of), blank, isKept })

type TextField = {
  [K in keyof CustomerInput]: CustomerInput[K] extends string | null
    ? null extends CustomerInput[K]
      ? K
      : never
    : never
}[keyof CustomerInput]

const setText = <K extends TextField>(of: K, field = text()) => set(of, optional(field), orNull(outText()))

const computed = <T>(shape: Shape<T>, valueOf: Column<CustomerView, T>[1]): { column: Column<CustomerView> } => ({
  column: [shape, valueOf],
})

const kept = (column: Column<CustomerView>): { column: Column<CustomerView> } => ({ column })

/** Returns what leaving out a field means: its value where a body has none, and whether an edit keeps it; undefined of a required one. */
function leftOutOf({ in: { presence }, blank, isKept }: SetEntry<AnyProperty>): string | undefined {
  if (presence === 'required') return undefined
  const isList = Array.isArray(blank)
  const absent = blank === null ? 'there is none' : isList ? 'there are none' : `it is ${wordOf(blank)}`
  const edit = isList ? '; an edit leaves them as they are' : '; an edit leaves it as it is'
  return `Left out, ${absent}${isKept ? edit : blank === null ? ': an edit clears it' : ''}.`
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? `\`${value}\`` : String(value))

/** Returns a field with its meaning, in bodies and answers, and with what leaving it out means where that does not follow from its declaration. */
const about = <E extends { column: Column<CustomerView>; in?: AnyProperty }>(
  entry: E,
  sentence: string,
  leftOut = 'of' in entry ? leftOutOf(entry as unknown as SetEntry<AnyProperty>) : undefined,
): E => ({
  ...entry,
  column: described(entry.column, sentence),
  ...(entry.in ? { in: described(entry.in, sentence, leftOut) } : {}),
})

/** The fields of a customer under their names in the interface, in the order in which they are written. */
const ENTRIES = {
  customerID: about(kept(own(outId(), 'id')), identifies('customer')),
  Reference: about(set('reference', optional(text()), outText()), SHARED.Reference, LEFT_OUT.given),
  isCompany: about(
    set('isCompany', optional(flag()), outFlag(), { blank: false }),
    'Whether the customer is a company.',
  ),
  Name: about(set('name', required(text()), outText()), 'The first name of a person, or the name of a company.'),
  LastName: about(setText('lastName'), SHARED.LastName),
  RegistrationNumber: about(setText('registrationNumber'), 'The number of the company in its register.'),
  VatNo: about(
    setText('vatNumber', text({ takesNumbers: true })),
    'The VAT number, which decides with the country which taxes hold and stands on documents.',
  ),
  VatNoStatus: about(
    computed(orNull(outWord(VAT_NUMBER_STATUSES)), ({ vatNumber, countryId }) =>
      vatNumber === null ? null : vatNumberStatus(vatNumber, countryId === null ? null : Number(countryId)),
    ),
    'Whether form and digits of the VAT number are right; nobody outside is asked.',
  ),
  Company: about(setText('company'), 'The name of the company, which documents are made out to.'),
  Email: about(setText('email', email()), SHARED.Email),
  EmailCC: about(setText('emailCc', email()), 'A second address that mails are copied to.'),
  Cell: about(setText('cell'), 'The number of the mobile telephone.'),
  Tel: about(setText('tel'), SHARED.Tel),
  Fax: about(setText('fax'), 'The fax number.'),
  Address1: about(setText('address1'), SHARED.Address1),
  Address2: about(setText('address2'), SHARED.Address2),
  City: about(setText('city'), SHARED.City),
  State: about(setText('state'), 'The state or province of the address.'),
  Country: about(setText('country'), 'The name of the country.'),
  ZipCode: about(setText('zipCode'), SHARED.ZipCode),
  CountryState: about(setText('countryState'), 'The name of the subdivision of the country.'),
  countryID: set(
    'countryId',
    optional(
      reference(),
      identifies('country (its numeric code of ISO 3166-1)'),
      'Left out, it is found by Country where that is the code of one, or its name in English, German, its own language or another language of Europe.',
    ),
    orNull(
      outId(
        'The country in which the customer is taxed, by its numeric code of ISO 3166-1; null where it is not known. ISO 3166-1 numeric code.',
      ),
    ),
  ),
  countryStateID: about(
    set('countryStateId', optional(reference()), orNull(outId())),
    identifies('subdivision of the country'),
    'Left out, it is found by CountryState or State where that names one.',
  ),
  PrimaryGatewayID: about(
    set('primaryGatewayId', optional(reference()), orNull(outId())),
    identifies('gateway that collects first'),
    'Left out, the primary gateway of the account is taken: an edit clears it.',
  ),
  CurrencyCode: about(
    set('currency', optional(currencyCode()), outText()),
    SHARED.CurrencyCode,
    'Left out, it is that of the account; an edit leaves it as it is.',
  ),
  CreatedDate: about(kept(own(outInstant(), 'createdAt')), 'When the customer was added.'),
  isSuspended: about(
    computed(outFlag(), (c) => c.suspendedAt !== null),
    'Whether the customer is suspended.',
  ),
  SuspendedDate: about(
    kept(own(orNull(outInstant()), 'suspendedAt')),
    'Since when it is suspended; null where it is not.',
  ),
  isActive: about(
    computed(outFlag(), (c) => c.archivedAt === null),
    'Whether the customer is not archived.',
  ),
  comp_status: about(
    computed(outWord(CUSTOMER_STATUSES), (c) =>
      customerStatus({ isArchived: c.archivedAt !== null, isSuspended: c.suspendedAt !== null }),
    ),
    'The state of the customer; a suspended or archived one is not billed.',
  ),
  isWaiveTaxes: about(
    set('isWaiveTaxes', optional(flag()), outFlag(), { blank: false }),
    'Whether the customer is charged no taxes.',
  ),
  TaxCategory: about(
    set('taxCategory', optional(word(EXEMPT_CATEGORIES, { anyCase: true })), orNull(outWord(EXEMPT_CATEGORIES)), {
      isKept: true,
    }),
    'The category of EN 16931 with which an exempt customer is billed.',
    'Left out of an edit, it stays as it is while isWaiveTaxes is true.',
  ),
  TaxReason: about(
    set('taxReason', optional(text()), orNull(outText()), { isKept: true }),
    'Why the customer is exempt; it stands on invoices.',
    'Left out of an edit, it stays as it is while isWaiveTaxes is true.',
  ),
  PaymentMethod: about(
    set('paymentMethod', optional(word(PAYMENT_METHODS)), outWord(PAYMENT_METHODS), { blank: 'cash' }),
    'How the customer is expected to pay; it decides how new invoices are collected.',
  ),
  ActiveSubs: about(
    kept(own(outInteger(), 'activeSubscriptions')),
    'How many subscriptions of the customer are being billed.',
  ),
  Balance: kept(ownAmount('balanceMinor', 'What the customer owes in its own currency')),
  autoSendInvoice: about(
    set('autoSendInvoice', optional(flag()), outFlag(), { blank: true }),
    'Whether invoices are mailed when they are issued.',
  ),
  autoSendStatement: about(
    set('autoSendStatement', optional(flag()), outFlag(), { blank: false }),
    'Whether a statement is mailed on the first of each month.',
  ),
  StatementDate: about(
    computed(orNull(outDay()), (c, { today, timeZone }) =>
      c.autoSendStatement ? dateWithOffset(firstOfNextMonth(today), timeZone) : null,
    ),
    'The day of the next automatic statement.',
  ),
  StatementLastSentDate: about(
    computed(orNull(outDay()), ({ statementLastSentOn: day }, { timeZone }) =>
      day === null ? null : dateWithOffset(day, timeZone),
    ),
    'The day on which a statement was last sent; null where none was.',
  ),
  PrimaryPaymentMethodInfo: about(
    computed(
      orNull(
        outObject({
          paymentMethodID: outId(identifies('payment method')),
          Token: outText('The token by which requests name it.'),
        }),
      ),
      (c) =>
        c.primaryMethodId === null || c.primaryMethodToken === null
          ? null
          : { paymentMethodID: c.primaryMethodId, Token: c.primaryMethodToken },
    ),
    'The primary payment method of the customer; null where there is none.',
  ),
  PaymentTermDays: about(
    set('paymentTermDays', optional(whole(0, 3650)), orNull(outInteger()), { isKept: true }),
    'After how many days invoices are due.',
    'Left out, those of the account hold; an edit leaves it as it is.',
  ),
  Locale: about(
    set('locale', optional(languageTag()), orNull(outText()), { isKept: true }),
    'The language of documents and mails, as `de` or `en-GB`.',
    'Left out, that of the account holds; an edit leaves it as it is.',
  ),
  isCollectionHold: about(
    set('isCollectionHold', optional(flag()), outFlag(), { blank: false, isKept: true }),
    'While it is true nothing is collected automatically.',
  ),
  StoppedReminders: about(
    set(
      'stoppedReminders',
      optional(
        distinct(
          listOf(word(REMINDER_KINDS, { anyCase: true }), { max: REMINDER_KINDS.length, what: 'kinds of reminders' }),
        ),
      ),
      outList(outWord(REMINDER_KINDS)),
      { blank: [], isKept: true },
    ),
    'The kinds of reminders that the customer gets no more.',
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
/** The properties that have a spelling: of a field without one, what customerFromWire returns is no CustomerInput. */
type Spelled = { [Name in keyof Entries]: Entries[Name] extends { of: infer Of } ? Of : never }[keyof Entries]
type Inputs = { [Name in ReadName]: Entries[Name]['in'] }

type AnyEntry = { column: Column<CustomerView>; in?: AnyProperty } | SetEntry<AnyProperty>
const ALL: readonly (readonly [name: string, entry: AnyEntry])[] = Object.entries(ENTRIES)
const SETTABLE = ALL.flatMap(([name, entry]) => ('of' in entry ? [[name, entry] as const] : []))
const columns: Columns<CustomerView> = Object.fromEntries(ALL.map(([name, { column }]) => [name, column]))

export const customerShape = recordShape<CustomerView>()('Customer', columns)

export const customerByIdShape = recordShape<CustomerView>()('CustomerById', {
  ...columns,
  PrimaryPaymentMethod: [
    outFlag('Whether the customer has a primary payment method.'),
    ({ primaryMethodId }) => primaryMethodId !== null,
  ],
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
    outList(
      outObject({
        Key: outText('The label of the custom field.'),
        Value: orNull(outText('The value that the customer has; null where none.')),
      }),
      'The values of the custom fields, by their keys.',
    ),
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
  listOf(
    objectOf(
      {
        Key: required(text(), 'The label of the custom field, by which customers name it.'),
        Value: optional(
          text(),
          'The value that the customer has; null where none.',
          'Left out, the customer has none.',
        ),
      },
      { name: 'CustomFieldValue' },
    ),
    {
      max: CUSTOM_FIELDS_MAX,
      what: 'custom fields',
    },
  ),
)

const inputs = {
  ...(Object.fromEntries(ALL.flatMap(([name, entry]) => (entry.in ? [[name, entry.in]] : []))) as unknown as Inputs),
  CustomFields: described(
    CustomFields,
    'The values of the custom fields, by their keys.',
    'Left out, there are none; an edit leaves them as they are.',
  ),
}

export const CustomerIn = objectOf(inputs, {
  name: 'CustomerInput',
  // What the service computes is passed over when sent, so that a record read can be sent back changed.
  ignored: [...ALL.flatMap(([name, entry]) => (entry.in ? [] : [name])), 'PrimaryPaymentMethod'],
})
export type CustomerBody = BodyOf<typeof inputs>

export const customerFilters = {
  q: searchOfCustomers(),
  Reference: filter(text(), 'records with this reference of yours'),
  Email: filter(text(), 'customers with this e-mail address'),
  comp_status: filter(word(CUSTOMER_STATUSES, { anyCase: true }), 'customers in this state', ['comp_Status']),
  VatNo: filter(text({ takesNumbers: true }), 'customers with this VAT number, as it is written'),
  countryID: filter(reference(), 'customers in this country'),
  hasCountry: optional(
    flag(),
    'With false only customers whose Country names none that is known, so that they have no countryID; with true only those with a countryID.',
    LEFT_OUT.all,
  ),
  CurrencyCode: filter(currencyCode(), 'records in this currency'),
}

/** Returns why a customer is exempt. Rule: absent fields stay while they are exempt; one who is taxed again, or for no reason, has none. */
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
    ...(plain as unknown as Pick<CustomerInput, Spelled & keyof CustomerInput>),
    reference: body.Reference ?? present?.reference ?? null,
    currency: body.CurrencyCode ?? present?.currency ?? defaults.currency,
    countryId: defaults.countryId,
    countryStateId: defaults.countryStateId,
    ...exemptionOf(body, present),
    customValues: defaults.customValues === undefined ? (present?.customValues ?? null) : defaults.customValues,
  }
}
