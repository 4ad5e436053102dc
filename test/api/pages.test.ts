import { describe, expect, test } from 'vitest'
import { type LinkKind } from '../../src/platform/page/links.ts'
import { startTestService, type TestClient } from '../support/app.ts'

/** Every public page is asked for what all of them have to keep, whatever they show: a new page is found here by itself. */

const ORIGIN = 'https://pay.example'
const service = await startTestService({ publicUrl: ORIGIN })

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
  return { client, records: { i: invoice.body.invoiceID as number, u: customerID } satisfies Record<LinkKind, number> }
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

const PAGES = service.app.pages.operations.map((page) => [`/${page.link}/…${page.below}`, page] as const)
const tokenOf = (kind: LinkKind, client: TestClient, record: number) =>
  service.app.links.token({ kind, account: client.id, record: BigInt(record), counter: 0 })

describe.each(PAGES)('%s', (_, { link, below, show, form }) => {
  const token = tokenOf(link, mine.client, mine.records[link])
  const url = (sent: string) => `/${link}/${sent}${below}`

  test('bears the headers of every page, names no other host, and shows nothing of another account', async () => {
    expect(show ?? form).toBeDefined()
    const { statusCode, headers, payload } = await service.app.server.inject({ url: url(token) })
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'/)
    for (const rule of ["base-uri 'none'", "frame-ancestors 'none'"]) expect(policy).toContain(rule)
    expect(headers['set-cookie']).toBeUndefined()
    expect(payload).not.toContain('ostrich')
    if (!String(headers['content-type']).startsWith('text/html')) return
    expect(policy).toContain("form-action 'self'")
    expect([...payload.matchAll(/\b(?:https?:)?\/\/[a-z0-9]/gi)]).toEqual([])
    expect(payload).not.toMatch(/<script|\son\w+=|javascript:|style="/i)
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
    for (const sent of wrong) {
      const { statusCode, payload } = await service.app.server.inject({ url: url(sent) })
      expect([sent, statusCode]).toEqual([sent, 404])
      expect(payload).not.toMatch(/lapwing|ostrich/)
    }
  })

  test('answers any other method with 405 as a page', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', ...(form ? [] : ['POST'])] as const) {
      const { statusCode, headers } = await service.app.server.inject({ method: method as 'PUT', url: url(token) })
      expect([statusCode, String(headers['content-type'])]).toEqual([405, 'text/html; charset=utf-8'])
    }
  })

  if (!form) return

  test('takes no form from elsewhere, of another type, or of a mebibyte', async () => {
    const post = async (headers: Record<string, string>, payload = '') => {
      const { statusCode } = await service.app.server.inject({ method: 'POST', url: url(token), headers, payload })
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

test('there is a page of every kind of link', () => {
  expect(new Set(service.app.pages.operations.map(({ link }) => link))).toEqual(new Set(['i', 'u']))
})
