import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf } from '../../../test/support/shop.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'
import {
  entry,
  fileOf,
  report,
  returned,
  settled,
  shopOf,
  statement,
  statementOf,
  type CaseShop,
} from './cases.testing.ts'

/** Cases that public reports of other systems and files of banks led to. Each is one example of its kind, with its controls. */

const service = await startTestService()

const clean = async ({ client }: CaseShop) => expect(await differencesOf(service, client)).toEqual([])

describe('a bank reference that is none, or that comes twice', () => {
  test('a placeholder makes no second return known, and no credits', async () => {
    const shop = await shopOf(service, 2)
    expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
    const first = await shop.send(statement([returned(shop.E(1), { ref: 'NONREF', on: '2027-01-21' })]))
    expect(first.counts).toEqual([1, 1, 1, 0, 0])
    const second = await shop.send(statement([returned(shop.E(2), { ref: 'NONREF', on: '2027-01-22' })]))
    expect(second.counts).toEqual([1, 1, 1, 0, 0])
    expect((await shop.payment(2)).Status).toBe('Failed')
    expect((await shop.invoice(2)).Status).toBe('Past Due')
    const credit = (amount: string, text: string) =>
      entry({ amount, isCredit: true, on: '2027-01-21', ref: 'NONREF', parts: [{ text }] })
    const credits = await shop.send(statement([credit('10.00', 'a'), credit('11.00', 'b')]))
    expect(credits.counts).toEqual([0, 0, 0, 0, 2])
    expect(credits.Lines).toMatchObject([
      { Kind: 'credit', isCredit: true },
      { Kind: 'credit', Amount: 11 },
    ])
    await clean(shop)
  })

  test('the return of a booking may have its reference', async () => {
    const shop = await shopOf(service, 1, { day: '2027-01-13' })
    const ref = '2027013000001'
    expect((await shop.send(statement([settled(shop.E(1), { ref })]))).counts).toEqual([1, 1, 1, 0, 0])
    await shop.move('2027-01-20')
    const late = await shop.send(statement([returned(shop.E(1), { ref, on: '2027-01-19' })]))
    expect(late.counts).toEqual([1, 1, 1, 0, 0])
    expect((await shop.payment(1)).Status).toBe('Failed')
    const entries = (await shop.client.get(`/v1/ledger/entries?customerID=${shop.line(1).customerID}`)).body
    expect(entries.find(({ Event }: any) => Event === 'payment_returned').Date).toBe('2027-01-19T00:00:00Z')
    await clean(shop)
  })

  test('a detail with a placeholder has the reference of its entry', async () => {
    const shop = await shopOf(service, 2, { day: '2027-01-20' })
    const detail = (ref: string, on: string, e2e: string) =>
      fileOf(
        [
          statementOf(
            CREDITOR.CreditorIBAN,
            [
              entry({
                amount: '115.00',
                on,
                ref,
                parts: [{ ref: 'NOTPROVIDED', e2e, amount: '115.00', returned: 'AM04' }],
              }),
            ],
            'camt.054',
          ),
        ],
        'camt.054',
        '08',
      )
    expect((await shop.send(detail('01542001', '2027-01-19', shop.E(1)))).counts).toEqual([1, 1, 1, 0, 0])
    expect((await shop.send(detail('01542002', '2027-01-20', shop.E(2)))).counts).toEqual([1, 1, 1, 0, 0])
  })

  test('numbers that begin anew each day are two bookings', async () => {
    const shop = await shopOf(service, 1)
    const credit = (amount: string, on: string) => statement([entry({ amount, isCredit: true, on, ref: '0001' })])
    expect((await shop.send(credit('40.00', '2027-01-20'))).counts).toEqual([0, 0, 0, 0, 1])
    expect((await shop.send(credit('41.00', '2027-01-21'))).counts).toEqual([0, 0, 0, 0, 1])
  })

  test.each([
    ['with a real reference is known', 'R77', [0, 0, 0, 1, 0], []],
    [
      'without one is listed and names the first',
      'NONREF',
      [0, 0, 0, 0, 1],
      [{ Kind: 'credit', sameAs: expect.any(Number) }],
    ],
  ])('control: the same credit at noon and at night %s', async (_name, ref, counts, lines) => {
    const shop = await shopOf(service, 1)
    const credit = entry({ amount: '10.00', isCredit: true, on: '2027-01-21', ref, parts: [{ text: 'same' }] })
    expect((await shop.send(statement([credit], 'camt.054'))).counts).toEqual([0, 0, 0, 0, 1])
    const night = await shop.send(statement([credit]))
    expect(night.counts).toEqual(counts)
    expect(night.Lines).toMatchObject(lines)
  })
})

