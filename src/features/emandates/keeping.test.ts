import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { moveTo } from '../../../test/support/shop.ts'
import { workerDuties } from '../../duties.ts'
import { sql } from '../../platform/database/sql.ts'
import { account } from '../batches/batches.testing.ts'
import { MANDATE, signingBy } from './emandates.testing.ts'
import { findMandate, findSealedPdf, listEvidence } from './queries.ts'

/** A mandate after its signature: its PDF, the copy for the signee, how long it is kept, and what an anonymised customer leaves. */

const START = Date.parse('2027-01-01T00:00:00Z')
const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ now: () => START, publicUrl: ORIGIN })
const { ask, sign, download } = signingBy(service, ORIGIN)
const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' })

const dutyOf = (name: string, drawing = service.app.drawing) => {
  const duty = workerDuties({ ...service.calling, drawing }).find((one) => one.name === name)
  expect(duty).toBeDefined()
  return (now = START) => duty!.run({ db: service.db, log, realClock: () => now }, () => {})
}
const forget = dutyOf('forget mandates')

const mandateOf = (client: TestClient, id: bigint) => findMandate(service.db.reader(client.id), client.id, id)
const evidenceOf = (client: TestClient, id: bigint) => listEvidence(service.db.reader(client.id), client.id, id)
const keptPdf = (client: TestClient, id: bigint) => findSealedPdf(service.db.reader(client.id), client.id, id)
const typesOf = async (client: TestClient) =>
  (await client.get('/v1/events')).body
    .map(({ Type }: { Type: string }) => Type)
    .filter((type: string) => type.startsWith('emandate.'))

async function signed(body: object = MANDATE, client?: TestClient) {
  const owner = client ?? (await service.newAccount({ name: 'Engines <b>Ltd</b>' }))
  const asked = await ask(owner, body)
  expect(await sign(asked.path)).toBe(303)
  return { client: owner, ...asked }
}

