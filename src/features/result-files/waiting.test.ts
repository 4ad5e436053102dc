import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf } from '../../../test/support/shop.ts'
import { byteas } from '../../platform/database/columns.ts'
import { sql } from '../../platform/database/sql.ts'
import { type CaseShop, entry, type EntryWish, returned, type SentFile, shopOf, statement } from './cases.testing.ts'

/** Lines that wait for a person: what they may be the same as, what is proposed, what is recorded once. */

const service = await startTestService()

const credit = (more: Partial<EntryWish> = {}) =>
  entry({ amount: '10.00', isCredit: true, on: '2027-01-21', parts: [{ text: 'Thanks', name: 'Ada' }], ...more })

/** Sends credits, each in a file of its own. */
async function inFiles(shop: CaseShop, ...credits: string[]) {
  const files: SentFile[] = []
  for (const [n, one] of credits.entries())
    files.push(await shop.send(statement([one], n % 2 ? 'camt.053' : 'camt.054')))
  const lines = files.map(({ Lines }) => Lines[0])
  const answer = async (n: number, body: object) => {
    const reply = await shop.answer(files[n] as SentFile, lines[n].lineID, body)
    return reply.status === 204 ? 204 : reply.body.Errors[0].Code
  }
  return { files, lines, answer, sameAs: lines.map((line) => lines.findIndex(({ lineID }) => lineID === line?.sameAs)) }
}

describe('the same money', () => {
  test.each([
    ['10 days apart under one reference', '2027-01-11', 0],
    ['11 days apart', '2027-01-10', -1],
  ])('%s', async (_name, on, same) => {
    const shop = await shopOf(service, 0)
    const { sameAs } = await inFiles(shop, credit({ on, ref: 'R1' }), credit({ ref: 'R1' }))
    expect(sameAs).toEqual([-1, same])
  })

  test('is never of one file, of two references, or of another amount under one reference', async () => {
    const shop = await shopOf(service, 0)
    const { Lines } = await shop.send(statement([credit(), credit()]))
    expect(Lines.map(({ sameAs }) => sameAs)).toEqual([null, null])
    const other = await shopOf(service, 0)
    const { sameAs } = await inFiles(
      other,
      credit({ ref: 'R1', on: '2027-01-20' }),
      credit({ ref: 'R2' }),
      credit({ ref: 'R1', amount: '11.00' }),
    )
    expect(sameAs).toEqual([-1, -1, -1])
  })

  test('is found in a file that was begun before as in one that came before', async () => {
    const shop = await shopOf(service, 0)
    const { Lines } = await shop.send(statement(Array.from({ length: 30 }, () => credit())))
    expect(new Set(Lines.map(({ sameAs }) => sameAs))).toEqual(new Set([null]))
    const again = await shop.send(statement([credit(), credit()], 'camt.054'))
    expect(again.Lines.map(({ sameAs }) => sameAs)).toEqual([Lines[0].lineID, Lines[0].lineID])
  })

  test('is recorded once, whichever of the lines comes first, unless it is another booking', async () => {
    const shop = await shopOf(service, 0)
    const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
    const { answer, sameAs } = await inFiles(shop, credit(), credit(), credit({ ref: 'R1' }))
    expect(sameAs).toEqual([-1, 0, 0])
    expect(await answer(1, { customerID })).toBe(204)
    expect(await answer(0, { customerID })).toBe('line_recorded_before')
    expect(await answer(2, { customerID })).toBe('line_recorded_before')
    expect(await answer(2, { customerID, isSeparate: true })).toBe(204)
    expect(await answer(0, { isClosed: true })).toBe(204)
    expect((await shop.client.get(`/v1/customers/${customerID}/payments`)).body).toHaveLength(2)
  })

  test('as the reference that was read before amounts were kept is known for its day, and no longer', async () => {
    const shop = await shopOf(service, 1)
    const hash = (text: string) => createHash('sha256').update(text).digest().subarray(0, 16)
    await service.db.transaction(shop.client.id, (tx) =>
      tx.rows(sql`
        insert into bank_references (account_id, gateway_id, result_file_id, read_at, reference, of_account)
        select ${shop.client.id}, ${BigInt(shop.gateway.gatewayID)}, 0, '2027-01-21T18:00:00Z', reference, ${hash('DE89370400440532013000')}
          from unnest(${byteas([hash('OLD#1'), hash('NONREF#1')])}::bytea[]) reference`),
    )
    const counts = async (...entries: string[]) => (await shop.send(statement(entries))).counts
    expect(await counts(credit({ ref: 'OLD' }))).toEqual([0, 0, 0, 1, 0])
    expect(await counts(credit({ ref: 'OLD', on: '2027-01-22' }))).toEqual([0, 0, 0, 0, 1])
    expect(await counts(credit({ ref: 'NONREF' }))).toEqual([0, 0, 0, 0, 1])
    expect(await counts(returned(shop.E(1), { ref: 'OLD' }))).toEqual([1, 1, 1, 0, 0])
  })
})

