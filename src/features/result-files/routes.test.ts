import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { bank, entryXml, reportXml, statementXml } from './result-files.testing.ts'

const service = await startTestService()

type Bank = Awaited<ReturnType<typeof bank>>

const statusOf = async ({ client, sent }: Bank) =>
  Promise.all(sent.map(async ({ paymentId }) => (await client.get(`/v1/payments/${paymentId}`)).body.Status))
const linesOf = async ({ client }: Bank, resultFileID: number) => {
  const reply = await client.get(`/v1/resultfiles/${resultFileID}`)
  expect(reply.status).toBe(200)
  return reply.body.Lines
}
const clean = async ({ client }: Bank) => expect(await differencesOf(service, client)).toEqual([])
const counts = ({ Matched, Applied, AlreadyKnown, Unmatched }: any) => [Matched, Applied, AlreadyKnown, Unmatched]

describe('a file', () => {
  test('settles what it books and fails what it returns; sent again it changes nothing and has the first answer', async () => {
    const shop = await bank(service, 3)
    const [settled, returned] = shop.sent as [any, any]
    const file = statementXml([
      entryXml({ reference: shop.reference(settled), isCredit: true, bankReference: 'A' }),
      entryXml({ reference: shop.reference(returned), code: 'AC04', bankReference: 'B' }),
    ])
    const added = await shop.send(file)
    expect(added.status, added.text).toBe(201)
    expect(added.body).toEqual({
      resultFileID: expect.any(Number),
      Sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      Format: 'camt.053.001.02',
      Matched: 2,
      Applied: 2,
      Payments: 2,
      AlreadyKnown: 0,
      Unmatched: 0,
      OtherAccounts: 0,
      Warnings: [],
      Files: null,
    })
    expect(added.headers['location']).toBe(`/v1/resultfiles/${added.body.resultFileID}`)
    expect(await statusOf(shop)).toEqual(['Allocated', 'Failed', 'Pending'])
    expect((await shop.client.get(`/v1/invoices/${returned.invoiceID}`)).body.ActualBalance).toBe(115)
    const again = await shop.send(file)
    expect([again.status, again.body]).toEqual([200, added.body])
    expect((await shop.client.get('/v1/resultfiles')).body).toEqual([
      { ...added.body, isToBeSentAgain: false, Open: 0 },
    ])
    expect((await shop.client.get(`/v1/resultfiles/${added.body.resultFileID}`)).body).toEqual({
      ...added.body,
      isToBeSentAgain: false,
      Open: 0,
      Lines: [],
    })
    const [event] = (await shop.client.get('/v1/events?type=result_file.read')).body
    expect(event.Record).toEqual(added.body)
    await clean(shop)
  })

  test('with a bank reference that another file had is known; without one nothing happens twice all the same', async () => {
    const shop = await bank(service, 2)
    const [one, two] = shop.sent as [any, any]
    const credit = (reference: string, more = {}) => entryXml({ reference, isCredit: true, ...more })
    const entries = [credit(shop.reference(one), { bankReference: 'A' }), credit(shop.reference(two))]
    expect(counts((await shop.send(statementXml(entries, { message: 'camt.054' }))).body)).toEqual([2, 2, 0, 0])
    expect(counts((await shop.send(statementXml(entries))).body)).toEqual([1, 0, 1, 0])
    expect(await statusOf(shop)).toEqual(['Allocated', 'Allocated'])
    await clean(shop)
  })

  test('returns what was settled before, and an older settlement that comes later changes nothing', async () => {
    const shop = await bank(service, 1, { clockAt: '2027-02-24T12:00:00.000Z' })
    const reference = shop.reference(shop.sent[0]!)
    const settled = entryXml({ reference, isCredit: true, on: '2027-01-26' })
    await shop.send(statementXml([settled]))
    const late = await shop.send(statementXml([entryXml({ reference, code: 'MD06', on: '2027-02-20' })]))
    expect(counts(late.body)).toEqual([1, 1, 0, 0])
    expect(await statusOf(shop)).toEqual(['Failed'])
    expect(counts((await shop.send(statementXml([settled], { message: 'camt.054' }))).body)).toEqual([1, 0, 0, 0])
    expect(await statusOf(shop)).toEqual(['Failed'])
    await clean(shop)
  })

  test('dated on a day that is still to come is a result of today, by itself and by a person', async () => {
    const shop = await bank(service, 2, { clockAt: '2027-02-24T12:00:00.000Z' })
    const [one, two] = shop.sent as [any, any]
    const dated = { code: 'MD06', on: '2099-01-01' }
    await shop.send(statementXml([entryXml({ reference: shop.reference(one), ...dated })]))
    const { body } = await shop.send(statementXml([entryXml({ name: 'Ada', family: 'IDDT', ...dated })]))
    const [line] = await linesOf(shop, body.resultFileID)
    expect(line.Date).toBe('2099-01-01T00:00:00Z')
    const path = `/v1/resultfiles/${body.resultFileID}/lines/${line.lineID}`
    expect((await shop.client.put(path, { paymentID: Number(two.paymentId) })).status).toBe(204)
    for (const { customerID } of [one, two]) {
      const entries = (await shop.client.get(`/v1/ledger/entries?customerID=${customerID}`)).body
      expect(entries.at(-1)).toMatchObject({ Date: '2027-02-24T00:00:00Z' })
    }
    await clean(shop)
  })

  test('settles money that has failed for no one: it comes for a person', async () => {
    const shop = await bank(service)
    const reference = shop.reference(shop.sent[0]!)
    await shop.send(statementXml([entryXml({ reference, code: 'AM04', on: '2027-01-26' })]))
    const { body } = await shop.send(statementXml([entryXml({ reference, isCredit: true, on: '2027-01-28' })]))
    expect(counts(body)).toEqual([0, 0, 0, 1])
    expect(await linesOf(shop, body.resultFileID)).toMatchObject([
      { Kind: 'credit', State: 'open', paymentID: Number(shop.sent[0]!.paymentId) },
    ])
    expect(await statusOf(shop)).toEqual(['Failed'])
  })

  test('with an entry that the bank’s fee makes larger is applied with the payment’s amount, and the fee is listed', async () => {
    const shop = await bank(service)
    const reference = shop.reference(shop.sent[0]!)
    const entry = entryXml({ reference, code: 'AC04', amount: 11_850n, original: 11_500n, name: 'Ada' })
    const { body } = await shop.send(statementXml([entry]))
    expect(counts(body)).toEqual([1, 1, 0, 1])
    expect(await linesOf(shop, body.resultFileID)).toEqual([
      {
        lineID: expect.any(Number),
        Kind: 'other',
        Date: '2027-01-29T00:00:00Z',
        Amount: 3.5,
        CurrencyCode: 'EUR',
        isCredit: false,
        EntryAmount: null,
        Reference: reference,
        Name: 'Ada',
        Code: 'CHRG',
        State: 'open',
        sameAs: null,
        paymentID: Number(shop.sent[0]!.paymentId),
        invoiceID: null,
        invoiceNum: null,
      },
    ])
    await clean(shop)
  })
})

