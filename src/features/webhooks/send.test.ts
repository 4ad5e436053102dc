import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { issuedByRuns } from './send.testing.ts'
import { networksFromText } from '../../platform/outbound/networks.ts'
import { makeOutbound } from '../../platform/outbound/outbound.ts'
import { addTax } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { gate, newCustomer, rename, startReceiver, timed, verified, withStatus } from './webhooks.testing.ts'

const { service, work, pass, hooked, now } = await timed()

const HOUR = 3600

describe('an event', () => {
  test('is sent once, signed, with the body that GET /v1/events shows', async () => {
    const receiver = await startReceiver()
    const { client, Secret, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const customerID = await newCustomer(client)
    expect(await deliveries()).toMatchObject([
      { Type: 'customer.created', State: 'Waiting', Tries: 0, LastTryDate: null },
    ])
    await work()
    await work()
    const [event] = (await client.get('/v1/events?type=customer.created')).body
    expect(receiver.received.map(({ event }) => event)).toEqual([event])
    const [sent] = receiver.received
    expect(event.RecordID).toBe(customerID)
    expect(verified(Secret, sent!)).toEqual(event)
    expect(sent?.headers).toMatchObject({
      'webhook-id': `evt_${client.id}_${event.eventID}`,
      'webhook-timestamp': String(now() / 1000),
      'content-type': 'application/json',
    })
    expect(() => verified('whsec_AAAA', sent!)).toThrow('signature')
    expect(() => verified(Secret, { ...sent!, text: `${sent!.text} ` })).toThrow('signature')
    expect(await deliveries()).toEqual([
      {
        deliveryID: expect.any(Number),
        eventID: event.eventID,
        Type: 'customer.created',
        State: 'Delivered',
        Tries: 1,
        LastStatus: 200,
        LastTryDate: '2027-01-01T12:00:00.000Z',
        NextTryDate: null,
      },
    ])
  })

  test('goes to each endpoint that wants its type, and to none of another account', async () => {
    const [all, some, none, others] = [
      await startReceiver(),
      await startReceiver(),
      await startReceiver(),
      await startReceiver(),
    ]
    const { client } = await hooked(all.url)
    await hooked(others.url)
    await client.post('/v1/webhooks', { Url: some.url, Types: ['customer.updated', 'invoice.*'] })
    await client.post('/v1/webhooks', { Url: none.url, Types: ['invoice.issued'] })
    const id = await newCustomer(client)
    await rename(client, id, 'Zenith')
    await work()
    await work()
    expect(all.seen().filter((seen) => seen.startsWith('customer'))).toEqual([
      `customer.created ${id}`,
      `customer.updated ${id}`,
    ])
    expect(some.seen()).toEqual([`customer.updated ${id}`])
    expect(none.seen()).toEqual([])
    expect(others.seen().filter((seen) => seen.startsWith('customer'))).toEqual([])
  })

  test('that was rolled back is never sent', async () => {
    const receiver = await startReceiver()
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    expect((await client.post('/v1/customers', { Name: 'A', isCompany: true, CurrencyCode: 'XTS' })).status).toBe(400)
    await work()
    expect(await deliveries()).toEqual([])
  })

  test('of an invoice that a run has issued carries the whole record', async () => {
    const receiver = await startReceiver()
    const { client, Secret } = await hooked(receiver.url, { Types: ['invoice.issued'] })
    await issuedByRuns(client)
    await work()
    const events = (await client.get('/v1/events?type=invoice.issued')).body
    expect(events).toHaveLength(2)
    expect(receiver.received.map((sent) => verified(Secret, sent))).toEqual(events)
    expect(events[0].Record).toMatchObject({ Total: 31, Name: 'Acme', CollectionMethod: 'eft' })
    expect(events[0].Record.Charges).toHaveLength(1)
  })

  test('of a record that cannot be billed arrives once for all days that it fails, and its recovery once', async () => {
    const receiver = await startReceiver()
    const types = ['recurring_invoice.billing_failed', 'recurring_invoice.billing_recovered']
    const { client, Secret } = await hooked(receiver.url, { Types: types })
    const customerID = await newCustomer(client)
    const charges = { customerID, StartDate: '2027-01-01', RecurInvoiceCharges: [{ UnitCostEx: 9e11 }] }
    const { recurInvoiceID } = (await client.post('/v1/recurring-invoices', charges)).body
    await addTax(client, 'VAT', { Perc: 0.2 })
    for (const Now of ['2027-02-01', '2027-02-02', '2027-02-03']) await client.put('/v1/clock', { Now })
    await work()
    expect(receiver.seen()).toEqual([`recurring_invoice.billing_failed ${recurInvoiceID}`])
    await client.post(`/v1/recurring-invoices/${recurInvoiceID}/skip`, { Until: '2027-02-01', Reason: 'Tax' })
    await client.put('/v1/clock', { Now: '2027-02-04' })
    await work()
    expect(receiver.seen()).toEqual(types.map((type) => `${type} ${recurInvoiceID}`))
    expect(receiver.received.map((sent) => verified(Secret, sent))).toEqual(
      (await client.get('/v1/events?page_size=200')).body.filter(({ Type }: any) => types.includes(Type)),
    )
  })

  test('that waits reaches nobody by name when its customer was made anonymous meanwhile', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(500))
    const { client } = await hooked(receiver.url, { Types: ['customer.created'] })
    const id = await newCustomer(client, 'Ada Lovelace')
    await work()
    expect(receiver.received.at(-1)?.text).toContain('Ada Lovelace')
    expect((await client.post(`/v1/customers/${id}/anonymise`)).status).toBe(204)
    pass(5)
    await work()
    expect(receiver.received).toHaveLength(2)
    expect(receiver.received.at(-1)?.text).not.toContain('Lovelace')
    expect(receiver.received.at(-1)?.event).toMatchObject({ Type: 'customer.created', RecordID: id })
  })

  test('of an account on real time is sent as those of one whose clock stands', async () => {
    const receiver = await startReceiver()
    const client = await service.newAccount({ clockAt: null })
    await client.post('/v1/webhooks', { Url: receiver.url, Types: ['customer.*'] })
    const id = await newCustomer(client)
    await work()
    expect(receiver.seen()).toEqual([`customer.created ${id}`])
  })
})

