import { describe, expect, test } from 'vitest'
import { clientOf, startTestService } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { newSecret, secretHash } from '../../features/api-keys/secret.ts'
import { insertKey } from '../../features/api-keys/queries.ts'
import { flag, text } from '../wire/fields.ts'
import { objectOf, optional, required } from '../wire/read.ts'
import { readOperation, writeOperation } from './operation.ts'
import { makeRateLimit } from './rate-limit.ts'

/** Conventions of every operation, shown on the simplest ones. */

const service = await startTestService()
const company = { Name: 'Acme', isCompany: true }
const basic = (user: string | bigint, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})

async function readKeyOf(client: { id: bigint }) {
  const secret = newSecret('test')
  const key = {
    name: 'r',
    permission: 'read' as const,
    hash: secretHash(secret),
    createdAt: '2026-01-01T00:00:00Z',
    expiresAt: null,
  }
  await service.db.transaction(client.id, (tx) => insertKey(tx, client.id, key))
  return clientOf(service.app, client.id, secret)
}

test('what was refused is not called missing as well', async () => {
  const client = await service.newAccount()
  const fieldsOf = async (path: string, body: unknown) =>
    (await client.post(path, body)).body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
  expect(await fieldsOf('/v1/customers', [])).toEqual(['wrong_type null'])
  for (const name of ['packageID', 'packageVersionID'])
    expect(
      (await fieldsOf('/v1/subscriptions', { [name]: 1.5 })).filter((one: string) => /package\w*ID/.test(one)),
    ).toEqual([`wrong_type ${name}`])
})

describe('credentials', () => {
  test('none at all is a challenge for Basic alone, never an attack', async () => {
    for (let tries = 0; tries < 60; tries += 1) {
      const bare = await service.anonymous.post('/v1/customers', company)
      expect([bare.status, bare.headers['www-authenticate']]).toEqual([401, 'Basic realm="Perennial"'])
    }
    const { body } = await service.anonymous.get('/v1/customers')
    expect(body.Errors).toEqual([{ Code: 'credentials_missing', Field: null, Message: expect.any(String) }])
  })

  test('wrong ones are 401 with the challenge, whatever is wrong with them', async () => {
    const client = await service.newAccount()
    const wrong = [
      basic(client.id, 'nonsense'),
      basic('999999', client.secret),
      basic('x', client.secret),
      { authorization: 'Bearer x' },
      { authorization: 'Basic !!!' },
      { authorization: '' },
    ]
    for (const headers of wrong) {
      const refused = await service.anonymous.get('/v1/customers', undefined, headers)
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Basic realm="Perennial"'])
      expect(refused.text).not.toContain(client.secret)
    }
    const bearer = await service.anonymous.get('/v1/customers', undefined, { authorization: `Bearer ${client.secret}` })
    expect(bearer.body.Errors[0].Message).toContain('must be HTTP Basic')
  })

  test('come before everything else: an unknown path, a wrong method, a broken escape', async () => {
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['PATCH', '/v1/customers'],
      ['GET', '/v1/customers/%zz'],
      ['POST', '/v1/customers'],
    ] as const)
      expect((await service.anonymous.request(method, path, '{broken')).status, path).toBe(401)
  })

  test('a key that may only read is refused by everything that changes something, asked for a preview or not', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', company)
    const reader = await readKeyOf(client)
    expect((await reader.get('/v1/customers')).status).toBe(200)
    expect((await reader.post('/v1/by_customer_ids', { ids: [body.customerID] })).status).toBe(200)
    for (const query of ['', '?preview=true'])
      for (const [method, path] of [
        ['POST', '/v1/customers'],
        ['PUT', `/v1/customers/${body.customerID}/suspend`],
        ['DELETE', '/v1/currencies'],
      ] as const) {
        const refused = await reader.request(method, path + query, company)
        expect([refused.status, refused.body.Errors[0].Code], path + query).toEqual([403, 'key_read_only'])
      }
    expect((await reader.put('/v1/customers/999999', '{broken')).status).toBe(403)
    expect((await reader.get('/nowhere')).status).toBe(404)
    expect((await reader.request('PATCH', '/v1/customers')).status).toBe(405)
    expect((await client.get('/v1/customers')).body).toHaveLength(1)
  })

  test('previews are open to keys that may only read where an operation has one', async () => {
    const { id } = await service.newAccount()
    const operation = writeOperation({
      id: 'p',
      method: 'PUT',
      path: '/p',
      tag: 't',
      summary: 's',
      query: objectOf({ preview: optional(flag()) }),
      success: { status: 200 },
      preview: { type: 'integer' },
      write: async () => ({ status: 200, body: '1' }),
    })
    const reading = probeServer(service.db, id, [operation], {
      authenticate: async () => ({ account: { id } as never, keyId: 1n, permission: 'read', isStrict: false }),
    })
    expect((await reading.client.put('/p?preview=true')).status).toBe(200)
    for (const query of ['', '?preview=false', '?preview=1', '?preview=false&preview=true'])
      expect((await reading.client.put(`/p${query}`)).status, query).toBe(403)
  })
})