describe('without a bank reference', () => {
  test('a return that another file shows again is the one that is kept: nothing of it is listed, its fee neither', async () => {
    const shop = await bank(service, 2)
    const [plain, referenced] = shop.sent.map((line, index) =>
      entryXml({
        reference: shop.reference(line),
        code: 'AC04',
        amount: 11_850n,
        original: 11_500n,
        ...(index === 1 && { bankReference: 'A' }),
      }),
    ) as [string, string]
    const first = await shop.send(statementXml([plain, referenced], { message: 'camt.054' }))
    expect(counts(first.body)).toEqual([2, 2, 0, 2])
    const second = await shop.send(statementXml([plain, referenced]))
    expect(counts(second.body)).toEqual([1, 0, 1, 0])
    expect(await linesOf(shop, second.body.resultFileID)).toEqual([])
  })

  test('a fee is not the same as an entry that was listed', async () => {
    const shop = await bank(service)
    const about = { reference: shop.reference(shop.sent[0]!), code: 'AC04', amount: 11_850n }
    await shop.send(statementXml([entryXml(about)]))
    const { body } = await shop.send(statementXml([entryXml({ ...about, original: 11_500n })]))
    expect(await linesOf(shop, body.resultFileID)).toMatchObject([{ Code: 'CHRG', sameAs: null }])
  })
})

