import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { creditOf, invoiceOf, moneyShop, paymentOf } from '../money/money.testing.ts'
import { CODES, exportOf, fileOf, linesOf, readCsv, rowsOf } from './exports.testing.ts'

const service = await startTestService()

const JANUARY = { Format: 'csv', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'USD' }

/** An account with codes and an invoice of 115.00 of 1 January. */
async function codedShop(codes: object = CODES) {
  const shop = await moneyShop(service, 1)
  expect((await shop.client.put('/v1/glcodes', codes)).status).toBe(204)
  return shop
}

const entriesOf = async (client: TestClient): Promise<any[]> =>
  (await client.get('/v1/ledger/entries?page_size=200')).body

/** Texts of allocations, which name what is paid. */
const IS_ALLOCATION = / for (invoice|adjustment) /

describe('a batch', () => {
  test('has the entries as journals that balance; entries answer it, and the next has only what is new', async () => {
    const { client, customerID } = await codedShop()
    const made = await exportOf(client)
    expect(made).toMatchObject({
      Number: 1,
      Format: 'csv',
      Entries: 2,
      Debit: 115,
      Credit: 115,
      Files: 1,
      Differences: [],
    })
    expect(await fileOf(client, made.exportID)).toMatch(
      /^Journal,Date,Account,GLCode,TaxName,Number,Reference,CustomerReference,Text,Debit,Credit,CurrencyCode\r\n1-1,2027-01-01,receivable,1400,,\d+,I\d+,.+,Invoice \d+,115\.00,,USD\r\n/,
    )
    expect(linesOf(await rowsOf(client, made)).map((line) => line.replace(/Invoice \d+/, 'Invoice'))).toEqual([
      '2027-01-01 1400 115.00 Invoice',
      '2027-01-01 4400 -100.00 Invoice',
      '2027-01-01 3806 -15.00 Invoice',
    ])
    const again = await client.post('/v1/exports', JANUARY)
    expect([again.status, again.body]).toEqual([200, made])
    await client.post('/v1/payments', paymentOf(customerID, 40, { allocations: [] }))
    const next = await exportOf(client)
    expect(next).toMatchObject({ Number: 2, Entries: 1, Debit: 40 })
    expect((await entriesOf(client)).map(({ exportID }) => exportID)).toEqual([
      made.exportID,
      made.exportID,
      next.exportID,
    ])
    expect((await client.get('/v1/exports')).body.map(({ Number: n }: any) => n)).toEqual([1, 2])
    expect((await client.get(`/v1/exports/${next.exportID}`)).body).toEqual(next)
  })

  test('shows days before From as From with their own in the text; later days wait for a later To', async () => {
    const { client, customerID } = await codedShop()
    await client.put('/v1/clock', { Now: '2027-02-20' })
    await invoiceOf(client, customerID, { InvoiceDate: '2027-02-10' })
    const february = await exportOf(client, { From: '2027-02-01', To: '2027-02-05' })
    const [row] = await rowsOf(client, february)
    expect([row?.Date, row?.Text.replace(/\d+ of/, 'n of')]).toEqual(['2027-02-01', 'Invoice n of 2027-01-01'])
    expect((await exportOf(client, { From: '2027-02-01', To: '2027-02-28' })).Entries).toBe(2)
  })

  test('leaves out allocations where money and debt have one code, and shows them where they have two', async () => {
    const { unapplied: _, ...codes } = CODES
    const { client, customerID, invoices } = await codedShop({ ...codes, Debtor: '10000', Methods: { eft: '1810' } })
    await exportOf(client)
    const allocations = [{ invoiceID: invoices[0], amountApplied: 40 }]
    await client.post('/v1/payments', paymentOf(customerID, 40, { allocations }))
    const one = await exportOf(client)
    expect([one.Entries, linesOf(await rowsOf(client, one)).map((line) => line.slice(0, 22).trim())]).toEqual([
      2,
      ['2027-01-01 1810 40.00', '2027-01-01 10000 -40.0'],
    ])
    await client.put('/v1/glcodes', { unapplied: '1590' })
    await client.post(
      '/v1/payments',
      paymentOf(customerID, 10, { allocations: [{ ...allocations[0], amountApplied: 10 }] }),
    )
    const two = await exportOf(client)
    expect((await rowsOf(client, two)).map(({ GLCode }) => GLCode).toSorted()).toEqual([
      '10000',
      '1590',
      '1590',
      '1810',
    ])
  })

  const isOfNote = (line: string) => line.includes('N-1') && !IS_ALLOCATION.test(line)

  test('keeps what a note does not settle on its day apart from revenue, and moves it when it is settled', async () => {
    const { client, customerID, invoices } = await codedShop()
    await client.put('/v1/clock', { Now: '2027-02-20' })
    const note = creditOf(customerID, 23, { Date: '2027-01-30', CreditNumber: 'N-1' })
    const { creditNoteID } = (await client.post('/v1/credits', note)).body
    const january = await exportOf(client)
    expect(linesOf(await rowsOf(client, january)).filter((line) => line.includes('N-1'))).toEqual([
      '2027-01-30 1590 -23.00 Credit note N-1',
      '2027-01-30 1499 23.00 Credit note N-1',
    ])
    const later = await invoiceOf(client, customerID, { InvoiceDate: '2027-02-03' })
    await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations: [{ invoiceID: later, amountApplied: 23 }] })
    const february = { From: '2027-02-01', To: '2027-02-28' }
    const settled = await exportOf(client, february)
    expect(linesOf(await rowsOf(client, settled)).filter(isOfNote)).toEqual([
      '2027-02-03 1499 -23.00 Credit note N-1 settled',
      '2027-02-03 4400 20.00 Credit note N-1 settled',
      '2027-02-03 3806 3.00 Credit note N-1 settled',
    ])
    expect(invoices).toHaveLength(1)
    await client.delete(`/v1/credits/${creditNoteID}`)
    const ended = await exportOf(client, february)
    const sums = new Map<string, number>()
    for (const made of [january, settled, ended])
      for (const row of (await rowsOf(client, made)).filter(
        ({ Text }) => Text.startsWith('Credit') && !IS_ALLOCATION.test(Text),
      ))
        sums.set(row.GLCode, (sums.get(row.GLCode) ?? 0) + Number(row.Debit) - Number(row.Credit))
    expect([...sums.values()].map((sum) => Math.round(sum * 100))).toEqual([0, 0, 0, 0])
  })

  test('turns a settlement round on the day on which its invoice is cancelled', async () => {
    const { client, customerID, invoices } = await codedShop()
    const note = creditOf(customerID, 23, { CreditNumber: 'E-1' })
    const allocated = { ...note, Allocations: [{ invoiceID: invoices[0], amountApplied: 23 }] }
    const { creditNoteID } = (await client.post('/v1/credits', allocated)).body
    await client.put(`/v1/credits/${creditNoteID}`, note)
    await exportOf(client)
    await client.put('/v1/clock', { Now: '2027-02-10' })
    expect((await client.delete(`/v1/invoices/${invoices[0]}`)).status).toBe(204)
    const rows = await rowsOf(client, await exportOf(client, { From: '2027-02-01', To: '2027-02-28' }))
    expect(linesOf(rows.filter(({ Number: number }) => number === 'E-1'))).toEqual([
      '2027-02-10 1499 23.00 Credit note E-1 settled reversed',
      '2027-02-10 4400 -20.00 Credit note E-1 settled reversed',
      '2027-02-10 3806 -3.00 Credit note E-1 settled reversed',
    ])
  })

  test('moves what an untaxed settlement settles, of which the ledger has no entry', async () => {
    const { client, customerID } = await codedShop()
    const untaxed = await invoiceOf(client, customerID, { Taxes: [] })
    const note = creditOf(customerID, 10, { CreditNumber: 'U-1' })
    const { creditNoteID } = (await client.post('/v1/credits', note)).body
    await exportOf(client)
    await client.put(`/v1/credits/${creditNoteID}`, {
      ...note,
      Allocations: [{ invoiceID: untaxed, amountApplied: 10 }],
    })
    const rows = (await rowsOf(client, await exportOf(client))).filter(
      ({ Text }) => Text.includes('U-1') && !IS_ALLOCATION.test(Text),
    )
    expect(linesOf(rows)).toEqual([
      '2027-01-01 1499 -10.00 Credit note U-1 settled',
      '2027-01-01 4400 10.00 Credit note U-1 settled',
    ])
  })

  test('of nothing is refused, and of another currency knows nothing of this one', async () => {
    const { client } = await codedShop()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const euro = await client.post('/v1/exports', { ...JANUARY, CurrencyCode: 'EUR' })
    expect([euro.status, euro.body.Errors[0].Code]).toEqual([409, 'nothing_to_export'])
    await exportOf(client)
    expect((await client.post('/v1/exports', { ...JANUARY, CurrencyCode: 'EUR' })).status).toBe(409)
  })

  test('of entries that are not settled yet says so, where there are any up to To in the currency', async () => {
    const several = await startTestService()
    const owner = new pg.Client(clientConfig(several.connection, undefined))
    await owner.connect()
    // As on Citus, from the first connection of an export on.
    await owner.query(`alter database ${several.connection.database} set perennial.writing_servers = 'several'`)
    await owner.end()
    const { client } = await moneyShop(several, 1)
    await client.put('/v1/glcodes', CODES)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const refusalOf = async (over: object) => {
      const { status, body } = await client.post('/v1/exports', { ...JANUARY, ...over })
      return [status, body.Errors[0].Code, body.Errors[0].Message]
    }
    const refused = [409, 'nothing_to_export']
    expect(await refusalOf({})).toEqual([...refused, expect.stringContaining('on Citus that takes 30 minutes')])
    const none = expect.stringMatching(/^There are no entries in /)
    expect(await refusalOf({ CurrencyCode: 'EUR' })).toEqual([...refused, none])
    expect(await refusalOf({ From: '2026-12-01', To: '2026-12-31' })).toEqual([...refused, none])
  })
})

