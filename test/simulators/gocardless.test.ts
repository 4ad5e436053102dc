import { existsSync, readFileSync } from 'node:fs'
import { createHmac } from 'node:crypto'
import https from 'node:https'
import net from 'node:net'
import { GoCardlessClient } from 'gocardless-nodejs'
import { Environments } from 'gocardless-nodejs/constants'
import { ApiError, InvalidApiUsageError } from 'gocardless-nodejs/errors'
import { parse } from 'gocardless-nodejs/webhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type {
  AskedCharge,
  BatchToBuild,
  GatewayCall,
  LineToBuild,
  MandateToBegin,
} from '../../src/features/gateways/contract.ts'
import { causeClassOf, meaningOf } from '../../src/features/gateways/gocardless-answers.ts'
import { gocardlessAdapter } from '../../src/features/gateways/gocardless.ts'
import { networksFromText } from '../../src/platform/outbound/networks.ts'
import { makeOutbound } from '../../src/platform/outbound/outbound.ts'
import { decodeForm } from './form.ts'
import { type GoCardlessAccount, type GoCardlessSent, GoCardlessSimulator } from './gocardless.ts'

/** The adapter sends what the official client sends for the same call and facts, and that client decodes each answer and error of the simulator. */

let simulator: GoCardlessSimulator
let account: GoCardlessAccount

beforeEach(async () => {
  simulator = await GoCardlessSimulator.start()
  account = simulator.openAccount()
})
afterEach(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})

const DAY_MS = 86_400_000
const SCOPE = '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11'
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

function adapterAt(settings: object = {}) {
  const adapter = gocardlessAdapter({
    outbound: makeOutbound({ allow: networksFromText('127.0.0.0/8') ?? [] }),
    endpoints: { gocardless: simulator.address },
    ...{ takePlace: async () => true, measured: () => undefined, realNow: () => simulator.now() },
  })
  const now = new Date(simulator.now()).toISOString()
  const call: GatewayCall = {
    ...{ accountId: 1n as GatewayCall['accountId'], gatewayId: 3n, scope: SCOPE, isLive: false, timeZone: 'UTC' },
    ...{ isCustomerPresent: false, signal: new AbortController().signal, now, today: now.slice(0, 10) },
    settings: { AccessToken: account.token, WebhookSecrets: [account.webhooks.secret], ...settings },
  }
  return { adapter: adapter as Required<typeof adapter>, call }
}

const lineOf = (id: number, token: string): LineToBuild => ({
  ...{
    paymentId: BigInt(id),
    reference: `P1-${id}`,
    chargeReference: `${id}.Qm3kz0aXw1Yb`,
    amountMinor: 11_500n,
    token,
  },
  ...{ kind: 'sepa', accountType: '', accountHolder: 'Ann Lee', bank: 'Bank', accountNumber: null, branchCode: null },
  ...{ routingNumber: null, iban: null, bic: null, mandateReference: null, mandateDate: null },
  ...{ hasAccountChanged: false, invoiceNumbers: ['702', '703'] },
})
const batchOf = (lines: LineToBuild[], actionDate = inDays(6)): BatchToBuild => ({
  ...{ token: 'b', batchId: 1n, currency: 'EUR', actionDate, submittedAt: '2027-01-01T00:00:00.000Z' },
  ...{ zone: 'UTC', fileOfDay: null, lines },
})
const asked = (id: number, fields: Partial<AskedCharge> = {}): AskedCharge => ({
  ...{ reference: `${id}.Qm3kz0aXw1Yb`, token: null, amountMinor: 11_500n, currency: 'EUR' },
  ...{ gatewayReference: null, sentAt: new Date(simulator.now()).toISOString(), ...fields },
})
const MANDATE: MandateToBegin = {
  ...{ reference: 'm1.Qm3kz0aXw1Yb', gatewayReference: null, sentAt: null, currency: 'EUR' },
  payer: {
    ...{ company: null, firstName: 'Änn & Co', lastName: 'Lee', email: 'ann@example.com', street: '1 “Main” St' },
    ...{ city: 'Köln', postalCode: '50667', country: 'DE', language: 'de' },
  },
  returnUrl: 'https://billing.example.com/d/token',
}