describe('a booking of the whole collection', () => {
  const booking = (shop: Bank, amount: bigint) =>
    entryXml({
      isCredit: true,
      amount,
      family: 'IDDT',
      batch: { message: shop.token.replaceAll('-', ''), payments: `${shop.token.replaceAll('-', '')}-1` },
    })

  test('settles its lines, once, where its amount is that of those not yet failed', async () => {
    const shop = await bank(service, 3)
    const rejected = [{ reference: shop.reference(shop.sent[1]!), code: 'AC01' }]
    await shop.send(reportXml({ message: shop.token, rejected }))
    expect(await statusOf(shop)).toEqual(['Pending', 'Failed', 'Pending'])
    const wrong = await shop.send(statementXml([booking(shop, 34_500n)]))
    expect(counts(wrong.body)).toEqual([0, 0, 0, 1])
    const right = await shop.send(statementXml([booking(shop, 23_000n)]))
    expect(counts(right.body)).toEqual([1, 1, 0, 0])
    expect(await statusOf(shop)).toEqual(['Allocated', 'Failed', 'Allocated'])
    const noted = await shop.send(statementXml([booking(shop, 23_000n)], { message: 'camt.054' }))
    expect(counts(noted.body)).toEqual([1, 0, 0, 0])
    await clean(shop)
  })
})

describe('a report of statuses', () => {
  test('fails the payments that it names, and accepted ones change nothing', async () => {
    const shop = await bank(service, 3)
    const [one, two, three] = shop.sent.map((line) => shop.reference(line)) as [string, string, string]
    const { body } = await shop.send(
      reportXml({
        message: 'OTHER',
        rejected: [
          { reference: one, code: 'MD01', amount: '115.00' },
          { reference: two, code: 'MD01', amount: '114.00' },
          { reference: three, code: 'G000', status: 'ACSP' },
          { reference: `P${shop.client.id}-999999`, code: 'AC04' },
        ],
      }),
    )
    expect(counts(body)).toEqual([2, 1, 0, 2])
    expect(await statusOf(shop)).toEqual(['Failed', 'Pending', 'Pending'])
    expect(await linesOf(shop, body.resultFileID)).toMatchObject([
      { Kind: 'return', Reference: two, Code: 'MD01', Amount: 114, paymentID: Number(shop.sent[1]!.paymentId) },
      { Kind: 'return', Code: 'AC04', Amount: null, CurrencyCode: null, paymentID: null },
    ])
    await clean(shop)
  })

  test.each([
    ['the message', (token: string) => reportXml({ message: token.replaceAll('-', ''), status: 'RJCT' })],
    [
      'its block of payments',
      (token: string) =>
        reportXml({ message: 'X', payments: `${token.replaceAll('-', '')}-1`, paymentsStatus: 'RJCT' }),
    ],
  ])('that rejects %s fails all lines', async (_name, make) => {
    const shop = await bank(service, 2)
    const { body } = await shop.send(make(shop.token))
    expect(counts(body)).toEqual([1, 1, 0, 0])
    expect(await statusOf(shop)).toEqual(['Failed', 'Failed'])
    await clean(shop)
  })

  test.each(['ACTC', 'ACCP', 'ACSP'])('that accepts the message (%s) fails none', async (status) => {
    const shop = await bank(service)
    expect(counts((await shop.send(reportXml({ message: shop.token, status }))).body)).toEqual([0, 0, 0, 0])
    expect(await statusOf(shop)).toEqual(['Pending'])
  })
})