describe('paths and methods', () => {
  test('one trailing slash and any letter case of the fixed words are accepted, identifiers stay as they are', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/V1/Customers/', company)
    for (const path of [`/v1/customers/${body.customerID}/`, `/V1/CUSTOMERS/${body.customerID}`])
      expect((await client.get(path)).body).toEqual(body)
    for (const path of ['/v1/customers//', '/v1//customers', '/v1/customer'])
      expect((await client.get(path)).status, path).toBe(404)
  })

  test('another method of a known path is 405 with Allow', async () => {
    const client = await service.newAccount()
    for (const [method, path, allow] of [
      ['PATCH', '/v1/customers', 'GET, HEAD, POST'],
      ['OPTIONS', '/v1/customers', 'GET, HEAD, POST'],
      ['DELETE', '/v1/by_customer_ids/', 'POST'],
      ['GET', '/v1/customers/1/suspend', 'PUT'],
      ['PUT', '/v1/Currencies', 'GET, HEAD, POST, DELETE'],
    ] as const) {
      const refused = await client.request(method, path, '{broken')
      expect([refused.status, refused.headers['allow'], refused.body.Errors[0].Code], path).toEqual([
        405,
        allow,
        'method_not_allowed',
      ])
    }
  })

  test('a request is the same in another spelling of its address, so its answer is replayed', async () => {
    const client = await service.newAccount()
    const key = { 'idempotency-key': 'spelling' }
    const first = await client.post('/v1/packagegroups', { GroupName: 'One' }, key)
    expect(first.status).toBe(201)
    for (const path of ['/v1/packagegroups/', '/v1/PackageGroups', '/v1/packagegroups?page=1&stranger=2']) {
      const again = await client.post(path, { GroupName: 'One' }, key)
      expect(again.status).toBe(201)
      expect(again.body).toEqual(first.body)
    }
    expect((await client.post('/v1/packagegroups', { GroupName: 'Two' }, key)).status).toBe(422)
  })

  test('malformed JSON is told alone: nothing can be said of fields that were not read', async () => {
    const client = await service.newAccount()
    const { status, body } = await client.post('/v1/customers', '{')
    expect(status).toBe(400)
    expect(body.Errors).toMatchObject([{ Code: 'malformed_json' }])
  })

  test('a page of any number past the end is empty, and a service page answers only reads', async () => {
    const client = await service.newAccount()
    expect((await client.get('/v1/customers?page=90071992547409910000')).body).toEqual([])
    const refused = await service.anonymous.post('/healthz', {})
    expect(refused.status).toBe(405)
    expect(refused.headers['allow']).toBe('GET, HEAD')
  })

  test('the address that the start prints leads a browser to the reference', async () => {
    const front = await service.anonymous.get('/')
    expect(front.status).toBe(200)
    expect(front.text).toContain('href="/docs"')
  })

  test('what no path can be is 404 like any unknown path', async () => {
    const client = await service.newAccount()
    for (const path of [
      '/v1',
      '/v2/customers',
      '/v1/customers/%zz',
      '/v1/customers/%00',
      `/v1/customers/${'9'.repeat(400)}`,
      '/v1/customers/1e1',
      '/v1/customers/-1',
      '/v1/customers/0',
      '/v1/customers/9007199254740993',
      '/v1/customers/__proto__',
    ]) {
      const refused = await client.get(path)
      expect([refused.status, refused.headers['cache-control'], Array.isArray(refused.body.Errors)], path).toEqual([
        404,
        'no-store',
        true,
      ])
      expect(refused.headers['x-request-id']).toBeDefined()
    }
  })

  test('HEAD is GET without the body', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', company)
    const got = await client.get(`/v1/customers/${body.customerID}`)
    const head = await client.request('HEAD', `/v1/customers/${body.customerID}`)
    expect([head.status, head.text, head.headers.etag, head.headers['content-length']]).toEqual([
      200,
      '',
      got.headers.etag,
      String(Buffer.byteLength(got.text)),
    ])
    expect((await client.request('HEAD', '/v1/customers/999999')).status).toBe(404)
  })
})

