import type { Schema } from '../wire/schema.ts'
import { IDENTIFIED } from './field-sentences.ts'
import { leftOutSentence } from './left-out.ts'

/**
 * Sentences of the reference that several operations share: introductions of tags, parameters, and how fields get theirs. A field whose own
 * sentence stands where it is declared (`described`, or `description` of a text) has that; else that of its record, else that of its name.
 */

export const TAG_SENTENCES: Readonly<Record<string, string>> = {
  Exports: "What is handed to an accountant's program, and the codes of its chart of accounts.",
  Customers: 'People and companies that are billed: their names, addresses, languages, tax data and ways of paying.',
  'Payment methods':
    'Cards and bank accounts of customers, kept with a gateway; numbers are answered only by their last digits.',
  'Capture widget':
    'Sessions in which a frame of the service, on a page of yours, takes a card or a bank account from its holder.',
  eMandates: 'Mandates to debit a bank account, which the holder signs on a page of the service.',
  'Customer contacts': 'Further people of a customer, who may have a username and password of their own.',
  'Customer notes': 'Notes about a customer for those who work with him; customers never see them.',
  'Custom fields': 'Fields of your own for customers; each has a key, and each customer a value.',
  Subscriptions: 'Packages and components that a customer has, billed term by term until they end.',
  Usage: 'Reports of what was used of metered components; it is charged when its cycle has ended.',
  Invoices: 'Invoices made by the rules or by hand, with their lines, taxes and what is paid of them.',
  Payments: 'Money that came in, the invoices to which it is allocated, and its refunds.',
  Batches: 'Debits of bank accounts that go to a bank together, as a file or by a gateway.',
  'Result files': 'Files of banks and gateways that tell which debits failed and what was paid.',
  'Credit notes': 'Documents that take back invoices, whole or in part, with their tax.',
  Adjustments:
    'Positive adjustments add to what a customer owes (interest, opening balances); negative ones take from it (bad debt).',
  'Recurring invoices': 'Lines that are invoiced again each term, without a package.',
  Packages:
    'Plans that customers subscribe to. Their prices are in versions, so that they can change without changing what was sold.',
  'Package versions':
    'Prices of a package by currency and term. Subscriptions keep their version until they are changed.',
  'Package groups': 'Groups of packages and components; a subscription changes within its group.',
  Components: 'Quantities, opt-ins and metered usage that are sold beside a package.',
  'Component versions': 'Prices of a component by currency, in brackets of quantity.',
  Ledger: 'The double-entry ledger that every change of money writes; entries are never changed or deleted.',
  Reports: 'Figures of an account by day or period, which agree with the ledger.',
  Gateways: 'Payment gateways and banks through which money is collected, with their settings.',
  Collection: 'Rules of when money is collected, tried again and reminded of.',
  'Tax settings': 'Taxes and the rules of where, and for whom, each rate holds.',
  Currencies: 'Currencies in which the account bills.',
  Countries: 'The countries and their subdivisions, by the identifiers that addresses use.',
  Account: 'The account itself: name, address, zone, language, currency, documents and logo.',
  'Billing runs': 'Runs that bill what is due, and what they could not bill.',
  Clock: 'The clock of a test account, which can be moved forward to see what happens later.',
  Outbox: 'Mails of the account: sent, waiting, or failed.',
  Events: 'Every change of the account in order, with the record as it was after it.',
  Webhooks: 'Addresses that are called with each event of the types that they ask for.',
}