describe('lines that match nothing', () => {
  test('wait with what they may be about: a mandate and amount, or the number of an open invoice', async () => {
    const shop = await bank(service, 2, { mandates: true })
    const open = await shop.client.post('/v1/invoices', {
      customerID: shop.sent[0]!.customerID,
      CurrencyCode: 'EUR',
      Charges: [{ UnitCostEx: 70 }],
    })
    const { body } = await shop.send(
      statementXml([
        entryXml({ reference: 'NOTPROVIDED', mandate: 'M-2', code: 'AC04', name: 'Ada' }),
        entryXml({ mandate: 'M-1', code: 'AC04', amount: 1n }),
        entryXml({ isCredit: true, amount: 7_000n, text: `Invoice ${open.body.invoiceNum}`, name: 'Bob' }),
        entryXml({ isCredit: true, amount: 6_999n, text: `Invoice ${open.body.invoiceNum}` }),
        entryXml({ text: 'Rent', family: 'ICDT' }),
      ]),
    )
    expect(counts(body)).toEqual([0, 0, 0, 5])
    const shown = (await linesOf(shop, body.resultFileID)).map((line: any) => [
      line.Kind,
      line.paymentID,
      line.invoiceID,
      line.invoiceNum,
    ])
    expect(shown).toEqual([
      ['return', Number(shop.sent[1]!.paymentId), null, null],
      ['return', null, null, null],
      ['credit', null, open.body.invoiceID, open.body.invoiceNum],
      ['credit', null, null, null],
      ['other', null, null, null],
    ])
    expect(await statusOf(shop)).toEqual(['Pending', 'Pending'])
  })

  test('that equal an earlier one name it, where not both have a bank reference', async () => {
    const shop = await bank(service, 0)
    const credit = (more = {}) => entryXml({ isCredit: true, amount: 500n, text: 'Thanks', name: 'Ada', ...more })
    const first = await shop.send(statementXml([credit()], { message: 'camt.054' }))
    const second = await shop.send(statementXml([credit(), credit({ amount: 501n }), credit({ bankReference: 'A' })]))
    const [{ lineID }] = await linesOf(shop, first.body.resultFileID)
    const sameAs = async ({ body }: any) => (await linesOf(shop, body.resultFileID)).map((line: any) => line.sameAs)
    expect(await sameAs(second)).toEqual([lineID, null, lineID])
  })

  test('with two bank references are two, with one and none they may be the same in either order', async () => {
    const sameAs = async (...references: (string | undefined)[]) => {
      const shop = await bank(service, 0)
      const ids: (number | null)[][] = []
      for (const bankReference of references) {
        const credit = entryXml({
          isCredit: true,
          amount: 500n,
          text: 'Thanks',
          name: 'Ada',
          ...(bankReference && { bankReference }),
        })
        const { body } = await shop.send(statementXml([credit, entryXml({ text: `Fee ${ids.length}` })]))
        const [line] = await linesOf(shop, body.resultFileID)
        ids.push([line.lineID, line.sameAs])
      }
      return ids.map(([, same]) => (same === null ? null : ids.findIndex(([id]) => id === same)))
    }
    expect(await sameAs('A', 'B')).toEqual([null, null])
    expect(await sameAs(undefined, 'B')).toEqual([null, 0])
    expect(await sameAs('A', undefined)).toEqual([null, 0])
    expect(await sameAs('A', undefined, 'B')).toEqual([null, 0, 1])
  })

  test('are those of other gateways, of other accounts, and of batches that have not left', async () => {
    const shop = await bank(service, 1)
    const other = await bank(service, 1)
    const gateway = (await shop.client.post('/v1/gateways', { GatewayType: 'manual', CurrencyCodes: ['EUR'] })).body
    const file = statementXml([
      entryXml({ reference: shop.reference(shop.sent[0]!), code: 'AC04' }),
      entryXml({ reference: other.reference(other.sent[0]!), code: 'AC04' }),
    ])
    const { body } = await shop.client.request('POST', `/v1/resultfiles?gatewayID=${gateway.gatewayID}`, file, {
      'content-type': 'text/xml',
    })
    expect(counts(body)).toEqual([0, 0, 0, 2])
    expect([await statusOf(shop), await statusOf(other)]).toEqual([['Pending'], ['Pending']])
  })
})