describe('a try that fails', () => {
  test('is made again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, ten tries in all, signed anew', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(500))
    const { client, Secret, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    const waits = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
    await work()
    for (const [index, wait] of waits.entries()) {
      pass(wait - 1)
      await work()
      expect(receiver.received).toHaveLength(index + 1)
      expect(await deliveries()).toMatchObject([{ State: 'Waiting', Tries: index + 1, LastStatus: 500 }])
      pass(1)
      await work()
    }
    expect(receiver.received).toHaveLength(10)
    expect(await deliveries()).toMatchObject([{ State: 'Failed', Tries: 10, LastStatus: 500, NextTryDate: null }])
    for (const sent of receiver.received) verified(Secret, sent)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10)
    pass(100 * HOUR)
    await work()
    expect(receiver.received).toHaveLength(10)
  })

  test('waits longer where the receiver asks for it by Retry-After, no longer than a day, and never shorter', async () => {
    const receiver = await startReceiver()
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const waits = async (header: string) => {
      receiver.answers(withStatus(429, { 'retry-after': header }))
      await newCustomer(client)
      await work()
      const { LastTryDate, NextTryDate } = (await deliveries()).at(-1)
      return (Date.parse(NextTryDate) - Date.parse(LastTryDate)) / 1000
    }
    expect(await waits('120')).toBe(120)
    expect(await waits('1')).toBe(5)
    expect(await waits('9999999999999')).toBe(24 * HOUR)
    expect(await waits(new Date(now() + 600_000).toUTCString())).toBe(600)
    expect(await waits('soon')).toBe(5)
  })

  test.each([
    ['a redirect, which is not followed', withStatus(302, { location: 'http://127.0.0.1:1/' }), 302],
    ['a refusal', withStatus(404), 404],
    ['huge headers', withStatus(200, { 'x-huge': 'y'.repeat(20_000) }), null],
    ['a cut connection', (_: unknown, response: { destroy(): void }) => response.destroy(), null],
  ])('is one that got %s', async (_what, answer, LastStatus) => {
    const receiver = await startReceiver()
    receiver.answers(answer as Parameters<typeof receiver.answers>[0])
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    expect(await deliveries()).toMatchObject([{ State: 'Waiting', Tries: 1, LastStatus }])
  })

  test('is one whose name leads to a private address by the time that it is called', async () => {
    const receiver = await startReceiver()
    const addresses = ['127.0.0.1', '10.0.0.1']
    const resolve = async () => [addresses.shift() ?? '10.0.0.1']
    const outbound = makeOutbound({ allow: networksFromText('127.0.0.0/8'), resolve })
    const rebound = await timed({ outbound })
    const { client, deliveries } = await rebound.hooked(`http://rebound.example:${receiver.port}/`, {
      Types: ['customer.*'],
    })
    await newCustomer(client)
    await rebound.work()
    expect(await deliveries()).toMatchObject([{ State: 'Delivered' }])
    // Another process, which has no connection from before.
    const later = makeOutbound({ allow: networksFromText('127.0.0.0/8'), resolve })
    await newCustomer(client)
    await rebound.work({ outbound: later })
    expect(await deliveries()).toMatchObject([{ State: 'Delivered' }, { State: 'Waiting', Tries: 1, LastStatus: null }])
    expect(receiver.received).toHaveLength(1)
  })
})