describe('codes', () => {
  test('that are missing are counted and the first 20 listed; nothing is made', async () => {
    const { client } = await moneyShop(service)
    for (let n = 0; n < 30; n += 1) {
      const { customerID } = (await client.post('/v1/customers', { Name: `C ${n}`, isCompany: true })).body
      await invoiceOf(client, customerID)
    }
    const refused = await client.post('/v1/exports', JANUARY)
    expect([refused.status, refused.body.Errors.length]).toEqual([409, 21])
    expect(refused.body.Errors[0].Message).toMatch(/^33 codes are missing/)
    expect((await client.get('/v1/exports')).body).toEqual([])
    await client.put('/v1/glcodes', { Debtor: '10000', tax: '3806' })
    const { body } = await client.post('/v1/exports', JANUARY)
    expect(body.Errors.map((error: any) => error.Message).slice(1)).toEqual([
      'There is no code of revenue of lines by hand.',
    ])
  })

  test('of customer, package, tax rule and its revenue go before those of the account', async () => {
    const client = await service.newAccount()
    await client.put('/v1/glcodes', CODES)
    const rules = [
      { Perc: 0.15, GLCode: 'T15' },
      { Perc: 0.1, countryID: 276, GLCode: 'T10', RevenueGLCode: 'R10' },
    ]
    await client.post('/v1/tax', { Name: 'VAT', rules })
    for (const [countryID, GLCode] of [
      [710, 'D1'],
      [276, 'D2'],
    ] as const) {
      const customer = { Name: 'A', isCompany: true, countryID, GLCode }
      await invoiceOf(client, (await client.post('/v1/customers', customer)).body.customerID)
    }
    const rows = await rowsOf(client, await exportOf(client))
    expect(rows.map(({ GLCode }) => GLCode)).toEqual(['D1', '4400', 'T15', 'D2', 'R10', 'T10'])
  })
})