describe('a person answers a line', () => {
  const waiting = async (...entries: string[]) => {
    const shop = await bank(service, 2)
    const { body } = await shop.send(statementXml(entries))
    const lines = await linesOf(shop, body.resultFileID)
    const path = (index = 0) => `/v1/resultfiles/${body.resultFileID}/lines/${lines[index].lineID}`
    const answer = (put: object, index?: number) => shop.client.put(path(index), put)
    return { ...shop, shop, answer, path, lines: () => linesOf(shop, body.resultFileID) }
  }

  test('a return by its payment, once', async () => {
    const { shop, answer, lines, sent, client } = await waiting(entryXml({ code: 'AC04', name: 'Ada' }))
    const paymentID = Number(sent[0]!.paymentId)
    expect((await answer({ paymentID })).status).toBe(204)
    expect(await lines()).toMatchObject([{ State: 'applied', paymentID, Name: 'Ada' }])
    expect(await statusOf(shop)).toEqual(['Failed', 'Pending'])
    for (const again of [{ paymentID }, { isClosed: true }]) expect((await answer(again)).status).toBe(409)
    const [event] = (await client.get('/v1/events?type=result_line.applied')).body
    expect(event.Record).toMatchObject({ State: 'applied', paymentID })
    expect(JSON.stringify(event)).not.toContain('Ada')
    await clean(shop)
  })

  test('a credit by its customer: a payment by eft of that day, allocated as asked', async () => {
    const credit = (text: string) => entryXml({ isCredit: true, amount: 11_500n, text, name: 'Ada' })
    const { shop, answer, lines, client } = await waiting(credit('one'), credit('two'), credit('three'))
    const customerID = await addCustomer(client, { CurrencyCode: 'EUR' })
    const invoice = { customerID, CurrencyCode: 'EUR', Charges: [{ UnitCostEx: 115 }] }
    const { invoiceID } = (await client.post('/v1/invoices', invoice)).body
    expect((await answer({ customerID })).status).toBe(204)
    const entry = { invoiceID, amountApplied: 15 }
    expect((await answer({ customerID, Allocations: [entry] }, 1)).status).toBe(204)
    expect((await answer({ customerID, AutoApply: true }, 2)).status).toBe(204)
    const payments = (await client.get(`/v1/customers/${customerID}/payments`)).body
    expect(payments).toMatchObject([
      { Method: 'eft', Amount: 115, Ref: 'one', Date: '2027-01-29T00:00:00.000Z', Status: 'Unallocated' },
      { Ref: 'two', Status: 'Partial', Allocations: [{ invoiceID, amountApplied: 15 }] },
      { Ref: 'three', Status: 'Partial', Allocations: [{ invoiceID, amountApplied: 100 }] },
    ])
    expect((await lines()).map((line: any) => [line.State, line.paymentID, line.invoiceID])).toEqual([
      ['applied', payments[0].paymentID, null],
      ['applied', payments[1].paymentID, invoiceID],
      ['applied', payments[2].paymentID, invoiceID],
    ])
    await clean(shop)
  })

  test('money of a day whose books are closed is dated the day after', async () => {
    const { answer, client } = await waiting(entryXml({ isCredit: true, text: 'one' }))
    await moveTo(client, '2027-02-05')
    await client.put('/v1/account', { LockDate: '2027-01-31' })
    const customerID = await addCustomer(client, { CurrencyCode: 'EUR' })
    expect((await answer({ customerID })).status).toBe(204)
    const [payment] = (await client.get(`/v1/customers/${customerID}/payments`)).body
    expect(payment.Date).toBe('2027-02-01T00:00:00.000Z')
  })

  test('that it is none of these: it is closed', async () => {
    const { answer, lines, client } = await waiting(
      entryXml({ text: 'Rent', family: 'ICDT' }),
      entryXml({ text: 'Salaries', family: 'ICDT' }),
    )
    expect((await answer({ isClosed: true })).status).toBe(204)
    expect(await lines()).toMatchObject([{ State: 'closed', Kind: 'other' }, { State: 'open' }])
    expect((await client.get('/v1/resultfiles')).body).toMatchObject([{ Unmatched: 2, Open: 1 }])
    expect((await client.get('/v1/events?type=result_line.closed')).body).toHaveLength(1)
  })

  test('wrongly is refused, and the line waits on', async () => {
    const { shop, answer, lines, sent, client, path } = await waiting(
      entryXml({ code: 'AC04' }),
      entryXml({ isCredit: true, text: 'one' }),
      entryXml({ code: 'AC04', amount: 1n }),
    )
    const paymentID = Number(sent[0]!.paymentId)
    const customerID = await addCustomer(client, { CurrencyCode: 'EUR' })
    const eft = { customerID, Amount: 5, CurrencyCode: 'EUR', Date: '2027-01-01', Method: 'eft', Allocations: [] }
    const recorded = (await client.post('/v1/payments', eft)).body.paymentID
    const refusals: [object, number, number, string][] = [
      [{}, 0, 400, 'paymentID'],
      [{ isClosed: false }, 0, 400, 'paymentID'],
      [{ paymentID, customerID }, 0, 400, 'paymentID'],
      [{ paymentID: 999_999 }, 0, 400, 'paymentID'],
      [{ customerID: 999_999 }, 1, 400, 'customerID'],
      [{ customerID, Allocations: [{ invoiceID: 999_999, amountApplied: 1 }] }, 1, 400, 'Allocations[0].invoiceID'],
      [{ customerID, Allocations: [{ invoiceID: sent[0]!.invoiceID, amountApplied: 1 }] }, 1, 409, ''],
      [{ customerID }, 0, 409, 'customerID'],
      [{ paymentID }, 1, 409, 'paymentID'],
      [{ paymentID: recorded }, 0, 409, 'paymentID'],
      [{ paymentID }, 2, 409, 'paymentID'],
    ]
    for (const [body, index, status, field] of refusals) {
      const reply = await answer(body, index)
      expect([reply.status, JSON.stringify(body)], reply.text).toEqual([status, JSON.stringify(body)])
      if (field !== '') expect(reply.body.Errors[0].Field).toBe(field)
    }
    expect((await lines()).map(({ State }: any) => State)).toEqual(['open', 'open', 'open'])
    expect(await statusOf(shop)).toEqual(['Pending', 'Pending'])
    const other = await bank(service)
    for (const [who, where] of [
      [other.client, path()],
      [client, path().replace(/\d+$/, '999999')],
      [client, path().replace(/files\/\d+/, 'files/999999')],
    ] as const)
      expect((await who.put(where, { isClosed: true })).status).toBe(404)
    expect((await (await readOnlyClientOf(service, client)).put(path(), { isClosed: true })).status).toBe(403)
  })
})

