import { listAllGateways } from '../../src/features/gateways/queries.ts'
import { insertSetup } from '../../src/features/mandate-setups/queries.ts'
import { describe, expect, test } from 'vitest'
import { type LinkKind } from '../../src/platform/page/links.ts'
import { MANDATE } from '../../src/features/emandates/emandates.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'

/** Every public page is asked for what all of them have to keep, whatever they show: a new page is found here on its own. */

const ORIGIN = 'https://pay.example'
// Of the clock of spans each look is a second: one address may ask for so many pages a minute.
let spanMs = 0
const service = await startTestService({ publicUrl: ORIGIN, clock: () => (spanMs += 1000) })

/** An account whose texts all bear a word of its own. */
async function accountWith(word: string) {
  const client = await service.newAccount({ name: `Firm ${word}` })
  const customer = await client.post('/v1/customers', {
    Name: `Customer ${word}`,
    isCompany: true,
    Email: `${word}@example.com`,
  })
  const customerID = customer.body.customerID as number
  const invoice = await client.post('/v1/invoices', {
    customerID,
    poNumber: word,
    Notes: word,
    Charges: [{ Line: word, UnitCostEx: 10 }],
  })
  const asked = await client.post('/widget/emandate', { ...MANDATE, Name: word })
  const mandate = Number(asked.body.Token.split('x')[1])
  const [{ GatewayToken }] = (await client.get('/v1/gateways')).body
  const session = await client.post('/v1/widgets/capturepaymethod/create', {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultOnly',
    ExpiresIn: '24:00:00',
    isVaultOnlyOnSuccess: false,
    CurrencyCode: 'USD',
    GatewayToken,
    AuthDomain: 'shop.example',
    Description: word,
  })
  const setup = await service.db.transaction(client.id, async (tx) => {
    const [gateway] = await listAllGateways(tx, tx.account)
    const customer = { customerId: BigInt(customerID), gatewayId: gateway!.id, currency: 'USD', returnUrl: null }
    return insertSetup(tx, { ...customer, isPrimary: false, createdAt: '2027-01-01T00:00:00.000Z' })
  })
  const records = {
    i: invoice.body.invoiceID as number,
    p: invoice.body.invoiceID as number,
    u: customerID,
    w: session.body.iframeCapturePayID as number,
    m: mandate,
    d: Number(setup),
    c: mandate,
  } satisfies Record<LinkKind, number>
  return { client, records }
}

const mine = await accountWith('lapwing')
const other = await accountWith('ostrich')
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
)
for (const { client } of [mine, other])
  await service.app.server.inject({
    method: 'PUT',
    url: '/v1/account/logo',
    headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    payload: PNG,
  })

/** Pages that one origin may show in a frame: they have a script of their own, which posts to that origin. */
const FRAMED_BY: Partial<Record<LinkKind, string>> = { w: 'https://shop.example' }

const PAGES = service.app.pages.operations.map((page) => [`/${page.link}/…${page.below}`, page] as const)
const tokenOf = (kind: LinkKind, client: TestClient, record: number) =>
  service.app.links.token({ kind, account: client.id, record: BigInt(record), counter: 0 })

let visits = 0
/** Each visit is of another address: one alone may make only so many. */
const visit = (request: { method?: 'PUT'; url: string; headers?: Record<string, string>; payload?: string }) =>
  service.app.server.inject({ remoteAddress: `10.0.${(visits += 1) >> 8}.${visits & 255}`, ...request })