describe('bodies', () => {
  test('operations without input never look at one, nor at its type', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', company)
    const path = `/v1/customers/${body.customerID}`
    for (const [payload, type] of [
      ['{broken', 'application/json'],
      ['', 'application/json'],
      ['a=b', 'application/x-www-form-urlencoded'],
      ['x', 'no type at all'],
      ['x'.repeat(2_000_000), 'text/plain'],
      ['{}', ''],
    ] as const) {
      expect((await client.request('PUT', `${path}/suspend`, payload, { 'content-type': type })).status, type).toBe(204)
      expect((await client.request('GET', path, payload, { 'content-type': type })).status, type).toBe(200)
    }
  })

  test('where one is needed it must be JSON in UTF-8, of any JSON type or none', async () => {
    const client = await service.newAccount()
    const send = (type: string | undefined, payload: string | Buffer = JSON.stringify(company)) =>
      service.app.server.inject({
        method: 'POST',
        url: '/v1/customers',
        payload,
        headers: { ...basic(client.id, client.secret), ...(type === undefined ? {} : { 'content-type': type }) },
      })
    for (const type of [
      'application/json',
      'Application/JSON; charset=UTF-8',
      'application/json;charset="utf-8"',
      'application/vnd.api+json',
      'text/json',
      undefined,
    ])
      expect((await send(type)).statusCode, type).toBe(201)
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'garbage',
      'application/jsonx',
      ',',
      'multipart/form-data; boundary=x',
    ]) {
      const refused = await send(type)
      expect([refused.statusCode, refused.json().Errors[0].Code], type).toEqual([415, 'not_json'])
    }
    expect(
      (
        await send(
          'application/json',
          Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(company))]),
        )
      ).statusCode,
    ).toBe(201)
    const latin1 = await send('application/json', Buffer.from([0x22, 0xe9, 0x22]))
    expect([latin1.statusCode, latin1.json().Errors[0].Code]).toEqual([400, 'malformed_json'])
  })

  test('malformed ones are 400 saying where, missing ones 400', async () => {
    const client = await service.newAccount()
    for (const payload of [
      '{',
      '{"Name":}',
      '{"Name":"a",}',
      "{'Name':'a'}",
      '{"Name":NaN}',
      '\u0000',
      '{"a":1}{"b":2}',
      '['.repeat(100_000),
      '{"Name":"a","Name":"b"}',
    ]) {
      const refused = await client.post('/v1/customers', payload)
      expect([refused.status, refused.body.Errors[0].Code, refused.body.Errors[0].Field], payload.slice(0, 20)).toEqual(
        [400, 'malformed_json', null],
      )
    }
    for (const payload of [undefined, '', '  '])
      expect((await client.post('/v1/customers', payload)).body.Errors[0].Code).toBe('body_missing')
    expect(
      (await client.post('/v1/customers', '{"Name":"a","isCompany":true,"PaymentTermDays":1e400}')).body.Errors[0],
    ).toMatchObject({ Code: 'out_of_range', Field: 'PaymentTermDays' })
  })

  test('over 1 MiB is 413, before its type is looked at; an operation may say its own limit', async () => {
    const client = await service.newAccount()
    const big = JSON.stringify({ ...company, Notes: 'x'.repeat(1024 * 1024) })
    expect((await client.post('/v1/customers', big, { 'content-type': 'text/plain' })).status).toBe(413)
    const fits = JSON.stringify(company).padEnd(1024 * 1024, ' ')
    expect((await client.post('/v1/customers', fits)).status).toBe(201)
    expect((await client.post('/v1/customers', `${fits} `)).status).toBe(413)
  })

  test('strictly asked, every unknown field is refused; unasked it is ignored', async () => {
    const client = await service.newAccount()
    const body = { ...company, Colour: 'red' }
    expect((await client.post('/v1/customers', body)).status).toBe(201)
    for (const prefer of ['handling=strict', 'respond-async, Handling = "strict"', 'handling=strict; x=1']) {
      const refused = await client.post('/v1/customers', body, { prefer })
      expect([refused.status, refused.body.Errors[0].Field], prefer).toEqual([400, 'Colour'])
    }
    expect((await client.post('/v1/customers', body, { prefer: 'handling=lenient' })).status).toBe(201)
  })

  test('a filter in other letters is refused with the one that is meant; an unknown one only where strictness is asked', async () => {
    const client = await service.newAccount()
    for (const [sent, meant] of [
      ['/v1/invoices?customerId=1', 'customerID'],
      ['/v1/invoices?Status=Paid', 'status'],
      ['/v1/invoices?startdate=2027-01-01', 'startDate'],
      ['/v1/customers?PAGE=2', 'page'],
    ] as const) {
      const { status, body } = await client.get(sent)
      expect([status, body.Errors?.[0].Code], sent).toEqual([400, 'wrong_letter_case'])
      expect(body.Errors[0].Message).toContain(`did you mean ${meant}?`)
    }
    for (const path of ['/v1/customers', '/v1/subscriptions'])
      for (const name of ['comp_status', 'comp_Status'])
        expect((await client.get(`${path}?${name}=Active`)).status, `${path}?${name}`).toBe(200)
    for (const path of ['/v1/customers', '/v1/account']) {
      expect((await client.get(`${path}?colour=red`)).status).toBe(200)
      const refused = await client.get(`${path}?colour=red`, undefined, { prefer: 'handling=strict' })
      expect([refused.status, refused.body.Errors?.[0].Field]).toEqual([400, 'colour'])
    }
  })

  test('a record that was read can be sent back, strictly even', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', { ...company, VatNo: 4123456789 })
    expect(body.VatNo).toBe('4123456789')
    expect((await client.put(`/v1/customers/${body.customerID}`, body, { prefer: 'handling=strict' })).status).toBe(204)
    expect((await client.get(`/v1/customers/${body.customerID}`)).body).toEqual(body)
  })
})

