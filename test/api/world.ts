import { randomUUID } from 'node:crypto'
import { callOf } from '../../src/features/gateways/calls.testing.ts'
import { COMPANY } from '../../src/features/gateways/company.testing.ts'
import { CardNumber } from '../../src/kernel/card-number.ts'
import { MANDATE } from '../../src/features/emandates/emandates.testing.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { secondKeyOf, type TestClient, type TestService } from '../support/app.ts'
import type { DocumentedOperation } from './document.ts'
import { hashOf, randomOf, rightBody, valueOf, writeJson } from './samples.ts'

export type Identifier = number | string

/** An account with some of everything, and what is known of its records and of another account's: identifiers by the names that fields have. */

export interface World {
  client: TestClient
  /** Another key of the account. */
  second: TestClient
  ids: Map<string, Identifier[]>
  /** Identifiers of records of another account, by the same names. */
  foreignIds: Map<string, Identifier[]>
  /** Any identifier of this account, whatever it is of. */
  anyId: Identifier[]
  random: (below: number) => number
  /** Has the sandbox keep one more card that no method stands for. */
  storeCard: () => Promise<{ gatewayID: number; Token: string }>
  /** Lets a gateway count as one whose key was accepted: nobody answers for it here. */
  acceptKey: (gatewayID: number) => Promise<unknown>
}