/** Hands a line over and returns its name. */
async function pay(id: number, token: string): Promise<string> {
  const { adapter, call } = adapterAt()
  const answer = await adapter.submitLines(call, batchOf([lineOf(id, token)]))
  const outcome = answer.kind === 'answered' ? answer.outcomes.get(BigInt(id)) : undefined
  return outcome?.kind === 'pending' ? outcome.gatewayReference : String(outcome?.kind)
}

/** A client of GoCardless whose connections end at the simulator, whatever address it has. */
function officialClient(): GoCardlessClient {
  const { port } = new URL(simulator.address)
  const agent = new https.Agent()
  Object.assign(agent, { createConnection: () => net.connect(Number(port), '127.0.0.1') })
  return new GoCardlessClient(account.token, Environments.Sandbox, {
    proxy: { https: agent },
    raiseOnIdempotencyConflict: true,
  } as never)
}

type Again = (client: GoCardlessClient, id: string, facts: never, key: string) => Promise<unknown>

const CLIENT: Record<string, Again> = {
  'GET creditors': (client, _id, facts) => client.creditors.list(facts),
  'GET payments': (client, _id, facts) => client.payments.list(facts),
  'GET payments *': (client, id) => client.payments.find(id),
  'GET refunds': (client, _id, facts) => client.refunds.list(facts),
  'GET refunds *': (client, id) => client.refunds.find(id),
  'GET events': (client, _id, facts) => client.events.list(facts),
  'GET mandates *': (client, id) => client.mandates.find(id),
  'GET billing_requests *': (client, id) => client.billingRequests.find(id),
  'GET customer_bank_accounts *': (client, id) => client.customerBankAccounts.find(id),
  'POST payments': (client, _id, facts, key) => client.payments.create(facts, key),
  'POST refunds': (client, _id, facts, key) => client.refunds.create(facts, key),
  'POST billing_requests': (client, _id, facts, key) => client.billingRequests.create(facts, key),
  'POST billing_request_flows': (client, _id, facts, key) => client.billingRequestFlows.create(facts, key),
  'POST mandates * cancel': (client, id, facts) => client.mandates.cancel(id, facts),
}

/** Has the official client send what a request of ours meant. Most are refused now, for they were done: it decodes the refusal. */
async function callAgain(client: GoCardlessClient, { call, headers, body }: GoCardlessSent): Promise<void> {
  const [method = '', path = ''] = call.split(' ')
  const [, collection = '', id, , action] = path.split('/')
  const what = [method, collection, id && '*', action].filter(Boolean).join(' ')
  const again = CLIENT[what]
  if (again === undefined) throw new Error(`The official client is not asked for ${what}`)
  const facts = method === 'POST' ? Object.values(JSON.parse(body) as object)[0] : decodeForm(body)
  await again(client, id ?? '', facts as never, String(headers['idempotency-key'])).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
  })
}

/** Compared of a request: all but the headers by which a client names itself, and keys that are random. */
const bytesOf = ({ call, body, headers }: GoCardlessSent) => ({
  ...{ call, body, authorization: headers.authorization, version: headers['gocardless-version'] },
  ...{ accept: headers.accept, type: headers['content-type'] },
  key: call.endsWith('/cancel') ? undefined : headers['idempotency-key'],
})