describe('a debit that the bank has cancelled', () => {
  const attemptOf = async (shop: CaseShop, n: number) => {
    const { Outcome, Class, Code } = await shop.attempt(n)
    return [Outcome, Class, Code]
  }
  const heldEvents = async ({ client }: CaseShop) =>
    (await client.get('/v1/events?type=invoice.updated')).body.filter(({ Record }: any) => Record.isCollectionHold)

  test('is never settled by days, its invoice is on hold, and the other is paid', async () => {
    const shop = await shopOf(service, 2, { day: '2027-01-11' })
    const payments = [{ e2e: shop.E(1), status: 'CANC', code: 'CUST' }]
    const { counts } = await shop.send(report({ block: shop.block, payments }))
    expect(counts).toEqual([1, 1, 1, 0, 0])
    await shop.move('2027-01-25')
    expect(await shop.statuses()).toEqual(['Failed', 'Allocated'])
    expect(await attemptOf(shop, 1)).toEqual(['not_sent', 'not_sent', 'CUST'])
    expect(await shop.invoice(1)).toMatchObject({ Status: 'Past Due', isCollectionHold: true })
    expect(await shop.invoice(2)).toMatchObject({ Status: 'Paid', isCollectionHold: false })
    expect(await heldEvents(shop)).toHaveLength(1)
    expect((await shop.client.get('/v1/batches')).body).toHaveLength(1)
    await clean(shop)
  })

  test.each([
    ['and then rejected', ['CANC', 'RJCT'], { class: 'not_sent', isHeld: true }],
    ['that was rejected before', ['RJCT', 'CANC'], { class: 'insufficient_funds', isHeld: false }],
  ])(
    '%s in one file: as in two, the first decides, and another debit of the customer is not held up',
    async (_name, order, { class: expected, isHeld }) => {
      const statuses = order.map((status) => ({ status, code: status === 'CANC' ? 'CUST' : 'AM04' }))
      const together = await shopOf(service, 2, { day: '2027-01-11' })
      const apart = await shopOf(service, 2, { day: '2027-01-11' })
      const paymentsOf = (shop: CaseShop) => statuses.map((one) => ({ e2e: shop.E(1), ...one }))
      const other = (shop: CaseShop) => ({ e2e: shop.E(2), status: 'RJCT', code: 'AM04' })
      const one = await together.send(
        report({ block: together.block, payments: [...paymentsOf(together), other(together)] }),
      )
      const counts = [0, 0, 0, 0, 0]
      for (const payment of [...paymentsOf(apart), other(apart)]) {
        const file = await apart.send(report({ block: apart.block, payments: [payment] }))
        for (const [index, count] of file.counts.entries()) counts[index] = (counts[index] ?? 0) + count
      }
      expect(one.counts).toEqual(counts)
      for (const shop of [together, apart]) {
        expect(await attemptOf(shop, 1)).toEqual([expect.any(String), expected, order[0] === 'CANC' ? 'CUST' : 'AM04'])
        expect((await shop.invoice(1)).isCollectionHold).toBe(isHeld)
        expect(await shop.statuses()).toEqual(['Failed', 'Failed'])
        await clean(shop)
      }
    },
  )

  test.each([
    ['with its file', ({ message }: CaseShop) => report({ message, status: 'CANC' })],
    ['with its block', ({ block }: CaseShop) => report({ block, blockStatus: 'CANC' })],
  ])('%s: neither is paid by days, both are on hold', async (_name, make) => {
    const shop = await shopOf(service, 2, { day: '2027-01-11' })
    expect((await shop.send(make(shop))).counts).toEqual([1, 1, 2, 0, 0])
    await shop.move('2027-01-25')
    expect(await shop.statuses()).toEqual(['Failed', 'Failed'])
    for (const n of [1, 2]) {
      expect((await attemptOf(shop, n)).slice(0, 2)).toEqual(['not_sent', 'not_sent'])
      expect(await shop.invoice(n)).toMatchObject({ Status: 'Past Due', isCollectionHold: true })
    }
    expect(await heldEvents(shop)).toHaveLength(2)
    await clean(shop)
  })

  test.each(
    'ACTC ACCP ACSP ACSC ACCC ACFC ACIS ACPD ACWC ACWP PATC PDNG PRES RCVD PART RCVC RCVM RVMC RVNA RVNC RVNM'.split(
      ' ',
    ),
  )('control: %s changes nothing', async (status) => {
    const shop = await shopOf(service, 1, { day: '2027-01-11' })
    const { counts } = await shop.send(report({ block: shop.block, payments: [{ e2e: shop.E(1), status }] }))
    expect(counts).toEqual([1, 0, 0, 0, 0])
    await shop.move('2027-01-25')
    expect(await shop.statuses()).toEqual(['Allocated'])
  })

  test.each([
    [
      'a payment',
      ({ E, block }: CaseShop) => report({ block, payments: [{ e2e: E(1), status: 'WAIT' }] }),
      ['Pending', 'Allocated'],
    ],
    ['its block', ({ block }: CaseShop) => report({ block, blockStatus: 'WAIT' }), ['Pending', 'Pending']],
    ['the file', ({ message }: CaseShop) => report({ message, status: 'WAIT' }), ['Pending', 'Pending']],
  ])(
    'a word that nobody knows of %s is listed once, and days settle nothing of it until it is closed',
    async (_name, make, waiting) => {
      const shop = await shopOf(service, 2, { day: '2027-01-11' })
      const file = await shop.send(make(shop))
      expect(file.Lines).toMatchObject([{ Kind: 'other', Code: 'WAIT', State: 'open', isCredit: null }])
      await shop.move('2027-01-25')
      expect(await shop.statuses()).toEqual(waiting)
      await shop.answer(file, file.Lines[0].lineID, { isClosed: true })
      await shop.move('2027-01-26')
      expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
      await clean(shop)
    },
  )

  test('the bank keeps the money (BLCK): it is listed as a return, and not settled by days', async () => {
    const shop = await shopOf(service, 2, { day: '2027-01-11' })
    const payments = [{ e2e: shop.E(1), status: 'BLCK', code: 'AC06' }]
    const file = await shop.send(report({ block: shop.block, payments }))
    expect(file.counts).toEqual([0, 0, 0, 0, 1])
    expect(file.Lines).toMatchObject([{ Kind: 'return', Code: 'BLCK', paymentID: shop.line(1).paymentID }])
    await shop.move('2027-01-25')
    expect(await shop.statuses()).toEqual(['Pending', 'Allocated'])
  })
})

