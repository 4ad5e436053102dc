import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { openDatabase } from '../../platform/database/open-database.ts'
import { applyMuch, newInvoice } from './much-applied.testing.ts'

/** Invoices to which so much is applied that a look-up of them would keep everybody waiting. */

const service = await startTestService()
const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1 })
afterAll(() => owner.close())

const MANY = 6000

describe('an invoice to which much is applied', () => {
  test('is answered whole, in pieces: by its identifier, by its number, and in lists between others', async () => {
    const client = await service.newAccount()
    const invoices = [await newInvoice(client), await newInvoice(client), await newInvoice(client)]
    const [few, many, some] = invoices as [(typeof invoices)[0], (typeof invoices)[0], (typeof invoices)[0]]
    await applyMuch(owner, client, few, 7)
    const { etag } = (await client.get(`/v1/invoices/${many.id}`)).headers
    const { paymentID, creditNoteID } = await applyMuch(owner, client, many, MANY)
    await applyMuch(owner, client, some, 1000)

    const long = await client.get(`/v1/invoices/${many.id}`)
    expect([long.status, long.headers['content-length'], long.headers['etag']]).toEqual([200, undefined, etag])
    const { PaymentsApplied: payments, NegativeAdjustmentsApplied: credits, ActualBalance } = long.body
    expect([payments.length, credits.length, ActualBalance]).toEqual([MANY * 0.8, MANY * 0.2, 1_000_000 - MANY / 100])
    const ids = payments.map(({ allocationID }: { allocationID: number }) => allocationID)
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b))
    expect(payments[0]).toEqual({ allocationID: ids[0], invoiceID: many.id, paymentID, amountApplied: 0.01 })
    expect(credits[0]).toMatchObject({ objectID: many.id, NegativeAdjustmentID: creditNoteID, amountApplied: 0.01 })

    const numbered = await client.get(`/v1/invoices/by_number/${long.body.invoiceNum}`)
    expect([numbered.text === long.text, numbered.headers['etag']]).toEqual([true, etag])
    const texts = await Promise.all(invoices.map(async ({ id }) => (await client.get(`/v1/invoices/${id}`)).text))
    const page = await client.get('/v1/invoices')
    expect(page.text === `[${texts.join(',')}]`).toBe(true)
    const issued = await client.get('/v1/events?type=invoice.issued')
    expect(issued.body.map(({ Record }: { Record: { PaymentsApplied: object[] } }) => Record.PaymentsApplied)).toEqual([
      [],
      [],
      [],
    ])
  })

  test('is 404 for others, and for HEAD it has the same head', async () => {
    const client = await service.newAccount()
    const invoice = await newInvoice(client)
    await applyMuch(owner, client, invoice, MANY)
    const path = `/v1/invoices/${invoice.id}`
    expect((await (await service.newAccount()).get(path)).status).toBe(404)
    const [head, whole] = [await client.request('HEAD', path), await client.get(path)]
    expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', whole.headers['etag']])
  })

  test('is an expensive answer: a third one at a time is refused, and what is short is not', async () => {
    const client = await service.newAccount()
    const invoice = await newInvoice(client)
    // More than connections take in for readers who read nothing.
    await applyMuch(owner, client, invoice, 100_000)
    const path = `/v1/invoices/${invoice.id}`
    if (!service.app.server.server.listening) await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = service.app.server.server.address() as AddressInfo
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    const unread = await Promise.all(
      [1, 2].map(async () => {
        const [reply] = await once(get({ port, path, headers: { authorization }, agent: false }), 'response')
        return reply as IncomingMessage
      }),
    )
    expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200])
    // However it is asked for, and again: it is known by then that it is long.
    for (const third of [path, path, '/v1/invoices/by_number/1', `${path}/pdf`, `${path}/pdf`]) {
      const { status, body, headers } = await client.get(third)
      expect([third, status, body.Errors[0].Code, headers['retry-after']]).toEqual([third, 429, 'too_many_reads', '2'])
    }
    expect((await client.get(`/v1/customers/${invoice.customerID}`)).status).toBe(200)
    for (const reply of unread) reply.destroy()
  })
})
