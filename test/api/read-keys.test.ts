import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { MANDATE, signingBy } from '../../src/features/emandates/emandates.testing.ts'
import { readOnlyClientOf, startTestService, type TestClient } from '../support/app.ts'
import { operationsOf, readDocument } from './document.ts'
import { authorization, makeWorld, newSession, pathOf, RECIPES } from './world.ts'

/**
 * No answer to a key that may only read opens anything. Every address and token in any answer of any GET is tried in every place that takes one,
 * with that key and without a key: new operations and new kinds of pages join on their own. With a full key the same search finds what opens.
 */

const ORIGIN = 'https://pay.example'
// Of the clock of spans each look is a second: one address may ask for so many pages a minute.
let spanMs = 0
const service = await startTestService({ publicUrl: ORIGIN, clock: () => (spanMs += 1000) })
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'read keys')
const { client } = world
const reader = await readOnlyClientOf(service, client)
const { ask, sign } = signingBy(service, ORIGIN)

/** Lets mails with links of every kind come into the outbox, and opens sessions and mandates. Returns paths that name their record by a secret. */
async function openThings(): Promise<string[]> {
  const about = { Name: 'Ada', isCompany: true, Email: 'ada@example.org', PaymentTermDays: 10 }
  const { customerID } = (await client.post('/v1/customers', about)).body
  await client.put('/v1/collectionrules', { Reminders: [{ Kind: 'payment_due', DaysBefore: 5, isActive: true }] })
  await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
  const contact = { Name: 'Ada', LastName: 'L', Email: 'ada@example.org', isActive: true, Password: PASSWORD }
  const added = await client.post('/v1/customercontacts', { customerID, ...contact })
  expect([added.status, added.body.Errors]).toEqual([201, undefined])
  const { Now } = (await client.get('/v1/clock')).body
  await client.put('/v1/clock', { Now: new Date(Date.parse(Now) + 8 * 86_400_000).toISOString() })
  const mandates = [await ask(client), await ask(client)]
  expect(await sign(mandates[1]?.path ?? '')).toBe(303)
  const account = { ...BANK, EMandateToken: mandates[0]?.token }
  const method = await client.post('/v1/paymentmethods/bankaccount', {
    customerID,
    isPrimary: true,
    BankAccount: account,
  })
  expect([method.status, method.body.Errors]).toEqual([200, undefined])
  const session = (await RECIPES['createCaptureSession']?.(world))?.body ?? {}
  const sessionToken = await newSession(world, session)
  return [
    `/v1/widgets/capturepaymethod/get/${sessionToken}`,
    `/v1/widgets/capturepaymethod/build/${sessionToken}`,
    ...mandates.map(({ token }) => `/v1/emandate?Token=${token}`),
  ]
}

const BANK = {
  DebitMethod: 'debit_order',
  AccountType: 'savings',
  AccountHolder: MANDATE.bank_AccHolder,
  Bank: MANDATE.bank_Name,
  BranchCode: MANDATE.bank_BranchCode,
  AccountNumber: MANDATE.bank_AccNumber,
}
const PASSWORD = 'correct horse battery 7'
const named = await openThings()

const RECORDS_EACH = 3

/** Every declared GET of the account, each of some records: what the world knows, and what is prepared above. */
async function readings(): Promise<string[]> {
  const paths = new Set(named)
  for (const operation of operations.filter(({ method }) => method === 'GET'))
    for (let n = 0; n < RECORDS_EACH; n += 1) {
      const path = pathOf(operation, world) ?? (await RECIPES[operation.id]?.(world))?.path
      if (path === undefined) throw new Error(`the world has no record for ${operation.id}`)
      const isList = operation.query.some(({ name }) => name === 'page_size')
      paths.add(isList ? `${path}?page_size=200&sort=-id` : path)
    }
  return [...paths]
}

/** Returns what of a file may be read: streams of a PDF are inflated. */
function textOf(bytes: Buffer): string {
  const plain = bytes.toString('latin1')
  if (!plain.startsWith('%PDF')) return bytes.toString('utf8')
  const streams = [...plain.matchAll(/FlateDecode[^]*?stream\r?\n([^]*?)endstream/g)].map(([, packed = '']) => {
    try {
      return inflateSync(Buffer.from(packed, 'latin1')).toString('latin1')
    } catch {
      return ''
    }
  })
  return [plain, ...streams].join('\n')
}

async function answerOf(by: TestClient, url: string) {
  const answer = await service.app.server.inject({ url, headers: { authorization: authorization(by) } })
  const text = [
    textOf(answer.rawPayload),
    String(answer.headers['location'] ?? ''),
    String(answer.headers['link'] ?? ''),
  ]
  return { status: answer.statusCode, text: text.join('\n') }
}

interface Found {
  addresses: Set<string>
  tokens: Set<string>
}

/** Words and times are no tokens: those have letters and digits. */
const isDrawn = (text: string): boolean =>
  /\d/.test(text) && /[a-z]/i.test(text) && !/^\d{4}-\d\d-\d\dT\d\d$/.test(text)

/** Gathers what answers hold that could open something, except for what the request itself has named. */
async function gather(by: TestClient, paths: readonly string[]): Promise<Found> {
  const found: Found = { addresses: new Set(), tokens: new Set() }
  for (const path of paths) {
    const { status, text } = await answerOf(by, path)
    if (status >= 300) continue
    const plain = text.replaceAll('\\/', '/').replaceAll('&amp;', '&')
    for (const [token] of plain.matchAll(/[\w-]{16,}/g))
      if (isDrawn(token) && !path.includes(token)) found.tokens.add(token)
    for (const [address] of plain.matchAll(/https?:\/\/[^\s"'<>\\)]+|(?<=["'(<\s])\/[a-z0-9][^\s"'<>\\)]*/gi))
      if (!path.includes(address) && (address.startsWith('/') || address.startsWith(ORIGIN)))
        found.addresses.add(address.replace(ORIGIN, ''))
  }
  return found
}