/** The smallest PNG there is. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
)

export const authorization = ({ id, secret }: TestClient): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

async function mustPost(client: TestClient, path: string, body: unknown): Promise<any> {
  const reply = await client.post(path, body)
  if (reply.status >= 300) throw new Error(`${path} ${reply.status} ${reply.text}`)
  return reply.body
}

const rates = (price: number) =>
  ['USD', 'EUR'].map((CurrencyCode) => ({
    CurrencyCode,
    SetupFee: 10,
    TrialFee: 0,
    TrialPeriod: 0,
    TrialPeriodType: 'days',
    PackageRateTerms: [
      { ChargePrice: price, ChargeTerm: 1, ChargeTermType: 'months' },
      { ChargePrice: price * 10, ChargeTerm: 12, ChargeTermType: 'months' },
    ],
  }))

export const putLogo = (service: TestService, client: TestClient) =>
  service.app.server.inject({
    method: 'PUT',
    url: '/v1/account/logo',
    payload: PNG,
    headers: { authorization: authorization(client), 'content-type': 'image/png' },
  })

async function seed(service: TestService, client: TestClient): Promise<void> {
  await putLogo(service, client)
  for (const CurrencyCode of ['EUR', 'JPY']) await mustPost(client, '/v1/currencies', { CurrencyCode })
  for (const [n, countryID] of [710, 276, 840].entries())
    await mustPost(client, '/v1/tax', { Name: `Tax ${n}`, rules: [{ Perc: 0.15, countryID }] })
  const packages: number[] = []
  for (let n = 0; n < 4; n += 1) {
    const { packageGroupID } = await mustPost(client, '/v1/packagegroups', { GroupName: `Group ${n}` })
    await mustPost(client, '/v1/packagegroups', { GroupName: `Empty group ${n}` })
    const PackageVersion = { VersionName: 'First', isActive: true, isDefault: true, packageVersionRates: rates(31 + n) }
    const added = await mustPost(client, '/v1/packages', {
      packageGroupID,
      packageCode: `P${n}`,
      Name: `Plan ${n}`,
      Descrip: 'A plan',
      isActive: true,
      PackageVersion,
    })
    packages.push(added.packageID)
    await mustPost(client, `/v1/packages/${added.packageID}/versions`, {
      ...PackageVersion,
      VersionName: 'Second',
      isDefault: false,
    })
  }
  // The first is sold, the others stay free to be changed and deleted.
  const [plan] = packages
  for (let n = 0; n < 14; n += 1) {
    const { customerID } = await mustPost(client, '/v1/customers', {
      Name: `Customer ${n}`,
      isCompany: true,
      Reference: `R${n}`,
      Email: `c${n}@example.org`,
      countryID: 710,
    })
    if (n < 3)
      for (const path of ['creditcard', 'bankaccount', 'bankaccount'])
        await mustPost(client, `/v1/paymentmethods/${path}`, {
          customerID,
          isPrimary: false,
          ...(path === 'creditcard' ? { CreditCard: valueOf('CreditCard') } : { BankAccount: valueOf('BankAccount') }),
        })
    if (n < 5) await mustPost(client, '/v1/subscriptions', { customerID, packageID: plan, Term: 1, TermType: 'months' })
    if (n === 5)
      await mustPost(client, '/v1/subscriptions', {
        customerID,
        packageID: plan,
        Term: 1,
        TermType: 'months',
        StartDate: '2027-06-01',
      })
    if (n > 7) {
      const note = { customerID, Amount: 5, CurrencyCode: 'USD', Date: '2027-01-01', CreditNumber: `World ${n}` }
      await mustPost(client, '/v1/credits', { ...note, Allocations: [] })
    }
    if (n === 6) await client.put(`/v1/customers/${customerID}/suspend`)
    if (n === 7) await client.put(`/v1/customers/${customerID}/archive`)
  }
  await addResultFile(client, 14)
  const names = [
    'receivable',
    'clearing',
    'cash',
    'revenue',
    'tax',
    'bad_debt',
    'interest',
    'opening_balance',
    'unsettled',
  ]
  await client.put('/v1/glcodes', Object.fromEntries(names.map((name) => [name, name])))
  await mustPost(client, '/v1/billingruns', {})
}

/** A statement of a bank with transfers that came in, which nothing of an account matches. */
const statementXml = (transfers: number): string => {
  const entries = Array.from(
    { length: transfers },
    (
      _,
      n,
    ) => `<Ntry><Amt Ccy="USD">${n + 1}.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2027-01-01</Dt></BookgDt>
      <NtryDtls><TxDtls><RltdPties><Dbtr><Nm>Ada</Nm></Dbtr></RltdPties><RmtInf><Ustrd>Transfer ${n}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`,
  )
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>${entries.join('')}</Stmt></BkToCstmrStmt></Document>`
}

/** A file of a bank for a gateway of its own, which has read none. */
async function newResultFile(client: TestClient, lines: number) {
  const { gatewayID } = await mustPost(client, '/v1/gateways', { GatewayType: 'manual', FriendlyName: 'A bank' })
  return { path: `/v1/resultfiles?gatewayID=${gatewayID}`, payload: statementXml(lines) }
}

/** Sends a file of a bank, of so many lines that wait for a person. Returns the identifiers of the file and of its lines. */
export async function addResultFile(client: TestClient, lines: number) {
  const { path, payload } = await newResultFile(client, lines)
  const added = await client.request('POST', path, payload, { 'content-type': 'application/xml' })
  if (added.status !== 201) throw new Error(`${path} ${added.status} ${added.text}`)
  const { resultFileID } = added.body
  const { Lines } = (await client.get(`/v1/resultfiles/${resultFileID}`)).body
  return { resultFileID, lineIDs: Lines.map(({ lineID }: { lineID: number }) => lineID) as number[] }
}

/** Moves the clock into January: only a first of a month brings a statement that made itself. */
async function liveIntoJanuary(client: TestClient): Promise<void> {
  const about = { Name: 'Filed', isCompany: true, Email: 'filed@example.org', autoSendStatement: true }
  const { customerID } = await mustPost(client, '/v1/customers', about)
  await mustPost(client, '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
  await client.put('/v1/clock', { Now: '2027-01-01T00:00:00Z' })
}

const LIST_EXCEPTIONS = new Set(['listCountries'])

/** Identifiers that an answer shows, by field name: numbers named so, and whatever paths name. */
function noteIds(value: unknown, pathParams: ReadonlySet<string>, found: Map<string, Set<Identifier>>): void {
  if (Array.isArray(value)) for (const entry of value) noteIds(entry, pathParams, found)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      const isNumber = typeof inner === 'number' && Number.isInteger(inner) && inner > 0 && /(ID|Num)$/.test(name)
      const isWord = typeof inner === 'string' && (pathParams.has(name) || name === 'GatewayToken')
      if (isNumber || isWord) found.set(name, (found.get(name) ?? new Set()).add(inner))
      noteIds(inner, pathParams, found)
    }
  }
}

/** Queries that some lists cannot do without. */
const LIST_QUERIES: Record<string, string> = { listAdjustments: '?type=all' }

/** Every identifier that the lists of the account show. */
async function harvest(world: World, operations: readonly DocumentedOperation[]): Promise<void> {
  const pathParams = new Set(operations.flatMap((operation) => operation.pathParams))
  const found = new Map<string, Set<Identifier>>()
  for (const operation of operations) {
    if (operation.method !== 'GET' || LIST_EXCEPTIONS.has(operation.id)) continue
    const path = pathOf(operation, world)
    if (path) noteIds((await world.client.get(path + (LIST_QUERIES[operation.id] ?? ''))).body, pathParams, found)
  }
  for (const [name, values] of found) world.ids.set(name, [...new Set([...(world.ids.get(name) ?? []), ...values])])
  world.anyId = [...new Set([...world.ids.values()].flat())]
}

const COPIES = 4

/** Adds a few of everything that can be added: so a new resource has records here without being named. */
async function grow(world: World, operations: readonly DocumentedOperation[]): Promise<void> {
  const additions = operations.filter(({ method, success, body }) => method === 'POST' && success === 201 && body)
  const isSeeded = /^\/v1\/(customers|subscriptions|packages|packagegroups|tax|currencies|billingruns)\b/
  for (const operation of additions.filter(({ path }) => !isSeeded.test(path)))
    for (let copy = 0; copy < COPIES; copy += 1) {
      const path = pathOf(operation, world)
      if (path) await world.client.post(path, writeJson(rightBody(operation, world)))
    }
}

/** Has the sandbox of an account keep a card that no method stands for; returns its token there. */
export async function storedBySandbox({ calling }: TestService, client: TestClient) {
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const call = callOf({ accountId: client.id, gatewayId: BigInt(gatewayID) })
  const facts = { cardType: 'Visa', expiryMonth: 12, expiryYear: 2030, nameOnCard: 'Ada', lastNameOnCard: 'L' } as const
  const card = { reference: randomUUID(), number: new CardNumber(CARD), ...facts }
  const stored = await calling.adapters.get('sandbox')?.storeCard?.(call, card)
  if (stored?.kind !== 'stored') throw new Error(`stored, not ${stored?.kind}`)
  return { gatewayID: gatewayID as number, Token: stored.token }
}

/** Lets a gateway count as one whose key was accepted. */
export const acceptKey = (service: TestService, client: TestClient, gatewayID: number) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update gateways set key_state = null where account_id = ${client.id} and gateway_id = ${gatewayID}`),
  )

