import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { onReturn } from '../../duties.ts'
import { returnsDuty } from './duty.ts'
import { CARDS, cardShop } from './shop.testing.ts'

/** Unallocated money that pays what is past due: before actions of steps, and before it is looked whether a customer comes back. */

const service = await startTestService()
/** A log in which an error fails the test. */
const strict = {
  error: ({ err }: { err: Error }) => {
    throw err
  },
} as never

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

/** The job that looks who comes back: it works where the clock stands, too. */
const lookWhoReturns = () =>
  returnsDuty({ ...service.calling, onReturn }).run({ db: service.db, log: strict, realClock: Date.now }, () => {})

async function shop(number: string | null = CARDS.poor, customer: object = {}) {
  const made = await cardShop(service, number, customer)
  const { client, customerID } = made
  const eft = async (Amount: number, Date: string, more: object = {}) => {
    const body = { customerID, Amount, CurrencyCode: 'USD', Method: 'eft', Date, Allocations: [], ...more }
    const reply = await client.post('/v1/payments', body)
    expect(reply.status, reply.text).toBe(201)
    return reply.body.paymentID as number
  }
  const state = async () => (await client.get(`/v1/customers/${customerID}`)).body.comp_status
  return { ...made, eft, state }
}

test('suspended for 115, 115 by EFT without a list: paid, and he is back', async () => {
  const { client, invoice, move, read, eft, state } = await shop()
  const id = await invoice(115)
  await move('2027-01-20')
  expect(await state()).toBe('Suspended')
  await eft(115, '2027-01-20')
  await lookWhoReturns()
  expect(await read(id)).toMatchObject({ Status: 'Paid' })
  expect(await state()).toBe('Active')
  await clean(client)
})

test('with too little, what there is pays the oldest invoice first, and he stays suspended', async () => {
  const { client, invoice, move, read, eft, state } = await shop()
  const newer = await invoice(115)
  const older = await invoice(60, { InvoiceDate: '2026-12-31', DueDate: '2027-01-04' })
  const future = await invoice(10, { DueDate: '2027-03-01' })
  await move('2027-01-20')
  await eft(100, '2027-01-20')
  await lookWhoReturns()
  expect([await read(older), await read(newer), await read(future)]).toMatchObject([
    { Status: 'Paid' },
    { Balance: 75 },
    { Balance: 10 },
  ])
  expect(await state()).toBe('Suspended')
  await eft(80, '2027-01-20')
  await lookWhoReturns()
  expect([await read(newer), await read(future)]).toMatchObject([{ Status: 'Paid' }, { Balance: 10 }])
  expect(await state()).toBe('Active')
  expect((await client.get('/v1/payments?status=Partial')).body).toMatchObject([{ Amount: 80 }])
  await clean(client)
})

test('a credit note without a list brings him back as well; bad debt without one does not', async () => {
  const { client, customerID, invoice, move, read, state } = await shop()
  const id = await invoice(115)
  await move('2027-01-20')
  const note = { customerID, Amount: 115, Date: '2027-01-20' }
  const debt = { ...note, Type: 'negative', AdjustmentType: 'bad_debt', Ref: 'B', LinkedAllocations: [] }
  expect((await client.post('/v1/adjustment/add', { ...debt, isAutoApply: false })).status).toBe(201)
  await lookWhoReturns()
  expect([(await read(id)).Balance, await state()]).toEqual([115, 'Suspended'])
  const credit = { ...note, CurrencyCode: 'USD', CreditNumber: 'K1', Allocations: [] }
  expect((await client.post('/v1/credits', credit)).status).toBe(201)
  await lookWhoReturns()
  expect([(await read(id)).Balance, await state()]).toEqual([0, 'Active'])
  await clean(client)
})

test('before the action of a step: what is paid by it brings no warning', async () => {
  const { client, invoice, move, mails, read, eft, state } = await shop(CARDS.expired)
  const id = await invoice(115)
  await move('2027-01-06')
  await eft(115, '2027-01-06')
  await move('2027-02-20')
  expect(await read(id)).toMatchObject({ Status: 'Paid' })
  expect(await mails()).toEqual(['01-05 payment_unsuccessful'])
  expect(await state()).toBe('Active')
  await clean(client)
})

test('money that was unallocated before a return pays the invoice that is open again, before the next action', async () => {
  const { client, invoice, move, mails, read, eft, attempts } = await shop('4000000000000259')
  const id = await invoice(115)
  await move('2027-01-05')
  expect(await read(id)).toMatchObject({ Status: 'Paid' })
  await eft(115, '2027-01-06')
  await move('2027-01-30')
  expect(await read(id)).toMatchObject({ Status: 'Paid' })
  expect(await attempts(id)).toMatchObject([{ Outcome: 'returned' }])
  expect(await mails()).not.toContain('01-18 warning')
  await clean(client)
})

test('neither where the account has turned it off, nor for invoices on hold', async () => {
  const { client, invoice, move, read, eft, state } = await shop()
  const id = await invoice(115)
  await move('2027-01-20')
  await client.put('/v1/account', { isAutoApplyUnallocated: false })
  await eft(115, '2027-01-20')
  await move('2027-01-25')
  expect([(await read(id)).Balance, await state()]).toEqual([115, 'Suspended'])
  await client.put('/v1/account', { isAutoApplyUnallocated: true })
  const held = { ...(await read(id)), isCollectionHold: true }
  expect((await client.put(`/v1/invoices/${id}`, held)).status).toBe(204)
  await moveTo(client, '2027-01-26')
  // What is on hold does not count, so they are back, and their money stays theirs.
  expect([(await read(id)).Balance, await state()]).toEqual([115, 'Active'])
  await clean(client)
})

test('a customer on hold comes back without it', async () => {
  const { client, customerID, invoice, move, read, eft, state } = await shop()
  const id = await invoice(115)
  await move('2027-01-20')
  await eft(115, '2027-01-20')
  const customer = (await client.get(`/v1/customers/${customerID}`)).body
  expect((await client.put(`/v1/customers/${customerID}`, { ...customer, isCollectionHold: true })).status).toBe(204)
  await lookWhoReturns()
  expect([(await read(id)).Balance, await state()]).toEqual([115, 'Active'])
  await clean(client)
})

test('money in another currency pays nothing', async () => {
  const { client, invoice, move, read, eft, state } = await shop()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const id = await invoice(115)
  await move('2027-01-20')
  await eft(115, '2027-01-20', { CurrencyCode: 'EUR' })
  await lookWhoReturns()
  expect([(await read(id)).Balance, await state()]).toEqual([115, 'Suspended'])
  await clean(client)
})