test('the adapter sends byte for byte what the official client sends, and that client decodes every answer', async () => {
  const { adapter, call } = adapterAt({ CreditorID: account.book.creditor })
  await adapter.check(call)
  const begun = await adapter.beginMandate(call, MANDATE)
  if (begun.kind !== 'begun') throw new Error(begun.kind)
  account.book.give(begun.gatewayReference)
  const given = await adapter.findMandate(call, { ...MANDATE, gatewayReference: begun.gatewayReference })
  const token = given.kind === 'account' ? given.token : ''
  const name = await pay(9, token)
  account.book.movePayment(name, 'confirmed')
  await adapter.askCharge(call, asked(9, { gatewayReference: name }))
  await adapter.askCharge(call, asked(9, { token }))
  const charge = asked(9, { gatewayReference: name })
  const refund = {
    reference: '3.aB',
    charge,
    amountMinor: 4000n,
    currency: 'EUR',
    gatewayReference: null,
    sentAt: null,
  }
  const refunded = await adapter.refund(call, refund)
  expect(refunded.kind).toBe('pending')
  await adapter.askRefund(call, refund)
  await adapter.askRefund(call, {
    ...refund,
    gatewayReference: refunded.kind === 'pending' ? refunded.gatewayReference : '',
  })
  await adapter.listReports(call, { cursor: null, since: '2026-01-01T00:00:00.000Z' })
  await adapter.removeStored(call, token)
  const ours = simulator.sent.splice(0)
  expect(new Set(ours.map(({ call: one }) => one.replaceAll(/[A-Z]{2,3}[0-9A-F]{16}/g, '*'))).size).toBe(14)
  const client = officialClient()
  for (const sent of ours) await callAgain(client, sent)
  expect(ours.map(bytesOf)).toEqual(simulator.sent.map(bytesOf))
})

test('each failure is decoded by the official client as what the adapter takes it for', async () => {
  const client = officialClient()
  const facts = { amount: 1, currency: 'EUR' as const, links: { mandate: 'MD1' }, metadata: { perennial: 'x' } }
  const failing = async () => client.payments.create(facts, 'key').catch((error: unknown) => error as ApiError)
  expect(await failing()).toMatchObject({ constructor: InvalidApiUsageError, code: 404 })
  for (const [kind, name] of [
    ['429', 'RateLimitError'],
    ['500 before', 'GoCardlessInternalError'],
  ] as const) {
    simulator.faults.add({ kind, on: 'POST /payments', times: 3 })
    expect(((await failing()) as ApiError).constructor.name).toBe(name)
    simulator.faults.clear()
  }
  simulator.revoke(account.token)
  expect(((await failing()) as ApiError).constructor.name).toBe('AuthenticationError')
})

test('a payment is made once by its key, whatever is lost on the way, and is found by its name or among those of its mandate', async () => {
  const { adapter, call } = adapterAt()
  const token = account.book.addMandate('EUR')
  for (const kind of ['cut in the request', 'cut after', '500 after', 'HTML after', 'cut in the answer'] as const) {
    simulator.faults.add({ kind, on: 'POST /payments', times: 2 })
    await pay(9, token)
    simulator.faults.clear()
  }
  expect(account.book.payments.size).toBe(1)
  const [name = ''] = account.book.payments.keys()
  expect(await pay(9, token)).toBe(name)
  expect(await adapter.askCharge(call, asked(9, { token }))).toMatchObject({
    outcome: { kind: 'pending', gatewayReference: name, debitOn: inDays(6) },
  })
  expect(await adapter.askCharge(call, asked(10, { token }))).toEqual({ kind: 'unknown' })
  const longAgo = new Date(simulator.now() - 700_000).toISOString()
  expect(await adapter.askCharge(call, asked(10, { token, sentAt: longAgo }))).toMatchObject({
    outcome: { kind: 'none' },
  })
  const another = { ...lineOf(9, token), amountMinor: 11_501n }
  const answer = await adapter.submitLines(call, batchOf([another]))
  expect(answer.kind === 'answered' && answer.outcomes.get(9n)).toMatchObject({
    kind: 'unknown',
    mismatch: /amount/ as never,
  })
})

test('a day that GoCardless does not take gives way to the first that it takes', async () => {
  const { adapter, call } = adapterAt()
  const token = account.book.addMandate('EUR')
  const answer = await adapter.submitLines(call, batchOf([lineOf(9, token)], inDays(1)))
  expect(answer.kind === 'answered' && answer.outcomes.get(9n)).toMatchObject({ kind: 'pending', debitOn: inDays(2) })
})