export const KEEPS_ACCOUNTS = {
  GatewayType: 'gocardless',
  CurrencyCodes: ['USD'],
  Settings: { AccessToken: 'sandbox_any' },
}

export async function makeWorld(
  service: TestService,
  operations: readonly DocumentedOperation[],
  name: string,
): Promise<World> {
  const client = await service.newAccount({ clockAt: '2026-12-20T00:00:00.000Z' })
  await liveIntoJanuary(client)
  const second = await secondKeyOf(service, client)
  const world: World = {
    client,
    second,
    ids: new Map(),
    foreignIds: new Map(),
    anyId: [],
    random: randomOf(hashOf(name)),
    storeCard: () => storedBySandbox(service, client),
    acceptKey: (gatewayID) => acceptKey(service, client, gatewayID),
  }
  await seed(service, client)
  await harvest(world, operations)
  // What was added first is what the next may refer to.
  for (let round = 0; round < 2; round += 1) {
    await grow(world, operations)
    await harvest(world, operations)
  }
  return world
}

/** Values of path parameters that are no identifiers of records. */
const PATH_VALUES: Record<string, readonly string[]> = {
  versionno: ['1', '2'],
  kind: ['renewal'],
  countryID: ['840', '124'],
}

/** A path of the operation with records of one of the two accounts; undefined where the account has no record of the kind. */
export function pathOf(
  operation: DocumentedOperation,
  world: World,
  whose: 'own' | 'foreign' = 'own',
): string | undefined {
  let path = operation.path
  for (const name of operation.pathParams) {
    const ids = (whose === 'own' ? world.ids : world.foreignIds).get(name)
    const values = PATH_VALUES[name] ?? ids?.map(String)
    if (!values?.length) return undefined
    path = path.replace(`{${name}}`, encodeURIComponent(values[world.random(values.length)] as string))
  }
  return path
}

