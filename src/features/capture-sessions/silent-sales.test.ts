import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, codesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { complete, sendSale } from './capture.testing.ts'
import { APPROVED, BY_AMOUNT, eventsOf, ONLY, paymentsOf, salesOf } from './sales.testing.ts'

const service = await startTestService()
const { book, work, remove, faulty, letPass, differences } = salesOf(service)

const unsettled = async (client: TestClient) => (await client.get('/v1/widgets/capturepaymethod/sales')).body
const settle = (client: TestClient, id: number, body: object) =>
  client.put(`/v1/widgets/capturepaymethod/sales/${id}/result`, body)
const idOf = async ({ id }: TestClient) =>
  Number(
    (
      await service.db.reader(id).rows<any>(sql`select charge_id as "id" from capture_sales where account_id = ${id}`)
    )[0].id,
  )
const clear = ({ id }: TestClient) =>
  service.db.transaction(id, (tx) =>
    tx.rows(sql`update capture_sales set leased_until = null where account_id = ${id}`),
  )

/** A sale of 49.91 that is charged without an answer; its gateway answers nothing at all until 3 January. */
async function silentSale(changes: object = {}) {
  const client = await service.newAccount()
  const sale = await sendSale(service, client, BY_AMOUNT, { Amount: 49.91, ...changes })
  await faulty(client, 'refused')
  await moveTo(client, '2027-01-03')
  return { client, ...sale, id: await idOf(client) }
}

