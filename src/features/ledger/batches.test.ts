import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, addTax, differencesOf, invoicesOf, moveTo } from '../../../test/support/shop.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'
import { COUNTED_LISTS } from '../../duties.ts'
import { sealLists } from '../../platform/database/housekeeping.ts'
import { sql } from '../../platform/database/sql.ts'
import { sumDays, takeLedgerMark } from './mark-queries.ts'
import { sealLedger } from './seal.ts'

/**
 * Postings of invoices that a run issues together share rows: every list and sum reads them as if they did not, whoever draws identifiers meanwhile, and
 * nothing in them can be changed unseen.
 */

const service = await startTestService()
const SUBSCRIBERS = 300
const WRITERS = 8

interface Listed {
  entryID: number
  Event: string
  RecordType: string
  RecordID: number
  customerID: number
  Date: string
  Debit: string
  Credit: string
  TaxName: string | null
  Amount: number
}

let client: TestClient
let all: Listed[]
const { tampered } = await tamperWith(service, () => client)

const list = async (query: string): Promise<Listed[]> => {
  const reply = await client.get(`/v1/ledger/entries?${query}`)
  expect(reply.status, reply.text).toBe(200)
  return reply.body
}

/** Reads a list page by page. */
async function pages(query: string, size: number): Promise<Listed[]> {
  const found: Listed[] = []
  for (let page = 1; ; page += 1) {
    const rows = await list(`${query}&page=${page}&page_size=${size}`)
    found.push(...rows)
    if (rows.length < size) return found
  }
}

const totalOf = async (query: string) =>
  (await client.get(`/v1/ledger/entries?${query}&total=true`)).headers['total-count']
const idsOf = (entries: readonly Listed[]): number[] => entries.map(({ entryID }) => entryID)
const batches = () =>
  service.db
    .reader(client.id)
    .rows<{ invoices: number; shapes: number }>(
      sql`select cardinality(customer_ids) as invoices, cardinality(template_ids) as shapes from ledger_packs where account_id = ${client.id}`,
    )

beforeAll(async () => {
  client = await service.newAccount()
  await addTax(client, 'VAT', { Perc: 0.15 }, { countryID: 276, Perc: 0.19 }, { countryID: 826, Perc: 0 })
  const dear = (await addPackage(client, { price: 10 })).packageID
  const cheap = (await addPackage(client, { price: 3 })).packageID
  const add = async (index: number): Promise<void> => {
    const countryID = [710, 276, 826][index % 3]
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L', countryID })).body
    const packageID = index % 2 === 0 ? dear : cheap
    const added = await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-10' })
    expect(added.status, added.text).toBe(201)
  }
  for (let from = 0; from < SUBSCRIBERS; from += WRITERS)
    await Promise.all(Array.from({ length: Math.min(WRITERS, SUBSCRIBERS - from) }, (_, index) => add(from + index)))
  let isOver = false
  const write = async (writer: number): Promise<void> => {
    const { customerID } = (await client.post('/v1/customers', { Name: `W${writer}`, LastName: 'L' })).body
    for (let count = 0; !isOver || count < 5; count += 1) {
      const Charges = [{ UnitCostEx: 1 + count, Qty: 1 }]
      expect((await client.post('/v1/invoices', { customerID, Charges })).status).toBe(201)
    }
  }
  const writers = Array.from({ length: WRITERS }, (_, index) => write(index))
  await moveTo(client, '2027-03-11')
  isOver = true
  await Promise.all(writers)
  all = await pages('', 200)
}, 240_000)

test('identifiers are given once and rise, and each invoice has its entries', async () => {
  const ids = idsOf(all)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  const owed = new Map<number, number>()
  for (const { RecordID, Amount } of all) owed.set(RecordID, (owed.get(RecordID) ?? 0) + Math.round(Amount * 100))
  const invoices = await invoicesOf(client)
  expect(owed).toEqual(new Map(invoices.map(({ invoiceID, Total }) => [invoiceID, Math.round(Total * 100)])))
  expect(await differencesOf(service, client)).toEqual([])
})

test('batches hold many invoices of several shapes, and break where identifiers of others lie between', async () => {
  const rows = await batches()
  expect(rows.reduce((sum, { invoices }) => sum + invoices, 0)).toBe(SUBSCRIBERS * 2)
  expect(Math.max(...rows.map(({ invoices }) => invoices))).toBeLessThanOrEqual(128)
  expect(rows.length).toBeLessThan(SUBSCRIBERS)
  expect(rows.some(({ shapes }) => shapes > 1)).toBe(true)
})

