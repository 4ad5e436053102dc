import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { testEnvelope } from '../../../test/support/envelope.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { findAccount, findLogo, getLook } from '../../features/accounts/queries.ts'
import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import { html } from '../page/html.ts'
import { makeLinks } from '../page/links.ts'
import { Places } from '../places.ts'
import { type ConnectionBounds, connectionBounds } from './connection-bounds.ts'
import { makePages, pageOperation } from './pages.ts'

const service = await startTestService()
const PUBLIC_URL = 'https://pay.example/base'
const ORIGIN = 'https://pay.example'
const FORM = 'application/x-www-form-urlencoded'

/** A server with one page: record 1 is there, 2 is gone, 3 breaks, 5 is there for a German customer, any other is unknown. */
async function serverWithPage(
  given: {
    publicUrl?: string | undefined
    clock?: () => number
    places?: Pick<Places, 'run'>
    bounds?: Partial<ConnectionBounds>
  } = {},
) {
  const client = await service.newAccount({ name: 'Acme <b>' })
  const publicUrl = 'publicUrl' in given ? given.publicUrl : PUBLIC_URL
  const links = makeLinks(testEnvelope(), publicUrl)
  const submitted: unknown[] = []
  const operation = pageOperation<string>({
    id: 'probe',
    link: 'i',
    below: '',
    find: async (_db, _context, { record }) => {
      if (record === 2n) return { found: 'it', locale: 'de', isGone: true }
      if (record === 3n) throw new Error('a secret that no page may show')
      if (record === 5n) return { found: 'it', locale: 'de' }
      return record === 1n ? { found: 'it', locale: null } : undefined
    },
    show: async (_db, { found, locale, path }) => ({
      title: 'Probe',
      content: html`<p>${found} ${locale} ${path}</p>`,
    }),
    form: {
      fields: ['wish'],
      takesOneClick: true,
      submit: async (_request, values) => {
        if (values.get('wish') === 'no') throw conflict('not_now', 'Not now.')
        submitted.push(Object.fromEntries(values))
        return undefined
      },
    },
  })
  const pages = makePages(
    {
      db: service.db,
      links,
      clock: given.clock ?? (() => 0),
      places: given.places ?? new Places({ running: 4 }),
      publicUrl,
      findAccount,
      contextOf: (account) => backgroundContext(account, momentOf(account, Date.now), { actor: 'page' }),
      findLook: getLook,
      findLogo,
    },
    [operation],
  )
  const bounds = {
    ...connectionBounds({ requestTimeoutSeconds: 300, connectionsMax: 2000, connectionsPerAddress: 0 }),
    ...given.bounds,
  }
  const { server } = probeServer(service.db, client.id, [], { publicUrl, bounds }, pages)
  const token = (record = 1n, account = client.id) => links.token({ kind: 'i', account, record, counter: 0 })
  const get = (url: string, headers = {}, method: 'GET' | 'HEAD' | 'PUT' = 'GET') =>
    server.inject({ method, url, headers })
  const post = (headers: Record<string, string>, payload = '', url = `/i/${token()}`) =>
    server.inject({ method: 'POST', url, headers: { 'content-type': FORM, ...headers }, payload })
  return { client, token, get, post, submitted, server }
}

