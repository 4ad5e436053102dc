import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { MANDATE, SEPA } from './emandates.testing.ts'
import { isUnbroken } from './evidence.ts'
import { listEvidence } from './queries.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'
import type { Evidence } from './types.ts'

let now = Date.parse('2027-01-01T00:00:00Z')
const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ now: () => now, publicUrl: ORIGIN })

interface Asked {
  client: TestClient
  token: string
  path: string
  id: bigint
}

async function ask(
  body: object = MANDATE,
  { path = '/widget/emandate', client }: { path?: string; client?: TestClient } = {},
): Promise<Asked> {
  const owner = client ?? (await service.newAccount({ name: 'Engines Ltd' }))
  const added = await owner.post(path, body)
  expect(added.status, added.text).toBe(201)
  const { Token, Url } = added.body
  return { client: owner, token: Token, path: new URL(Url).pathname, id: BigInt(Token.split('x')[1]) }
}

const show = (path: string, language = 'en') =>
  service.app.server.inject({ url: path, headers: { 'accept-language': language } })

const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  service.app.server.inject({
    method: 'POST',
    url: path,
    payload: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: ORIGIN,
      'user-agent': 'Browser 1',
      'accept-language': 'en',
      ...headers,
    },
  })

const shownOf = (page: string) => /name="shown" value="([0-9a-f]{64})"/.exec(page)?.[1] ?? ''

async function sign(path: string, more: Record<string, string> = {}, language = 'en') {
  const shown = shownOf((await show(path, language)).body)
  const fields = { decision: 'sign', consent: 'yes', signature: 'Ada Lovelace', drawing: '', shown, ...more }
  return post(path, fields, { 'accept-language': language })
}

const stateOf = async ({ client, token }: Asked) => (await client.get(`/v1/emandate?Token=${token}`)).body.MandateState
const evidenceOf = ({ client, id }: Asked) => service.db.transaction(client.id, (tx) => listEvidence(tx, client.id, id))

describe('evidence that somebody has opened the page', () => {
  const get = (path: string, headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET') =>
    service.app.server.inject({ method, url: path, headers })

  test.each<[string, 'GET' | 'HEAD', Record<string, string>]>([
    ['a HEAD request', 'HEAD', {}],
    ['what a browser fetches ahead', 'GET', { 'sec-purpose': 'prefetch' }],
    ['what it draws ahead', 'GET', { 'sec-purpose': 'prefetch;prerender' }],
    ['what an older browser fetches ahead', 'GET', { purpose: 'prefetch' }],
    ['what Firefox fetched ahead', 'GET', { 'x-moz': 'prefetch' }],
    ['a preview', 'GET', { 'x-purpose': 'preview' }],
    ['what a script fetches', 'GET', { 'sec-fetch-dest': 'empty' }],
  ])('is not %s', async (_, method, headers) => {
    const asked = await ask()
    expect((await get(asked.path, headers, method)).statusCode).toBe(200)
    expect((await evidenceOf(asked)).map(({ kind }) => kind)).toEqual(['created'])
  })

  test.each<Record<string, string>>([{}, { 'sec-fetch-dest': 'document' }, { 'sec-fetch-dest': 'iframe' }])(
    'is a page: %j',
    async (headers) => {
      const asked = await ask()
      expect((await get(asked.path, { ...headers, 'user-agent': 'Mozilla/5.0' })).statusCode).toBe(200)
      expect((await evidenceOf(asked)).at(-1)).toMatchObject({ kind: 'opened', details: { agent: 'Mozilla/5.0' } })
    },
  )
})

test('the page shows the terms in full, with the whole number, and nothing of it once it is signed', async () => {
  const asked = await ask({ ...MANDATE, Name: '<script>alert(1)</script>', debit_NameOnStmt: '\u202eENGINES' })
  const page = await show(asked.path)
  expect(page.statusCode).toBe(200)
  for (const text of ['62001871490', '250655', 'Engines Ltd', 'C-17', 'ENGINES', 'Last day of the month', '6 % a year'])
    expect(page.body, text).toContain(text)
  expect(page.body).toContain('may not cede or assign')
  expect(page.body).not.toMatch(/<script>alert|\u202e/)
  expect(page.headers['content-security-policy']).toMatch(
    /script-src 'nonce-[^']+'; .*form-action 'self'; .*frame-ancestors 'none'/,
  )
  const done = await sign(asked.path)
  expect([done.statusCode, done.headers.location]).toEqual([303, asked.path])
  const after = await show(asked.path)
  expect(after.body).toContain('This is signed')
  for (const text of ['62001871490', 'Lovelace', 'C-17']) expect(after.body).not.toContain(text)
  expect(await stateOf(asked)).toBe('signed')
})

