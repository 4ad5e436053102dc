import type pg from 'pg'
import { expect, inject, test } from 'vitest'
import { clientOf, openTestDatabase, startTestService, type TestClient } from '../../../test/support/app.ts'
import { copyRows, databaseBefore, withClient } from '../../../test/support/older-database.ts'
import { differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { type Posting, postingsOfAllocation } from '../../engine/money/postings.ts'
import { decimal } from '../../kernel/decimal.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { post } from '../ledger/post.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'
import { EXPECTED } from './expected-postings.ts'
import { listAllocationRecords } from './expected-postings-queries.ts'

/**
 * A database from before there were settlements, when shares of taxes belonged to allocations: a note of the service before a caller's, a share
 * that moved over a lock, and three notes of which one was deleted. Its ledger is posted anew by the rules of that time.
 */

const lived = await startTestService()

interface Old {
  client: TestClient
  customerID: number
  /** The invoices of 35.65, 115.00 and 11.49. */
  invoices: number[]
  notes: Record<'after' | 'freed' | 'moved' | 'first' | 'last', number>
}

async function livedAccount(): Promise<Old> {
  const { client, customerID, add } = await shop(lived, { price: 31 })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { body: subscription } = await add()
  const [{ invoiceID: ofService }] = (await client.get('/v1/invoices')).body
  const whole = await invoiceOf(client, customerID)
  const small = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 9.99 }] })
  const note = async (amount: number, invoiceID: number | null, more: object = {}): Promise<number> => {
    const list = invoiceID === null ? [] : [{ invoiceID, amountApplied: amount }]
    const { status, text, body } = await client.post(
      '/v1/credits',
      creditOf(customerID, amount, { Allocations: list, ...more }),
    )
    expect(status, text).toBe(201)
    return body.creditNoteID
  }
  const [freed, moved] = [await note(0.04, null), await note(0.04, whole)]
  const [first, last] = [await note(4, small), await note(3.49, small)]
  await moveTo(client, '2027-01-16')
  await client.put(`/v1/subscriptions/${subscription.subscriptionID}/cancel/prorata`)
  const after = await note(17.25, ofService, { Date: '2027-01-16' })
  await client.put('/v1/clock', { Now: '2027-02-10' })
  expect((await client.put('/v1/account', { LockDate: '2027-01-31' })).status).toBe(204)
  return { client, customerID, invoices: [ofService, whole, small], notes: { after, freed, moved, first, last } }
}

const share = (allocationId: bigint, amountMinor: bigint, dated: string): Posting => ({
  event: 'tax_taken_back',
  isReversal: false,
  recordType: 'allocation',
  recordId: allocationId,
  debit: 'tax',
  credit: 'revenue',
  tax: { name: 'VAT', rate: decimal('0.15'), taxNumber: null },
  amountMinor,
  dated,
})
const reversed = (of: Posting, dated: string): Posting => ({
  ...of,
  isReversal: true,
  debit: of.credit,
  credit: of.debit,
  dated,
})

/** Identifiers of allocations that were taken away. */
const GONE = { freed: 901n, deleted: 902n }

/** Posts the ledger of that time: every record by its rules, and the shares under their allocations. */
async function postOldLedger(tx: Transaction, { customerID, notes }: Old): Promise<void> {
  await tx.rows(sql`delete from ledger_entries where account_id = ${tx.account}`)
  await tx.rows(sql`delete from customer_totals where account_id = ${tx.account}`)
  const idsOf = async (rows: Promise<{ id: bigint }[]>) => (await rows).map(({ id }) => id)
  const ids = {
    invoice: await idsOf(tx.rows(sql`select invoice_id as "id" from invoices where account_id = ${tx.account}`)),
    negative_adjustment: await idsOf(
      tx.rows(sql`select negative_adjustment_id as "id" from negative_adjustments where account_id = ${tx.account}`),
    ),
  }
  const allocations = await tx.rows<{ id: bigint; noteId: number; isServiceMade: boolean }>(sql`
    select allocation_id as "id", given_id::int as "noteId", is_service_made as "isServiceMade" from allocations
     where account_id = ${tx.account}`)
  const allocationOf = (note: number) => allocations.find(({ noteId }) => noteId === note)!.id
  // Entries of notes follow from their settlements, which the older database does not have.
  const ofNotes = await lived.db.transaction(tx.account, (today) =>
    EXPECTED.negative_adjustment(today, ids.negative_adjustment),
  )
  const records = [...(await EXPECTED.invoice(tx, ids.invoice)).values(), ...ofNotes.values()].flatMap(
    ({ postings }) => postings,
  )
  const made = (
    await listAllocationRecords(
      tx,
      tx.account,
      allocations.map(({ id }) => id),
    )
  ).flatMap(postingsOfAllocation)
  const freed = share(GONE.freed, 1n, '2027-01-01')
  const deleted = share(GONE.deleted, 52n, '2027-01-01')
  const postings = [
    ...records,
    ...made,
    // 0.01 of two notes of 0.04 was the first one's; when that was freed with closed books, the second one's.
    freed,
    reversed(freed, '2027-02-01'),
    share(allocationOf(notes.moved), 1n, '2027-02-01'),
    // 4.00, 4.00 and 3.49 of 11.49: when the second was deleted, 3.49 had another share.
    share(allocationOf(notes.first), 52n, '2027-01-01'),
    deleted,
    share(allocationOf(notes.last), 46n, '2027-01-01'),
    reversed(deleted, '2027-01-01'),
    reversed(share(allocationOf(notes.last), 46n, '2027-01-01'), '2027-01-01'),
    share(allocationOf(notes.last), 45n, '2027-01-01'),
    // The service had taken 2.40 of 4.65.
    share(allocationOf(notes.after), 225n, '2027-01-16'),
  ]
  await post(tx, [{ customerId: BigInt(customerID), currency: 'USD', postings }], '2027-02-10T00:00:00.000Z')
}