test.each([7, 50, 199])('pages of %d are exact, from the oldest and from the newest', async (size) => {
  expect(idsOf(await pages('', size))).toEqual(idsOf(all))
  expect(idsOf(await pages('sort=-id', size))).toEqual(idsOf(all).toReversed())
})

test('pages and sums are the same once blocks are counted and days are summed', async () => {
  const balances = (await client.get('/v1/ledger/balances')).body
  const report = (await client.get('/v1/reports/tax?from=2027-01-01&to=2027-12-31')).body
  const trial = (await client.get('/v1/reports/trialbalance?from=2027-02-01&to=2027-12-31')).body
  for (let times = 0; times < 3; times += 1) await sealLists(service.db, COUNTED_LISTS)
  while (await sumDays(service.db.unscoped));
  expect(idsOf(await pages('', 100))).toEqual(idsOf(all))
  expect(await totalOf('')).toBe(String(all.length))
  expect((await client.get('/v1/ledger/balances')).body).toEqual(balances)
  expect((await client.get('/v1/reports/tax?from=2027-01-01&to=2027-12-31')).body).toEqual(report)
  expect((await client.get('/v1/reports/trialbalance?from=2027-02-01&to=2027-12-31')).body).toEqual(trial)
  expect(await differencesOf(service, client)).toEqual([])
})

test('filters find what going through all of them finds', async () => {
  const batched = all.filter(({ Date }) => Date.startsWith('2027-02-10'))
  for (const { customerID, RecordID } of [batched[0]!, batched[101]!, batched.at(-1)!]) {
    const ofCustomer = all.filter((entry) => entry.customerID === customerID)
    expect(ofCustomer.length).toBeGreaterThan(2)
    expect(await list(`customerID=${customerID}`)).toEqual(ofCustomer)
    expect(await list(`customerID=${customerID}&sort=-id`)).toEqual(ofCustomer.toReversed())
    expect(await list(`customerID=${customerID}&page=2&page_size=2`)).toEqual(ofCustomer.slice(2, 4))
    expect(await totalOf(`customerID=${customerID}`)).toBe(String(ofCustomer.length))
    const ofRecord = all.filter((entry) => entry.RecordID === RecordID)
    expect(await list(`RecordType=invoice&RecordID=${RecordID}`)).toEqual(ofRecord)
    const number = (await client.get(`/v1/invoices/${RecordID}`)).body.invoiceNum
    expect(await list(`Number=${number}`)).toEqual(ofRecord)
  }
  const ofDay = all.filter(({ Date }) => Date >= '2027-02-10' && Date < '2027-02-12')
  expect(await pages('from=2027-02-10&to=2027-02-11', 90)).toEqual(ofDay)
  expect(await totalOf('from=2027-02-10&to=2027-02-11')).toBe(String(ofDay.length))
  expect(await pages('Account=tax', 90)).toEqual(all.filter(({ Credit }) => Credit === 'tax'))
  expect(await pages('Event=invoice_issued', 150)).toEqual(all)
  expect(await list('Event=invoice_issued_reversed')).toEqual([])
  expect(await list('Account=cash')).toEqual([])
})

const BATCH = '(select min(first_entry_id) from ledger_packs where account_id = :account)'
const SHAPE = '(select min(posting_template_id) from posting_templates where account_id = :account)'

