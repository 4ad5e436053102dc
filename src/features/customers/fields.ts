import type { ReminderKind } from '../../engine/collection/rules.ts'
import type { ExemptCategory } from '../../kernel/tax.ts'
import type { CustomValues } from './custom-value-queries.ts'

export const PAYMENT_METHODS = ['cash', 'cheque', 'credit_card', 'debit_order', 'eft', 'bank_account'] as const
export type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** The fields of a customer that a caller can set. */
export interface CustomerInput {
  reference: string
  isCompany: boolean
  name: string
  lastName: string | null
  registrationNumber: string | null
  vatNumber: string | null
  company: string | null
  email: string | null
  emailCc: string | null
  cell: string | null
  tel: string | null
  fax: string | null
  address1: string | null
  address2: string | null
  city: string | null
  state: string | null
  country: string | null
  countryState: string | null
  zipCode: string | null
  countryId: bigint | null
  countryStateId: bigint | null
  currency: string
  isWaiveTaxes: boolean
  /** Of an exempt customer: the category and the reason of the lines of 0 % that they have; null: they have none. */
  taxCategory: ExemptCategory | null
  taxReason: string | null
  paymentMethod: PaymentMethod
  autoSendInvoice: boolean
  autoSendStatement: boolean
  paymentTermDays: number | null
  locale: string | null
  isCollectionHold: boolean
  /** The kinds of reminders that the customer does not want. */
  stoppedReminders: readonly ReminderKind[]
  primaryGatewayId: bigint | null
  glCode: string | null
  customValues: CustomValues | null
}

interface SetField {
  column: string
  type: 'text' | 'boolean' | 'bigint' | 'integer' | 'jsonb' | 'text[]'
  /** Documents freeze it at issue; an edit of it starts a new version of the customer. */
  isFrozen: boolean
  /** Shows who the customer is, and is taken away when the customer is made anonymous. */
  isPersonal: boolean
}

/**
 * The columns of what a caller can set. Reads, inserts, updates, the ETag, what documents freeze and what anonymising clears follow from
 * them; wire.ts has their spelling.
 */
export const CUSTOMER_FIELDS = {
  reference: { column: 'reference', type: 'text', isFrozen: false, isPersonal: false },
  isCompany: { column: 'is_company', type: 'boolean', isFrozen: true, isPersonal: false },
  name: { column: 'name', type: 'text', isFrozen: true, isPersonal: true },
  lastName: { column: 'last_name', type: 'text', isFrozen: true, isPersonal: true },
  registrationNumber: { column: 'registration_number', type: 'text', isFrozen: true, isPersonal: true },
  vatNumber: { column: 'vat_number', type: 'text', isFrozen: true, isPersonal: true },
  company: { column: 'company', type: 'text', isFrozen: true, isPersonal: true },
  email: { column: 'email', type: 'text', isFrozen: true, isPersonal: true },
  emailCc: { column: 'email_cc', type: 'text', isFrozen: true, isPersonal: true },
  cell: { column: 'cell', type: 'text', isFrozen: false, isPersonal: true },
  tel: { column: 'tel', type: 'text', isFrozen: true, isPersonal: true },
  fax: { column: 'fax', type: 'text', isFrozen: false, isPersonal: true },
  address1: { column: 'address1', type: 'text', isFrozen: true, isPersonal: true },
  address2: { column: 'address2', type: 'text', isFrozen: true, isPersonal: true },
  city: { column: 'city', type: 'text', isFrozen: true, isPersonal: true },
  state: { column: 'state', type: 'text', isFrozen: true, isPersonal: true },
  country: { column: 'country', type: 'text', isFrozen: true, isPersonal: true },
  countryState: { column: 'country_state', type: 'text', isFrozen: false, isPersonal: true },
  zipCode: { column: 'zip_code', type: 'text', isFrozen: true, isPersonal: true },
  countryId: { column: 'country_id', type: 'bigint', isFrozen: false, isPersonal: false },
  countryStateId: { column: 'country_state_id', type: 'bigint', isFrozen: false, isPersonal: false },
  currency: { column: 'currency', type: 'text', isFrozen: false, isPersonal: false },
  isWaiveTaxes: { column: 'is_waive_taxes', type: 'boolean', isFrozen: false, isPersonal: false },
  taxCategory: { column: 'tax_category', type: 'text', isFrozen: false, isPersonal: false },
  taxReason: { column: 'tax_reason', type: 'jsonb', isFrozen: false, isPersonal: false },
  paymentMethod: { column: 'payment_method', type: 'text', isFrozen: false, isPersonal: false },
  autoSendInvoice: { column: 'auto_send_invoice', type: 'boolean', isFrozen: false, isPersonal: false },
  autoSendStatement: { column: 'auto_send_statement', type: 'boolean', isFrozen: false, isPersonal: false },
  paymentTermDays: { column: 'payment_term_days', type: 'integer', isFrozen: false, isPersonal: false },
  locale: { column: 'locale', type: 'text', isFrozen: true, isPersonal: false },
  isCollectionHold: { column: 'is_collection_hold', type: 'boolean', isFrozen: false, isPersonal: false },
  stoppedReminders: { column: 'stopped_reminders', type: 'text[]', isFrozen: false, isPersonal: false },
  primaryGatewayId: { column: 'primary_gateway_id', type: 'bigint', isFrozen: false, isPersonal: false },
  glCode: { column: 'gl_code', type: 'text', isFrozen: false, isPersonal: false },
  customValues: { column: 'custom_values', type: 'jsonb', isFrozen: false, isPersonal: false },
} as const satisfies Record<keyof CustomerInput, SetField>

export const CUSTOMER_FIELD_NAMES = Object.keys(CUSTOMER_FIELDS) as readonly (keyof CustomerInput)[]

type FrozenName = {
  [Name in keyof CustomerInput]: (typeof CUSTOMER_FIELDS)[Name]['isFrozen'] extends true ? Name : never
}[keyof CustomerInput]

export const FROZEN_NAMES = CUSTOMER_FIELD_NAMES.filter((name): name is FrozenName => CUSTOMER_FIELDS[name].isFrozen)

/** The fields of a customer that a document shows as they were at its issue. */
export type FrozenCustomer = Pick<CustomerInput, FrozenName>

/** Picks what documents freeze of a customer; an edit of any of these starts a new version. */
export const frozenOf = (c: CustomerInput): FrozenCustomer =>
  Object.fromEntries(FROZEN_NAMES.map((name) => [name, c[name]])) as unknown as FrozenCustomer

/** Returns the fields of a customer that papers show, by their spelling. */
export const receiverTexts = (c: FrozenCustomer) => ({
  ...{ Name: c.name, LastName: c.lastName, Company: c.company, Email: c.email },
  ...{ Address1: c.address1, Address2: c.address2, City: c.city, State: c.state, ZipCode: c.zipCode },
  ...{ Country: c.country, RegistrationNumber: c.registrationNumber, VatNo: c.vatNumber },
})