/** A right request that needs a record in a state of its own: what to prepare, and what to send then. */
interface Recipe {
  path: string
  body?: Record<string, unknown>
  /** Of an operation that takes no JSON. */
  payload?: string
}

async function newSubscription(world: World, StartDate?: string): Promise<string> {
  const name = { Name: 'Prepared', isCompany: true }
  const { customerID } = await mustPost(world.client, '/v1/customers', name)
  const { body: packages } = await world.client.get('/v1/packages')
  const { packageID } = packages[0]
  const wish = { customerID, packageID, Term: 1, TermType: 'months', ...(StartDate ? { StartDate } : {}) }
  const { subscriptionID } = await mustPost(world.client, '/v1/subscriptions', wish)
  return `/v1/subscriptions/${subscriptionID}`
}

async function newRecurringInvoice(world: World): Promise<Recipe & { body: Record<string, unknown> }> {
  const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
  const body = { customerID, StartDate: '2027-06-01', RecurInvoiceCharges: [{ Line: 'Rent', UnitCostEx: 10, Qty: 1 }] }
  const { recurInvoiceID } = await mustPost(world.client, '/v1/recurring-invoices', body)
  return { path: `/v1/recurring-invoices/${recurInvoiceID}`, body }
}

async function newBankAccount(world: World): Promise<Recipe & { body: Record<string, unknown> }> {
  const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
  const body = { customerID, isPrimary: false, BankAccount: valueOf('BankAccount') }
  const { paymentMethodID } = await mustPost(world.client, '/v1/paymentmethods/bankaccount', body)
  return { path: `/v1/paymentmethods/bankaccount/${paymentMethodID}`, body }
}

/** Lets the sandbox of the world's account be away, or be as ever. */
async function setFault({ client }: World, Fault: string | null) {
  const [gateway] = (await client.get('/v1/gateways?page_size=1')).body
  await client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault } })
}

/** An invoice of a customer whose card the sandbox charges. */
async function newCollectable(world: World) {
  const customer = { Name: 'Prepared', isCompany: true, PaymentMethod: 'credit_card' }
  const { customerID } = await mustPost(world.client, '/v1/customers', customer)
  const CreditCard = {
    Number: '4242424242424242',
    CardType: 'Visa',
    ExpiryMonth: 12,
    ExpiryYear: 2037,
    NameOnCard: 'Ada',
    LastNameOnCard: 'L',
  }
  await world.client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard })
  const { invoiceID } = await mustPost(world.client, '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
  return { customerID, path: `/v1/invoices/${invoiceID}` }
}

/** Lets more than a day pass, in which the gateway is asked in vain. */
async function beSilent(world: World): Promise<void> {
  await setFault(world, 'refused')
  const { Now } = (await world.client.get('/v1/clock')).body
  await world.client.put('/v1/clock', { Now: new Date(Date.parse(Now) + 90_000_000).toISOString() })
  await setFault(world, null)
}

/** A payment that the sandbox has charged, of which nothing is allocated any more. */
async function newRefundable(world: World) {
  const { path } = await newCollectable(world)
  const payment = await mustPost(world.client, `${path}/collect`, {})
  await world.client.put(`/v1/payments/${payment.paymentID}`, { ...payment, Allocations: [] })
  return `/v1/payments/${payment.paymentID}`
}

/** A record of money of a customer of its own: its identifiers, and the body that made it. */
async function newMoney(world: World, path: string, more: Record<string, unknown>) {
  const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
  const body: Record<string, unknown> = { customerID, Amount: 5, Date: '2027-01-01', ...more }
  return { customerID: String(customerID), body, made: await mustPost(world.client, path, body) }
}

async function newPayment(world: World) {
  const more = { CurrencyCode: 'USD', Method: 'cheque', Allocations: [] }
  const { body, made } = await newMoney(world, '/v1/payments', more)
  return { path: `/v1/payments/${made.paymentID}`, body }
}

async function newCredit(world: World) {
  const more = { CurrencyCode: 'USD', CreditNumber: `C${world.random(1e9)}`, Allocations: [] }
  const { body, made } = await newMoney(world, '/v1/credits', more)
  return { path: `/v1/credits/${made.creditNoteID}`, body }
}