async function fill(to: pg.Client, old: Old): Promise<void> {
  await withClient(lived.connection, (from) => copyRows(from, to))
  const db = openTestDatabase({ ...inject('databaseServer'), database: to.database as string })
  await to.query('grant delete on ledger_entries to perennial_app')
  await db.transaction(old.client.id, (tx) => postOldLedger(tx, old))
  await to.query('revoke delete on ledger_entries from perennial_app')
  await db.close()
}

test('shares of before become settlements, nothing is posted, and whatever is moved, freed and deleted after leaves clean books', async () => {
  const old = await livedAccount()
  let entries = 0
  const connection = await databaseBefore('0065_settlements.sql', async (to) => {
    await fill(to, old)
    const { rows } = await to.query<{ n: number }>('select count(*)::int as n from ledger_entries')
    entries = rows[0]!.n
  })
  const service = await startTestService({ connection })
  const { id, secret } = old.client
  const client = clientOf(service.app, id, secret)
  const isClean = async () => expect(await differencesOf(service, client)).toEqual([])
  const report = async (month: string, last: number) =>
    (await client.get(`/v1/reports/tax?from=2027-${month}-01&to=2027-${month}-${last}`)).body.reduce(
      (sum: number, { TaxTakenBack }: any) => sum + TaxTakenBack,
      0,
    )
  await isClean()
  expect((await client.get('/v1/ledger/entries?page_size=500')).body).toHaveLength(entries)
  // January: 0.01 + 0.52 + 0.45 + 2.25 of callers' and 2.40 of the service's notes; February: the 0.01 that moved.
  expect([await report('01', 31), await report('02', 28)]).toEqual([5.63, 0])
  const { notes, invoices } = old
  const taxOf = async (note: number) =>
    (await client.get(`/v1/credits/${note}/explanation`)).body.Taxes.map(({ Amount }: any) => Amount)
  expect(await Promise.all([notes.after, notes.freed, notes.moved, notes.first, notes.last].map(taxOf))).toEqual([
    [2.25],
    [],
    [0.01],
    [0.52],
    [0.45],
  ])
  const put = async (note: number, list: object[]) => {
    const { body } = await client.get(`/v1/credits/${note}`)
    const reply = await client.put(`/v1/credits/${note}`, { ...body, Allocations: list })
    expect(reply.status, reply.text).toBe(204)
    await isClean()
  }
  await put(notes.moved, [])
  await put(notes.last, [{ invoiceID: invoices[1], amountApplied: 3.49 }])
  await put(notes.freed, [{ invoiceID: invoices[1], amountApplied: 0.04 }])
  expect(await taxOf(notes.last)).toEqual([0.45])
  expect(await report('01', 31)).toBe(5.63)
  await client.put('/v1/account', { LockDate: null })
  for (const note of Object.values(notes)) {
    expect((await client.delete(`/v1/credits/${note}`)).status).toBe(204)
    await isClean()
  }
  const [ofService] = (await client.get('/v1/credits')).body
  expect((await client.delete(`/v1/credits/${ofService.creditNoteID}`)).status).toBe(204)
  for (const invoice of invoices) expect((await client.delete(`/v1/invoices/${invoice}`)).status).toBe(204)
  await isClean()
})
