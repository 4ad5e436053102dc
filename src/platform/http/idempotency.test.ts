import { describe, expect, test } from 'vitest'
import { probeServer } from '../../../test/support/probe.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { conflict } from '../../kernel/fault.ts'
import { sql } from '../database/sql.ts'
import { text } from '../wire/fields.ts'
import { objectOf, optional } from '../wire/read.ts'
import type { HttpDeps } from './deps.ts'
import { longOperation, readOperation, writeOperation } from './operation.ts'

let realNow = Date.parse('2026-11-21T12:00:00Z')
const service = await startTestService({ now: () => realNow })
const company = (Name: string, more: object = {}) => ({ Name, isCompany: true, ...more })
const key = (value: string) => ({ 'idempotency-key': value })

const declared = (id: string) =>
  ({ id, method: 'POST', path: `/${id}`, tag: 't', summary: 's', success: { status: 201 } }) as const

/** Notes of an operation that nobody reads. */
const UNSEEN = { progress: () => {}, isAbout: () => {} }

const refusal = () => conflict('one_at_a_time', 'One at a time.')

const count = async (client: { get: (path: string) => Promise<{ body: unknown[] }> }) =>
  (await client.get('/v1/customers')).body.length

describe('an Idempotency-Key', () => {
  test('a repeated request is answered as the first was, with its headers, and changes nothing again', async () => {
    const client = await service.newAccount()
    const first = await client.post('/v1/customers', company('Acme'), key('k'))
    const again = await client.post('/v1/customers', company('Acme'), key('k'))
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.text).toBe(first.text)
    expect([again.headers.etag, again.headers['location'], again.headers['content-type']]).toEqual([
      first.headers.etag,
      first.headers['location'],
      first.headers['content-type'],
    ])
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([undefined, 'true'])
    expect(await count(client)).toBe(1)
    const { customerID } = first.body
    const edit = () => client.put(`/v1/customers/${customerID}`, company('Apex'), key('k2'))
    expect([(await edit()).status, (await edit()).headers['idempotency-replayed']]).toEqual([204, 'true'])
  })

  test('the same request is told by what it says, not by how it is written', async () => {
    const client = await service.newAccount()
    await client.post('/v1/customers', '{"Name":"Acme","isCompany":true,"PaymentTermDays":30}', key('k'))
    const other = await client.post(
      '/v1/customers',
      '{ "PaymentTermDays": 3.0e1, "isCompany": true, "Name": "\\u0041cme" }',
      key('k'),
    )
    expect([other.status, other.headers['idempotency-replayed']]).toEqual([201, 'true'])
  })

  test('another request under a used key is refused with 422, be it another body, path or method', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', company('Acme'), key('k'))
    const others = [
      await client.post('/v1/customers', company('Other'), key('k')),
      await client.put(`/v1/customers/${body.customerID}`, company('Acme'), key('k')),
      await client.put(`/v1/customers/${body.customerID}/suspend`, undefined, key('k')),
      await client.post('/v1/customers', '{"Name":', key('k')),
    ]
    expect(others.map(({ status }) => status)).toEqual([422, 422, 422, 422])
    expect(others[0]?.body.Errors).toEqual([
      { Code: 'idempotency_key_reused', Field: 'Idempotency-Key', Message: expect.any(String) },
    ])
    expect(await count(client)).toBe(1)
  })

  test('a refused request leaves the key free, also for a corrected body', async () => {
    const client = await service.newAccount()
    expect((await client.post('/v1/customers', company('x', { Email: 'no' }), key('k'))).status).toBe(400)
    expect((await client.put('/v1/customers/999999/suspend', undefined, key('k'))).status).toBe(404)
    const right = await client.post('/v1/customers', company('x', { Email: 'a@b.co' }), key('k'))
    expect([right.status, right.headers['idempotency-replayed']]).toEqual([201, undefined])
  })

  test('is kept for 24 hours of real time, per account', async () => {
    const [client, neighbour] = [await service.newAccount(), await service.newAccount()]
    await client.post('/v1/customers', company('Acme'), key('k'))
    expect((await neighbour.post('/v1/customers', company('Other'), key('k'))).status).toBe(201)
    realNow += 23 * 3_600_000 + 59 * 60_000
    expect((await client.post('/v1/customers', company('Acme'), key('k'))).headers['idempotency-replayed']).toBe('true')
    realNow += 60_000
    const fresh = await client.post('/v1/customers', company('Acme', { Reference: 'second' }), key('k'))
    expect([fresh.status, fresh.headers['idempotency-replayed']]).toEqual([201, undefined])
  })

  test('has 1 to 255 printable characters; another is one problem among the others', async () => {
    const client = await service.newAccount()
    expect((await client.post('/v1/customers', company('a'), key('k'.repeat(255)))).status).toBe(201)
    const refused = await client.post('/v1/customers', { isCompany: true }, key('k'.repeat(256)))
    expect(refused.status).toBe(400)
    expect(refused.body.Errors.map((error: { Field: string }) => error.Field).sort()).toEqual([
      'Idempotency-Key',
      'Name',
    ])
    expect((await client.post('/v1/customers', company('b'), key(''))).status).toBe(400)
    expect((await client.put('/v1/customers/999999/suspend', undefined, key(''))).status).toBe(404)
  })

  test('left-over bodies of operations without input do not make another request', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', company('Acme'))
    const path = `/v1/customers/${body.customerID}/suspend`
    await client.put(path, undefined, key('k'))
    expect((await client.put(path, { left: 'over' }, key('k'))).headers['idempotency-replayed']).toBe('true')
  })
})