test('a line whose mandate has ended is declined, a token that is refused sends nothing', async () => {
  const { adapter, call } = adapterAt()
  const token = account.book.addMandate('EUR')
  account.book.setMandate(token, 'cancelled')
  const lines = batchOf([lineOf(9, token), lineOf(10, 'MD0')])
  const answer = await adapter.submitLines(call, lines)
  expect(answer.kind === 'answered' && [...answer.outcomes.values()]).toMatchObject([
    { kind: 'declined', class: 'invalid_account', code: 'mandate_is_inactive' },
    { kind: 'declined', class: 'invalid_account' },
  ])
  simulator.revoke(account.token)
  const refused = await adapter.submitLines(call, lines)
  expect(refused).toMatchObject({ kind: 'answered', refused: { by: 'key', code: 'unauthorized' } })
  expect(account.book.payments.size).toBe(0)
})

test('webhooks of the simulator are read by the adapter and by the official client, and only with the right secret', async () => {
  const { adapter, call } = adapterAt()
  const token = account.book.addMandate('EUR')
  const name = await pay(9, token)
  const raw = JSON.stringify({ events: account.webhooks.waiting })
  const header = createHmac('sha256', account.webhooks.secret).update(raw).digest('hex')
  expect(parse(raw, account.webhooks.secret, header)).toHaveLength(2)
  const read = (signature: string) =>
    adapter.readReport(call, Buffer.from(raw), { 'webhook-signature': signature }, call.now)
  expect(read(header)).toMatchObject({
    kind: 'read',
    reports: [
      { about: 'stored', reference: token },
      { about: 'charge', reference: '9.Qm3kz0aXw1Yb', gatewayReference: name },
    ],
  })
  expect(read(header.replace(/^./, (first) => (first === '0' ? '1' : '0')))).toEqual({ kind: 'refused' })
})

test.each([
  ['pending', []],
  ['pending', ['submitted']],
  ['declined insufficient_funds am04', ['submitted', 'failed']],
  ['declined no_mandate customer_approval_denied', ['customer_approval_denied']],
  ['declined declined payment_cancelled', ['cancelled']],
  ['succeeded', ['confirmed']],
  ['succeeded', ['confirmed', 'paid_out']],
  ['succeeded returned insufficient_funds', ['confirmed', 'failed']],
  ['succeeded returned refunded_late', ['confirmed', 'paid_out', 'charged_back']],
  [
    'succeeded returned refunded_late, dispute_won refunded_late',
    ['confirmed', 'charged_back', 'chargeback_cancelled'],
  ],
  [
    'succeeded returned refunded_late, dispute_won refunded_late, returned refunded_late',
    ['confirmed', 'charged_back', 'chargeback_cancelled', 'charged_back'],
  ],
] as const)('a payment is %s after %j', async (expected, moves) => {
  const { adapter, call } = adapterAt()
  const name = await pay(9, account.book.addMandate('EUR'))
  const details: Record<string, object> = {
    failed: { cause: 'insufficient_funds', reason_code: 'am04' },
    cancelled: { cause: 'payment_cancelled' },
    charged_back: { cause: '' },
  }
  for (const move of moves) {
    account.book.movePayment(name, move as 'failed', details[move] ?? {})
  }
  const state = await adapter.askCharge(call, asked(9, { gatewayReference: name }))
  if (!('outcome' in state)) throw new Error(state.kind)
  const { outcome, changes } = state
  const decline = outcome.kind === 'declined' ? ` ${outcome.class} ${outcome.code}` : ''
  const said = changes.map(({ kind, class: word }) => `${kind} ${word}`).join(', ')
  expect(`${outcome.kind}${decline} ${said}`.trim()).toBe(expected)
  for (const { reference } of changes) expect(reference).toMatch(/^EV/)
  expect(changes.filter(({ kind }) => kind === 'dispute_won').map(({ undoes }) => undoes)).toEqual(
    changes.filter(({ kind }) => kind === 'dispute_won').map(() => changes[0]?.reference),
  )
})