describe('a charge whose gateway stays silent', () => {
  test('is announced once, listed, and captured by hand on a day between the sale and today', async () => {
    const { client, session, read, id } = await silentSale()
    for (let count = 0; count < 3; count += 1) {
      await letPass(client)
      await work()
    }
    expect(await eventsOf(client, 'capture_session.sale_silent')).toEqual([session.iframeCapturePayID])
    expect(await unsettled(client)).toMatchObject([
      {
        captureSaleID: id,
        iframeCapturePayID: session.iframeCapturePayID,
        Amount: 49.91,
        CurrencyCode: 'USD',
        Waiting: 'charge',
        transactionID: null,
        Description: 'First month',
      },
    ])
    expect(codesOf(await settle(client, id, { Success: true, Date: '2027-01-04' }))).toEqual(['date_in_future'])
    expect(codesOf(await settle(client, id, { Success: true, Date: '2026-12-31' }))).toEqual(['date_before_sale'])
    expect(codesOf(await settle(client, id, { Success: true, Reason: 'AC04' }))).toEqual(['contradiction'])
    expect((await settle(client, id, { Success: true, Date: '2027-01-02' })).status).toBe(204)
    expect(await read()).toMatchObject({ State: 'captured', transactionID: null })
    expect([await unsettled(client), codesOf(await settle(client, id, { Success: true }))]).toEqual([
      [],
      ['sale_ended'],
    ])
    expect(await eventsOf(client, 'capture_session.settled_by_hand')).toEqual([session.iframeCapturePayID])
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    const [payment] = await paymentsOf(client, customerID)
    expect([payment.Amount, payment.Date.slice(0, 10)]).toEqual([49.91, '2027-01-02'])
    expect(await differences(client)).toEqual([])
  })

  test('is taken by hand after 24 hours, not before, and not while the gateway is asked', async () => {
    const client = await service.newAccount()
    await sendSale(service, client, BY_AMOUNT, { Amount: 49.91 })
    const id = await idOf(client)
    await faulty(client, 'refused')
    const moved = (hours: string) => client.put('/v1/clock', { Now: `2027-01-01T${hours}:59:00Z` })
    expect((await moved('23')).status).toBe(200)
    expect([await unsettled(client), codesOf(await settle(client, id, { Success: false }))]).toEqual([
      [],
      ['gateway_may_answer'],
    ])
    await moveTo(client, '2027-01-03')
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update capture_sales set leased_until = moment() + interval '1 minute' where account_id = ${client.id}`,
      ),
    )
    expect(codesOf(await settle(client, id, { Success: false }))).toEqual(['gateway_asked'])
    await clear(client)
    expect((await settle(client, id, { Success: false })).status).toBe(204)
  })

  test.each([
    ['declined', 'insufficient_funds'],
    ['not made', 'not_sent'],
  ])('%s by hand ends it, and its card is removed', async (_, Reason) => {
    const { client, read, id } = await silentSale(ONLY)
    expect((await settle(client, id, { Success: false, Reason })).status).toBe(204)
    // Its hour is long over.
    expect((await read()).State).toBe('expired')
    await faulty(client, 'none')
    await remove()
    expect(await book(client)).toMatchObject({ charges: ['succeeded 4991'], cards: 0 })
    expect([await unsettled(client), await differences(client)]).toEqual([[], []])
  })

  test('is known to its own account only', async () => {
    const { id } = await silentSale()
    const other = await service.newAccount()
    expect((await settle(other, id, { Success: true })).status).toBe(404)
    expect((await settle(other, 0, { Success: true })).status).toBe(404)
    expect(await unsettled(other)).toEqual([])
  })
})

describe('a refund of what nobody took over', () => {
  test.each([
    ['made', true, 'expired', 0],
    ['refused', false, 'captured', 1],
  ])('whose gateway stays silent is %s by hand', async (_, Success, State, waiting) => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, APPROVED)
    await faulty(client, 'refused')
    await moveTo(client, '2027-01-05')
    expect(await unsettled(client)).toMatchObject([{ Waiting: 'refund', transactionID: expect.any(String) }])
    const id = await idOf(client)
    expect((await settle(client, id, { Success, Reason: Success ? null : 'The bank has closed.' })).status).toBe(204)
    expect([(await read()).State, (await unsettled(client)).length]).toEqual([State, waiting])
    expect(await eventsOf(client, 'capture_session.give_back_refused')).toEqual(
      Success ? [] : [session.iframeCapturePayID],
    )
  })

  /** A sale whose refund the gateway has refused for good. */
  async function refusedRefund() {
    const client = await service.newAccount()
    const sale = await sendSale(service, client, BY_AMOUNT, { Amount: 50 })
    // The sandbox refuses refunds that end in 05, and charges as well: the amount is made to be one afterwards.
    await service.db.transaction(client.id, async (tx) => {
      await tx.rows(sql`update sandbox_charges set amount_minor = 4905 where account_id = ${client.id}`)
      await tx.rows(sql`update capture_sales set amount_minor = 4905 where account_id = ${client.id}`)
      await tx.rows(sql`update capture_sessions set amount_minor = 4905 where account_id = ${client.id}`)
    })
    await moveTo(client, '2027-01-03')
    return { client, ...sale, id: await idOf(client) }
  }

  test('that the gateway refused for good is listed until it was given back in another way, which ends the session', async () => {
    const { client, session, read, id } = await refusedRefund()
    expect(await unsettled(client)).toMatchObject([{ captureSaleID: id, Waiting: 'refused', Amount: 49.05 }])
    expect(codesOf(await settle(client, id, { Success: false }))).toEqual(['refund_refused'])
    expect((await settle(client, id, { Success: true, Date: '2027-01-03' })).status).toBe(204)
    await remove()
    expect([(await read()).State, await unsettled(client), (await book(client)).cards]).toEqual(['expired', [], 0])
    expect(codesOf(await settle(client, id, { Success: true }))).toEqual(['sale_ended'])
    expect(codesOf(await complete(client, await addCustomer(client), session.SessionToken))).toEqual([
      'session_expired',
    ])
    expect(await differences(client)).toEqual([])
  })

  test('that the gateway refused for good is settled, too, by a customer who gets the session', async () => {
    const { client, session, id } = await refusedRefund()
    expect((await complete(client, await addCustomer(client), session.SessionToken)).status).toBe(204)
    expect([await unsettled(client), codesOf(await settle(client, id, { Success: true }))]).toEqual([
      [],
      ['sale_ended'],
    ])
  })
})