describe('a page', () => {
  test('that has no room among the others now is a page of 503, which names when to come again', async () => {
    const places = new Places({ running: 1, waiting: 0 })
    const { get, token } = await serverWithPage({ places })
    const leave = await places.take(1n)
    const full = await get(`/i/${token()}`, { 'accept-language': 'de' })
    expect([full.statusCode, full.headers['content-type'], full.headers['retry-after']]).toEqual([
      503,
      'text/html; charset=utf-8',
      '2',
    ])
    expect(full.payload).toContain('<html lang="de">')
    expect(full.headers['content-security-policy']).toMatch(/^default-src 'none'/)
    leave()
    expect((await get(`/i/${token()}`)).statusCode).toBe(200)
  })

  test('is shown with a policy that lets nothing in but its own style, and no answer may be kept', async () => {
    const { get, token } = await serverWithPage()
    const shown = await get(`/i/${token()}`)
    expect(shown.statusCode).toBe(200)
    const nonce = /<style nonce="([^"]+)">/.exec(shown.payload)?.[1]
    expect(shown.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000',
      'x-robots-tag': 'noindex',
    })
    expect(shown.payload).toContain('<title>Probe – Acme &lt;b&gt;</title>')
    expect(shown.payload).toContain(`it en /base/i/${token()}`)
    expect(/nonce="([^"]+)"/.exec((await get(`/i/${token()}`)).payload)?.[1]).not.toBe(nonce)
    const head = await get(`/i/${token()}`, {}, 'HEAD')
    expect([head.statusCode, head.payload]).toEqual([200, ''])
  })

  test('is in the language of the browser where its customer has none, and of the account where the browser wants another', async () => {
    const { get, token, client } = await serverWithPage()
    expect((await get(`/i/${token()}`, { 'accept-language': 'de-CH' })).payload).toContain('<html lang="de">')
    await client.put('/v1/account', { Locale: 'de' })
    expect((await get(`/i/${token()}`, { 'accept-language': 'fr' })).payload).toContain('<html lang="de">')
    expect((await get(`/i/${token()}`, { 'accept-language': 'en-GB' })).payload).toContain('<html lang="en">')
  })

  test('promises no https where the service has none', async () => {
    const { get, token } = await serverWithPage({ publicUrl: 'http://127.0.0.1:3000' })
    expect((await get(`/i/${token()}`)).headers['strict-transport-security']).toBeUndefined()
  })

  test('shows the logo from its own address, and none where there is none', async () => {
    const { get, token, client } = await serverWithPage()
    expect((await get(`/i/${token()}/logo`)).statusCode).toBe(404)
    const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(8)])
    await service.app.server.inject({
      method: 'PUT',
      url: '/v1/account/logo',
      headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
      payload: png,
    })
    const logo = await get(`/i/${token()}/logo`)
    expect([logo.statusCode, logo.headers['content-type'], logo.rawPayload.equals(png)]).toEqual([
      200,
      'image/png',
      true,
    ])
    expect(logo.headers['content-security-policy']).toContain("default-src 'none'")
    expect((await get(`/i/${token()}`)).payload).toContain(`<img src="/base/i/${token()}/logo"`)
  })
})