describe('what is proposed', () => {
  const byMandate = (name: string) => entry({ amount: '115.00', parts: [{ mandate: 'M-1', returned: 'AC04', name }] })

  test('a payment is proposed for one line: the newest that is free, then none', async () => {
    const shop = await shopOf(service, 2)
    await service.db.transaction(shop.client.id, (tx) =>
      tx.rows(sql`update batch_lines set sent_mandate = 'M-1' where account_id = ${shop.client.id}`),
    )
    const [one, two] = [1, 2].map((n) => shop.line(n).paymentID)
    const file = await shop.send(statement(['a', 'b', 'c'].map(byMandate)))
    expect(file.Lines.map(({ paymentID }) => paymentID)).toEqual([two, one, null])
    const later = await shop.send(statement([byMandate('d')], 'camt.054'))
    expect(later.Lines.map(({ paymentID }) => paymentID)).toEqual([null])
    await shop.answer(file, file.Lines[0].lineID, { isClosed: true })
    expect((await shop.send(statement([byMandate('e')]))).Lines).toMatchObject([{ paymentID: two }])
  })

  test('none for what may be the same as another line; what a line names is always answered', async () => {
    const shop = await shopOf(service, 1)
    const { files } = await inFiles(shop, byMandate('a'), byMandate('a'))
    const [first, second] = files.map(({ Lines }) => Lines[0])
    expect([first.paymentID, second.sameAs, second.paymentID]).toEqual([shop.line(1).paymentID, first.lineID, null])
    const named = entry({ amount: '114.00', parts: [{ e2e: shop.E(1), returned: 'AC04' }] })
    expect((await shop.send(statement([named]))).Lines).toMatchObject([{ paymentID: shop.line(1).paymentID }])
  })

  test('an invoice is proposed for one credit, the newest first', async () => {
    const shop = await shopOf(service, 0)
    const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
    const invoices = []
    for (let n = 0; n < 2; n += 1) {
      const body = { customerID, CurrencyCode: 'EUR', Charges: [{ UnitCostEx: 70 }] }
      invoices.push(await shop.must('post', '/v1/invoices', body))
    }
    const text = invoices.map(({ invoiceNum }) => invoiceNum).join(' and ')
    const credits = ['a', 'b', 'c'].map((name) => credit({ amount: '70.00', parts: [{ text, name }] }))
    const file = await shop.send(statement(credits))
    const [older, newer] = invoices.map(({ invoiceID }) => invoiceID)
    expect(file.Lines.map(({ invoiceID }) => invoiceID)).toEqual([newer, older, null])
  })
})

test('what is over a return that a person applies is listed with it', async () => {
  const shop = await shopOf(service, 1)
  const file = await shop.send(statement([entry({ amount: '118.50', family: 'IDDT', parts: [{ name: 'Ada' }] })]))
  const { paymentID } = shop.line(1)
  expect((await shop.answer(file, file.Lines[0].lineID, { paymentID })).status).toBe(204)
  const now = (await shop.client.get(`/v1/resultfiles/${file.resultFileID}`)).body
  expect([now.Unmatched, now.Open]).toEqual([2, 1])
  expect(now.Lines).toMatchObject([
    { State: 'applied', paymentID },
    { Kind: 'other', Code: 'CHRG', Amount: 3.5, isCredit: false, State: 'open', paymentID },
  ])
  expect(await differencesOf(service, shop.client)).toEqual([])
})

test('files with open lines are the work of the day', async () => {
  const shop = await shopOf(service, 0)
  const open = await shop.send(statement([credit()]))
  const done = await shop.send(statement([]))
  const ids = async (query: string) =>
    (await shop.client.get(`/v1/resultfiles${query}`)).body.map(({ resultFileID }: any) => resultFileID)
  expect(await ids('?isOpen=true')).toEqual([open.resultFileID])
  expect(await ids('?isOpen=false')).toEqual([done.resultFileID])
  expect(await ids('')).toEqual([open.resultFileID, done.resultFileID])
  expect((await shop.client.get('/v1/resultfiles?isOpen=maybe')).status).toBe(400)
  await shop.answer(open, open.Lines[0].lineID, { isClosed: true })
  expect(await ids('?isOpen=true')).toEqual([])
})
