import type { DocumentedOperation } from '../api/document.ts'

/** The calls that are written with generated clients: what the document shows, and what no type may let pass. */

type Body = Record<string, unknown>

export interface Call {
  id: string
  body?: unknown
  path: Record<string, unknown>
  query?: Record<string, unknown>
}

const without = (body: Body, name: string): Body =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))

const PATH_WORDS: Record<string, unknown> = {
  kind: 'renewal',
  versionno: '1',
  Key: 'Cost centre',
  invoiceNum: '1',
  BatchToken: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
}

const pathOf = ({ pathParams }: DocumentedOperation) =>
  Object.fromEntries(pathParams.map((name) => [name, PATH_WORDS[name] ?? 1]))

/** The example of every operation that takes JSON. */
export const rightCalls = (operations: readonly DocumentedOperation[]): Call[] =>
  operations
    .filter(({ example }) => example !== undefined)
    .map((operation) => ({ id: operation.id, body: operation.example, path: pathOf(operation) }))

/** Each is a right call with one mistake. */
export const MISTAKES: readonly (readonly [what: string, id: string, make: (right: Call) => Call])[] = [
  ['a required field left out', 'addCustomer', (call) => ({ ...call, body: without(call.body as Body, 'Name') })],
  [
    'a field misspelt',
    'addCustomer',
    (call) => ({ ...call, body: { ...(call.body as Body), Emial: 'a@example.org' } }),
  ],
  ['a wrong word', 'editCustomer', (call) => ({ ...call, body: { ...(call.body as Body), PaymentMethod: 'barter' } })],
  ['a payment without its amount', 'addPayment', (call) => ({ ...call, body: without(call.body as Body, 'Amount') })],
  [
    'a payment by a wrong word',
    'addPayment',
    (call) => ({ ...call, body: { ...(call.body as Body), Method: 'barter' } }),
  ],
  [
    'an allocation without its amount',
    'editPayment',
    (call) => ({ ...call, body: { ...(call.body as Body), Allocations: [{ invoiceID: 1 }] } }),
  ],
  [
    'a credit note under its second name',
    'addCredit',
    (call) => ({ ...call, body: { ...without(call.body as Body, 'CreditNumber'), Ref: 'CN-17' } }),
  ],
  [
    'an adjustment on no side',
    'addAdjustment',
    (call) => ({ ...call, body: { ...(call.body as Body), Type: 'sideways' } }),
  ],
  [
    'an adjustment without its kind',
    'editAdjustment',
    (call) => ({ ...call, body: without(call.body as Body, 'AdjustmentType') }),
  ],
  ['a term of weeks', 'addSubscription', (call) => ({ ...call, body: { ...(call.body as Body), TermType: 'weeks' } })],
  [
    'a package whose version has no rates',
    'addPackage',
    (call) => ({
      ...call,
      body: { ...(call.body as Body), PackageVersion: { VersionName: 'A', isActive: true, isDefault: true } },
    }),
  ],
  [
    'an entry of usage misspelt',
    'recordUsageInBulk',
    (call) => ({ ...call, body: { Usage: [{ subscriptionID: 1, componentID: 1, NumUnit: 2, UsageKey: 'key' }] } }),
  ],
  ['usage without its units', 'recordUsage', (call) => ({ ...call, body: without(call.body as Body, 'NumUnits') })],
  ['usage of nothing', 'recordUsage', (call) => ({ ...call, body: {} })],
  ['an end left out', 'changeEndDate', (call) => ({ ...call, body: {} })],
  [
    'recurring charges under their second name',
    'addRecurringInvoice',
    (call) => ({ ...call, body: { customerID: 1, RecurInvoiceCharge: [{ UnitCostEx: 31 }] } }),
  ],
  ['a wrong word in the path', 'cancelSubscription', (call) => ({ ...call, path: { ...call.path, kind: 'later' } })],
  ['a wrong word in the query', 'listInvoices', (call) => ({ ...call, query: { status: 'Open' } })],
  ['text for a number', 'editInvoice', (call) => ({ ...call, body: { ...(call.body as Body), customerID: 'one' } })],
]

/** The right call that each mistake is made in: the operation's example, or a call without anything. */
export const wrongCalls = (operations: readonly DocumentedOperation[]): Call[] =>
  MISTAKES.map(([, id, make]) => {
    const operation = operations.find((one) => one.id === id) as DocumentedOperation
    return make({
      id,
      path: pathOf(operation),
      ...(operation.example === undefined ? {} : { body: operation.example }),
    })
  })