describe('reasons of payments in a rejected block', () => {
  const codes = ['AC01', 'AM04', 'MD01'] as const
  const classes = ['invalid_account', 'insufficient_funds', 'no_mandate']
  const inBlock = (shop: CaseShop, more: object) =>
    report({
      version: 'pain.002.001.03',
      payments: codes.map((code, n) => ({ e2e: shop.E(n + 1), code })),
      at: '2027-01-06T08:00:00',
      ...more,
    })

  test.each([
    ['the block', (shop: CaseShop) => ({ block: shop.block, blockStatus: 'RJCT' })],
    [
      'the block, which has a reason too',
      (shop: CaseShop) => ({ block: shop.block, blockStatus: 'RJCT', blockCode: 'AC04' }),
    ],
    ['the file', (shop: CaseShop) => ({ message: shop.message, status: 'RJCT', code: 'AC04' })],
  ])('are theirs, whatever is rejected: %s', async (_name, more) => {
    const shop = await shopOf(service, 3, { day: '2027-01-06' })
    const { counts } = await shop.send(inBlock(shop, more(shop)))
    expect(counts).toEqual([1, 1, 3, 0, 0])
    for (const [n, code] of codes.entries())
      expect(await shop.attempt(n + 1)).toMatchObject({ Outcome: 'declined', Class: classes[n], Code: code })
    await clean(shop)
  })

  test('own first, then the block’s, then the file’s; one that was accepted is none of the block’s', async () => {
    const shop = await shopOf(service, 3, { day: '2027-01-06' })
    const payments = [
      { e2e: shop.E(1), code: 'AC01' },
      { e2e: shop.E(3), status: 'ACSP' },
    ]
    const file = report({ message: shop.message, block: shop.block, blockStatus: 'RJCT', blockCode: 'MD07', payments })
    expect((await shop.send(file)).counts).toEqual([2, 1, 2, 0, 0])
    expect(await shop.attempt(1)).toMatchObject({ Code: 'AC01' })
    expect(await shop.attempt(2)).toMatchObject({ Code: 'MD07', Class: 'deceased' })
    expect(await shop.statuses()).toEqual(['Failed', 'Failed', 'Pending'])
  })

  test('a block that names no batch rejects the payments in it, and counts once', async () => {
    const shop = await shopOf(service, 3, { day: '2027-01-06' })
    expect((await shop.send(inBlock(shop, { blockStatus: 'RJCT' }))).counts).toEqual([1, 1, 3, 0, 0])
    expect(await shop.statuses()).toEqual(['Failed', 'Failed', 'Failed'])
  })

  test('in a block that was accepted in part they are listed', async () => {
    const shop = await shopOf(service, 3, { day: '2027-01-06' })
    const file = await shop.send(inBlock(shop, { block: shop.block, blockStatus: 'PART' }))
    expect(file.counts).toEqual([0, 0, 0, 0, 3])
    for (const [n, line] of file.Lines.entries())
      expect(line).toMatchObject({ Kind: 'return', Code: codes[n], paymentID: shop.line(n + 1).paymentID })
    await shop.move('2027-01-25')
    expect(await shop.statuses()).toEqual(['Pending', 'Pending', 'Pending'])
  })
})