describe.each(PAGES)('%s', (_, { link, below, show, form }) => {
  const token = tokenOf(link, mine.client, mine.records[link])
  const url = (sent: string) => `/${link}/${sent}${below}`

  // What a script alone asks for by a form is never shown.
  if (show)
    test('bears the headers of every page, names no other host, and shows nothing of another account', async () => {
      const { statusCode, headers, payload } = await visit({ url: url(token) })
      expect(statusCode).toBe(200)
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'permissions-policy': 'camera=(), geolocation=(), microphone=()',
        'strict-transport-security': 'max-age=31536000',
      })
      const policy = String(headers['content-security-policy'])
      expect(policy).toMatch(/^default-src 'none'/)
      const isPage = String(headers['content-type']).startsWith('text/html')
      const framedBy = isPage ? FRAMED_BY[link] : undefined
      expect(policy.split('; ')).toContain("base-uri 'none'")
      expect(policy.split('; ')).toContain(`frame-ancestors ${framedBy ?? "'none'"}`)
      expect(headers['set-cookie']).toBeUndefined()
      expect(payload).not.toContain('ostrich')
      if (!isPage) return
      expect(policy).toContain("form-action 'self'")
      const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
      // The letters of a nonce may look like a host.
      const own = payload.replaceAll(`nonce="${nonce}"`, '').replace(`data-host="${framedBy}"`, '')
      expect([...own.matchAll(/\b(?:https?:)?\/\/[a-z0-9]/gi)]).toEqual([])
      expect(payload).not.toMatch(/\son\w+=|javascript:|style="/i)
      const scripts = framedBy === undefined && link !== 'm' ? [] : [`<script nonce="${nonce}">`]
      expect(payload.match(/<script[^>]*>/gi) ?? []).toEqual(scripts)
      expect(payload).toContain('lapwing')
      expect(payload).toMatch(/<html lang="(en|de)">/)
    })

  test('shows nothing by a token of another account, another kind, another letter case, or a part of one', async () => {
    const swapped = tokenOf(link, other.client, other.records[link]).replace(
      `${other.client.id}-${other.records[link]}-`,
      `${mine.client.id}-${mine.records[link]}-`,
    )
    const strange = tokenOf(link === 'i' ? 'u' : 'i', mine.client, mine.records[link])
    const foreign = tokenOf(link, other.client, mine.records[link])
    const wrong = [swapped, strange, foreign, token.toUpperCase(), token.slice(0, -1), `${token}a`, '-', '%00', 'é']
    // Where a page may be shown in a frame, so may what is shown instead of it, which holds nothing.
    const ancestors = link === 'w' || link === 'm' ? '*' : "'none'"
    for (const sent of wrong) {
      const { statusCode, payload, headers } = await visit({
        url: url(sent),
        ...(show ? {} : { method: 'POST' as 'PUT' }),
      })
      expect([sent, statusCode]).toEqual([sent, 404])
      expect(headers['content-security-policy']).toMatch(
        new RegExp(`frame-ancestors ${ancestors.replace('*', '\\*')}$`),
      )
      expect(payload).not.toMatch(/<(form|a|button|script)\b/)
      expect(payload).not.toMatch(/lapwing|ostrich/)
    }
  })

  test('answers any other method with 405 as a page', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', ...(form ? [] : ['POST'])] as const) {
      const { statusCode, headers } = await visit({ method: method as 'PUT', url: url(token) })
      expect([statusCode, String(headers['content-type'])]).toEqual([405, 'text/html; charset=utf-8'])
    }
  })

  if (!form) return

  test('takes no form from elsewhere, of another type, or of a mebibyte', async () => {
    const post = async (headers: Record<string, string>, payload = '') => {
      const { statusCode } = await visit({ method: 'POST' as 'PUT', url: url(token), headers, payload })
      return statusCode
    }
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const origin of ['https://evil.example', 'null', 'http://pay.example', 'https://pay.example:444'])
      expect(await post({ ...type, origin })).toBe(403)
    expect(await post(type)).toBe(403)
    expect(await post({ origin: ORIGIN, 'content-type': 'text/plain' })).toBe(415)
    expect(await post({ ...type, origin: ORIGIN }, 'x='.padEnd(1024 * 1024, 'x'))).toBe(413)
    expect(await post({ ...type, origin: ORIGIN }, '<script>=1')).toBe(400)
  })
})

test('there is a page of every kind of link but that of a copy, which leads to a document', () => {
  expect(new Set(service.app.pages.operations.map(({ link }) => link))).toEqual(new Set(['i', 'p', 'u', 'w', 'm', 'd']))
})