describe('the order of the checks', () => {
  const Body = objectOf({ Name: required(text()) })
  test('404 of the record, 412, 400 with all problems', async () => {
    const client = await service.newAccount()
    const { body, headers } = await client.post('/v1/customers', company)
    const path = `/v1/customers/${body.customerID}`
    const stale = { 'if-match': '"old"' }
    expect((await client.put('/v1/customers/999999', '{broken', stale)).status).toBe(404)
    expect((await client.put(path, '{broken', stale)).status).toBe(412)
    expect((await client.put(path, '{broken', { 'if-match': headers.etag as string })).status).toBe(400)
    expect((await client.put('/v1/customers/999999', '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('a missing record of a read is told before what is wrong with its query', async () => {
    const { id } = await service.newAccount()
    const operation = readOperation({
      id: 'r',
      method: 'GET',
      path: '/r/{id}',
      tag: 't',
      summary: 's',
      query: Body as never,
      success: { status: 200 },
      record: async (_db, _context, { id: wanted }) => {
        if (wanted !== '1') throw Object.assign(new Error(), { statusCode: 404 })
      },
      read: async () => ({ status: 200, body: '1' }),
    })
    const { client } = probeServer(service.db, id, [operation])
    expect((await client.get('/r/2')).status).toBe(404)
    expect((await client.get('/r/1')).status).toBe(400)
    expect((await client.get('/r/1?Name=x')).status).toBe(200)
  })
})

describe('ETags', () => {
  test('change with what a PUT replaces, not with computed fields; If-Match holds or is 412', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/customers', company)
    const path = `/v1/customers/${added.body.customerID}`
    const tag = async () => (await client.get(path)).headers.etag as string
    expect(await tag()).toBe(added.headers.etag)
    await client.put(`${path}/suspend`)
    expect(await tag()).toBe(added.headers.etag)
    const edited = await client.put(path, { ...company, Tel: '1' }, { 'if-match': await tag() })
    expect([edited.status, edited.headers.etag]).toEqual([204, await tag()])
    expect(edited.headers.etag).not.toBe(added.headers.etag)
    const stale = await client.put(path, company, { 'if-match': added.headers.etag as string })
    expect([stale.status, stale.body.Errors[0].Code]).toEqual([412, 'etag_mismatch'])
    expect((await client.get(path)).body.Tel).toBe('1')
    for (const good of ['*', `"x", ${await tag()}`, `W/${await tag()}`])
      expect((await client.put(path, { ...company, Tel: '1' }, { 'if-match': good })).status, good).toBe(204)
    expect((await client.get(path, undefined, { 'if-none-match': await tag() })).status).toBe(200)
  })
})

describe('headers of every answer', () => {
  test('no-store, and a request id that is the caller’s own when it is sane', async () => {
    const client = await service.newAccount()
    for (const reply of [
      await client.get('/v1/customers'),
      await client.get('/nowhere'),
      await client.post('/v1/customers', '{'),
      await client.post('/v1/customers', company),
      await service.anonymous.get('/v1/customers'),
      await client.request('PATCH', '/v1/customers'),
    ]) {
      expect(reply.headers['cache-control']).toBe('no-store')
      expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(reply.headers['content-encoding']).toBeUndefined()
      expect(reply.headers['access-control-allow-origin']).toBeUndefined()
    }
    expect(
      (await client.get('/v1/customers', undefined, { 'x-request-id': 'order-7/a' })).headers['x-request-id'],
    ).toBe('order-7/a')
    for (const odd of ['x'.repeat(129), 'a b', 'é'.normalize()])
      expect((await client.get('/v1/customers', undefined, { 'x-request-id': odd })).headers['x-request-id']).toMatch(
        /^[0-9a-f-]{36}$/,
      )
  })

  test('an error is a list of whole sentences with code and field, and a surprise tells no internals', async () => {
    const { id } = await service.newAccount()
    const operation = writeOperation({
      id: 'b',
      method: 'POST',
      path: '/b',
      tag: 't',
      summary: 's',
      success: { status: 201 },
      write: async () => {
        throw new Error('relation "secret_table" does not exist')
      },
    })
    const { client } = probeServer(service.db, id, [operation])
    const reply = await client.post('/b', undefined, { 'x-request-id': 'req-1' })
    expect(reply.status).toBe(500)
    expect(reply.body).toEqual({
      Errors: [{ Message: expect.stringContaining('req-1'), Code: 'internal_error', Field: null }],
    })
    expect(reply.text).not.toContain('secret_table')
  })

  test('a rate limit is per key, shows itself, and ends in 429 with Retry-After', async () => {
    const { id } = await service.newAccount()
    const operation = readOperation({
      id: 'l',
      method: 'GET',
      path: '/l',
      tag: 't',
      summary: 's',
      success: { status: 200 },
      read: async () => ({ status: 200, body: '1' }),
    })
    const { client } = probeServer(service.db, id, [operation], { rateLimit: makeRateLimit(2) })
    const replies = [await client.get('/l'), await client.get('/nowhere'), await client.get('/l')]
    expect(replies.map(({ status }) => status)).toEqual([200, 404, 429])
    expect(replies.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['1', '0', '0'])
    expect(replies[2]?.headers['ratelimit-limit']).toBe('2')
    expect(Number(replies[2]?.headers['retry-after'])).toBeGreaterThan(0)
    expect(replies[2]?.body.Errors[0].Code).toBe('rate_limited')
  })

  test('configured origins, and no others, may call from a browser; a preflight needs no credentials', async () => {
    const { id } = await service.newAccount()
    const operation = readOperation({
      id: 'l',
      method: 'GET',
      path: '/l',
      tag: 't',
      summary: 's',
      success: { status: 200 },
      read: async () => ({ status: 200, body: '1' }),
    })
    const { client } = probeServer(service.db, id, [operation], {
      corsOrigins: ['https://app.example'],
      authenticate: async () => {
        throw new Error('not reached by a preflight')
      },
    })
    const preflight = await client.request('OPTIONS', '/l', undefined, {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
    })
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, 'https://app.example'])
    expect(preflight.headers['access-control-allow-headers']).toContain('idempotency-key')
    const stranger = await client.request('OPTIONS', '/l', undefined, {
      origin: 'https://evil.example',
      'access-control-request-method': 'GET',
    })
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined()
  })
})

test.each(['/v1/reports/tax?form=2027-01-01', '/v1/ledger/entries?customer=1', '/v1/ledger/balances?day=2027-01-01'])(
  'a report refuses a parameter that it does not know, which would answer everything: %s',
  async (path) => {
    const reader = await service.newAccount()
    const { status, body } = await reader.get(path)
    expect([status, body.Errors[0].Code]).toEqual([400, 'unknown_parameter'])
    expect(body.Errors[0].Field).toBe(new URL(path, 'http://local').search.slice(1).split('=')[0])
  },
)
