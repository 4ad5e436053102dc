import { createHmac } from 'node:crypto'
import pino from 'pino'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { GoCardlessSimulator } from '../../../test/simulators/gocardless.ts'
import { sql } from '../../platform/database/sql.ts'
import type { GatewayAdapter } from '../gateways/contract.ts'
import type { GatewayType } from '../gateways/facts.ts'
import { workAt } from '../gateway-reports/reports.testing.ts'
import { removalDuty } from '../payment-methods/removal.ts'
import { linesOfService } from '../collection/line-hooks.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'
import { batchesDuty } from './duty.ts'

/** Accounts that GoCardless keeps, and batches whose lines are handed over one by one, against its simulator. */

const simulator = await GoCardlessSimulator.start()
const service = await startTestService({ endpoints: { gocardless: simulator.address } })
const deps = { db: service.db, log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }), realClock: Date.now }

let checked: TestClient
const { tampered } = await tamperWith(service, () => checked)

afterEach(() => {
  simulator.faults.clear()
  expect(simulator.problems.splice(0)).toEqual([])
})
afterAll(() => simulator.stop())

/** An account on 1 January 2027, or on real time, with a gateway for USD at a GoCardless account of its own, and short ways to what a test needs. */
async function shopOf({ isInRealTime = false, ...more }: { isInRealTime?: boolean; isFourEyes?: boolean } = {}) {
  const client = await service.newAccount(isInRealTime ? { clockAt: null } : {})
  const { token, book, webhooks } = simulator.openAccount()
  const Settings = { AccessToken: token, WebhookSecrets: [webhooks.secret] }
  const body = { GatewayType: 'gocardless', CurrencyCodes: ['USD'], Settings, ...more }
  const added = await client.post('/v1/gateways', body)
  expect(added.status, added.text).toBe(201)
  const gateway = added.body as { gatewayID: number; GatewayToken: string }
  const must = async (method: 'post' | 'put', path: string, sent: object) => {
    const reply = await client[method](path, sent)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  const customer = async (mandate = book.addMandate('USD')) => {
    const named = { Name: 'Ada', LastName: 'Lovelace', Email: 'ada@example.com', PaymentMethod: 'bank_account' }
    const { customerID } = await must('post', '/v1/customers', named)
    const Token = { customerID, gatewayID: gateway.gatewayID, Token: mandate }
    const { paymentMethodID } = await must('post', '/v1/paymentmethods/gatewaytoken', Token)
    return { customerID: customerID as number, paymentMethodID: paymentMethodID as number, mandate }
  }
  const method = async (id: number) => (await client.get(`/v1/paymentmethods/${id}`)).body
  const batchOf = async (count: number, ActionDate = '2027-01-15') => {
    const batch = { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate }
    const { BatchToken } = await must('post', '/v1/batches', batch)
    const lines: { paymentID: number; mandate: string; paymentMethodID: number }[] = []
    const one = count > 3 ? await customer() : undefined
    for (let at = 0; at < count; at += 1) {
      const { customerID, paymentMethodID, mandate } = one ?? (await customer())
      const line = { BatchToken, customerID, paymentMethodID, Amount: 100 + at, isAutoApply: true }
      const { paymentID } = await must('post', '/v1/batches/payments', line)
      lines.push({ paymentID, mandate, paymentMethodID })
    }
    const submit = () => must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    const state = async () => (await client.get(`/v1/batches/${BatchToken}`)).body
    return { lines, submit, state, BatchToken: BatchToken as string }
  }
  const statuses = async (lines: readonly { paymentID: number }[]) =>
    Promise.all(lines.map(async ({ paymentID }) => (await client.get(`/v1/payments/${paymentID}`)).body.Status))
  const move = (day: string) => must('put', '/v1/clock', { Now: `${day}T12:00:00Z` })
  const payments = () => [...book.payments.values()]
  return { client, gateway, book, token, webhooks, must, customer, method, batchOf, statuses, move, payments }
}

/** Builds what is submitted as a worker does; with an adapter in place of the gateway's. */
async function build(adapter?: GatewayAdapter): Promise<void> {
  const { calling } = service
  const adapters = adapter ? new Map([...calling.adapters, ['gocardless' as GatewayType, adapter]]) : calling.adapters
  await batchesDuty({ ...calling, adapters, linesOfService }).run(deps, () => {})
}
const gocardless = service.calling.adapters.get('gocardless')!
/** A process that dies: its answer is never written. */
const dying = (when: 'before' | 'after', portion: number): GatewayAdapter => {
  let count = 0
  return {
    ...gocardless,
    submitLines: async (call, batch) => {
      count += 1
      if (count < portion) return gocardless.submitLines!(call, batch)
      if (when === 'after') await gocardless.submitLines!(call, batch)
      throw new Error('the process died')
    },
  }
}

/** Lets builds that wait after a failure be tried at once. */
const waitIsOver = async (client: TestClient) => {
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update payment_batches set next_try_at = null, leased_until = null where account_id = ${client.id}`),
  )
}

/** Lets lines without an outcome have been sent long ago. */
const longAgo = (client: TestClient) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`
      update batch_lines set sent_at = sent_at - interval '11 minutes'
       where account_id = ${client.id} and gateway_reference is null`),
  )

test('a gateway has one of its currencies, an access token that is accepted, and keeps its currency', async () => {
  const client = await service.newAccount()
  const { token, book } = simulator.openAccount()
  const add = (more: object) =>
    client.post('/v1/gateways', { GatewayType: 'gocardless', Settings: { AccessToken: token }, ...more })
  const problem = async (more: object) => {
    const { status, body } = await add(more)
    return [status, body.Errors?.[0]?.Code, body.Errors?.[0]?.Field]
  }
  expect(await problem({})).toEqual([400, 'currency_unfit', 'CurrencyCodes'])
  expect(await problem({ CurrencyCodes: ['EUR', 'GBP'] })).toEqual([400, 'currency_unfit', 'CurrencyCodes'])
  expect(await problem({ CurrencyCodes: ['JPY'] })).toEqual([400, 'currency_unfit', 'CurrencyCodes'])
  expect(await problem({ CurrencyCodes: ['EUR'], DebitMethods: ['ach'] })).toEqual([
    400,
    'debit_method_unfit',
    'DebitMethods',
  ])
  const Settings = { AccessToken: 'sandbox_another' }
  expect(await problem({ CurrencyCodes: ['EUR'], Settings })).toEqual([400, 'key_refused', 'Settings.AccessToken'])
  const { body, status } = await add({
    CurrencyCodes: ['EUR'],
    Settings: { AccessToken: token, CreditorID: book.creditor },
  })
  expect([status, body.isEnabled, body.DebitMethods, body.isAcceptCC]).toEqual([201, true, ['sepa'], false])
  const other = await client.put(`/v1/gateways/${body.gatewayID}`, { CurrencyCodes: ['GBP'] })
  expect([other.status, other.body.Errors[0].Code]).toEqual([409, 'currency_fixed'])
  expect((await client.put(`/v1/gateways/${body.gatewayID}`, { FriendlyName: 'Debits' })).status).toBe(204)
})

test('a mandate that was given before is brought by its token: nothing of its account is here, and it changes at its gateway alone', async () => {
  const { client, gateway, book, customer, method, must } = await shopOf()
  const { customerID, paymentMethodID, mandate } = await customer()
  const shown = await method(paymentMethodID)
  expect(shown).toMatchObject({
    PaymentMethodType: 'bank_account',
    isValid: true,
    gatewayID: gateway.gatewayID,
    BankAccount: {
      ...{ DebitMethod: 'ACH', AccountHolder: 'Ann Lee', Bank: 'BARCLAYS BANK PLC', LastFourDigits: '11' },
      ...{ AccountNumber: null, RoutingNumber: null, IBAN: null, BIC: null, BranchCode: null },
      MandateReference: `REF-${mandate.slice(-6)}`,
    },
  })
  expect(JSON.stringify(shown)).not.toContain(mandate)
  const Token = { customerID, gatewayID: gateway.gatewayID, Token: mandate }
  expect((await must('post', '/v1/paymentmethods/gatewaytoken', Token)).paymentMethodID).toBe(paymentMethodID)
  const euro = await client.post('/v1/paymentmethods/gatewaytoken', { ...Token, Token: book.addMandate('EUR') })
  expect([euro.status, euro.body.Errors[0].Code]).toEqual([400, 'token_unfit'])
  const unknown = await client.post('/v1/paymentmethods/gatewaytoken', { ...Token, Token: 'MD0' })
  expect([unknown.status, unknown.body.Errors[0].Code]).toEqual([400, 'token_unknown'])
  const BankAccount = {
    ...{ Method: 'ach', AccountType: 'Checking', AccountHolder: 'Ada', Bank: 'Bank', AccountNumber: '1234567' },
    RoutingNumber: '081000210',
  }
  const edited = await client.put(`/v1/paymentmethods/bankaccount/${paymentMethodID}`, {
    customerID,
    isPrimary: true,
    BankAccount,
  })
  expect([edited.status, edited.body.Errors[0].Code]).toEqual([409, 'kept_at_gateway'])
  const asked = await client.post(`/v1/ValidateBankAccount/${gateway.gatewayID}`, {
    customerID,
    BankAccount,
  })
  expect([asked.status, asked.body.Errors[0].Code]).toEqual([409, 'gateway_unfit'])
  const numbered = await must('post', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: false, BankAccount })
  const { BatchToken } = await must('post', '/v1/batches', {
    ...{ CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-15' },
  })
  const line = { BatchToken, customerID, paymentMethodID: numbered.paymentMethodID, Amount: 5, isAutoApply: true }
  const refused = await client.post('/v1/batches/payments', line)
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'payment_method_unfit'])
  expect(await differencesOf(service, client)).toEqual([])
})

test('a removed method stays at the gateway where others gave it, and is cancelled there if that is asked for', async () => {
  const { client, book, customer, must } = await shopOf()
  const one = await customer()
  const other = await customer()
  for (const { customerID } of [one, other]) {
    const card = {
      customerID,
      isPrimary: true,
      CreditCard: {
        Number: '4242424242424242',
        CardType: 'Visa',
        ExpiryMonth: 12,
        ExpiryYear: 2030,
        NameOnCard: 'A',
        LastNameOnCard: 'B',
      },
    }
    await must('post', '/v1/paymentmethods/creditcard', card)
  }
  expect((await client.delete(`/v1/paymentmethods/${one.paymentMethodID}`)).status).toBe(204)
  expect((await client.delete(`/v1/paymentmethods/${other.paymentMethodID}?isRemovedAtGateway=true`)).status).toBe(204)
  await removalDuty(service.calling).run(deps, () => {})
  await expect.poll(() => book.mandates.get(other.mandate)?.status).toBe('cancelled')
  expect(book.mandates.get(one.mandate)?.status).toBe('active')
})

test.each([
  ['before its first portion', 'before', 1],
  ['after its first portion', 'after', 1],
  ['before its second', 'before', 2],
  ['after its second', 'after', 2],
] as const)(
  'a process that dies %s leaves nothing undone, and nothing is debited twice',
  async (_name, when, portion) => {
    const { client, batchOf, statuses, payments } = await shopOf()
    const { lines, submit, state } = await batchOf(26)
    await submit()
    await build(dying(when, portion))
    expect((await state()).State).toBe('build')
    await waitIsOver(client)
    await build()
    if (when === 'before') {
      // Nobody knows yet that nothing arrived.
      expect((await state()).State).toBe('build')
      await longAgo(client)
      await waitIsOver(client)
      await build()
    }
    expect((await state()).State).toBe('submitted')
    expect(payments()).toHaveLength(26)
    expect(new Set(payments().map(({ amount }) => Number(amount)))).toEqual(
      new Set(lines.map((_, at) => 100_00 + at * 100)),
    )
    expect(new Set(await statuses(lines))).toEqual(new Set(['Pending']))
    expect(await differencesOf(service, client)).toEqual([])
  },
)

test.each(['cut after', '500 before', '409 in use', '429'] as const)(
  'a portion that meets %s is asked about, and each line is one debit',
  async (kind) => {
    const { client, batchOf, payments, book } = await shopOf()
    const { submit, state } = await batchOf(3)
    await submit()
    simulator.faults.add({ kind, on: 'POST /payments', times: 2 })
    await build()
    simulator.faults.clear()
    await longAgo(client)
    await waitIsOver(client)
    await build()
    expect((await state()).State).toBe('submitted')
    expect(payments()).toHaveLength(3)
    expect(book.payments.size).toBe(3)
    expect(await differencesOf(service, client)).toEqual([])
  },
)

test('a line that is refused has its result with the submission, and its method is rejected', async () => {
  const { client, batchOf, statuses, book, method, payments } = await shopOf()
  const { lines, submit, state } = await batchOf(2)
  await submit()
  book.setMandate(lines[0]!.mandate, 'cancelled')
  await build()
  expect((await state()).State).toBe('submitted')
  expect(await statuses(lines)).toEqual(['Failed', 'Pending'])
  expect(payments()).toHaveLength(1)
  expect((await method(lines[0]!.paymentMethodID)).isValid).toBe(false)
  const [{ id }] = payments() as [{ id: string }]
  expect((await client.get(`/v1/payments/${lines[1]!.paymentID}`)).body.transactionID).toBe(id)
  expect(await differencesOf(service, client)).toEqual([])
  checked = client
  const nameless = await tampered('update batch_lines set gateway_reference = null where account_id = :account')
  expect(reported(nameless)).toEqual([
    'lines of batches: payment # of customer #: its name at the gateway says none, should say one, for it was handed over',
  ])
})

test('after the last moment what surely did not leave is taken out; a batch of which nothing left has failed', async () => {
  const { client, batchOf, statuses, move, book } = await shopOf()
  const half = await batchOf(2)
  await half.submit()
  // One of them is refused for its token before it leaves.
  simulator.faults.add({ kind: '429', on: 'POST /payments', times: 1 })
  await build()
  expect((await half.state()).State).toBe('build')
  expect(book.payments.size).toBe(1)
  const none = await batchOf(1)
  await none.submit()
  simulator.faults.add({ kind: '429', on: 'POST /payments', times: 100 })
  await build()
  await move('2027-01-12')
  simulator.faults.clear()
  expect((await half.state()).State).toBe('submitted')
  expect((await statuses(half.lines)).toSorted()).toEqual(['Failed', 'Pending'])
  expect(await none.state()).toMatchObject({
    State: 'failed',
    BuildError: 'The gateway could not be reached before the last moment of the batch.',
  })
  expect(await differencesOf(service, client)).toEqual([])
})

test('a gateway that is held sends nothing, and what was submitted leaves once it is released', async () => {
  const { client, batchOf, book, gateway } = await shopOf()
  const { submit, state } = await batchOf(1)
  await submit()
  const hold = (reason: string | null) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update gateways set held_for = ${reason}::text where account_id = ${client.id} and gateway_id = ${gateway.gatewayID}`,
      ),
    )
  await hold('by_hand')
  await build()
  expect([(await state()).State, book.payments.size]).toEqual(['build', 0])
  await hold(null)
  await waitIsOver(client)
  await build()
  expect([(await state()).State, book.payments.size]).toEqual(['submitted', 1])
})