test('each kind has its texts in both languages, and SEPA its creditor, reference and days of notice', async () => {
  const { client } = await ask()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const Settings = { ...CREDITOR, PreNotificationDays: 5 }
  await client.post('/v1/gateways', { GatewayType: 'sepa-file', FriendlyName: 'Bank', isPrimary: true, Settings })
  const sepa = await ask(SEPA, { client })
  const [en, de] = [(await show(sepa.path)).body, (await show(sepa.path, 'de')).body]
  for (const text of [
    'SEPA Direct Debit mandate',
    'within 8 weeks',
    'DE98ZZZ09999999999',
    `EM${sepa.id}`,
    'at least 5 days',
    'Recurrent payment',
  ])
    expect(en).toContain(text)
  for (const text of ['SEPA-Lastschriftmandat', 'innerhalb von acht Wochen', 'Wiederkehrende Zahlung', '199,50'])
    expect(de).toContain(text)
  const ach = { ...MANDATE, bank_DebitMethod: 'ach', bank_AccNumber: '000123456789', bank_BranchCode: '011000015' }
  const page = (await show((await ask({ ...ach, debit_Frequency: 'Once' })).path)).body
  for (const text of ['Authorisation for ACH debits', 'a single time', 'revoke', 'Routing number'])
    expect(page).toContain(text)
})

describe('a signature', () => {
  test('typed or drawn is taken, without either, consent or a right drawing it is not', async () => {
    const drawing = 'M10 20L30 40L50 60M1 1L2 2'
    for (const fields of [
      { signature: 'Ada', drawing: '' },
      { signature: '', drawing },
    ])
      expect((await sign((await ask()).path, fields)).statusCode).toBe(303)
    const asked = await ask()
    for (const [fields, word] of [
      [{ signature: ' ' }, 'type your name'],
      [{ consent: '' }, 'tick that you agree'],
      [{ drawing: '<svg onload=x>' }, 'drawing could not be read'],
      [{ drawing: 'M1 1' }, 'drawing could not be read'],
      [{ drawing: 'M1 1L9999 9' }, 'drawing could not be read'],
      [{ drawing: 'M1 1L601 9' }, 'drawing could not be read'],
      [{ drawing: 'M1 1L9 201' }, 'drawing could not be read'],
      [{ drawing: 'M5 5L5 5' }, 'drawing could not be read'],
      [{ signature: '\u200b\u202e' }, 'type your name'],
    ] as const) {
      const refused = await sign(asked.path, fields)
      expect(refused.statusCode, word).toBe(400)
      expect(refused.body).toContain(word)
    }
    expect((await sign(asked.path, { drawing: 'M1 1'.repeat(10_000) })).statusCode).toBe(400)
    expect((await sign(asked.path, { drawing: 'x'.repeat(1_000_000) })).statusCode).toBe(413)
    for (const [field, value] of [
      ['bank_AccNumber', '1'],
      ['decision', 'maybe'],
      ['decision', ''],
      ['signature', 'Ada\0'],
    ] as const)
      expect((await sign(asked.path, { [field]: value })).statusCode, `${field}=${value}`).toBe(400)
    expect((await sign(asked.path, { shown: 'f'.repeat(64) })).statusCode).toBe(409)
    expect((await post(asked.path, { decision: 'sign' }, { origin: 'https://evil.example' })).statusCode).toBe(403)
    expect(await stateOf(asked)).toBe('open')
  })

  test('of two at once one counts, and the evidence has one', async () => {
    const asked = await ask()
    const replies = await Promise.all([sign(asked.path, { signature: 'One' }), sign(asked.path, { signature: 'Two' })])
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([303, 303])
    const steps = await evidenceOf(asked)
    expect(steps.map(({ kind }) => kind)).toEqual(['created', 'opened', 'signed'])
  })

  test('its evidence names who, where, when and what was shown, in steps that cannot be changed unnoticed', async () => {
    const asked = await ask()
    await post(asked.path, { decision: 'decline' })
    now += 1000
    const shown = shownOf((await show(asked.path)).body)
    await sign(asked.path)
    const steps = await evidenceOf(asked)
    expect(steps.map(({ kind }) => kind)).toEqual(['created', 'declined', 'opened', 'signed'])
    expect(steps[2]).toMatchObject({
      at: new Date(now).toISOString(),
      details: { address: '127.0.0.1', agent: expect.any(String), languages: 'en' },
    })
    expect(steps[3]).toMatchObject({
      at: new Date(now).toISOString(),
      details: {
        address: '127.0.0.1',
        agent: 'Browser 1',
        languages: 'en',
        typed: 'Ada Lovelace',
        shown,
        signedTerms: shown,
        edited: {},
      },
    })
    expect(isUnbroken(steps)).toBe(true)
    const changed = (step: number, change: Partial<Evidence>) =>
      steps.map((found, index) => (index === step ? { ...found, ...change } : found))
    expect(isUnbroken(changed(0, { details: { channel: 'embedded' } }))).toBe(false)
    expect(isUnbroken(changed(2, { at: '2027-01-01T00:00:00.000Z' }))).toBe(false)
    expect(isUnbroken(steps.filter(({ kind }) => kind !== 'declined'))).toBe(false)
    await expect(
      service.db.transaction(asked.client.id, (tx) =>
        tx.rows(sql`update emandate_evidence set details = '{}' where account_id = ${asked.client.id}`),
      ),
    ).rejects.toThrow(/permission denied/)
  })
})