test('refunds of ours are pending, then paid or back; one of the console is a change of its payment', async () => {
  const { adapter, call } = adapterAt()
  const name = await pay(9, account.book.addMandate('EUR'))
  account.book.movePayment(name, 'confirmed')
  const charge = asked(9, { gatewayReference: name })
  const refund = {
    reference: '3.aB',
    charge,
    amountMinor: 4000n,
    currency: 'EUR',
    gatewayReference: null,
    sentAt: null,
  }
  simulator.faults.add({ kind: 'cut after', on: 'POST /refunds', times: 2 })
  expect((await adapter.refund(call, refund)).kind).toBe('unknown')
  const found = await adapter.askRefund(call, refund)
  expect(found).toMatchObject({ kind: 'pending' })
  const ours = found.kind === 'pending' ? found.gatewayReference : ''
  account.book.moveRefund(ours, 'paid')
  expect(await adapter.askRefund(call, { ...refund, gatewayReference: ours })).toMatchObject({ kind: 'succeeded' })
  account.book.moveRefund(ours, 'bounced')
  expect(await adapter.askRefund(call, refund)).toMatchObject({ kind: 'declined', code: 'bounced' })
  const { id } = account.book.newRefund({ amount: 1000, links: { payment: name } })
  account.book.moveRefund(String(id), 'paid')
  const state = await adapter.askCharge(call, charge)
  expect('changes' in state && state.changes).toMatchObject([{ kind: 'refunded', reference: id, amountMinor: 1000n }])
  const listed = await adapter.listReports(call, { cursor: null, since: '2026-01-01T00:00:00.000Z' })
  const reports = listed.kind === 'listed' ? listed.reports : []
  expect(reports.filter(({ about }) => about === 'refund').map(({ reference }) => reference)).toEqual([
    '3.aB',
    '3.aB',
    '3.aB',
  ])
  expect(reports.at(-1)).toMatchObject({ about: 'charge', gatewayReference: name })
  account.book.mayRefund = false
  expect(await adapter.refund(call, { ...refund, reference: '4.aB' })).toMatchObject({
    kind: 'declined',
    code: 'refunds_not_enabled',
  })
  account.book.mayRefund = true
  expect(await adapter.refund(call, { ...refund, reference: '5.aB', amountMinor: 9000n })).toMatchObject({
    kind: 'declined',
    class: 'declined',
  })
})

test('a mandate is open, signed, given or not; begun again it is the same one, with another page', async () => {
  const { adapter, call } = adapterAt()
  simulator.faults.add({ kind: '500 before', on: 'POST /billing_request_flows' })
  expect((await adapter.beginMandate(call, MANDATE)).kind).toBe('unknown')
  const first = await adapter.beginMandate(call, MANDATE)
  const again = await adapter.beginMandate(call, MANDATE)
  if (first.kind !== 'begun' || again.kind !== 'begun') throw new Error('it was not begun')
  expect(account.book.requests.size).toBe(1)
  expect(again.gatewayReference).toBe(first.gatewayReference)
  expect(again.url).not.toBe(first.url)
  const find = async () => adapter.findMandate(call, { ...MANDATE, gatewayReference: first.gatewayReference })
  expect(await find()).toEqual({ kind: 'open' })
  account.book.give(first.gatewayReference, { isLate: true })
  expect(await find()).toEqual({ kind: 'signed' })
  const token = account.book.fulfil(first.gatewayReference)
  const kept = { kind: 'account', token, method: 'sepa', currency: 'EUR', accountHolder: 'Ann Lee', lastFour: '11' }
  expect(await find()).toMatchObject(kept)
  expect(await adapter.askStored(call, token)).toMatchObject(kept)
  for (const status of ['suspended_by_payer', 'cancelled', 'failed', 'expired'] as const) {
    account.book.setMandate(token, status)
    expect((await adapter.askStored(call, token)).kind).toBe('none')
  }
  expect(await find()).toMatchObject({ kind: 'declined', class: 'no_mandate' })
  account.book.setMandate(token, 'active')
  const successor = account.book.replaceMandate(token)
  expect(await adapter.askStored(call, token)).toMatchObject({ token: successor, lastFour: '22' })
  expect(await adapter.removeStored(call, successor)).toEqual({ kind: 'removed' })
  expect(await adapter.removeStored(call, successor)).toEqual({ kind: 'removed' })
  expect(await adapter.findToken(call, 'MD0')).toEqual({ kind: 'none' })
  const second = await adapter.beginMandate(call, { ...MANDATE, reference: 'm2.Qm3kz0aXw1Yb' })
  if (second.kind !== 'begun') throw new Error('it was not begun')
  account.book.cancelRequest(second.gatewayReference)
  const cancelled = { ...MANDATE, reference: 'm2.Qm3kz0aXw1Yb', gatewayReference: second.gatewayReference }
  expect(await adapter.findMandate(call, cancelled)).toMatchObject({ kind: 'declined', code: 'cancelled' })
  expect(await adapter.findMandate(call, { ...cancelled, reference: 'm3' })).toMatchObject({
    kind: 'unknown',
    mismatch: /another/ as never,
  })
})