describe('order', () => {
  test('later events of a record wait while the earlier one has had fewer than five tries, those of others do not', async () => {
    const receiver = await startReceiver()
    const { client } = await hooked(receiver.url, { Types: ['customer.*'] })
    const [slow, other] = [await newCustomer(client), await newCustomer(client)]
    receiver.answers(({ event }, response) => void response.writeHead(event.RecordID === slow ? 500 : 200).end())
    await rename(client, slow, 'Second')
    await rename(client, slow, 'Third')
    await rename(client, other, 'Other')
    await work()
    await work()
    const created = `customer.created ${slow}`
    expect(receiver.seen().toSorted()).toEqual(
      [created, `customer.created ${other}`, `customer.updated ${other}`].toSorted(),
    )
    for (const wait of [5, 300, 1800]) {
      pass(wait)
      await work()
    }
    expect(receiver.seen().filter((seen) => seen.endsWith(` ${slow}`))).toEqual(Array(4).fill(created))
    // The fifth try fails too: the second event goes now, and the third waits for that one.
    pass(2 * HOUR)
    await work()
    const later = () => receiver.received.filter(({ event }) => event.RecordID === slow).slice(4)
    expect(later().map(({ event }) => event.Record.Name)).toEqual(['Acme', 'Second'])
    receiver.answers()
    pass(5)
    await work()
    expect(later().map(({ event }) => event.Record.Name)).toEqual(['Acme', 'Second', 'Second', 'Third'])
    pass(5 * HOUR)
    await work()
    expect(
      later()
        .map(({ event }) => event.Record.Name)
        .at(-1),
    ).toBe('Acme')
  })

  test('of many events of one record is kept, whatever number of workers sends them', async () => {
    const receiver = await startReceiver()
    const { client } = await hooked(receiver.url, { Types: ['customer.*'] })
    const id = await newCustomer(client, 'n0')
    for (let n = 1; n < 20; n += 1) await rename(client, id, `n${n}`)
    await Promise.all([work(), work(), work()])
    await work()
    expect(receiver.received.map(({ event }) => event.Record.Name)).toEqual(
      Array.from({ length: 20 }, (_, n) => `n${n}`),
    )
  })

  test('waits less than three hours, also where Retry-After puts the first tries far apart', async () => {
    const receiver = await startReceiver()
    const { client } = await hooked(receiver.url, { Types: ['customer.*'] })
    receiver.answers(withStatus(503, { 'retry-after': String(20 * HOUR) }))
    const id = await newCustomer(client)
    await rename(client, id, 'Second')
    await work()
    pass(3 * HOUR - 1)
    await work()
    expect(receiver.seen()).toEqual([`customer.created ${id}`])
    pass(1)
    await work()
    expect(receiver.seen()).toEqual([`customer.created ${id}`, `customer.updated ${id}`])
  })
})