const pages = service.app.pages.operations.map(({ link, below, form }) => ({
  link,
  below,
  hasForm: form !== undefined,
}))

/** The places that take a token, each as a request. */
const placesOf = (token: string): { method: string; url: string; kind: string }[] =>
  [...new Set([token, token.replace(/^(\d+)x(\d+)x(\d+)x/, '$1-$2-$3-')])].flatMap((sent) => [
    ...pages.flatMap(({ link, below, hasForm }) => [
      { method: 'GET', url: `/${link}/${sent}${below}`, kind: link },
      ...(hasForm ? [{ method: 'POST', url: `/${link}/${sent}${below}`, kind: link }] : []),
    ]),
    { method: 'GET', url: `/widget/emandate/download?token=${sent}`, kind: 'download' },
    { method: 'GET', url: `/v1/widgets/capturepaymethod/build/${sent}`, kind: 'build' },
    { method: 'POST', url: `/gateways/${sent}/events`, kind: 'events' },
  ])

let visits = 0
/** Each visit is of another address: one alone may make only so many. */
async function statusOf(method: string, url: string, by: TestClient | undefined) {
  const answer = await service.app.server.inject({
    method: method as 'GET',
    url,
    remoteAddress: `10.${(visits += 1) >> 16}.${(visits >> 8) & 255}.${visits & 255}`,
    headers: {
      ...(by ? { authorization: authorization(by) } : {}),
      ...(method === 'POST' ? { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' } : {}),
    },
    ...(method === 'POST' ? { payload: 'wish=stop&decision=decline' } : {}),
  })
  return { status: answer.statusCode, type: String(answer.headers['content-type'] ?? '') }
}

/** Answers that open something: a page, its form, or a file; what a key reads at its own address is none of these. */
const opens = ({ status }: { status: number }): boolean => status < 400

/** Tries all that was found. Returns what opened, by the kind of its place. */
async function openedBy(found: Found, methods: readonly string[], by: TestClient): Promise<Map<string, string>> {
  const opened = new Map<string, string>()
  const note = async (method: string, url: string, kind: string, caller: TestClient | undefined) => {
    if (methods.includes(method) && opens(await statusOf(method, url, caller)))
      opened.set(kind, `${method} ${url} ${caller ? 'with the key' : 'without a key'}`)
  }
  for (const token of found.tokens)
    for (const { method, url, kind } of placesOf(token))
      // Forms are for people, who have no key.
      for (const caller of method === 'GET' ? [undefined, by] : [undefined]) await note(method, url, kind, caller)
  for (const address of found.addresses) {
    const kind = address.split('/')[1] ?? ''
    for (const method of ['GET', 'POST']) await note(method, address, kind, undefined)
    // What a key may read is read again, and nothing is sent there.
    if (!address.startsWith('/v1/')) await note('GET', address, kind, by)
  }
  return opened
}

const paths = await readings()

test(
  'a read key is answered nothing that opens a page, takes a form or is a file for full keys',
  { timeout: 240_000 },
  async () => {
    const found = await gather(reader, paths)
    expect(found.tokens.size).toBeGreaterThan(30)
    expect(Object.fromEntries(await openedBy(found, ['GET', 'POST'], reader))).toEqual({})
  },
)

test('a full key is answered what opens a page of each kind', { timeout: 240_000 }, async () => {
  const secret = paths.filter((path) => /outbox|pay(?:ment)?method|emandate|link$/.test(path))
  const opened = await openedBy(await gather(client, secret), ['GET'], client)
  // The form of a card is reached by the page of its invoice, the signee's copy by its download.
  expect([...opened.keys()].toSorted()).toEqual(['d', 'download', 'i', 'm', 'u', 'w', 'widget'])
})

test('a read key is 403 for a link and for the markup of a session, and reads both as null', async () => {
  const [sessionPath = '', buildPath = ''] = named
  expect((await reader.get(sessionPath)).body).toMatchObject({ HashToken: null, Html: null, State: 'open' })
  expect((await client.get(sessionPath)).body).toMatchObject({
    HashToken: expect.any(String),
    Html: expect.any(String),
  })
  const [{ invoiceID }] = (await client.get('/v1/invoices?status=Due')).body
  for (const path of [buildPath, `/v1/invoices/${invoiceID}/link`, '/v1/invoices/999999/link'])
    for (const method of ['GET', 'HEAD']) {
      const refused = await reader.request(method, path)
      expect([path, refused.status]).toEqual([path, 403])
      if (method === 'GET') expect(refused.body.Errors[0]).toMatchObject({ Code: 'key_read_only', Field: null })
    }
})

test('links and passwords of mails are dots for a read key, also in a test account from which nothing leaves', async () => {
  const list = '/v1/outbox?page_size=200&sort=-id'
  const [full, dotted] = [(await client.get(list)).body, (await reader.get(list)).body]
  const saysPassword = (mails: unknown) => JSON.stringify(mails).includes(PASSWORD)
  expect([saysPassword(full), saysPassword(dotted)]).toEqual([true, false])
  const linked = full.filter(({ Text }: any) => Text.includes(ORIGIN))
  expect(new Set(linked.map(({ Template }: any) => Template))).toEqual(
    new Set(['invoice', 'payment_due', 'signed_mandate']),
  )
  for (const { outboxID } of linked) {
    const { Text, Html } = (await reader.get(`/v1/outbox/${outboxID}`)).body
    expect([Text, Html].every((text) => text.includes('••••') && !text.includes(`${ORIGIN}/`))).toBe(true)
  }
})