describe('one entry that cannot be read', () => {
  const first = (shop: CaseShop) => returned(shop.E(1))

  test.each([
    ['five decimals', entry({ amount: '0.12345', isCredit: true })],
    ['no day of the calendar', entry({ amount: '10.00', on: '2027-02-31' })],
    ['a trillion', entry({ amount: '1000000000000.00' })],
    ['no direction', entry({ amount: '10.00' }).replace('<CdtDbtInd>DBIT</CdtDbtInd>', '')],
    ['a currency that is none', entry({ amount: '10.00' }).replace('Ccy="EUR"', 'Ccy="CNH"')],
  ])('is listed, and the other is applied: %s', async (_name, second) => {
    const shop = await shopOf(service, 1)
    const file = await shop.send(statement([first(shop), second]))
    expect(file.counts).toEqual([1, 1, 1, 0, 1])
    expect(file.Lines).toMatchObject([{ Kind: 'other', Amount: null, Code: 'unreadable', State: 'open' }])
    await clean(shop)
  })

  test('that names a payment of ours names it, and nothing of it is applied', async () => {
    const shop = await shopOf(service, 1)
    const file = await shop.send(statement([returned(shop.E(1), { amount: '115.12345' })]))
    expect(file.counts).toEqual([0, 0, 0, 0, 1])
    expect(file.Lines).toMatchObject([{ Code: 'unreadable', paymentID: shop.line(1).paymentID }])
    expect(await shop.statuses()).toEqual(['Allocated'])
  })

  test.each(['XAU', 'HRK', 'BGN', 'CNH', 'BYR'])(
    'an original amount in %s is as if it were not there',
    async (currency) => {
      const shop = await shopOf(service, 1)
      const second = entry({ amount: '10.00', parts: [{ instructed: '1.5' }] }).replace(
        '<InstdAmt><Amt Ccy="EUR">',
        `<InstdAmt><Amt Ccy="${currency}">`,
      )
      const file = await shop.send(statement([first(shop), second]))
      expect(file.counts).toEqual([1, 1, 1, 0, 1])
      expect(file.Lines).toMatchObject([{ Kind: 'other', Amount: 10 }])
    },
  )

  test('without a status is not booked: passed over, and counted in a warning', async () => {
    const shop = await shopOf(service, 1)
    const file = await shop.send(statement([first(shop), first(shop).replace('<Sts>BOOK</Sts>', '')]))
    expect(file.counts).toEqual([1, 1, 1, 0, 0])
    expect(file.Warnings).toEqual([{ Code: 'status_missing', Count: 1 }])
  })

  test.each<[string, (good: string) => string]>([
    ['cut off', (good) => good.slice(0, good.length / 2)],
    ['with a document type', (good) => good.replace('?>', '?><!DOCTYPE a>')],
    ['with an exponent where our payment is named', (good) => good.replace('115.00', '1e5')],
  ])('control: a file %s is 400, and nothing changes', async (_name, spoil) => {
    const shop = await shopOf(service, 1)
    const reply = await shop.post(spoil(statement([first(shop)])))
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([400, 'file_unreadable'])
    expect(await shop.statuses()).toEqual(['Allocated'])
    expect((await shop.client.get('/v1/resultfiles')).body).toEqual([])
  })
})