/** Parameters by name, or by the operation and the name where one differs. */
const PARAMETER_SENTENCES: Readonly<Record<string, string>> = {
  page: 'The page of the list, counted from 1.',
  page_size: 'How many records a page has; more than 200 is taken as 200.',
  sort: 'The order of the list: `id` from the oldest record to the newest, `-id` from the newest to the oldest.',
  total:
    'With true the header `Total-Count` says how many records the list has; `10000+` where it is filtered and has more.',
  updatedSince:
    'Limits the list to records that were created or changed at this instant or later, in real time; money on invoices counts. It is at most 5 minutes ahead, which counts as now; send what the header `Perennial-Until` answered last. Left out, all are listed.',
  after:
    'Begins the list after the record with this identifier, whatever stands before it. The `Link` of a list that was asked with `updatedSince` has it, so that no record is missed or comes twice while others are added and deleted. Left out, the page is found by its number.',
  'Idempotency-Key':
    'A text of your own that makes the request safe to repeat for 24 hours: a repetition answers what the first one answered. Left out, a repetition is a new request.',
  'If-Match':
    'The `ETag` of the record as you know it: where it has changed since, the answer is 412. Left out, nothing is compared.',
  Prefer:
    'Preferences of RFC 7240. With `return=representation` the answer is 200 with what reading the record answers now, in place of one without a body. Left out, there is no body.',
  preview: 'With true nothing is changed, and the answer shows what would be.',
  from: 'Limits the answer to what happened on this day or later. Left out, it begins with the oldest.',
  'getStatement.from': 'The first day of the statement. Left out, it is the first of this month.',
  to: 'Limits the answer to what happened on this day or earlier. Left out, it ends with the newest.',
  'getStatement.to': 'The last day of the statement. Left out, it is today.',
  startDate: 'Limits the list to records of this day or later. Left out, the list begins with the oldest.',
  endDate: 'Limits the list to records of this day or earlier. Left out, the list ends with the newest.',
  status: 'Limits the list to records in this state. Left out, all are listed.',
  q: 'Limits the list to records that are found by these words, each the beginning of one of theirs, or, where no record bears them all itself, of its customer; letter case, accents and signs do not count. Left out, all are listed.',
  comp_status: 'Limits the list to customers in this state. Left out, all are listed.',
  comp_Status: 'Limits the list to records in this state. Left out, all are listed.',
  currency: 'Limits the answer to one currency. Left out, it is that of the customer; a PDF has all.',
  format: 'The form of the answer. Left out, `Accept` decides, and else it is JSON.',
  date: 'The last day that counts. Left out, everything counts that is written.',
  VatNo: 'Limits the list to customers with this VAT number, as it is written. Left out, all are listed.',
  isWrittenOff:
    'With true only invoices of which nothing is left to pay because of bad debt, with false all others. Left out, all are listed.',
  isToBeSentAgain:
    'With true only files whose bytes are to be sent once more, with false all others. Left out, all are listed.',
  poNumber: 'Limits the list to invoices with this purchase order number. Left out, all are listed.',
  packageCode: 'Limits the list to the package with this code. Left out, all are listed.',
  ComponentCode: 'Limits the list to the component with this code. Left out, all are listed.',
  Ref: 'Limits the list to records with this Ref. Left out, all are listed.',
  Method: 'Limits the list to payments made in this way. Left out, all are listed.',
  CreditNumber: 'Limits the list to the credit note with this number, in any letter case. Left out, all are listed.',
  AdjustmentType: 'Limits the list to adjustments of this kind. Left out, all are listed.',
  Code: 'Limits the list to the country with this code (ISO 3166-1, two letters). Left out, all are listed.',
  Account: 'Limits the list to entries that debit or credit this ledger account. Left out, all are listed.',
  Event: 'Limits the list to entries of this event. Left out, all are listed.',
  RecordType: 'Limits the list, with RecordID, to entries of one record: its kind. Left out, those of all are listed.',
  RecordID: 'Limits the list to one record, by its identifier. Left out, all are listed.',
  Number:
    'Limits the list to entries of the document with this number: an invoice, or a credit note and what it settles. Left out, all are listed.',
  Status: 'Limits the list to mails in this state. Left out, all are listed.',
  'listSubscriptions.packageCode':
    'Limits the list to subscriptions of the package with this code. Left out, all are listed.',
  'listCustomerSubscriptions.packageCode':
    'Limits the list to subscriptions of the package with this code. Left out, all are listed.',
  'listSubscriptions.ComponentCode':
    'Limits the list to subscriptions that have the component with this code. Left out, all are listed.',
  'listCustomerSubscriptions.ComponentCode':
    'Limits the list to subscriptions that have the component with this code. Left out, all are listed.',
  'listUsage.ComponentCode': 'Limits the list to usage of the component with this code. Left out, all are listed.',
  'listPayments.invoiceID':
    'Limits the list to payments of which something is allocated to this invoice. Left out, all are listed.',
  'listCustomerPayments.invoiceID':
    'Limits the list to payments of which something is allocated to this invoice. Left out, all are listed.',
  'listCredits.invoiceID':
    'Limits the list to credit notes that settle something of this invoice. Left out, all are listed.',
  'listCustomerCredits.invoiceID':
    'Limits the list to credit notes that settle something of this invoice. Left out, all are listed.',
  kind: 'How the subscription ends.',
  token: 'The token of the link by which the document is found.',
  Token: 'The token of the mandate, as it was answered when it was made.',
  Key: 'The key of the custom field.',
  SessionToken: 'The token of the capture session.',
  BatchToken: 'The token of the batch.',
  invoiceNum: 'The number of the invoice as it is printed.',
  versionno: 'The number of the version, counted from 1 within its package or component.',
  Reference: 'Limits the list to records with this reference of yours. Left out, all are listed.',
  Email: 'Limits the list to customers with this e-mail address. Left out, all are listed.',
  CurrencyCode: 'Limits the list to records in this currency. Left out, all are listed.',
  'deleteCurrency.CurrencyCode': 'The currency that is taken away. Left out, the body names it.',
  'listCustomers.countryID': 'Limits the list to customers in this country. Left out, all are listed.',
  'listCustomersWithCustomFields.countryID': 'Limits the list to customers in this country. Left out, all are listed.',
  hasCountry:
    'With false only customers whose Country names none that is known, so that they have no countryID; with true only those with a countryID. Left out, all are listed.',
  type: 'The side of the adjustment: positive adds to what the customer owes, negative takes from it.',
  'deleteAdjustment.type': 'The side of the adjustment. Left out, the body names it.',
  'deleteAdjustment.adjustmentID': 'The identifier of the adjustment. Left out, the body names it.',
  'deleteAdjustment.customerID': 'The customer of the adjustment. Left out, the body names it.',
  'deletePackageByGivenId.packageID': 'The identifier of the package. Left out, the body names it.',
  isDetailed:
    'With true the kind, the expiry, the bank and the mandate of each method are shown too, and an IBAN by its country and last four digits. Left out, false.',
  isOpen:
    'With true only files with lines that wait for a person, with false only those without. Left out, all are listed.',
  State: 'Limits the list to batches in this state. Left out, all are listed.',
  GatewayToken: 'Limits the list to batches of the gateway with this token. Left out, all are listed.',
  ActionDateFrom: 'Limits the list to batches for this day or later. Left out, there is no first day.',
  ActionDateTo: 'Limits the list to batches for this day or earlier. Left out, there is no last day.',
  isDayPassed:
    'With true only batches with lines that nobody submitted by their last moment and that the service does not move, with false all others. Left out, all are listed.',
  'listEvents.RecordType':
    'Limits the list to events of records of this kind, with RecordID or without. Left out, those of all are listed.',
  'listEvents.type': 'Limits the list to events of this type. Left out, all are listed.',
}