async function newAdjustment(world: World) {
  const more = { Type: 'positive', AdjustmentType: 'interest', DueDate: '2027-02-01', Ref: 'R' }
  const { customerID, body, made } = await newMoney(world, '/v1/adjustment/add', more)
  const { AdjustmentID } = made
  const name = new URLSearchParams({ type: 'positive', adjustmentID: String(AdjustmentID), customerID })
  return { name: name.toString(), body: { ...body, AdjustmentID } }
}

/** A subscription with a component of a type: its path, and the entry that names the component. */
async function withComponent(world: World, Type: 'quantity' | 'metered') {
  const { packageGroupID } = await mustPost(world.client, '/v1/packagegroups', {
    GroupName: `Components ${world.random(1e9)}`,
  })
  const { componentID } = await mustPost(world.client, '/v1/components', {
    ComponentCode: `X${world.random(1e9)}`,
    Name: 'Units',
    Descrip: 'Units',
    Type,
    Scheme: 'unit',
    UnitName: 'each',
    packageGroupID,
    Term: 1,
    TermType: 'months',
    isActive: true,
    ComponentVersion: {
      VersionName: 'First',
      ComponentVersionCurrencies: [
        { CurrencyCode: 'USD', ComponentBracketPrices: [{ Price: 5, QtyFrom: 1, QtyTill: null }] },
      ],
    },
  })
  const path = await newSubscription(world)
  const entry = { componentID, NumUnits: 2 }
  const set = await world.client.put(`${path}/components/modify`, { componentUsage: [entry] })
  if (set.status !== 204) throw new Error(`${path} ${set.status} ${set.text}`)
  return { path, entry }
}