test('in real time a line takes the day for which its gateway has it, and follows it; the batch keeps its own', async () => {
  const { client, batchOf, payments, gateway, book, webhooks } = await shopOf({ isInRealTime: true })
  const day = nextWeekday(14)
  const { lines, submit, state } = await batchOf(1, day)
  await submit()
  await build()
  const paid = async () => (await client.get(`/v1/payments/${lines[0]!.paymentID}`)).body
  expect(payments()[0]).toMatchObject({ charge_date: day, retry_if_possible: false, amount: 10_000 })
  expect((await paid()).Date.slice(0, 10)).toBe(day)
  const later = nextWeekday(16)
  Object.assign(payments()[0]!, { charge_date: later })
  book.movePayment(String(payments()[0]!.id), 'submitted')
  const raw = JSON.stringify({ events: webhooks.waiting.splice(0) })
  const signature = createHmac('sha256', webhooks.secret).update(raw).digest('hex')
  const sent = await service.anonymous.request('POST', `/gateways/${gateway.GatewayToken}/events`, raw, {
    'webhook-signature': signature,
  })
  expect(sent.status).toBe(200)
  await workAt(service, client)
  expect((await paid()).Date.slice(0, 10)).toBe(later)
  expect((await state()).ActionDate.slice(0, 10)).toBe(day)
  expect(await differencesOf(service, client)).toEqual([])
})