describe('endpoints', () => {
  test('a slow one holds up no other: what falls due meanwhile is sent', async () => {
    const [slow, quick] = [await startReceiver(), await startReceiver()]
    const { client } = await hooked(slow.url, { Types: ['customer.*'] })
    const other = await hooked(quick.url, { Types: ['customer.*'] })
    const letGo: (() => void)[] = []
    const arrived = gate()
    slow.answers((_received, response) => {
      letGo.push(() => response.end())
      arrived.open()
    })
    await newCustomer(client)
    const working = work()
    await arrived.passed
    await newCustomer(other.client)
    await expect.poll(() => quick.received.length).toBe(1)
    expect(await other.deliveries()).toMatchObject([{ State: expect.stringMatching('Waiting|Delivered') }])
    slow.answers()
    for (const go of letGo.splice(0)) go()
    await working
    expect(slow.received).toHaveLength(1)
  })

  test('an answer without end is read to its bound, and counts by its status', async () => {
    const receiver = await startReceiver()
    receiver.answers((_received, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      }
      response.on('drain', more)
      more()
    })
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    expect(await deliveries()).toMatchObject([{ State: 'Delivered', LastStatus: 200 }])
  })

  test('that are deleted are sent nothing more, not even what waited', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(500))
    const { client, webhookID } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    expect((await client.delete(`/v1/webhooks/${webhookID}`)).status).toBe(204)
    await newCustomer(client)
    pass(HOUR)
    await work()
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a worker', () => {
  test('that was killed during a call leaves a lease, and another makes the delivery again when it has lapsed', async () => {
    const receiver = await startReceiver()
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    const lease = (seconds: number) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(sql`
          update webhook_deliveries set leased_until = moment() + interval '1 second' * ${seconds}::integer
           where account_id = ${client.id}`),
      )
    await lease(20)
    await work()
    expect(receiver.received).toEqual([])
    await lease(-1)
    await work()
    expect(await deliveries()).toMatchObject([{ State: 'Delivered', Tries: 1 }])
  })

  test('holds no connection while an endpoint is silent', async () => {
    const receiver = await startReceiver()
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const letGo = gate()
    const arrived = gate()
    receiver.answers((_received, response) => {
      arrived.open()
      void letGo.passed.then(() => response.end())
    })
    await newCustomer(client)
    const working = work()
    await arrived.passed
    // Meanwhile the worker looks for other endpoints, which takes a connection for a moment.
    const busy = () => {
      const { total, idle } = service.db.poolState()
      return total - idle
    }
    await expect.poll(busy).toBe(0)
    letGo.open()
    await working
    expect(await deliveries()).toMatchObject([{ State: 'Delivered' }])
  })

  test('that is stopped waits for the calls under way, writes what came of them, and begins no other', async () => {
    const receiver = await startReceiver()
    const { client, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const letGo = gate()
    const arrived = gate()
    receiver.answers((_received, response) => {
      arrived.open()
      void letGo.passed.then(() => response.end())
    })
    for (let n = 0; n < 6; n += 1) await newCustomer(client)
    let isStopping = false
    const working = work({}, () => {
      if (isStopping) throw new Error('stopped')
    }).catch((error: Error) => error.message)
    await arrived.passed
    isStopping = true
    // The next look, a second later at most, finds that it is to stop.
    letGo.open()
    expect(await working).toBe('stopped')
    const states = (await deliveries()).map(({ State }) => State)
    expect(states.filter((state) => state === 'Delivered').length).toBe(receiver.received.length)
  })

  test('calls nobody over a port that is closed, and tries again', async () => {
    const gone = createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    const { client, deliveries } = await hooked(`http://127.0.0.1:${port}/`, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    expect(await deliveries()).toMatchObject([{ State: 'Waiting', Tries: 1, LastStatus: null }])
  })
})
