import pino from 'pino'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { secondKeyOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { onReturn } from '../../duties.ts'
import type { Duty } from '../../platform/duty.ts'
import { sql } from '../../platform/database/sql.ts'
import { startWorker } from '../../worker.ts'
import { batchesDuty } from '../batches/duty.ts'
import { addAccount, bankAccount, debitShop, type DebitWish } from './debit-shop.testing.ts'
import { collectionDuty, returnsDuty } from './duty.ts'
import { linesOfService } from './line-hooks.ts'
import { addCard, CARDS, cardShop } from './shop.testing.ts'

/** Lines, batches and returns of accounts on real time: what a pass of each minute does, and what follows right after a commit. */

const MONDAY = Date.parse('2027-02-01T08:00:00Z')
let now = MONDAY
const realClock = () => now
const service = await startTestService({ now: realClock })
const deps = { db: service.db, log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }), realClock }

beforeEach(() => {
  now = MONDAY
})

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])
const pass = () => collectionDuty({ ...service.calling, onReturn }).run(deps, () => {})
const build = () => batchesDuty({ ...service.calling, linesOfService }).run(deps, () => {})

/** A shop of a live account, which collects through a gateway whose results a person reports. */
const liveShop = (wish: DebitWish = {}) => debitShop(service, { isManual: true, ...wish, clockAt: null })

/** The same with an invoice of 115 whose line waits in the batch of Wednesday. */
async function waiting(wish: DebitWish = {}) {
  const shop = await liveShop(wish)
  const id = await shop.invoice(115)
  await pass()
  expect(await shop.batches()).toEqual(['02-03 open 1 115.00'])
  return { ...shop, id }
}

/** Starts a worker with one duty, and returns once its first round is over: what it does later somebody has called for. */
async function calledWorker(duty: Duty) {
  let rounds = 0
  let begun = () => {}
  const first = new Promise<void>((resolve) => (begun = resolve))
  const run: Duty['run'] = async (...given) => {
    const more = await duty.run(...given)
    rounds += 1
    begun()
    return more
  }
  const worker = await startWorker(deps, [{ ...duty, everyMs: 3_600_000, run }])
  onTestFinished(() => worker.stop())
  await first
  return { rounds: () => rounds }
}

/** Waits until a value is there; fails where it is not within some seconds, which is far less than a duty sleeps. */
const until = (read: () => unknown, wanted: unknown) =>
  expect.poll(read, { timeout: 30_000, interval: 20 }).toEqual(wanted)