describe('what is refused', () => {
  const FILE = statementXml([entryXml()])

  test.each<[string, string, number, string | null]>([
    ['an empty body', '', 400, null],
    ['what is no XML', '{"a": 1}', 400, null],
    ['a file that is cut off', FILE.slice(0, -20), 400, null],
    ['another message', FILE.replace('camt.053.001.02', 'camt.060.001.02'), 400, null],
    ['a document type', `<!DOCTYPE a [<!ENTITY b "c">]>${FILE.slice(FILE.indexOf('<Document'))}`, 400, null],
    ['200,000 nested elements', '<a>'.repeat(200_000), 400, null],
  ])('%s', async (_name, file, status, field) => {
    const shop = await bank(service, 0)
    const reply = await shop.send(file)
    expect([reply.status, reply.body.Errors[0].Field], reply.text).toEqual([status, field])
    expect((await shop.client.get('/v1/resultfiles')).body).toEqual([])
  })

  test('a gateway that is none, is not named, or reports itself; another media type; a key that may only read', async () => {
    const { client, gateway } = await bank(service, 0)
    const [sandbox] = (await client.get('/v1/gateways')).body
    const post = (query: string, type = 'application/xml', who = client) =>
      who.request('POST', `/v1/resultfiles${query}`, FILE, { 'content-type': type })
    expect([(await post('')).status, (await post('')).body.Errors[0].Field]).toEqual([400, 'gatewayID'])
    for (const id of ['999999', '0', 'x']) expect((await post(`?gatewayID=${id}`)).status).toBe(400)
    expect((await post(`?gatewayID=${sandbox.gatewayID}`)).status).toBe(409)
    expect((await post(`?gatewayID=${gateway.gatewayID}`, 'application/json')).status).toBe(415)
    const reader = await readOnlyClientOf(service, client)
    expect((await post(`?gatewayID=${gateway.gatewayID}`, 'text/xml', reader)).status).toBe(403)
  })

  test('a byte more than 32 MiB', async () => {
    const shop = await bank(service, 0)
    const file = FILE + ' '.repeat(32 * 1024 * 1024 + 1 - Buffer.byteLength(FILE))
    expect((await shop.send(file)).status).toBe(413)
    // White space behind the document is left out.
    expect((await shop.send(file.slice(0, -1))).status).toBe(201)
  })
})

test('files of two at once and of one account come one after the other, and nothing happens twice', async () => {
  const shop = await bank(service, 4)
  const file = statementXml(shop.sent.map((line) => entryXml({ reference: shop.reference(line), code: 'AC04' })))
  const replies = await Promise.all(Array.from({ length: 4 }, () => shop.send(file)))
  expect(replies.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
  for (const { status } of replies) expect([200, 201, 409]).toContain(status)
  expect(await statusOf(shop)).toEqual(['Failed', 'Failed', 'Failed', 'Failed'])
  await clean(shop)
})
