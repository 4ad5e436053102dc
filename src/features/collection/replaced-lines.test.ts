import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { backgroundContext, momentOf } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { getAccount } from '../accounts/queries.ts'
import { lockCustomer } from '../customers/queries.ts'
import { listDunned } from '../dunning/queries.ts'
import { debitShop } from './debit-shop.testing.ts'
import { replaceLine } from './lines.ts'
import { finishTry, type Known } from './outcome.ts'
import { beginTry } from './tries.ts'
import { listTries, type Try } from './try-queries.ts'

/** Tries that take the place of lines that wait in batches. */

const service = await startTestService()

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

/** An invoice of 115 by sepa, announced for 15 January, and a card beside the account that pays it as a page of the invoice would. */
async function announced() {
  const shop = await debitShop(service, { kind: 'sepa', clockAt: '2027-01-01T08:00:00.000Z' })
  const { client, customerID } = shop
  const id = await shop.invoice(115)
  await shop.move('2027-01-01')
  const CreditCard = {
    Number: '4000000000000341',
    CardType: 'Unknown',
    ExpiryMonth: 12,
    ExpiryYear: 2030,
    NameOnCard: 'Ada',
    LastNameOnCard: 'Lovelace',
  }
  const card = (await client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: false, CreditCard })).body
  const account = await getAccount(service.db.reader(client.id), client.id)
  const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test', hasMailServer: false })
  const locked = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    service.db.transaction(client.id, async (tx) => {
      await lockCustomer(tx, tx.account, BigInt(customerID))
      return work(tx)
    })
  const begin = () =>
    locked(async (tx) => {
      const [open] = await listTries(tx, tx.account, BigInt(id))
      const replaced = await replaceLine(tx, context, open as Try)
      const [invoice] = await listDunned(tx, tx.account, [BigInt(id)])
      const method = { id: BigInt(card.paymentMethodID), kind: 'credit_card' as const }
      const way = { gateway: { id: BigInt(shop.gatewayID) }, method } as Parameters<typeof beginTry>[3]
      return beginTry(tx, context, invoice!, way, { step: null, isByHand: true, replaced })
    })
  const finish = (t: Try | undefined, known: Known) => locked((tx) => finishTry(tx, context, t as Try, known))
  return { ...shop, id, cardID: card.paymentMethodID as number, begin, finish }
}

const on = '2027-01-01'
const declined = { kind: 'failed', class: 'declined', code: null, message: 'No.', on } as const

describe('a try by card that takes the place of a line', () => {
  test('and fails: the line is made again in its batch, for its day and step, without another notice', async () => {
    const { client, id, read, batches, attempts, mails, begin, finish, tokens, submit, move } = await announced()
    const t = await begin()
    expect(await batches()).toEqual(['01-15 open 0 0.00'])
    expect(await read(id)).toMatchObject({ Status: 'Pending', NextTryDate: null, NumTries: 1 })
    await finish(t, declined)
    expect(await batches()).toEqual(['01-15 open 1 115.00'])
    expect(await attempts(id)).toMatchObject([
      { Outcome: 'declined', isByHand: true, BatchToken: null },
      { Outcome: 'pending', isByHand: false, Amount: 115 },
    ])
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-01-15T00:00:00Z', NumTries: 1 })
    await clean(client)
    const [token] = (await tokens()) as [string]
    const early = await client.put('/v1/batches/submit', { BatchToken: token, ActionDate: '2027-01-14' })
    expect(early.body.Errors[0].Code).toBe('announced_later')
    await submit(token)
    await move('2027-01-18')
    expect(await mails()).toEqual(['01-01 debit_notice'])
    expect(await read(id)).toMatchObject({ Status: 'Paid', NumTries: 2 })
    await clean(client)
  })

  test('and is paid: a batch that nothing else is in is cancelled', async () => {
    const { client, id, read, batches, begin, finish } = await announced()
    await finish(await begin(), { kind: 'succeeded', on })
    expect(await batches()).toEqual(['01-15 cancelled 0 0.00'])
    expect(await read(id)).toMatchObject({ Status: 'Paid', NextTryDate: null })
    await clean(client)
  })

  test('and fails when its invoice is held by then: it is not made again', async () => {
    const { client, id, edit, read, batches, begin, finish } = await announced()
    const t = await begin()
    await edit(id, { isCollectionHold: true })
    await finish(t, declined)
    expect(await batches()).toEqual(['01-15 cancelled 0 0.00'])
    expect(await read(id)).toMatchObject({ Balance: 115, NextTryDate: null })
    await clean(client)
  })

  test('and fails when its batch was cancelled meanwhile: its step is planned anew', async () => {
    const { client, id, read, batches, begin, finish, tokens } = await announced()
    const t = await begin()
    await client.put('/v1/batches/cancel', { BatchToken: (await tokens())[0] })
    await finish(t, declined)
    expect(await batches()).toEqual(['01-15 cancelled 0 0.00'])
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-01-01T00:00:00Z' })
    await clean(client)
  })

  test('that was built when its invoice turned to the card, and waits again: it is not made again', async () => {
    const { client, gatewayID, id, cardID, edit, batches, attempts, tokens } = await announced()
    expect((await client.put(`/v1/gateways/${gatewayID}`, { isFourEyes: true })).status).toBe(204)
    const [BatchToken] = await tokens()
    expect((await client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-01-15' })).status).toBe(204)
    const byCard = { CollectionMethod: 'credit_card', gatewayID: null, customerPaymentMethodID: cardID }
    expect((await edit(id, byCard)).status).toBe(204)
    const refused = await client.post(`/v1/invoices/${id}/collect`)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'try_open'])
    const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
    expect((await client.put('/v1/batches', batch)).status).toBe(204)
    const tried = await client.post(`/v1/invoices/${id}/collect`)
    expect([tried.status, tried.body.Status]).toEqual([201, 'Failed'])
    expect(await attempts(id)).toMatchObject([{ Outcome: 'declined' }])
    expect(await batches()).toEqual(['01-15 cancelled 0 0.00'])
    await clean(client)
  })
})

test('collect by another gateway takes the place of a line whose own is switched off', async () => {
  const { client, gatewayID, invoice, batches, attempts, move } = await debitShop(service, { isManual: true })
  const id = await invoice(115)
  await move('2027-02-01')
  expect((await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })).status).toBe(204)
  expect((await client.post(`/v1/invoices/${id}/collect`)).status).toBe(202)
  expect(await batches()).toEqual(['02-03 cancelled 0 0.00', '02-03 open 1 115.00'])
  expect(await attempts(id)).toMatchObject([{ isByHand: true, Outcome: 'pending', Amount: 115 }])
  await clean(client)
})