describe('statements of several accounts', () => {
  const FOREIGN = 'DE02120300000000202051'

  test('those of others are passed over and counted, whatever they name', async () => {
    const shop = await shopOf(service, 2)
    const own = statementOf(CREDITOR.CreditorIBAN, [returned(shop.E(1), { ref: 'R1' })])
    const file = await shop.send(fileOf([own, statementOf(FOREIGN, [returned(shop.E(2))])]))
    expect([file.counts, file.OtherAccounts]).toEqual([[1, 1, 1, 0, 0], 1])
    expect(await shop.statuses()).toEqual(['Failed', 'Allocated'])
    const empty = await shop.send(fileOf([statementOf(FOREIGN, []), own.replace('R1', 'R2')]))
    expect([empty.counts, empty.OtherAccounts]).toEqual([[1, 0, 0, 0, 0], 1])
  })

  test('none of the account is 409, and nothing is read', async () => {
    const shop = await shopOf(service, 1)
    const reply = await shop.post(fileOf([statementOf(FOREIGN, [returned(shop.E(1))]), statementOf(FOREIGN, [])]))
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([409, 'other_account'])
    expect(await shop.statuses()).toEqual(['Allocated'])
  })
})

describe('one collective credit, as a sum and as its parts', () => {
  const sum = entry({ amount: '300.00', isCredit: true, on: '2027-01-21', ref: 'COLL1' })
  const parts = entry({
    amount: '300.00',
    isCredit: true,
    on: '2027-01-21',
    ref: 'COLL1',
    parts: [
      { ref: 'D1', amount: '100.00' },
      { ref: 'D2', amount: '200.00' },
    ],
  })

  test('each part names the sum; the parts may be recorded, and then not the sum', async () => {
    const shop = await shopOf(service, 1)
    const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
    const first = await shop.send(statement([sum]))
    const second = await shop.send(statement([parts], 'camt.054'))
    expect([first.counts, second.counts]).toEqual([
      [0, 0, 0, 0, 1],
      [0, 0, 0, 0, 2],
    ])
    const [whole] = first.Lines
    expect(whole).toMatchObject({ sameAs: null, EntryAmount: null, Amount: 300 })
    expect(second.Lines).toMatchObject([
      { sameAs: whole.lineID, Amount: 100, EntryAmount: 300 },
      { sameAs: whole.lineID, Amount: 200, EntryAmount: 300 },
    ])
    for (const { lineID } of second.Lines) expect((await shop.answer(second, lineID, { customerID })).status).toBe(204)
    const again = await shop.answer(first, whole.lineID, { customerID })
    expect([again.status, again.body.Errors[0].Code]).toEqual([409, 'line_recorded_before'])
    expect(again.body.Errors[0].Message).toContain(String(second.Lines[0].lineID))
    expect((await shop.answer(first, whole.lineID, { customerID, isSeparate: true })).status).toBe(204)
  })

  test('the sum, read later, names the first part; once it is recorded no part can be', async () => {
    const shop = await shopOf(service, 1)
    const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
    const first = await shop.send(statement([parts], 'camt.054'))
    const second = await shop.send(statement([sum]))
    expect(second.Lines).toMatchObject([{ sameAs: first.Lines[0].lineID }])
    expect((await shop.answer(second, second.Lines[0].lineID, { customerID })).status).toBe(204)
    for (const { lineID } of first.Lines) expect((await shop.answer(first, lineID, { customerID })).status).toBe(409)
  })

  const ofReturns = (shop: CaseShop) => ({
    whole: entry({ amount: '230.00', family: 'IDDT', ref: 'RET1' }),
    details: entry({
      amount: '230.00',
      family: 'IDDT',
      ref: 'RET1',
      parts: [1, 2].map((n) => ({ ref: `D${n}`, e2e: shop.E(n), amount: '115.00', returned: 'AM04' })),
    }),
  })

  test('of returns the parts are applied, and the sum is then known', async () => {
    const shop = await shopOf(service, 2)
    const { whole, details } = ofReturns(shop)
    expect((await shop.send(statement([details], 'camt.054'))).counts).toEqual([2, 2, 2, 0, 0])
    expect((await shop.send(statement([whole]))).counts).toEqual([0, 0, 0, 1, 0])
    await clean(shop)
  })

  test('of returns a sum that waits is closed when its parts come, with an event', async () => {
    const shop = await shopOf(service, 2)
    const { whole, details } = ofReturns(shop)
    const first = await shop.send(statement([whole]))
    expect(first.Lines).toMatchObject([{ Kind: 'return', State: 'open' }])
    expect((await shop.send(statement([details], 'camt.054'))).counts).toEqual([2, 2, 2, 0, 0])
    const { Lines } = (await shop.client.get(`/v1/resultfiles/${first.resultFileID}`)).body
    expect(Lines).toMatchObject([{ State: 'closed' }])
    const [event] = (await shop.client.get('/v1/events?type=result_line.closed')).body
    expect(event.Record).toMatchObject({ lineID: first.Lines[0].lineID, State: 'closed' })
  })
})