test('what is of another scope is left out of reports, and a look reads to the end of the list', async () => {
  const { adapter, call } = adapterAt()
  const token = account.book.addMandate('EUR')
  const names = [await pay(9, token), await pay(10, token)]
  for (let count = 0; count < 260; count += 1) for (const name of names) account.book.movePayment(name, 'submitted')
  const since = '2026-01-01T00:00:00.000Z'
  const listed = await adapter.listReports(call, { cursor: null, since })
  expect(listed.kind === 'listed' && [listed.reports.length, listed.isMore]).toEqual([523, false])
  const cursor = listed.kind === 'listed' ? listed.cursor : ''
  expect(await adapter.listReports(call, { cursor, since })).toMatchObject({ cursor })
  const other = await adapter.listReports({ ...call, scope: 'another' }, { cursor: null, since })
  expect(other.kind === 'listed' && new Set(other.reports.map(({ about }) => about))).toEqual(new Set(['stored']))
})

test('a token with several creditors needs the name of one; one that is refused is refused by name', async () => {
  const { adapter, call } = adapterAt()
  const { book, token } = account
  expect(await adapter.check(call)).toEqual({ kind: 'accepted', account: book.creditor })
  book.creditors.set('CR2', { id: 'CR2', name: 'Other' })
  expect(await adapter.check(call)).toMatchObject({ kind: 'refused', reason: /several creditors/ as never })
  const named = (CreditorID: string) => adapter.check({ ...call, settings: { ...call.settings, CreditorID } })
  expect(await named('CR2')).toEqual({ kind: 'accepted', account: 'CR2' })
  expect(await named('CR3')).toMatchObject({ kind: 'refused' })
  simulator.revoke(token)
  expect(await adapter.check(call)).toMatchObject({ kind: 'refused', reason: /AccessToken/ as never })
})

const SHIPPED = new URL('../../../shared/fixtures/gateways/gocardless/', import.meta.url)

test.runIf(existsSync(SHIPPED))('causes, errors and the signature that GoCardless publishes are read', () => {
  const read = (name: string) => readFileSync(new URL(name, SHIPPED), 'utf8')
  const { causes } = JSON.parse(read('causes.json')) as { causes: Record<string, string> }
  for (const [cause, word] of Object.entries(causes)) expect(causeClassOf(cause)).toBe(word)
  const errors = {
    gocardless_internal_error: 'unknown',
    idempotency_conflict: 'made',
    insufficent_permissions: 'forbidden',
    invalid_api_usage: 'not_sent',
    invalid_state: 'invalid',
    rate_limit_exceeded: 'not_sent',
    unauthorized: 'not_sent',
    validation_failed: 'invalid',
  }
  for (const [name, kind] of Object.entries(errors)) {
    const { error } = JSON.parse(read(`bodies/error-${name}.json`)) as { error: { code: number } }
    expect(meaningOf(error.code, error as never)).toMatchObject({ kind })
  }
  const vector = JSON.parse(read('webhook-vector.json')) as Record<string, string>
  const settings = { WebhookSecrets: [String(vector['secret'])] }
  const raw = readFileSync(new URL(String(vector['raw']), SHIPPED))
  const { adapter, call } = adapterAt(settings)
  const headers = { 'webhook-signature': String(vector['Webhook-Signature']) }
  expect(adapter.readReport(call, raw, headers, call.now)).toMatchObject({
    kind: 'read',
    reports: [{ about: 'stored', reference: 'MD000AMA19XGEC' }],
  })
})