/** Returns a working day some days from now on. */
function nextWeekday(days: number): string {
  const date = new Date(Date.now() + days * 86_400_000)
  while ([0, 6].includes(date.getUTCDay())) date.setUTCDate(date.getUTCDate() + 1)
  return date.toISOString().slice(0, 10)
}

test.each([
  ['leaves on its own on its last day', false],
  ['waits for its release with four eyes', true],
])('a batch of the service %s', async (_name, isFourEyes) => {
  const { client, customer, must, move, payments, book } = await shopOf({ isFourEyes })
  const { customerID } = await customer()
  const { invoiceID } = await must('post', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
  await move('2027-01-02')
  const [batch] = (await client.get('/v1/batches')).body
  expect([batch.State, batch.ActionDate.slice(0, 10), payments()]).toEqual(['open', '2027-01-08', []])
  const state = async () => (await client.get(`/v1/batches/${batch.BatchToken}`)).body.State
  await move('2027-01-04')
  if (isFourEyes) {
    expect([await state(), payments()]).toEqual(['build', []])
    await must('put', '/v1/batches/release', { BatchToken: batch.BatchToken })
    await build()
  }
  expect([await state(), payments().length]).toEqual(['submitted', 1])
  const [{ id }] = payments() as [{ id: string }]
  book.movePayment(id, 'confirmed')
  await move('2027-01-08')
  expect([await state(), (await client.get(`/v1/invoices/${invoiceID}`)).body.Status]).toEqual(['completed', 'Paid'])
  if (isFourEyes) return
  book.movePayment(id, 'failed', { cause: 'insufficient_funds', description: 'Not enough money.' })
  await move('2027-01-11')
  // The next try waits in a batch of its own already.
  const tries = (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body
  expect(tries.map(({ Outcome }: any) => Outcome)).toEqual(['returned', 'pending'])
  const mails = (await client.get('/v1/events?type=payment.failed')).body
  expect(mails).toMatchObject([{ Reason: 'Not enough money.' }])
  book.movePayment(id, 'charged_back')
  await move('2027-02-11')
  expect(payments()).toHaveLength(2)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a mandate that ends rejects its method, and one that comes back verifies it again; a new one takes its place', async () => {
  const { client, gateway, customer, method, book, webhooks } = await shopOf({ isInRealTime: true })
  const { paymentMethodID, mandate } = await customer()
  const sent = async () => {
    const raw = JSON.stringify({ events: webhooks.waiting.splice(0) })
    const signature = createHmac('sha256', webhooks.secret).update(raw).digest('hex')
    const path = `/gateways/${gateway.GatewayToken}/events`
    expect((await service.anonymous.request('POST', path, raw, { 'webhook-signature': signature })).status).toBe(200)
    expect((await service.anonymous.request('POST', path, raw, { 'webhook-signature': '00' })).status).toBe(400)
    await workAt(service, client)
    const { isValid, BankAccount } = await method(paymentMethodID)
    return [isValid, BankAccount.LastFourDigits]
  }
  book.setMandate(mandate, 'suspended_by_payer')
  expect(await sent()).toEqual([false, '11'])
  book.setMandate(mandate, 'active')
  expect(await sent()).toEqual([true, '11'])
  book.replaceMandate(mandate, '22')
  expect(await sent()).toEqual([true, '22'])
})

test.each([
  ['gateway', '2027-01-08'],
  ['service', '2027-01-15'],
])('by Notices %s a sepa debit is announced by whom it names: its day is %s', async (Notices, day) => {
  const client = await service.newAccount()
  const { token, book } = simulator.openAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const Settings = { AccessToken: token, Notices }
  const gateway = await client.post('/v1/gateways', { GatewayType: 'gocardless', CurrencyCodes: ['EUR'], Settings })
  const named = { Name: 'Ada', LastName: 'L', Email: 'ada@example.com', PaymentMethod: 'bank_account' }
  const { customerID } = (await client.post('/v1/customers', { ...named, CurrencyCode: 'EUR' })).body
  const Token = { customerID, gatewayID: gateway.body.gatewayID, Token: book.addMandate('EUR') }
  expect((await client.post('/v1/paymentmethods/gatewaytoken', Token)).status).toBe(200)
  await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
  for (const now of ['2027-01-04', '2027-01-05']) await client.put('/v1/clock', { Now: `${now}T12:00:00Z` })
  const [batch] = (await client.get('/v1/batches')).body
  expect(batch.ActionDate.slice(0, 10)).toBe(day)
})
