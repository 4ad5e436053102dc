import { describe, expect, test } from 'vitest'
import { MANDATE } from '../../src/features/emandates/emandates.testing.ts'
import { startTestService } from '../support/app.ts'
import { type DocumentedOperation, type JsonSchema, operationsOf, readDocument } from './document.ts'
import { leavesOf, rightBody, valueOf, withValue, writeJson } from './samples.ts'
import { addResultFile, makeWorld, pathOf, RECIPES } from './world.ts'

/**
 * References of bodies, of all declared operations: one that nobody has is 400 (404 where it names the record that the request is about), and one
 * of another customer, kind or currency is 409. A new operation joins on its own where it is unknown, and has to be named where it does not fit.
 */

const service = await startTestService()
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'references')
const { client } = world

/** Lines of one file of a bank, of which each is answered once. */
const file = await addResultFile(client, 40)
let answered = 0
const nextLine = (): string => `/v1/resultfiles/${file.resultFileID}/lines/${file.lineIDs[(answered += 1)]}`

/** Fields that end like references and are texts, or words that a standard lists. */
const TEXTS = new Set([
  ...['RegistrationNumber', 'ZipCode', 'PostalCode', 'GLCode', 'RevenueGLCode', 'ReasonCode', 'poNumber', 'TaxNumber'],
  ...['Number', 'BranchCode', 'AccountNumber', 'RoutingNumber', 'bank_BranchCode', 'bank_AccNumber', 'CreditNumber'],
  ...['CurrencyCode', 'CountryISOCode', 'token'],
])

interface Reference {
  operation: DocumentedOperation
  path: (string | number)[]
  name: string
  schema: JsonSchema
  /** As refusals name it: "Allocations[0].invoiceID". */
  field: string
}