test.each([
  [
    'a customer of a batch',
    `update ledger_packs set customer_ids[1] = customer_ids[2] where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: hash says/,
  ],
  [
    'the shape of an invoice',
    `update ledger_packs set template_ids = array(select x from unnest(template_ids) with ordinality u(x, n) order by n desc) where account_id = :account and cardinality(template_ids) > 1`,
    /^ledger batches: ledger batch \d+: hash says/,
  ],
  [
    'the instant of posting',
    `update ledger_packs set posted_at = posted_at + interval '1 day' where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: hash says/,
  ],
  [
    'an amount of a shape',
    `update posting_template_entries set amount_minor = amount_minor + 1 where account_id = :account and posting_template_id = ${SHAPE} and line = 0`,
    /^ledger batches: ledger batch \d+: hash of shape # says/,
  ],
  [
    'an entry of a shape that is gone',
    `delete from posting_template_entries where account_id = :account and posting_template_id = ${SHAPE} and line = 0`,
    /^ledger batches: ledger batch \d+: (hash of )?shape # says/,
  ],
  [
    'a shape without its hash',
    `delete from posting_templates where account_id = :account and posting_template_id = ${SHAPE}`,
    /^ledger batches: ledger batch \d+: hash of shape # says none/,
  ],
  [
    'a batch that is gone',
    `delete from ledger_packs where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger entries: invoice # of customer #: entry invoice_issued.* says nothing/,
  ],
  [
    'entries that are moved into the identifiers of another batch',
    `update ledger_packs b set first_entry_id = (select min(first_entry_id) + stride from ledger_packs where account_id = :account and cardinality(customer_ids) > 1 group by stride limit 1) where account_id = :account and first_entry_id = (select max(first_entry_id) from ledger_packs where account_id = :account)`,
    /^ledger batches: ledger batch \d+: entry # says in it and in another/,
  ],
  [
    'an entry that stands by itself among the identifiers of a batch',
    `update ledger_rows set entry_id = ${BATCH} where account_id = :account and entry_id = (select max(entry_id) from ledger_rows where account_id = :account)`,
    /^ledger batches: ledger batch \d+: entry # says in it and by itself/,
  ],
  [
    'an invoice that says something else than was posted',
    `update invoices set invoice_date = invoice_date + 1 where account_id = :account and invoice_id = (select min(first_invoice_id) from ledger_packs where account_id = :account)`,
    /^entries of batches: invoice # of customer #: entry invoice_issued/,
  ],
  [
    'the days by which a batch is found',
    `update ledger_packs set dated_to = dated_to - 1, dated_from = dated_from - 1 where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: days says/,
  ],
  [
    'the lines of a shape',
    `update posting_template_entries set line = line + 10 where account_id = :account and posting_template_id = ${SHAPE}`,
    /^ledger batches: ledger batch \d+: line of shape # says 10, should say 0/,
  ],
  [
    'the stride of a batch',
    `update ledger_packs set stride = 1 where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: (stride|hash) says/,
  ],
  [
    'the number of entries of a batch',
    `update ledger_packs set entries = entries + 1 where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: number of entries says/,
  ],
  [
    'the first invoice of a batch',
    `update ledger_packs set first_invoice_id = first_invoice_id + 100000 where account_id = :account and first_entry_id = ${BATCH}`,
    /^ledger batches: ledger batch \d+: hash says/,
  ],
])('verification tells of %s', async (_, statement, expected) => {
  expect(reported(await tampered(statement))).toContainEqual(expect.stringMatching(expected))
})

test('a seal covers the batches below the mark, and shows that one was taken away or changed with its hash', async () => {
  const sealed = await sealLedger(service.db, client.id, {
    at: '2027-03-12T02:00:00.000Z',
    below: await takeLedgerMark(service.db.unscoped),
    eventSeal: null,
  })
  expect(sealed?.batches).toBe(BigInt((await batches()).length))
  expect(await differencesOf(service, client)).toEqual([])
  const isTold = expect.stringMatching(/^ledger chain: ledger seal #: newest seal says/)
  expect(
    reported(await tampered(`delete from ledger_packs where account_id = :account and first_entry_id = ${BATCH}`)),
  ).toContainEqual(isTold)
  expect(
    reported(
      await tampered(
        `update ledger_packs set hash = sha256(hash) where account_id = :account and first_entry_id = ${BATCH}`,
      ),
    ),
  ).toContainEqual(isTold)
})

test('an invoice that was posted in a batch is cancelled, credited and paid as any other', async () => {
  const [first, second, third] = (await invoicesOf(client)).filter(
    ({ InvoiceDate, Total }) => InvoiceDate.startsWith('2027-02-10') && Total > 10,
  )
  expect((await client.delete(`/v1/invoices/${first.invoiceID}`)).status).toBeLessThan(300)
  const credited = await client.post(`/v1/invoices/${second.invoiceID}/credit`, { Amount: 2, Reason: 'Kind' })
  expect(credited.status, credited.text).toBeLessThan(300)
  const paid = await client.post('/v1/payments', {
    customerID: third.customerID ?? third.Customer.customerID,
    Amount: third.Total,
    Method: 'eft',
    Date: '2027-03-11',
    CurrencyCode: 'USD',
    Allocations: [],
  })
  expect(paid.status, paid.text).toBeLessThan(300)
  expect(await differencesOf(service, client)).toEqual([])
  const entries = await list(`RecordType=invoice&RecordID=${first.invoiceID}`)
  expect(entries.map(({ Event }) => Event)).toEqual([
    'invoice_issued',
    'invoice_issued',
    ...entries.slice(2).map(({ Event }) => Event),
  ])
  expect(entries.length).toBe(4)
})