describe('the pass of a minute', () => {
  test('makes the line of an invoice that was issued since, and lowers, moves and ends it with the invoice', async () => {
    const { client, customerID, id, read, batches, invoice } = await waiting()
    expect(await read(id)).toMatchObject({ Status: 'Pending', NextTryDate: '2027-02-03T00:00:00Z' })
    const second = await invoice(30)
    await pass()
    expect(await batches()).toEqual(['02-03 open 2 145.00'])
    const credit = await client.post('/v1/payments', {
      customerID,
      Amount: 100,
      CurrencyCode: 'USD',
      Method: 'eft',
      Date: '2027-02-01',
      Allocations: [{ invoiceID: id, amountApplied: 100 }],
    })
    expect(credit.status, credit.text).toBe(201)
    expect(await batches()).toEqual(['02-03 open 2 45.00'])
    expect((await client.delete(`/v1/invoices/${second}`)).status).toBeLessThan(300)
    expect(await batches()).toEqual(['02-03 open 1 15.00'])
    await clean(client)
  })

  test('makes the line again by the account that is primary since', async () => {
    const { client, customerID, id, batches, attempts } = await waiting()
    const other = await addAccount(client, customerID, bankAccount('debit_order', { AccountNumber: '62005678' }))
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
    await pass()
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00', '02-03 open 1 115.00'])
    expect(await attempts(id)).toMatchObject([{ paymentMethodID: other }])
    await clean(client)
  })

  test.each<[string, object, boolean]>([
    ['put on hold', { isCollectionHold: true }, false],
    ['paid by eft', { CollectionMethod: 'eft' }, false],
    ['debited from another account', { isOther: true }, true],
  ])(
    'follows an invoice that is %s: its line leaves at once, and a new one is made only where it is debited',
    async (_, changes, isDebited) => {
      const { client, customerID, id, edit, read, batches, attempts } = await waiting()
      const other = bankAccount('debit_order', { AccountNumber: '62005678' })
      const account = { customerID, isPrimary: false, BankAccount: other }
      const customerPaymentMethodID = (await client.post('/v1/paymentmethods/bankaccount', account)).body
        .paymentMethodID
      const to = 'isOther' in changes ? { customerPaymentMethodID } : changes
      const edited = await edit(id, to)
      expect(edited.status, edited.text).toBe(204)
      expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
      expect(await read(id)).toMatchObject({ Status: 'Due', Balance: 115, NumTries: 0 })
      if (!isDebited) expect((await read(id)).NextTryDate).toBeNull()
      await pass()
      expect((await batches()).slice(1)).toEqual(isDebited ? ['02-03 open 1 115.00'] : [])
      expect((await attempts(id)).map(({ paymentMethodID }) => paymentMethodID)).toEqual(
        isDebited ? [customerPaymentMethodID] : [],
      )
      await clean(client)
    },
  )

  test('cancels a batch of the service that other money has emptied, also one that could not be built', async () => {
    const { client, customerID, id, batches, tokens } = await waiting()
    await failBuild(client, await tokens())
    const Allocations = [{ invoiceID: id, amountApplied: 115 }]
    const eft = { customerID, Amount: 115, CurrencyCode: 'USD', Method: 'eft', Date: '2027-02-01', Allocations }
    expect((await client.post('/v1/payments', eft)).status).toBe(201)
    expect(await batches()).toEqual(['02-03 failed 0 0.00'])
    await pass()
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
    await clean(client)
  })

  test('reaches an account whose only batch has failed: a line whose gateway was switched off leaves', async () => {
    const { client, gatewayID, batches, tokens, read, id } = await waiting()
    await failBuild(client, await tokens())
    expect((await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })).status).toBe(204)
    await pass()
    // The sandbox takes the invoice over.
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00', '02-03 open 1 115.00'])
    expect(await read(id)).toMatchObject({ Status: 'Pending', NextTryDate: '2027-02-03T00:00:00Z' })
    await clean(client)
  })

  /** Brings a batch where one stands that a line by hand kept from being built. */
  async function failBuild(client: TestClient, [token]: string[]) {
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update payment_batches set state = 'failed', build_error = 'no', submitted_at = now()
         where account_id = ${client.id} and token = ${token}::uuid`),
    )
  }
})

test('a batch that waits for its release is open again after its last moment, its lines give way, and it moves', async () => {
  const { client, customerID, gatewayID, id, batches, tokens, submit, events, read } = await waiting()
  expect((await client.put(`/v1/gateways/${gatewayID}`, { isFourEyes: true })).status).toBe(204)
  const [BatchToken] = (await tokens()) as [string]
  await submit(BatchToken)
  await build()
  expect(await batches()).toEqual(['02-03 build 1 115.00'])
  const eft = (Amount: number) =>
    client.post('/v1/payments', {
      customerID,
      Amount,
      CurrencyCode: 'USD',
      Method: 'eft',
      Date: '2027-02-03',
      Allocations: [{ invoiceID: id, amountApplied: Amount }],
    })
  expect((await eft(15)).status).toBe(409)
  now = Date.parse('2027-02-04T08:00:00Z')
  const release = await (await secondKeyOf(service, client)).put('/v1/batches/release', { BatchToken })
  expect([release.status, release.body.Errors[0].Code]).toEqual([409, 'too_late'])
  await build()
  expect(await batches()).toEqual(['02-03 open 1 115.00'])
  expect(await events('batch.reopened')).toHaveLength(1)
  expect((await eft(15)).status).toBe(201)
  await pass()
  expect(await batches()).toEqual(['02-04 open 1 100.00'])
  expect(await read(id)).toMatchObject({ NextTryDate: '2027-02-04T00:00:00Z' })
  await clean(client)
})

describe('right after a commit', () => {
  test('a line leaves whose gateway is switched off', async () => {
    const { client, gatewayID, batches } = await waiting()
    await calledWorker(collectionDuty({ ...service.calling, onReturn }))
    expect((await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })).status).toBe(204)
    await until(async () => (await batches())[0], '02-03 cancelled 0 0.00')
    await clean(client)
  })

  /** A customer whom a rule has suspended for an invoice of 115, on an account whose clock stands. */
  async function suspended() {
    const shop = await cardShop(service, CARDS.poor)
    const id = await shop.invoice(115)
    await shop.move('2027-01-20')
    const state = async () => (await shop.client.get(`/v1/customers/${shop.customerID}`)).body.comp_status
    expect(await state()).toBe('Suspended')
    const eft = (Amount: number, Allocations: object[] = [{ invoiceID: id, amountApplied: Amount }]) =>
      shop.client.post('/v1/payments', {
        customerID: shop.customerID,
        Amount,
        CurrencyCode: 'USD',
        Method: 'eft',
        Date: '2027-01-20',
        Allocations,
      })
    return { ...shop, id, state, eft }
  }
  type Suspended = Awaited<ReturnType<typeof suspended>>

  test.each<[string, (shop: Suspended) => Promise<{ status: number }>]>([
    ['who pays', ({ eft }) => eft(115)],
    ['who pays without a list', ({ eft }) => eft(115, [])],
    [
      'who gets a credit note',
      ({ client, customerID, id }) =>
        client.post('/v1/credits', {
          customerID,
          CurrencyCode: 'USD',
          Amount: 115,
          Date: '2027-01-20',
          CreditNumber: 'K1',
          Allocations: [{ invoiceID: id, amountApplied: 115 }],
        }),
    ],
    [
      'who is collected from by another card',
      async ({ client, customerID, id }) => {
        await addCard(client, customerID, CARDS.good)
        return client.post(`/v1/invoices/${id}/collect`)
      },
    ],
    [
      'whose invoice is put on hold',
      async ({ client, id, read }) => client.put(`/v1/invoices/${id}`, { ...(await read(id)), isCollectionHold: true }),
    ],
    ['whose invoice is cancelled', ({ client, id }) => client.delete(`/v1/invoices/${id}`)],
  ])('a customer comes back %s', async (_name, change) => {
    const shop = await suspended()
    await calledWorker(returnsDuty({ ...service.calling, onReturn }))
    const changed = await change(shop)
    expect(changed.status).toBeLessThan(300)
    await until(shop.state, 'Active')
    await clean(shop.client)
  })

  test('who pays too little stays suspended, and the worker sleeps after it has looked', async () => {
    const { eft, state, client } = await suspended()
    const worker = await calledWorker(returnsDuty({ ...service.calling, onReturn }))
    expect((await eft(100, [])).status).toBe(201)
    await until(() => worker.rounds() >= 2, true)
    const done = worker.rounds()
    // Were the worker to call itself, it would have by the time these are answered.
    for (let n = 0; n < 20; n += 1) expect(await state()).toBe('Suspended')
    expect(worker.rounds() - done).toBeLessThanOrEqual(1)
    await clean(client)
  })
})