/** The body of a batch of the sandbox, as it is added. */
async function batchBody({ client }: World): Promise<Record<string, unknown>> {
  const [{ GatewayToken }] = (await client.get('/v1/gateways?page_size=1')).body
  return { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-03-01', Notes: 'Prepared' }
}

async function newBatch(world: World, more: object = {}) {
  const body = { ...(await batchBody(world)), ...more }
  const { BatchToken } = await mustPost(world.client, '/v1/batches', body)
  return { BatchToken: BatchToken as string, body: { BatchToken, ...body } as Record<string, unknown> }
}

/** A line of a batch of its own: the right body to add and to edit it. */
async function newLine(world: World, more: object = {}) {
  const { BatchToken } = await newBatch(world, more)
  const customer = { Name: 'Prepared', isCompany: true }
  const { customerID } = await mustPost(world.client, '/v1/customers', customer)
  const method = { customerID, isPrimary: false, BankAccount: valueOf('BankAccount') }
  const { paymentMethodID } = await mustPost(world.client, '/v1/paymentmethods/bankaccount', method)
  const line = { BatchToken, customerID, paymentMethodID, Amount: 10, PaymentApplied: [] }
  const { paymentID } = await mustPost(world.client, '/v1/batches/payments', line)
  return { BatchToken, paymentID: paymentID as number, line: line as Record<string, unknown> }
}

/** A line whose batch another key has submitted, to a gateway whose batches leave as files. */
async function newSubmitted(world: World, gateway: object = {}) {
  const { GatewayToken } = await gatewayLike(world, gateway)
  const made = await newLine(world, { GatewayToken })
  const submitting = { BatchToken: made.BatchToken, ActionDate: '2027-03-01' }
  const { status, text } = await world.second.put('/v1/batches/submit', submitting)
  if (status !== 204) throw new Error(`submit ${status} ${text}`)
  return made
}

/** A link to a mandate, by a gateway that keeps accounts. */
async function newSetup(world: World): Promise<Recipe> {
  const { gatewayID } = await gatewayLike(world, KEEPS_ACCOUNTS)
  await world.acceptKey(gatewayID)
  const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
  return { path: '/v1/paymentmethods/mandate', body: { customerID, gatewayID } }
}

/** A gateway of a kind of its own: an account may have few. */
async function gatewayLike({ client }: World, wish: object): Promise<{ gatewayID: number; GatewayToken: string }> {
  const FriendlyName = `Prepared ${JSON.stringify(wish)}`
  const found = (await client.get('/v1/gateways?page_size=200')).body as {
    gatewayID: number
    FriendlyName: string
    GatewayToken: string
  }[]
  return (
    found.find((gateway) => gateway.FriendlyName === FriendlyName) ??
    mustPost(client, '/v1/gateways', { GatewayType: 'manual', FriendlyName, ...wish })
  )
}

/** The same, built: the job does it that a move of the clock does too. */
async function newBuilt(world: World) {
  const made = await newSubmitted(world)
  const { Now } = (await world.client.get('/v1/clock')).body
  await world.client.put('/v1/clock', { Now })
  return made
}

/** The body of a session of the capture widget, as it is begun at the sandbox. */
const sessionBody = async (world: World): Promise<Record<string, unknown>> => ({
  ...sessionWish,
  GatewayToken: (await batchBody(world))['GatewayToken'],
})

const sessionWish = {
  VaultingType: 'VaultGateway',
  SaleType: 'VaultOnly',
  ExpiresIn: '01:00:00',
  isVaultOnlyOnSuccess: false,
  CurrencyCode: 'USD',
  AuthDomain: 'shop.example',
  Description: 'Prepared',
}

/** A card that the sandbox stores and charges. */
export const CARD = '4242424242424242'

/** Begins a session, and enters a card in its frame where one is given. Returns its token. */
export async function newSession({ client }: Pick<World, 'client'>, body: object, card?: string): Promise<string> {
  const { SessionToken, HashToken } = await mustPost(client, '/v1/widgets/capturepaymethod/create', body)
  if (card === undefined) return SessionToken
  const form = `number=${card}&expiry=12/30&givenName=Ada&familyName=Lovelace`
  const headers = { origin: 'http://localhost:80', 'content-type': 'application/x-www-form-urlencoded' }
  const { status } = await client.request('POST', `/w/${HashToken}`, form, headers)
  if (status !== 303) throw new Error(`the frame answered ${status}`)
  return SessionToken
}

/** Begins a sale that the sandbox charges without an answer, and of which it says nothing for 25 hours. Returns its identifier. */
export async function newSilentSale(client: TestClient): Promise<number> {
  const gateways = (await client.get('/v1/gateways')).body as {
    gatewayID: number
    GatewayType: string
    GatewayToken: string
  }[]
  const sandbox = gateways.find(({ GatewayType }) => GatewayType === 'sandbox')
  const faulty = (Fault: string) => client.put(`/v1/gateways/${sandbox?.gatewayID}`, { Settings: { Fault } })
  const GatewayToken = sandbox?.GatewayToken
  const sale = { ...sessionWish, SaleType: 'VaultSale', Amount: 49.91, GatewayToken }
  await newSession({ client }, sale, '4000000000000077')
  await faulty('refused')
  const { Now } = (await client.get('/v1/clock')).body
  await client.put('/v1/clock', { Now: new Date(Date.parse(Now) + 90_000_000).toISOString() })
  await faulty('none')
  return (await client.get('/v1/widgets/capturepaymethod/sales')).body.at(-1).captureSaleID
}

const ofSession = (verb: 'get' | 'build') => async (world: World) => ({
  path: `/v1/widgets/capturepaymethod/${verb}/${await newSession(world, await sessionBody(world))}`,
})

/** An invoice that no export has. */
async function newToExport({ client, ids }: World) {
  const [customerID] = ids.get('customerID') ?? []
  await mustPost(client, '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
  return { path: '/v1/exports', body: { Format: 'csv', From: '2027-01-01', To: '2027-12-31', CurrencyCode: 'USD' } }
}

/** Operations whose right request needs a state that the records of a world are not in. */
export const RECIPES: Record<string, (world: World) => Promise<Recipe>> = {
  changeStartDate: async (world) => ({
    path: `${await newSubscription(world, '2027-06-01')}/changestartdate`,
    body: { StartDate: '2027-07-01' },
  }),
  changeTerm: async (world) => ({
    path: `${await newSubscription(world)}/changeterm`,
    body: { Term: 12, TermType: 'months' },
  }),
  skipSubscription: async (world) => ({
    path: `${await newSubscription(world)}/skip`,
    body: { Until: '2026-01-01', Reason: 'A meter that ran away' },
  }),
  reactivateSubscription: async (world) => {
    const path = await newSubscription(world)
    await world.client.put(`${path}/cancel/norefund`)
    return { path: `${path}/reactivate`, body: {} }
  },
  // A statement is found with its own customer only.
  getStatementPdf: async ({ client }) => {
    const [event] = (await client.get('/v1/events?type=statement.created')).body
    return { path: `/v1/customers/${event.customerID}/statements/${event.RecordID}/pdf` }
  },
  deletePackageGroup: async (world) => {
    const { packageGroupID } = await mustPost(world.client, '/v1/packagegroups', {
      GroupName: `Fresh ${world.random(1e9)}`,
    })
    return { path: `/v1/packagegroups/${packageGroupID}` }
  },
  modifyComponents: async (world) => {
    const { path, entry } = await withComponent(world, 'quantity')
    return { path: `${path}/components/modify`, body: { componentUsage: [{ ...entry, NumUnits: 3 }] } }
  },
  recordUsage: async (world) => {
    const { path, entry } = await withComponent(world, 'metered')
    return { path: `${path}/components/recordusage`, body: entry }
  },
  recordUsageInBulk: async (world) => {
    const { path, entry } = await withComponent(world, 'metered')
    const subscriptionID = Number(path.split('/').at(-1))
    return { path: '/v1/usage', body: { Usage: [{ ...entry, subscriptionID, UsageKey: 'key' }] } }
  },
  getGatewayReturns: async (world) => {
    const { gatewayID } = await gatewayLike(world, { GatewayType: 'ach-file', Settings: COMPANY })
    return { path: `/v1/gateways/${gatewayID}/returns` }
  },
  addMandateSetup: newSetup,
  getMandateSetup: async (world) => {
    const { path, body } = await newSetup(world)
    const { mandateSetupID } = await mustPost(world.client, path, body)
    return { path: `${path}/${mandateSetupID}` }
  },
  addGatewayToken: async ({ client, storeCard }) => {
    const { customerID } = await mustPost(client, '/v1/customers', { Name: 'Moved in', isCompany: true })
    return { path: '/v1/paymentmethods/gatewaytoken', body: { customerID, ...(await storeCard()) } }
  },
  getEMandate: async ({ client }) => {
    const { Token } = await mustPost(client, '/v1/emandate', MANDATE)
    return { path: `/v1/emandate?Token=${Token}` }
  },
  editRecurringInvoice: newRecurringInvoice,
  deleteCustomer: async (world) => {
    const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
    return { path: `/v1/customers/${customerID}` }
  },
  editBankAccount: newBankAccount,
  deletePaymentMethod: async (world) => {
    const { body } = await newBankAccount(world)
    const { paymentMethodID } = await mustPost(world.client, '/v1/paymentmethods/bankaccount', body)
    return { path: `/v1/paymentmethods/${paymentMethodID}` }
  },
  collectInvoice: async (world) => ({ path: `${(await newCollectable(world)).path}/collect` }),
  settlePaymentByHand: async (world) => {
    const { path } = await newCollectable(world)
    await setFault(world, 'not_answered')
    const { paymentID } = await mustPost(world.client, `${path}/collect`, {})
    await beSilent(world)
    return { path: `/v1/payments/${paymentID}/result`, body: { Success: false } }
  },
  refundPayment: async (world) => ({ path: `${await newRefundable(world)}/refund`, body: { Amount: 1 } }),
  settleRefundByHand: async (world) => {
    const path = await newRefundable(world)
    await setFault(world, 'not_answered')
    const { refundID } = await mustPost(world.client, `${path}/refund`, { Amount: 1 })
    await beSilent(world)
    return { path: `${path}/refunds/${refundID}/result`, body: { Success: false } }
  },
  addExport: newToExport,
  deleteExport: async (world) => {
    const { path, body } = await newToExport(world)
    return { path: `${path}/${(await mustPost(world.client, path, body)).exportID}` }
  },
  addResultFile: ({ client }) => newResultFile(client, 1),
  answerResultLine: async ({ client }) => {
    const { resultFileID, lineIDs } = await addResultFile(client, 1)
    return { path: `/v1/resultfiles/${resultFileID}/lines/${lineIDs[0]}`, body: { isClosed: true } }
  },
  addBatch: async (world) => ({ path: '/v1/batches', body: await batchBody(world) }),
  addBatchPayment: async (world) => ({ path: '/v1/batches/payments', body: (await newLine(world)).line }),
  editBatchPayment: async (world) => {
    const { line, paymentID } = await newLine(world)
    return { path: '/v1/batches/payments', body: { ...line, paymentID } }
  },
  deleteBatchPayment: async (world) => ({ path: `/v1/batches/payments/${(await newLine(world)).paymentID}` }),
  submitBatch: async (world) => {
    const { BatchToken } = await newLine(world)
    return { path: '/v1/batches/submit', body: { BatchToken, ActionDate: '2027-03-01' } }
  },
  releaseBatch: async (world) => ({
    path: '/v1/batches/release',
    body: { BatchToken: (await newSubmitted(world, { isFourEyes: true })).BatchToken },
  }),
  recordBatchResults: async (world) => {
    const { BatchToken, paymentID } = await newBuilt(world)
    return { path: `/v1/batches/${BatchToken}/results`, body: { Results: [{ paymentID, Success: true }] } }
  },
  getBatchFile: async (world) => ({ path: `/v1/batches/${(await newBuilt(world)).BatchToken}/file` }),
  cancelBatch: async (world) => ({
    path: '/v1/batches/cancel',
    body: { BatchToken: (await newLine(world)).BatchToken },
  }),
  editBatch: async (world) => ({ path: '/v1/batches', body: (await newBatch(world)).body }),
  createCaptureSession: async (world) => ({
    path: '/v1/widgets/capturepaymethod/create',
    body: await sessionBody(world),
  }),
  completeCaptureSession: async (world) => {
    const SessionToken = await newSession(world, await sessionBody(world), CARD)
    const { customerID } = await mustPost(world.client, '/v1/customers', { Name: 'Prepared', isCompany: true })
    return { path: '/v1/widgets/capturepaymethod/complete', body: { customerID, SessionToken } }
  },
  settleCaptureSaleByHand: async (world) => {
    const captureSaleID = await newSilentSale(world.client)
    return { path: `/v1/widgets/capturepaymethod/sales/${captureSaleID}/result`, body: { Success: false } }
  },
  getCaptureSession: ofSession('get'),
  buildCaptureSession: ofSession('build'),
  // Other recipes have moved it, too: never back.
  moveClock: async ({ client }) => {
    const { Now } = (await client.get('/v1/clock')).body
    return { path: '/v1/clock', body: { Now: new Date(Date.parse(Now) + 3_600_000).toISOString() } }
  },
  replayWebhookDelivery: async (world) => {
    const [{ webhookID }] = (await world.client.get('/v1/webhooks?page_size=1')).body
    const path = `/v1/webhooks/${webhookID}`
    await world.client.put(path, { isActive: true })
    await mustPost(world.client, `${path}/test`, undefined)
    const [delivery] = (await world.client.get(`${path}/deliveries`)).body
    return { path: `${path}/deliveries/${delivery.deliveryID}/replay` }
  },
  // Mail that the clock has written as it moved.
  sendOutboxMail: async ({ client }) => {
    const mails = (await client.get('/v1/outbox?page_size=100')).body
    const { outboxID } = mails.find(({ Status }: { Status: string }) => Status === 'Held')
    return { path: `/v1/outbox/${outboxID}/send` }
  },
  editPayment: newPayment,
  failPayment: async (world) => ({
    path: `${(await newPayment(world)).path}/fail`,
    body: { Date: '2027-01-01', Reason: 'bounced' },
  }),
  editCredit: newCredit,
  // One of which nothing is credited yet.
  creditInvoice: async (world) => ({
    path: `${(await newCollectable(world)).path}/credit`,
    body: { Amount: 1, Reason: 'Prepared' },
  }),
  listAdjustments: async () => ({ path: '/v1/adjustment/list?type=all' }),
  getAdjustment: async (world) => ({ path: `/v1/adjustment/get?${(await newAdjustment(world)).name}` }),
  editAdjustment: async (world) => ({ path: '/v1/adjustment/edit', body: (await newAdjustment(world)).body }),
  deleteAdjustment: async (world) => ({ path: `/v1/adjustment/delete?${(await newAdjustment(world)).name}` }),
  skipRecurringInvoice: async (world) => ({
    path: `${(await newRecurringInvoice(world)).path}/skip`,
    body: { Until: '2026-01-01', Reason: 'A tax that was wrong' },
  }),
  reactivateRecurringInvoice: async (world) => {
    const { path } = await newRecurringInvoice(world)
    await world.client.delete(path)
    return { path: `${path}/reactivate`, body: {} }
  },
}