describe('a refusal is a page as well, which shows nothing of any account', () => {
  test.each([
    ['an unknown token', '/i/abc', 404],
    ['no token', '/i/', 404],
    ['a longer path', '/i/abc/def/ghi', 404],
    ['a path that nobody can read', '/i/%zz', 404],
    ['a token of any length', `/i/${'a'.repeat(400)}`, 404],
    ['a kind that has no page', '/u/abc', 404],
  ])('%s', async (_, url, status) => {
    const { get } = await serverWithPage()
    const refused = await get(url)
    expect([refused.statusCode, refused.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
    expect(refused.headers['www-authenticate']).toBeUndefined()
    expect(refused.headers['content-security-policy']).toContain("default-src 'none'")
    expect(refused.payload).toContain('This link does not work')
    expect(refused.payload).not.toContain('Acme')
  })

  test('of a token in another letter case, cut, of an account that is not there, or of a record that is not there', async () => {
    const { get, token } = await serverWithPage()
    for (const wrong of [token().toUpperCase(), token().slice(0, -1), token(1n, 999_999n), token(4n)])
      expect((await get(`/i/${wrong}`)).statusCode).toBe(404)
    expect((await get(`/I/${token()}`)).statusCode).toBe(200)
  })

  test('of what is gone is 410, and of what breaks 500 without its reason', async () => {
    const { get, token } = await serverWithPage()
    const gone = await get(`/i/${token(2n)}`, { 'accept-language': 'en' })
    expect([gone.statusCode, gone.payload.includes('nicht mehr gezeigt')]).toEqual([410, true])
    expect(gone.payload).not.toContain('href="/base')
    const broken = await get(`/i/${token(3n)}`)
    expect([broken.statusCode, broken.headers['content-type']]).toEqual([500, 'text/html; charset=utf-8'])
    expect(broken.payload).not.toContain('secret')
  })

  test('of what a page itself refuses is in its language, bears its account and leads back to it', async () => {
    const { post, token } = await serverWithPage()
    const url = `/i/${token(5n)}`
    const refused = await post({ origin: ORIGIN, 'accept-language': 'en' }, 'wish=no', url)
    expect([refused.statusCode, refused.headers['content-language']]).toEqual([409, 'de'])
    expect(refused.payload).toContain('Das geht gerade nicht')
    expect(refused.payload).toContain('<bdi>Acme &lt;b&gt;</bdi>')
    expect(refused.payload).toContain(`href="/base${url}">Stand ansehen</a>`)
  })

  test('of another method names those that there are', async () => {
    const { get, token } = await serverWithPage()
    const refused = await get(`/i/${token()}`, {}, 'PUT')
    expect([refused.statusCode, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
    expect(refused.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  test('of an address that comes too often is 429 until its minute is over', async () => {
    let nowMs = 0
    const { get, token } = await serverWithPage({ clock: () => nowMs })
    for (let visit = 1; visit <= 120; visit += 1) await get(visit % 2 === 0 ? '/i/abc' : '/i/%zz')
    const refused = await get(`/i/${token()}`)
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
    expect(refused.payload).toContain('Too many visits')
    nowMs = 60_000
    expect((await get(`/i/${token()}`)).statusCode).toBe(200)
  })

  test('counts an address of IPv6 by its network, from which one subscriber has as many as he likes', async () => {
    const { server } = await serverWithPage()
    const visit = async (remoteAddress: string) => (await server.inject({ url: '/i/abc', remoteAddress })).statusCode
    for (let host = 1; host <= 120; host += 1) await visit(`2001:db8:0:1::${host.toString(16)}`)
    expect(await visit('2001:db8:0:1:ffff::1')).toBe(429)
    expect(await visit('2001:db8:0:2::1')).toBe(404)
    for (let again = 1; again <= 60; again += 1) for (const one of ['192.0.2.1', '::ffff:192.0.2.1']) await visit(one)
    expect(await visit('::ffff:192.0.2.1')).toBe(429)
    expect(await visit('192.0.2.2')).toBe(404)
  })
})

describe('a form', () => {
  test('is taken from the own origin, and goes on at a page', async () => {
    const { post, submitted, token } = await serverWithPage()
    const taken = await post({ origin: ORIGIN }, 'wish=yes%20%C3%A4')
    expect([taken.statusCode, taken.headers.location]).toEqual([303, `/base/i/${token()}`])
    expect(submitted).toEqual([{ wish: 'yes ä' }])
  })

  test('is taken from the address of the request where no other is known', async () => {
    const { post, submitted } = await serverWithPage({ publicUrl: undefined })
    expect((await post({ origin: 'http://other.example', host: 'own.example' })).statusCode).toBe(403)
    expect((await post({ origin: 'http://own.example', host: 'own.example' })).statusCode).toBe(303)
    expect(submitted).toHaveLength(1)
  })

  test.each([
    ['a foreign origin', { origin: 'https://evil.example' }],
    ['the origin null', { origin: 'null' }],
    ['no origin', {}],
    ['the same host by http', { origin: 'http://pay.example' }],
    ['another port', { origin: 'https://pay.example:8443' }],
    ['a longer host', { origin: 'https://pay.example.evil.example' }],
    ['a path behind the origin', { origin: 'https://pay.example/' }],
  ])('from %s is refused with 403 and does nothing', async (_, headers) => {
    const { post, submitted } = await serverWithPage()
    expect((await post(headers as Record<string, string>, 'wish=yes')).statusCode).toBe(403)
    expect(submitted).toEqual([])
  })

  test.each([
    ['a strange field', 'wish=yes&amount=1', FORM, 400],
    ['a repeated field', 'wish=yes&wish=no', FORM, 400],
    ['a field that is too long', `wish=${'x'.repeat(256)}`, FORM, 400],
    ['more than a form may have', `wish=${'x'.repeat(9000)}`, FORM, 413],
    ['a mebibyte', 'x'.repeat(1024 * 1024), FORM, 413],
    ['JSON', '{"wish":"yes"}', 'application/json', 415],
    ['a form with files', '--x--', 'multipart/form-data; boundary=x', 415],
    ['what the record refuses', 'wish=no', FORM, 409],
  ])('with %s is refused with its own status and does nothing', async (_, body, type, status) => {
    const { post, submitted } = await serverWithPage()
    const refused = await post({ origin: ORIGIN, 'content-type': type }, body)
    expect([refused.statusCode, refused.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
    expect(submitted).toEqual([])
  })

  test('of a mail server is taken without an origin, in both encodings, and answered without a redirect', async () => {
    const { post, submitted } = await serverWithPage()
    const multipart = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
    expect((await post({}, 'List-Unsubscribe=One-Click')).statusCode).toBe(200)
    expect((await post({ 'content-type': 'multipart/form-data; boundary=x' }, multipart)).statusCode).toBe(200)
    expect(submitted).toEqual([{}, {}])
    expect((await post({ origin: 'https://evil.example' }, 'List-Unsubscribe=One-Click')).statusCode).toBe(403)
    expect((await post({}, 'List-Unsubscribe=one-click')).statusCode).toBe(403)
    expect((await post({}, 'List-Unsubscribe=One-Click&wish=yes')).statusCode).toBe(403)
    expect(submitted).toHaveLength(2)
  })
})

describe('a form that does not arrive', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterAll(() => Promise.all(closing.map((close) => close())))

  async function listening(bounds: Partial<ConnectionBounds> = {}) {
    // No bound on visits: the tests come from one address.
    let minutes = 0
    const made = await serverWithPage({ bounds, clock: () => (minutes += 1) * 60_001 })
    await made.server.listen({ host: '127.0.0.1', port: 0 })
    closing.push(() => made.server.close())
    const { port } = made.server.server.address() as AddressInfo
    /** Sends the beginning of a form and reads until the other side ends the connection. */
    const send = async (path: string, length = 'Content-Length: 500', begin = 'wish=', onConnect = () => {}) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      closing.push(async () => socket.destroy())
      const closed = new Promise((resolve) => socket.once('close', resolve))
      await once(socket, 'connect')
      onConnect()
      let text = ''
      socket.on('data', (chunk) => (text += chunk.toString()))
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\nContent-Type: ${FORM}\r\n${length}\r\n\r\n${begin}`,
      )
      await closed
      return text
    }
    return { ...made, send }
  }

  test.each([
    ['a token that nobody has made', () => '/i/abc'],
    ['a record that is not there', (token: (record?: bigint) => string) => `/i/${token(9n)}`],
    ['no page below a link', (token: (record?: bigint) => string) => `/i/${token()}/nowhere`],
  ])('is 404 at once where its link leads nowhere, and the connection ends: %s', async (_name, pathOf) => {
    const { send, token } = await listening()
    for (const length of ['Content-Length: 500', 'Transfer-Encoding: chunked']) {
      const begin = length.startsWith('T') ? '5\r\nwish=' : 'wish='
      const text = await send(pathOf(token), length, begin)
      expect(text).toMatch(/^HTTP\/1\.1 404 [^]*connection: close/i)
      expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
    }
  })

  test('is 410 at once where the page has had its time', async () => {
    const { send, token } = await listening()
    expect(await send(`/i/${token(2n)}`)).toMatch(/^HTTP\/1\.1 410 [^]*connection: close/i)
  })

  test('ends in 408 after its bound, a thousand of them too, and one that comes whole meanwhile is taken', async () => {
    const { send, token, post, submitted, server } = await listening({ formMs: 1_500 })
    const slow: Promise<string>[] = []
    // One after the other, so that none waits for its place in the queue of the listening socket.
    for (let n = 0; n < 1_000; n += 1)
      await new Promise<void>((connected) => slow.push(send(`/i/${token()}`, undefined, undefined, connected)))
    const whole = await post({ origin: ORIGIN }, 'wish=well')
    expect([whole.statusCode, submitted]).toEqual([303, [{ wish: 'well' }]])
    for (const text of await Promise.all(slow)) expect(text).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/)
    const connections = () => new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)))
    await expect.poll(connections).toBe(0)
    expect(submitted).toHaveLength(1)
  })

  test('of more than 8 KiB is 413 at once, and its connection ends after the same bound', async () => {
    const { send, token } = await listening({ formMs: 300 })
    const text = await send(`/i/${token()}`, 'Content-Length: 8193')
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})