describe('the books', () => {
  test('are closed up to To, never back, and not up to a day that is not over', async () => {
    const { client } = await codedShop()
    const early = await client.post('/v1/exports', { ...JANUARY, isLock: true })
    expect([early.status, early.body.Errors[0].Field]).toEqual([400, 'To'])
    await client.put('/v1/clock', { Now: '2027-03-01' })
    expect((await exportOf(client, { isLock: true })).isLock).toBe(true)
    const lock = async () => (await client.get('/v1/account')).body.LockDate.slice(0, 10)
    expect(await lock()).toBe('2027-01-31')
    await client.put('/v1/account', { LockDate: '2027-02-10' })
    expect((await client.post('/v1/exports', { ...JANUARY, isLock: true })).status).toBe(200)
    expect(await lock()).toBe('2027-02-10')
    expect((await client.get('/v1/events?type=account.lock_date_changed')).body).toHaveLength(2)
  })
})

describe('a file', () => {
  test('is the same bytes after codes changed, a document was deleted and its customer is anonymous', async () => {
    const { client, customerID } = await codedShop()
    const { paymentID } = (await client.post('/v1/payments', paymentOf(customerID, 40, { allocations: [] }))).body
    const made = await exportOf(client)
    const before = await fileOf(client, made.exportID)
    await client.put('/v1/glcodes', { revenue: '9999', Debtor: '8888' })
    await client.delete(`/v1/payments/${paymentID}`)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    expect(await fileOf(client, made.exportID)).toBe(before)
    expect((await client.get(`/v1/exports/${made.exportID}`)).body).toEqual(made)
    // What the deletion takes back stands on the account of its method all the same.
    expect((await rowsOf(client, await exportOf(client))).map(({ GLCode }) => GLCode).toSorted()).toEqual([
      '1590',
      '1800',
    ])
  })

  test('there is no other than those of its export, of this account', async () => {
    const { client } = await codedShop()
    const { exportID } = await exportOf(client)
    expect((await client.get(`/v1/exports/${exportID}/file?part=2`)).status).toBe(404)
    expect((await client.get(`/v1/exports/${exportID}/file?part=0`)).status).toBe(400)
    for (const [method, path] of [
      ['GET', `/${exportID}/file?parts=1`],
      ['GET', `/${exportID}?part=1`],
      ['GET', '?currency=EUR'],
      ['POST', '?From=2027-01-01'],
    ] as const) {
      const { status, body } = await client.request(
        method,
        `/v1/exports${path}`,
        method === 'POST' ? JANUARY : undefined,
      )
      expect([status, body.Errors[0].Code], `${method} ${path}`).toEqual([400, 'unknown_parameter'])
    }
    const preview = await client.delete(`/v1/exports/${exportID}?preview=true`)
    expect([preview.status, preview.body.Errors[0].Code]).toEqual([400, 'no_preview'])
    // Of a body they are ignored and named, as everywhere.
    const tolerated = await client.post('/v1/exports', { ...JANUARY, Locked: true })
    expect([tolerated.status, tolerated.headers['perennial-ignored']]).toEqual([200, '"Locked"'])
    const other = await service.newAccount()
    for (const path of ['', '/file']) expect((await other.get(`/v1/exports/${exportID}${path}`)).status).toBe(404)
    expect((await other.delete(`/v1/exports/${exportID}`)).status).toBe(404)
  })
})