describe('basics', () => {
  const sent = { Name: 'Augusta', Email: 'augusta@example.org', Company: 'Else KG' }

  test('are corrected where the account allows it, company names only of a company', async () => {
    const asked = await ask({ ...MANDATE, isCustomerEditable: true })
    expect((await show(asked.path)).body).toContain('name="Email"')
    expect((await sign(asked.path, sent)).statusCode).toBe(303)
    const { body } = await asked.client.get(`/v1/emandate?Token=${asked.token}`)
    expect(body).toMatchObject({ Name: 'Augusta', LastName: 'Lovelace', Email: 'augusta@example.org', Company: null })
    const [, , signed] = await evidenceOf(asked)
    expect(signed?.details['edited']).toEqual({
      name: ['Ada', 'Augusta'],
      email: ['ada@example.org', 'augusta@example.org'],
    })
    const company = await ask({ ...MANDATE, isCustomerEditable: true, isCompanySignee: true, Company: 'Ada KG' })
    await sign(company.path, sent)
    expect((await company.client.get(`/v1/emandate?Token=${company.token}`)).body.Company).toBe('Else KG')
  })

  test('that are wrong are named, and nothing is signed; where they are fixed they are passed over', async () => {
    const asked = await ask({ ...MANDATE, isCustomerEditable: true })
    const refused = await sign(asked.path, { ...sent, Email: 'a@b.example\r\nBcc: c@d.example', Name: '' })
    expect(refused.statusCode).toBe(400)
    expect(refused.body).toContain('Please check “E-mail”')
    expect(refused.body).toContain('Please check “First name”')
    // What was entered stands there again.
    expect(refused.body).toContain('value="a@b.example\r\nBcc: c@d.example"')
    const fixed = await ask()
    expect((await show(fixed.path)).body).not.toContain('name="Email"')
    expect((await sign(fixed.path, sent)).statusCode).toBe(303)
    expect((await fixed.client.get(`/v1/emandate?Token=${fixed.token}`)).body.Name).toBe('Ada')
  })
})

describe('the way back', () => {
  const RedirectUrl = 'https://shop.example/back?cart=7'
  const backTo = (token: string, result: string) => `https://shop.example/back?cart=7&token=${token}&result=${result}`

  test('names how it ended: signed, declined or expired; declined it stays open', async () => {
    const asked = await ask({ ...MANDATE, RedirectUrl })
    const policy = (await show(asked.path)).headers['content-security-policy']
    expect(policy).toContain("form-action 'self' https://shop.example;")
    const declined = await post(asked.path, { decision: 'decline' })
    expect([declined.statusCode, declined.headers.location]).toEqual([303, backTo(asked.token, 'declined')])
    expect(await stateOf(asked)).toBe('open')
    const signed = await sign(asked.path)
    expect([signed.statusCode, signed.headers.location]).toEqual([303, backTo(asked.token, 'signed')])
    const late = await ask({ ...MANDATE, RedirectUrl })
    const shown = shownOf((await show(late.path)).body)
    now += 86_400_000
    const page = await show(late.path)
    expect(page.statusCode).toBe(410)
    expect(page.body).toContain(backTo(late.token, 'expired').replaceAll('&', '&amp;'))
    const posted = await post(late.path, { decision: 'sign', consent: 'yes', signature: 'Ada', shown })
    expect([posted.statusCode, posted.headers.location]).toEqual([303, late.path])
    expect(await stateOf(late)).toBe('expired')
  })

  test('without an address the page itself thanks, and an embedded one may be framed by the host that was named, else by https', async () => {
    const framedBy = async (body: object, client?: TestClient) => {
      const asked = await ask({ ...MANDATE, ...body }, { path: '/v1/emandate', ...(client && { client }) })
      const policy = String((await show(asked.path)).headers['content-security-policy'])
      return policy.split('frame-ancestors ')[1]
    }
    const live = await service.newAccount({ mode: 'live', clockAt: null })
    expect(await framedBy({}, live)).toBe('https:')
    expect(await framedBy({})).toBe('https: http://localhost:* http://127.0.0.1:*')
    expect(await framedBy({ AuthDomain: 'Shop.example:8443' })).toBe('https://shop.example:8443')
    expect(await framedBy({ AuthDomain: 'localhost:8080' })).toBe('http://localhost:8080')
    for (const AuthDomain of ['*', 'http://shop.example', "shop.example; script-src 'unsafe-inline'"])
      expect((await live.post('/v1/emandate', { ...MANDATE, AuthDomain })).body.Errors[0]).toMatchObject({
        Code: 'auth_domain_invalid',
        Field: 'AuthDomain',
      })
    const asked = await ask(MANDATE, { path: '/v1/emandate' })
    const declined = await post(asked.path, { decision: 'decline' })
    expect([declined.statusCode, declined.body.includes('You did not sign')]).toEqual([200, true])
  })
})