const fieldOf = (path: readonly (string | number)[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)

const references: Reference[] = operations.flatMap((operation) =>
  leavesOf(operation.body ?? {})
    .filter(
      ({ name, path }) => /(ID|Token|Code|Number)$/.test(name) && !TEXTS.has(name) && typeof path.at(-1) === 'string',
    )
    .map((leaf) => ({ operation, ...leaf, field: fieldOf(leaf.path) })),
)

const isInteger = ({ type }: JsonSchema): boolean => ([] as unknown[]).concat(type).includes('integer')
const unknownOf = ({ schema, name }: Reference): unknown =>
  name === 'packageVersionNumber' || name === 'componentVersionNumber'
    ? 99
    : isInteger(schema) || name.endsWith('ID')
      ? 987_654_321
      : name.endsWith('Token')
        ? '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60'
        : 'no-such-code'

/** Values that an entry of a list needs beside its reference. */
const BESIDE: Record<string, object> = {
  Allocations: { amountApplied: 1 },
  LinkedAllocations: { amountApplied: 1 },
  PaymentApplied: { amount: 1 },
  Lines: { AmountEx: 1 },
  Results: { Success: true },
  componentUsage: { componentID: world.ids.get('componentID')?.[0], NumUnits: 1 },
}

/** References that name the record that the request is about: 404. */
const ABOUT = new Set([
  ...['submitBatch BatchToken', 'releaseBatch BatchToken', 'cancelBatch BatchToken', 'editBatch BatchToken'],
  ...['addBatchPayment BatchToken', 'editBatchPayment paymentID', 'deletePackageByGivenId packageID'],
  ...['editAdjustment AdjustmentID', 'addAdjustment customerID'],
])

/** Places where a reference is not refused as unknown, and why. */
const ELSEWHERE: Record<string, string> = {
  'addPackage packageCode': 'the own name of the record, as the next three',
  'editPackage packageCode': '',
  'addComponent ComponentCode': '',
  'editComponent ComponentCode': '',
  'editInvoice customerID': 'an issued invoice keeps its customer, whoever is named: 409',
  'editBatchPayment BatchToken': 'the line is found, and is in another batch: 409',
  'editAdjustment customerID': 'names the record together with AdjustmentID: 404 of that',
  'deleteAdjustment adjustmentID': 'stands in the query too, which the body contradicts',
  'deleteAdjustment customerID': 'as before',
  'addTaxSetting rules[0].taxRuleID': 'a setting that is added has no rules yet, so they are added',
  'validateBankAccount BankAccount.EMandateToken': 'a check links nothing',
  'validateBankAccountByPut BankAccount.EMandateToken': 'the same by PUT',
  'addGatewayToken Token': 'names nothing of the account: tried at a simulator of Stripe',
  'changeTerm packageID': 'the package stays: only its terms are looked for',
  'changeTerm packageCode': 'as before',
  'changeTerm packageVersionID': 'as before',
  'changeTerm packageVersionNumber': 'as before',
  'addAdjustment Allocations[0].objectID':
    'a positive one is paid by what names it; of a negative one it is tried below',
  'answerResultLine paymentID': 'tried with the rooms of files',
}

/** Fields whose values a standard lists: no record of an account. */
const OF_STANDARDS = new Set(['countryID', 'countryStateID'])

const isTried = ({ operation, name, field }: Reference): boolean =>
  !OF_STANDARDS.has(name) &&
  !Object.hasOwn(ELSEWHERE, `${operation.id} ${field}`) &&
  // A record that is added has no allocations yet, so they are added.
  !(name === 'allocationID' && (operation.method === 'POST' || operation.id === 'answerResultLine'))

/** Sends a right body of an operation with one reference in it, and nothing that would stand for the same thing. */
async function sendUnknown(reference: Reference) {
  const { operation, path, name } = reference
  const isOfLine = operation.id === 'answerResultLine'
  const recipe = isOfLine ? { path: nextLine(), body: { customerID } } : await RECIPES[operation.id]?.(world)
  const url = recipe?.path ?? pathOf(operation, world) ?? operation.path
  const right = { ...(recipe?.body ?? rightBody(operation, world)) }
  const [list] = path
  const beside = typeof path[1] === 'number' ? (BY_CODE[name] ?? BESIDE[String(list)]) : undefined
  const body = beside ? { ...right, [String(list)]: [beside], ...ALONE[String(list)] } : { ...right, ...ALONE[name] }
  const reply = await client.request(operation.method, url, writeJson(withValue(body, path, unknownOf(reference))), {
    'content-type': 'application/json',
  })
  const problems = (reply.body?.Errors ?? []) as { Code: string; Field: string | null }[]
  return { status: reply.status, fields: problems.map(({ Field }) => Field), text: reply.text }
}

/** Fields that a body leaves out while another is tried. */
const ALONE: Record<string, Record<string, unknown>> = {
  Allocations: { AutoApply: undefined },
  PaymentApplied: { isAutoApply: undefined },
  LinkedAllocations: { isAutoApply: undefined },
  Lines: { Amount: undefined, isWhole: undefined },
  packageCode: { packageID: undefined },
  ComponentCode: { componentID: undefined },
}
/** The entries of these lists name their record by a code alone. */
const BY_CODE: Record<string, object> = { ComponentCode: { NumUnits: 1 } }

test('references are found in most bodies', () => {
  expect(references.length).toBeGreaterThan(100)
})

describe('a reference that nobody has', () => {
  test.each(
    references.filter(isTried).map((reference) => [`${reference.operation.id} ${reference.field}`, reference] as const),
  )('%s', async (_title, reference) => {
    const { operation, field } = reference
    const { status, fields, text } = await sendUnknown(reference)
    const isAbout = ABOUT.has(`${operation.id} ${field}`)
    expect([status, text.slice(0, 300)]).toEqual([isAbout ? 404 : 400, expect.any(String)])
    expect(fields.map((one) => one?.toLowerCase())).toContain(field.toLowerCase())
  })
})

/** Adds a customer with a card, a bank account, an invoice in USD, a draft and one in EUR, and interest. */
async function customerWithAll(Name: string) {
  const must = async (path: string, body: unknown) => {
    const reply = await client.post(path, body)
    expect([path, reply.status, reply.body?.Errors]).toEqual([
      path,
      expect.toSatisfy((status) => status < 300),
      undefined,
    ])
    return reply.body
  }
  const { customerID } = await must('/v1/customers', { Name, isCompany: true })
  const method = async (path: string, more: object): Promise<number> =>
    (await must(`/v1/paymentmethods/${path}`, { customerID, isPrimary: false, ...more })).paymentMethodID
  const invoice = (more: object) => must('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }], ...more })
  const { packageID } = (await client.get('/v1/packages')).body[0]
  const charges = { RecurInvoiceCharges: [{ Line: 'Rent', UnitCostEx: 10, Qty: 1 }], StartDate: '2027-06-01' }
  return {
    customerID: customerID as number,
    card: await method('creditcard', { CreditCard: valueOf('CreditCard') }),
    bank: await method('bankaccount', { BankAccount: valueOf('BankAccount') }),
    usd: await invoice({}),
    draft: await invoice({ isDraft: true }),
    eur: await invoice({ CurrencyCode: 'EUR' }),
    subscription: await must('/v1/subscriptions', { customerID, packageID, Term: 1, TermType: 'months' }),
    recurring: { ...charges, ...(await must('/v1/recurring-invoices', { customerID, ...charges })) },
    interest: (
      await must('/v1/adjustment/add', {
        ...{ customerID, Type: 'positive', AdjustmentType: 'interest', Ref: 'R', Amount: 5 },
        ...{ Date: '2027-01-01', DueDate: '2027-02-01' },
      })
    ).AdjustmentID as number,
    packageID: packageID as number,
  }
}

const mine = await customerWithAll('Mine')
const other = await customerWithAll('Other')
const { customerID } = mine

const gatewayOf = async (body: object) => (await client.post('/v1/gateways', { GatewayType: 'manual', ...body })).body
/** A gateway that takes no cards, and no bank accounts in the currency of the customers. */
const euroGateway = await gatewayOf({ FriendlyName: 'Euro', CurrencyCodes: ['EUR'] })

interface Sent {
  method: 'POST' | 'PUT'
  path: string
  body: Record<string, unknown>
}

const line = await client.post('/v1/payments', {
  ...{ customerID, Amount: 50, Date: '2027-01-01', CurrencyCode: 'USD', Method: 'cheque', Allocations: [] },
})
const note = await client.post('/v1/credits', {
  ...{ customerID, Amount: 50, Date: '2027-01-01', CurrencyCode: 'USD', CreditNumber: 'K-1', Allocations: [] },
})
const taken = (body: any, ...names: string[]) => Object.fromEntries(names.map((name) => [name, body[name]]))

const MONEY = { customerID, Amount: 50, Date: '2027-01-01', CurrencyCode: 'USD' }
const PAYMENT = { ...MONEY, Method: 'cheque', Allocations: [] }
const CREDIT = { ...MONEY, CreditNumber: 'K-2', Allocations: [] }
const ADJUSTMENT = {
  ...{ customerID, Amount: 5, Date: '2027-01-01', Ref: 'R', Allocations: [] },
  Type: 'negative',
  AdjustmentType: 'credit_note',
}

const [{ GatewayToken }] = (await client.get('/v1/gateways?page_size=1')).body
const batch = await client.post('/v1/batches', { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-03-01' })
const { BatchToken } = batch.body
const BATCH_LINE = { BatchToken, customerID, paymentMethodID: mine.bank, Amount: 10, PaymentApplied: [] }
const batchLine = await client.post('/v1/batches/payments', BATCH_LINE)
const MANDATE_OF_STORED = Object.fromEntries(Object.entries(MANDATE).filter(([name]) => !name.startsWith('bank_')))

/** A right request of each operation whose body names something of a customer, of a kind, or of a currency. */
const RIGHT: Record<string, () => Promise<Sent> | Sent> = {
  addSubscription: () => ({
    method: 'POST',
    path: '/v1/subscriptions',
    body: { customerID, packageID: mine.packageID, Term: 1, TermType: 'months' },
  }),
  previewNewSubscription: () => ({
    method: 'POST',
    path: '/v1/subscriptions/preview',
    body: { customerID, packageID: mine.packageID, Term: 1, TermType: 'months' },
  }),
  editSubscription: () => ({ method: 'PUT', path: `/v1/subscriptions/${mine.subscription.subscriptionID}`, body: {} }),
  addInvoice: () => ({ method: 'POST', path: '/v1/invoices', body: { customerID, Charges: [{ UnitCostEx: 1 }] } }),
  editInvoice: () => ({ method: 'PUT', path: `/v1/invoices/${mine.usd.invoiceID}`, body: mine.usd }),
  addRecurringInvoice: () => ({
    method: 'POST',
    path: '/v1/recurring-invoices',
    body: { customerID, ...taken(mine.recurring, 'RecurInvoiceCharges') },
  }),
  editRecurringInvoice: () => ({
    method: 'PUT',
    path: `/v1/recurring-invoices/${mine.recurring.recurInvoiceID}`,
    body: { customerID, ...taken(mine.recurring, 'RecurInvoiceCharges', 'StartDate') },
  }),
  addEMandate: () => ({ method: 'POST', path: '/v1/emandate', body: MANDATE_OF_STORED }),
  addRedirectEMandate: () => ({ method: 'POST', path: '/widget/emandate', body: MANDATE_OF_STORED }),
  addPayment: () => ({ method: 'POST', path: '/v1/payments', body: PAYMENT }),
  editPayment: () => ({ method: 'PUT', path: `/v1/payments/${line.body.paymentID}`, body: PAYMENT }),
  addCredit: () => ({ method: 'POST', path: '/v1/credits', body: CREDIT }),
  editCredit: () => ({
    method: 'PUT',
    path: `/v1/credits/${note.body.creditNoteID}`,
    body: { ...CREDIT, CreditNumber: 'K-1' },
  }),
  addAdjustment: () => ({ method: 'POST', path: '/v1/adjustment/add', body: ADJUSTMENT }),
  editAdjustment: () => ({
    method: 'PUT',
    path: '/v1/adjustment/edit',
    body: { ...ADJUSTMENT, Allocations: undefined, AdjustmentID: note.body.creditNoteID },
  }),
  addBatchPayment: () => ({ method: 'POST', path: '/v1/batches/payments', body: BATCH_LINE }),
  editBatchPayment: () => ({
    method: 'PUT',
    path: '/v1/batches/payments',
    body: { ...BATCH_LINE, paymentID: batchLine.body.paymentID },
  }),
  addBatch: () => ({ method: 'POST', path: '/v1/batches', body: { CurrencyCode: 'USD', ActionDate: '2027-03-01' } }),
  editBatch: () => ({
    method: 'PUT',
    path: '/v1/batches',
    body: { BatchToken, CurrencyCode: 'USD', ActionDate: '2027-03-01' },
  }),
  createCaptureSession: () => ({
    method: 'POST',
    path: '/v1/widgets/capturepaymethod/create',
    body: {
      VaultingType: 'VaultGateway',
      SaleType: 'VaultOnly',
      ExpiresIn: '01:00:00',
      isVaultOnlyOnSuccess: false,
      CurrencyCode: 'USD',
      AuthDomain: 'shop.example',
    },
  }),
  answerResultLine: () => ({ method: 'PUT', path: nextLine(), body: { customerID } }),
  addMandateSetup: () => ({ method: 'POST', path: '/v1/paymentmethods/mandate', body: { customerID } }),
  addGatewayToken: () => ({
    method: 'POST',
    path: '/v1/paymentmethods/gatewaytoken',
    body: { customerID, Token: 'pm_1' },
  }),
}

const entry = (list: string, target: object, amount = 'amountApplied') => ({ [list]: [{ ...target, [amount]: 1 }] })

/** Values that do not fit, by the field of the reference, with the reason and with what is sent beside them. */
const MISFITS: Record<string, [reason: string, change: (id: string) => Record<string, unknown>][]> = {
  customerPaymentMethodID: [
    ['another customer', () => ({ customerPaymentMethodID: other.card })],
    ['another kind', () => ({ customerPaymentMethodID: mine.card, CollectionMethod: 'debit_order' })],
    ['another kind', () => ({ customerPaymentMethodID: mine.bank, CollectionMethod: 'credit_card' })],
  ],
  gatewayID: [
    [
      'another currency',
      () => ({ gatewayID: euroGateway.gatewayID, customerPaymentMethodID: mine.bank, CollectionMethod: 'debit_order' }),
    ],
    [
      'another kind',
      () => ({ gatewayID: euroGateway.gatewayID, customerPaymentMethodID: mine.card, CollectionMethod: 'credit_card' }),
    ],
    ['another kind', () => ({ gatewayID: euroGateway.gatewayID, CollectionMethod: 'credit_card' })],
  ],
  paymentMethodID: [
    ['another customer', () => ({ paymentMethodID: other.bank })],
    ['another kind', () => ({ paymentMethodID: mine.card })],
  ],
  'Allocations[0].invoiceID': [
    ['another customer', () => entry('Allocations', { invoiceID: other.usd.invoiceID })],
    ['another currency', () => entry('Allocations', { invoiceID: mine.eur.invoiceID })],
  ],
  'Allocations[0].invoiceNumber': [
    ['another customer', () => entry('Allocations', { invoiceNumber: other.usd.invoiceNum })],
    ['another currency', () => entry('Allocations', { invoiceNumber: mine.eur.invoiceNum })],
  ],
  'Allocations[0].positiveAdjustmentID': [
    ['another customer', () => entry('Allocations', { positiveAdjustmentID: other.interest })],
  ],
  'PaymentApplied[0].invoiceID': [
    ['another customer', () => entry('PaymentApplied', { invoiceID: other.usd.invoiceID }, 'amount')],
    ['another currency', () => entry('PaymentApplied', { invoiceID: mine.eur.invoiceID }, 'amount')],
  ],
  'PaymentApplied[0].invoiceNumber': [
    ['another customer', () => entry('PaymentApplied', { invoiceNumber: other.usd.invoiceNum }, 'amount')],
    ['another currency', () => entry('PaymentApplied', { invoiceNumber: mine.eur.invoiceNum }, 'amount')],
  ],
  invoiceID: [
    ['another customer', () => ({ invoiceID: other.usd.invoiceID })],
    ['another currency', () => ({ invoiceID: mine.eur.invoiceID })],
  ],
  'Allocations[0].objectID': [['another customer', () => entry('Allocations', { objectID: other.usd.invoiceID })]],
  'LinkedAllocations[0].objectID': [
    ['another customer', () => entry('LinkedAllocations', { objectID: other.usd.invoiceID })],
  ],
  GatewayToken: [['another currency', () => ({ GatewayToken: euroGateway.GatewayToken })]],
}

/** Returns those that are tried at an operation: a mandate is of a stored account, whoever's, so only a card does not fit it. */
const tried = (id: string, field: string): (typeof MISFITS)[string] => {
  if (/EMandate/.test(id)) return [['another kind', () => ({ customerPaymentMethodID: mine.card })]]
  return MISFITS[field] ?? []
}

const misfitting = references.filter(
  ({ field, name }) =>
    Object.hasOwn(MISFITS, field) ||
    /^(customerPaymentMethodID|paymentMethodID|gatewayID|GatewayToken|invoiceID|invoiceNumber|objectID|positiveAdjustmentID)$/.test(
      name,
    ),
)

describe('a reference that does not fit is 409', () => {
  test.each(
    misfitting.flatMap(({ operation, field }) =>
      tried(operation.id, field).map(([reason, change]) => [operation.id, field, reason, change] as const),
    ),
  )('%s %s: %s', async (id, field, _reason, change) => {
    const right = await RIGHT[id]?.()
    if (!right) throw new Error(`say what a right request of ${id} is`)
    const { method, path, body } = right
    const reply = await client.request(method, path, writeJson({ ...body, ...change(id) }), {
      'content-type': 'application/json',
    })
    expect([reply.status, reply.body?.Errors]).toMatchObject([409, [{ Field: expect.any(String) }]])
    const shown = reply.body.Errors[0].Field.split('.').at(-1)
    // A gateway that lacks the currency is refused by the field of the currency.
    expect(field === 'GatewayToken' ? ['GatewayToken', 'CurrencyCode'] : [field.split('.').at(-1)]).toContain(shown)
  })

  test('in every place that one of these names stands', () => {
    const places = misfitting.map(({ operation, field }) => `${operation.id} ${field}`)
    expect(places.filter((place) => tried(...(place.split(' ') as [string, string])).length === 0)).toEqual([])
    expect(places.length).toBeGreaterThan(30)
  })
})