describe('deleting', () => {
  test('takes the newest of a currency, whose entries come with the next', async () => {
    const { client, customerID } = await codedShop()
    const first = await exportOf(client)
    await invoiceOf(client, customerID)
    const second = await exportOf(client)
    const refused = await client.delete(`/v1/exports/${first.exportID}`)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'export_not_newest'])
    expect((await client.delete(`/v1/exports/${second.exportID}`)).status).toBe(204)
    expect((await client.get(`/v1/exports/${second.exportID}`)).status).toBe(404)
    expect((await entriesOf(client)).map(({ exportID }) => exportID)).toEqual([
      first.exportID,
      first.exportID,
      null,
      null,
    ])
    const again = await exportOf(client)
    expect([again.Number, again.Debit, again.Sha256]).toEqual([2, second.Debit, second.Sha256])
  })
})

describe('at once', () => {
  test('two exports make one batch: the other is 409 or answers it', async () => {
    const { client } = await codedShop()
    const replies = await Promise.all([1, 2, 3].map(() => client.post('/v1/exports', JANUARY)))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { status } of replies) expect([200, 201, 409]).toContain(status)
    expect((await client.get('/v1/exports')).body).toHaveLength(1)
  })

  test('and a key that only reads makes none', async () => {
    const { client } = await codedShop()
    const reader = await readOnlyClientOf(service, client)
    expect((await reader.post('/v1/exports', JANUARY)).status).toBe(403)
    const { exportID } = await exportOf(client)
    expect(readCsv((await reader.get(`/v1/exports/${exportID}/file`)).text)).toHaveLength(3)
  })
})

test.for<[body: object, field: string]>([
  [{ Format: 'xls' }, 'Format'],
  [{ From: '2027-02-01' }, 'From'],
  [{ To: '3000-01-01' }, 'To'],
  [{ CurrencyCode: 'EUR' }, 'CurrencyCode'],
  [{ isLock: 'perhaps' }, 'isLock'],
])('refuses %j by its field', async ([body, field]) => {
  const client = await service.newAccount()
  const refused = await client.post('/v1/exports', { ...JANUARY, ...body })
  expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, field])
})