describe('for a stored method', () => {
  const BankAccount = {
    Method: 'sepa',
    AccountType: 'Current',
    AccountHolder: 'Ada',
    Bank: 'Commerzbank',
    IBAN: 'DE89370400440532013000',
    BIC: 'COBADEFFXXX',
  }

  async function stored() {
    const client = await service.newAccount({ name: 'Engines Ltd' })
    const { customerID } = (await client.post('/v1/customers', { Name: 'Ada', isCompany: true })).body
    const added = await client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    const customerPaymentMethodID = added.body.paymentMethodID as number
    const body = Object.fromEntries(Object.entries(MANDATE).filter(([name]) => !name.startsWith('bank_')))
    const read = async () => (await client.get(`/v1/paymentmethods/${customerPaymentMethodID}`)).body
    return { client, customerID, customerPaymentMethodID, body: { ...body, customerPaymentMethodID }, read }
  }

  test('signing links it: reference and date are the mandate’s, and it is verified', async () => {
    const { client, body, read } = await stored()
    const asked = await ask(body, { client })
    await sign(asked.path)
    const method = await read()
    expect(method.isValid).toBe(true)
    expect(method.BankAccount).toMatchObject({
      EMandateToken: asked.token,
      MandateReference: `EM${asked.id}`,
      MandateDate: '2027-01-01T00:00:00Z',
    })
    expect((await client.post('/v1/emandate', body)).body.Errors[0].Code).toBe('payment_method_has_mandate')
  })

  test('a new one ends the unsigned one that the method is linked to, and is linked in its place', async () => {
    const { client, customerID, customerPaymentMethodID, body, read } = await stored()
    const { IBAN, BIC } = BankAccount
    const linked = await ask({ ...SEPA, bank_AccNumber: IBAN, bank_BranchCode: BIC }, { client })
    const path = `/v1/paymentmethods/bankaccount/${customerPaymentMethodID}`
    const change = { customerID, isPrimary: true, BankAccount: { ...BankAccount, EMandateToken: linked.token } }
    expect((await client.put(path, change)).status).toBe(204)
    const asked = await ask(body, { client })
    expect(await stateOf(linked)).toBe('expired')
    expect((await show(linked.path)).statusCode).toBe(410)
    await sign(asked.path)
    expect((await read()).BankAccount).toMatchObject({ EMandateToken: asked.token, MandateReference: `EM${asked.id}` })
  })

  test('one that took its place, or whose account has changed, is not signed any more', async () => {
    const { client, customerID, customerPaymentMethodID, body } = await stored()
    const [first, second] = [await ask(body, { client }), await ask(body, { client })]
    expect((await show(first.path)).statusCode).toBe(410)
    const shown = shownOf((await show(second.path)).body)
    const other = { ...BankAccount, IBAN: 'NL91ABNA0417164300', BIC: 'ABNANL2A' }
    const path = `/v1/paymentmethods/bankaccount/${customerPaymentMethodID}`
    expect((await client.put(path, { customerID, isPrimary: true, BankAccount: other })).status).toBe(204)
    await post(second.path, { decision: 'sign', consent: 'yes', signature: 'Ada', shown })
    expect(await stateOf(second)).toBe('expired')
    expect(
      (await client.get(`/v1/paymentmethods/${customerPaymentMethodID}`)).body.BankAccount.MandateReference,
    ).toBeNull()
  })
})