async function customerOf(client: TestClient): Promise<number> {
  return (await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace', Email: 'ada@example.org' })).body
    .customerID
}

const ACCOUNT = {
  Method: 'debit_order',
  AccountType: 'savings',
  AccountHolder: 'Ada Lovelace',
  Bank: 'FNB',
  AccountNumber: MANDATE.bank_AccNumber,
  BranchCode: MANDATE.bank_BranchCode,
}

const withoutBank = () => Object.fromEntries(Object.entries(MANDATE).filter(([name]) => !name.startsWith('bank_')))

async function methodOf(client: TestClient, customerID: number, EMandateToken: string | null): Promise<number> {
  const BankAccount = { ...ACCOUNT, EMandateToken }
  const added = await client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
  expect(added.status, added.text).toBe(200)
  return added.body.paymentMethodID
}

describe('the copy of the signee', () => {
  test('is linked in a mail, by which it is fetched without a key; the Token alone is not enough', async () => {
    const { client, token } = await signed({ ...MANDATE, Name: '<script>Ada' })
    const [mail, ...more] = (await client.get('/v1/outbox')).body
    expect(more).toEqual([])
    expect(mail).toMatchObject({
      To: 'ada@example.org',
      customerID: null,
      Template: 'signed_mandate',
      Subject: 'Your mandate for Engines <b>Ltd</b>',
      Status: 'Queued',
    })
    expect(mail.Text).toContain('Account: ****1490')
    expect(`${mail.Text}${mail.Html}`).not.toContain('62001871490')
    expect(mail.Html).toContain('Hello &lt;script&gt;Ada Lovelace')
    expect(mail.Html).not.toMatch(/<script|<b>/)
    const [, link = ''] = /https:\/\/pay\.example\.org\/widget\/emandate\/download\?token=(\S+)/.exec(mail.Text) ?? []
    expect(mail.Html).toContain(`href="${ORIGIN}/widget/emandate/download?token=${link}"`)
    const fetched = await download(link)
    expect([fetched.statusCode, fetched.headers['content-type']]).toEqual([200, 'application/pdf'])
    expect((await download(token)).statusCode).toBe(401)
    expect((await download(token, client)).rawPayload.equals(fetched.rawPayload)).toBe(true)
  })

  test('speaks the language in which it was signed, and goes to the address that the signee has corrected', async () => {
    const client = await service.newAccount({ name: 'Engines Ltd' })
    const { path } = await ask(client, { ...MANDATE, isCustomerEditable: true, Email: null })
    const basics = { Name: 'Ada', Lastname: 'King', Address1: '1', City: 'Kapstadt', PostalCode: '8001' }
    const refused = await sign(path, { ...basics, Email: 'a@b.example\r\nBcc: c@d.example' }, 'de')
    expect(refused).toBe(400)
    expect(await sign(path, { ...basics, Email: 'king@example.org' }, 'de')).toBe(303)
    const [mail] = (await client.get('/v1/outbox')).body
    expect(mail).toMatchObject({ To: 'king@example.org', Subject: 'Ihr Mandat für Engines Ltd' })
    expect(mail.Text).toContain('Guten Tag Ada King,')
    expect(mail.Text).toContain('Unterschrieben am: 1. Januar 2027')
  })

  test('goes by no mail where there is no Email', async () => {
    const { client } = await signed({ ...MANDATE, Email: null })
    expect((await client.get('/v1/outbox')).body).toEqual([])
  })
})

describe('the PDF', () => {
  test('is made by a duty after the signature, once, and is then the one that is downloaded', async () => {
    const { client, token, id } = await signed()
    expect(await keptPdf(client, id)).toBeUndefined()
    // The first one is a process that is killed while it draws: nothing of it stays.
    const dying = dutyOf('make PDFs of mandates', {
      ...service.app.drawing,
      draw: () => Promise.reject(new Error('killed')),
    })
    await dying()
    expect(await keptPdf(client, id)).toBeUndefined()
    let drawn = 0
    const drawing = {
      ...service.app.drawing,
      draw: (...asked: Parameters<typeof service.app.drawing.draw>) => {
        drawn += 1
        return service.app.drawing.draw(...asked)
      },
    }
    const make = dutyOf('make PDFs of mandates', drawing)
    await make()
    expect(drawn).toBeGreaterThan(0)
    const kept = await keptPdf(client, id)
    expect(kept).toBeDefined()
    drawn = 0
    await make()
    expect(drawn).toBe(0)
    await download(token, client)
    expect(await keptPdf(client, id)).toEqual(kept)
  })

  test('is the same for all who ask at once before it is made', async () => {
    const { client, token } = await signed()
    const make = dutyOf('make PDFs of mandates')
    const [, ...got] = await Promise.all([make(), ...Array.from({ length: 4 }, () => download(token, client))])
    expect(got.map((one) => (one as Awaited<ReturnType<typeof download>>).statusCode)).toEqual([200, 200, 200, 200])
    const bodies = new Set(got.map((one) => (one as Awaited<ReturnType<typeof download>>).body))
    expect(bodies.size).toBe(1)
  })
})

test('of two signings at once one counts, with one mail, one event and one signature in the evidence', async () => {
  const client = await service.newAccount()
  const { path, id } = await ask(client)
  expect(await Promise.all([sign(path), sign(path, { signature: 'Charles Babbage' })])).toEqual([303, 303])
  const steps = await evidenceOf(client, id)
  expect(steps.map(({ kind }) => kind)).toEqual(['created', 'opened', 'signed'])
  expect((await client.get('/v1/outbox')).body).toHaveLength(1)
  expect((await typesOf(client)).filter((type: string) => type === 'emandate.signed')).toHaveLength(1)
})

describe('how long a mandate is kept', () => {
  test('one that nobody signs goes after 90 days, from its method too, and an event stays', async () => {
    const client = await service.newAccount()
    const { token } = await ask(client)
    const paymentMethodID = await methodOf(client, await customerOf(client), token)
    await moveTo(client, '2027-03-31')
    await forget()
    expect((await client.get(`/v1/emandate?Token=${token}`)).body.MandateState).toBe('expired')
    await moveTo(client, '2027-04-01')
    await forget()
    expect((await client.get(`/v1/emandate?Token=${token}`)).status).toBe(404)
    expect((await client.get('/v1/paymentmethods')).body[0]).toMatchObject({
      paymentMethodID,
      BankAccount: { EMandateToken: null },
    })
    expect(await typesOf(client)).toEqual(['emandate.created', 'emandate.deleted'])
  })

  test.each([
    ['debit_order', {}, '2033-12-31', '2034-01-01'],
    [
      'ach',
      { bank_DebitMethod: 'ach', bank_AccNumber: '000123456789', bank_BranchCode: '011000015' },
      '2028-12-31',
      '2029-01-01',
    ],
    [
      'sepa',
      { bank_DebitMethod: 'sepa', bank_AccNumber: 'DE89370400440532013000', bank_BranchCode: 'COBADEFFXXX' },
      '2028-02-29',
      '2028-03-01',
    ],
  ])('a signed one of kind %s that no method names goes as its scheme has it', async (_kind, fields, last, gone) => {
    const { client, id, token } = await signed({ ...MANDATE, ...fields })
    await download(token, client)
    await moveTo(client, last)
    await forget()
    expect(await mandateOf(client, id)).toBeDefined()
    await moveTo(client, gone)
    await forget()
    expect([await mandateOf(client, id), await evidenceOf(client, id), await keptPdf(client, id)]).toEqual([
      undefined,
      [],
      undefined,
    ])
    expect((await typesOf(client)).at(-1)).toBe('emandate.deleted')
  })

  test('one that a method names stays however old it is', async () => {
    const { client, id, token } = await signed()
    const customerID = await customerOf(client)
    const paymentMethodID = await methodOf(client, customerID, token)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update emandates set signed_at = '2015-01-01' where account_id = ${client.id} and emandate_id = ${id}`,
      ),
    )
    await forget()
    expect(await mandateOf(client, id)).toBeDefined()
    await methodOf(client, customerID, null)
    expect((await client.delete(`/v1/paymentmethods/${paymentMethodID}`)).status).toBe(204)
    await forget()
    expect(await mandateOf(client, id)).toBeUndefined()
  })
})

describe('old mandates that cannot be forgotten', () => {
  const LATER = START + 91 * 86_400_000

  /** Forgets with a database that fails for one account. Returns what each look answered. */
  async function forgetBut(failing: bigint): Promise<unknown[]> {
    const db = {
      ...service.db,
      transaction: (async (account, work) => {
        if (account === failing) throw new Error('This row cannot be read.')
        return service.db.transaction(account, work)
      }) as typeof service.db.transaction,
    }
    const duty = workerDuties({ ...service.calling, drawing: service.app.drawing }).find(
      ({ name }) => name === 'forget mandates',
    )
    const answers: unknown[] = []
    do answers.push(await duty!.run({ db, log, realClock: () => LATER }, () => {}))
    while (answers.at(-1) === 'again' && answers.length < 10)
    return answers
  }

  test('hold up none behind them, and are tried again: one, and more than a look has', async () => {
    const broken = await service.newAccount()
    const first = await ask(broken)
    const other = await service.newAccount()
    const old = await ask(other)
    await forgetBut(broken.id)
    expect([await mandateOf(broken, first.id), await mandateOf(other, old.id)]).toEqual([expect.anything(), undefined])
    for (let count = 0; count < 101; count += 1) await ask(broken)
    const behind = await ask(other)
    const answers = await forgetBut(broken.id)
    expect([answers.includes('again'), answers.at(-1)]).toEqual([true, undefined])
    expect([await mandateOf(broken, first.id), await mandateOf(other, behind.id)]).toEqual([
      expect.anything(),
      undefined,
    ])
    await forgetBut(0n)
    expect(await mandateOf(broken, first.id)).toBeUndefined()
  })
})

test('the time of a signed mandate begins with its last debit', async () => {
  const { client, batch, line, must, build, state, move } = await account(service)
  const asked = await ask(client)
  expect(await sign(asked.path)).toBe(303)
  const customerID = await customerOf(client)
  const paymentMethodID = await methodOf(client, customerID, asked.token)
  const { BatchToken } = await batch({ ActionDate: '2027-01-05' })
  await line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  await build()
  await move('2027-02-01')
  expect(await state(BatchToken)).toBe('completed')
  await methodOf(client, customerID, null)
  expect((await client.delete(`/v1/paymentmethods/${paymentMethodID}`)).status).toBe(204)
  await move('2034-01-04')
  await forget()
  expect(await mandateOf(client, asked.id)).toBeDefined()
  await move('2034-01-05')
  await forget()
  expect(await mandateOf(client, asked.id)).toBeUndefined()
})

describe('an anonymised customer', () => {
  test('leaves what was signed, with its copy, and neither the mail about it nor what was not signed', async () => {
    const { client, id, token } = await signed()
    const customerID = await customerOf(client)
    await methodOf(client, customerID, token)
    const [mail] = (await client.get('/v1/outbox')).body
    expect(mail).toMatchObject({ customerID, Template: 'signed_mandate' })
    const link = /token=(\S+)/.exec(mail.Text)?.[1] ?? ''
    const unsigned = await ask(client)
    await methodOf(client, customerID, unsigned.token)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    expect((await client.get('/v1/outbox')).body).toEqual([])
    expect(await mandateOf(client, unsigned.id)).toBeUndefined()
    expect((await service.app.server.inject({ url: unsigned.path })).statusCode).toBe(404)
    expect((await mandateOf(client, id))?.signee.name).toBe('Ada')
    expect((await download(link)).statusCode).toBe(200)
    expect(JSON.stringify((await client.get('/v1/events')).body)).not.toContain('Lovelace')
    expect(await typesOf(client)).toEqual([
      'emandate.created',
      'emandate.signed',
      'emandate.created',
      'emandate.deleted',
    ])
  })

  test.each(['linked by its Token', 'made for it'])(
    'leaves nothing unsigned of a method that he has no more, %s',
    async (how) => {
      const client = await service.newAccount()
      const customerID = await customerOf(client)
      const asked = how === 'made for it' ? undefined : await ask(client)
      const removed = await methodOf(client, customerID, asked?.token ?? null)
      const { id } = asked ?? (await ask(client, { ...withoutBank(), customerPaymentMethodID: removed }))
      const kept = await ask(client)
      await methodOf(client, customerID, null)
      expect((await client.delete(`/v1/paymentmethods/${removed}`)).status).toBe(204)
      expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
      expect(await mandateOf(client, id)).toBeUndefined()
      expect(await mandateOf(client, kept.id)).toBeDefined()
    },
  )

  test('between the page and the signature: nothing is signed, and the page is gone', async () => {
    const client = await service.newAccount()
    const customerID = await customerOf(client)
    const customerPaymentMethodID = await methodOf(client, customerID, null)
    const withoutAccount = Object.entries(MANDATE).filter(([name]) => !name.startsWith('bank_'))
    const { path, id } = await ask(client, { ...Object.fromEntries(withoutAccount), customerPaymentMethodID })
    const both = await Promise.all([sign(path), client.post(`/v1/customers/${customerID}/anonymise`)])
    expect(both[1].status).toBe(204)
    const left = await mandateOf(client, id)
    // Whichever of the two was first: what is left is signed, and what is not signed is gone.
    expect(left === undefined || left.signedAt !== null).toBe(true)
    expect((await client.get('/v1/outbox')).body.filter(({ To }: { To: string }) => To.includes('ada@'))).toEqual([])
  })

  test('between the signature and the PDF: the PDF is made all the same', async () => {
    const { client, id, token } = await signed()
    const customerID = await customerOf(client)
    await methodOf(client, customerID, token)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    await dutyOf('make PDFs of mandates')()
    expect(await keptPdf(client, id)).toBeDefined()
  })
})