/** Defaults of parameters: what leaving them out means. */
export const PARAMETER_DEFAULTS: Readonly<Record<string, unknown>> = {
  page: 1,
  page_size: 100,
  sort: 'id',
  total: false,
  preview: false,
}

/** Returns the sentence of a name that identifies a record; undefined for any other. */
const ofIdentifier = (name: string): string | undefined =>
  IDENTIFIED[name] === undefined ? undefined : `The identifier of the ${IDENTIFIED[name]}.`

/** Returns the shared sentence of a parameter, an identifier that may be left out being one that lists are limited by; undefined where there is none. */
export const parameterSentence = (operation: string, name: string, isRequired: boolean): string | undefined =>
  PARAMETER_SENTENCES[`${operation}.${name}`] ??
  PARAMETER_SENTENCES[name] ??
  (isRequired || IDENTIFIED[name] === undefined
    ? ofIdentifier(name)
    : `Limits the list to records of this ${IDENTIFIED[name]}. Left out, those of all are listed.`)

/** Matches what a description has about how a value is written, what else its field is called, and where it may be left out. */
const FORM = new RegExp(
  [
    '(Calendar date|Instant)(: a date such as [^.]*)?(, in real time)?',
    'In any letter case|ISO 4217 code|ISO 3166-1 numeric code|A UUID',
    'A fraction from 0 to 1(: 0\\.19 is 19 %)?|An amount in major units, with at most the decimals of its currency',
    'A price per unit, up to 8 decimals|Units, up to 8 decimals|Given together with TermType',
    'Also taken as [\\w, ]+|(Left out, |Required unless )[^.]*',
  ].join('|'),
  'g',
)

/** Matches a description that has what leaving out its field means. */
const LEAVING_OUT = /left out|required unless|\bdefault\b/i

/** Returns whether a description is about the meaning of its field. */
export const isSentence = (description: unknown): description is string =>
  typeof description === 'string' && /\w/.test(description.replace(FORM, ''))

/** Returns whether a description has what leaving out its field means. */
export const hasLeftOut = (description: unknown): boolean => LEAVING_OUT.test(String(description))

/** The place of a schema: its component or operation, the fields that lead to it, and whether it is sent. */
interface SchemaPlace {
  component: string
  path: string
  isSent: boolean
}

/** Adds sentences to the fields of a schema, and of what is within it, that have none of their own, and what leaving out those means that are sent. */
export function withSentences(schema: Schema, place: SchemaPlace): Schema {
  const properties = schema['properties'] as Record<string, Schema> | undefined
  const required = (schema['required'] ?? []) as string[]
  const again = (inner: unknown) => withSentences(inner as Schema, place)
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [
    name,
    explained(name, field, { ...place, isSent: place.isSent && !required.includes(name) }),
  ])
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(fields) }),
    ...(schema['items'] ? { items: again(schema['items']) } : {}),
    ...(schema['additionalProperties'] ? { additionalProperties: again(schema['additionalProperties']) } : {}),
    ...(schema['anyOf'] ? { anyOf: (schema['anyOf'] as unknown[]).map(again) } : {}),
  }
}

function explained(name: string, field: Schema, { component, path, isSent }: SchemaPlace): Schema {
  const place = `${path}.${name}`
  const inner = withSentences(field, { component, path: place, isSent })
  const own = inner['description'] as string | undefined
  const leftOut = isSent && !hasLeftOut(own) ? leftOutSentence(component, name) : undefined
  const description = [own, leftOut].flatMap((one) => (one === undefined ? [] : [asSentence(one)])).join(' ')
  return description === '' ? inner : { ...inner, description }
}

const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)