describe('what a probe shows', () => {
  test.each(['write', 'long'] as const)(
    'a second request while the first runs is 409 at once, and is answered from what was kept afterwards (%s)',
    async (kind) => {
      const { id } = await service.newAccount()
      let goOn = () => {}
      let isRunning = () => {}
      const running = new Promise<void>((resolve) => (isRunning = resolve))
      const gate = new Promise<void>((resolve) => (goOn = resolve))
      const hold = async () => {
        isRunning()
        await gate
        return { status: 201, body: '{}' }
      }
      const about = {
        id: kind,
        method: 'POST',
        path: '/slow',
        tag: 't',
        summary: 's',
        success: { status: 201 },
      } as const
      const operation =
        kind === 'write'
          ? writeOperation({ ...about, write: hold })
          : longOperation({ ...about, longKind: 'clock', run: hold, refusal })
      const { client } = probeServer(service.db, id, [operation])
      const first = client.post('/slow', undefined, key('k'))
      await running
      const second = await client.post('/slow', undefined, key('k'))
      expect([second.status, second.headers['retry-after'], second.body.Errors[0].Code]).toEqual([
        409,
        '1',
        'idempotency_key_in_use',
      ])
      goOn()
      expect((await first).status).toBe(201)
      expect((await client.post('/slow', undefined, key('k'))).headers['idempotency-replayed']).toBe('true')
    },
  )

  /** A long operation that ends when the test ends it, in processes of their own as far as keys and places go. */
  async function heldOperation() {
    const ends: (() => void)[] = []
    const waiting: (() => void)[] = []
    const operation = longOperation({
      ...declared('held'),
      longKind: 'clock',
      refusal,
      run: async () => {
        const turn = ends.length
        await new Promise<void>((resolve) => {
          ends.push(resolve)
          for (const wake of waiting.splice(0)) wake()
        })
        return { status: 201, body: `{"Turn":${turn}}` }
      },
    })
    const begun = async (count: number) => {
      while (ends.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    }
    const process = (account: bigint) =>
      probeServer(service.db, account, [operation], { longOperations: { run: (_asked, work) => work(UNSEEN) } }).client
    return { process, begun, ends }
  }

  test('eight long operations with keys hold no connection: a live account writes at once, a repeated call is 409 at once', async () => {
    const { id } = await service.newAccount()
    const neighbour = await service.newAccount({ mode: 'live', clockAt: null })
    const { process, begun, ends } = await heldOperation()
    const client = process(id)
    const running = Array.from({ length: 8 }, (_, index) => client.post('/held', undefined, key(`k${index}`)))
    await begun(8)
    expect((await neighbour.post('/v1/customers', company('Acme'))).status).toBe(201)
    const repeated = await Promise.all(
      running.map((_, index) => process(id).post('/held', undefined, key(`k${index}`))),
    )
    expect(repeated.map(({ status, body }) => [status, body.Errors[0].Code])).toEqual(
      running.map(() => [409, 'idempotency_key_in_use']),
    )
    for (const end of ends) end()
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(running.map(() => 201))
    expect(await service.db.reader(id).rows(sql`select 1 from leases where account_id = ${id}`)).toEqual([])
  })

  test('a long operation under a key keeps short ones from that key, and one that is refused leaves it free', async () => {
    const { id } = await service.newAccount()
    const { process, begun, ends } = await heldOperation()
    const write = writeOperation({ ...declared('short'), write: async () => ({ status: 201, body: '{}' }) })
    const refusing = longOperation({
      ...declared('refusing'),
      longKind: 'clock',
      refusal,
      run: async () => ({ status: 201 }),
    })
    const full: Partial<HttpDeps> = {
      longOperations: {
        run: async () => {
          throw refusal()
        },
      },
    }
    const other = probeServer(service.db, id, [write, refusing], full).client
    expect((await other.post('/refusing', undefined, key('k'))).status).toBe(409)
    const first = process(id).post('/held', undefined, key('k'))
    await begun(1)
    expect((await other.post('/short', undefined, key('k'))).body.Errors[0].Code).toBe('idempotency_key_in_use')
    ends[0]?.()
    expect((await first).status).toBe(201)
    expect((await other.post('/short', undefined, key('k'))).status).toBe(422)
  })

  test.each([
    ['lapsed', sql`select now() - interval '1 second' as "at"`],
    ['lies too far ahead, because the clock stepped back', sql`select now() + interval '2 days' as "at"`],
  ])('the key of a process that died is free again when its lease has %s', async (_name, moment) => {
    const { id } = await service.newAccount()
    const { process, begun, ends } = await heldOperation()
    const dead = process(id).post('/held', undefined, key('k'))
    await begun(1)
    await service.db.transaction(id, async (tx) => {
      const [{ at } = { at: '' }] = await tx.rows<{ at: string }>(moment)
      await tx.rows(sql`update leases set leased_until = ${at} where account_id = ${id}`)
    })
    const next = process(id).post('/held', undefined, key('k'))
    await begun(2)
    ends[1]?.()
    expect((await next).text).toBe('{"Turn":1}')
    // What it finds out after all is told to its own caller, and to nobody else.
    ends[0]?.()
    expect((await dead).text).toBe('{"Turn":0}')
    expect((await process(id).post('/held', undefined, key('k'))).text).toBe('{"Turn":1}')
  })

  test('an answer that holds a secret is kept encrypted and replayed in clear; requests are kept as a keyed hash', async () => {
    const { id } = await service.newAccount()
    const operation = writeOperation({
      id: 'secret',
      method: 'POST',
      path: '/secret',
      tag: 't',
      summary: 's',
      body: objectOf({ Password: optional(text()) }),
      success: { status: 201 },
      write: async () => ({ status: 201, body: '{"ApiKey":"top-secret"}', isSecret: true }),
    })
    const { client } = probeServer(service.db, id, [operation])
    await client.post('/secret', { Password: 'hunter2' }, key('k'))
    const again = await client.post('/secret', { Password: 'hunter2' }, key('k'))
    expect([again.text, again.headers['idempotency-replayed']]).toEqual(['{"ApiKey":"top-secret"}', 'true'])
    const kept = await service.db
      .reader(id)
      .rows<{ text: string }>(
        sql`select row_to_json(k)::text as "text" from idempotency_keys k where account_id = ${id}`,
      )
    expect(kept).toHaveLength(1)
    expect(kept[0]?.text).not.toMatch(/top-secret|hunter2/)
  })

  test('a kept secret that somebody put under another key, or into another account, is not answered', async () => {
    const [{ id }, other] = [await service.newAccount(), await service.newAccount()]
    const operation = writeOperation({
      ...declared('secret'),
      write: async () => ({ status: 201, body: '{"ApiKey":"top-secret"}', isSecret: true }),
    })
    const [client, stranger] = [id, other.id].map((account) => probeServer(service.db, account, [operation]).client)
    const sent = async (who: TestClient | undefined, name: string) => who!.post('/secret', undefined, key(name))
    for (const [who, name] of [
      [client, 'a'],
      [client, 'b'],
      [stranger, 'a'],
    ] as const)
      await sent(who, name)
    const bodyOf = (account: bigint) =>
      sql`select body from idempotency_keys where account_id = ${account} order by created_at`
    const [first] = await service.db.reader(id).rows<{ body: string }>(bodyOf(id))
    for (const account of [id, other.id])
      await service.db.transaction(account, (tx) =>
        tx.rows(sql`update idempotency_keys set body = ${first?.body} where account_id = ${account}`),
      )
    expect((await sent(client, 'a')).text).toContain('top-secret')
    for (const reply of [await sent(client, 'b'), await sent(stranger, 'a')]) {
      expect(reply.status).toBe(500)
      expect(reply.text).not.toContain('top-secret')
    }
  })

  test('a key itself is kept nowhere; one of a version that kept it in clear is found for its day', async () => {
    const { id } = await service.newAccount()
    let made = 0
    const operation = writeOperation({
      ...declared('once'),
      write: async () => ({ status: 201, body: `${(made += 1)}` }),
    })
    const { client } = probeServer(service.db, id, [operation])
    const number = '4242 4242 4242 4242'
    await client.post('/once', undefined, key(number))
    const rows = await service.db
      .reader(id)
      .rows<{ text: string }>(sql`select k::text as "text" from idempotency_keys k where account_id = ${id}`)
    expect(rows.map(({ text }) => text.includes('4242'))).toEqual([false])
    await service.db.transaction(id, (tx) =>
      tx.rows(sql`update idempotency_keys set key = ${number} where account_id = ${id}`),
    )
    expect((await client.post('/once', undefined, key(number))).text).toBe('1')
  })

  test('a change and its key commit together: one that fails at the end keeps neither', async () => {
    const { id } = await service.newAccount()
    const operation = writeOperation({
      id: 'late',
      method: 'POST',
      path: '/late',
      tag: 't',
      summary: 's',
      success: { status: 201 },
      write: async (tx) => {
        await tx.rows(sql`insert into account_currencies (account_id, currency) values (${id}, 'EUR')`)
        throw conflict('late', 'Too late.')
      },
    })
    const { client } = probeServer(service.db, id, [operation])
    expect((await client.post('/late', undefined, key('k'))).status).toBe(409)
    expect(
      await service.db.reader(id).rows(sql`select currency from account_currencies where account_id = ${id}`),
    ).toEqual([{ currency: 'USD' }])
    expect(await service.db.reader(id).rows(sql`select 1 from idempotency_keys where account_id = ${id}`)).toEqual([])
  })

  test('a repeated call is answered before the slow part of its work, and so is one with another body', async () => {
    const { id } = await service.newAccount()
    let prepared = 0
    const operation = writeOperation({
      ...declared('slow'),
      body: objectOf({ Name: optional(text()) }),
      prepare: async () => (prepared += 1),
      write: async (_tx, _context, _input, _record, _found, count) => ({ status: 201, body: JSON.stringify(count) }),
    })
    const { client } = probeServer(service.db, id, [operation])
    const send = (Name: string) => client.post('/slow', { Name }, key('k'))
    expect([(await send('a')).text, (await send('a')).text, (await send('b')).status]).toEqual(['1', '1', 422])
    expect(prepared).toBe(1)
    expect((await client.post('/slow', { Name: 'a' })).text).toBe('2')
  })

  test('reads take no notice of a key', async () => {
    const { id } = await service.newAccount()
    const operation = readOperation({
      id: 'look',
      method: 'GET',
      path: '/look',
      tag: 't',
      summary: 's',
      success: { status: 200 },
      read: async () => ({ status: 200, body: '1' }),
    })
    const { client } = probeServer(service.db, id, [operation])
    expect((await client.get('/look', undefined, key('k'.repeat(999)))).status).toBe(200)
  })
})
