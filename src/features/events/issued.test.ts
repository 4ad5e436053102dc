import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { COUNTED_LISTS } from '../../duties.ts'
import { sealLists } from '../../platform/database/housekeeping.ts'
import { sql } from '../../platform/database/sql.ts'

/** Events of invoices that are issued together, and of their mails, share rows: every list reads them as if they did not, whoever draws identifiers meanwhile. */

const service = await startTestService()
const SUBSCRIBERS = 320
const WRITERS = 8
/** Every third subscriber has an address. */
const MAILED = 107

interface Listed {
  eventID: number
  Type: string
  RecordID: number
  customerID: number | null
  Date: string
  Record: { poNumber?: string }
}

let client: TestClient
let all: Listed[]

const list = async (query: string): Promise<Listed[]> => {
  const reply = await client.get(`/v1/events?${query}`)
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

const idsOf = (events: readonly Listed[]): number[] => events.map(({ eventID }) => eventID)

beforeAll(async () => {
  client = await service.newAccount()
  const { packageID } = await addPackage(client, { price: 10 })
  const add = async (index: number): Promise<void> => {
    const Email = index % 3 === 0 ? `n${index}@example.com` : null
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L', Email })).body
    const poNumber = index % 5 === 0 ? `PO ${index}` : null
    const added = await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-10', poNumber })
    expect(added.status, added.text).toBe(201)
  }
  for (let from = 0; from < SUBSCRIBERS; from += WRITERS)
    await Promise.all(Array.from({ length: WRITERS }, (_, index) => add(from + index)))
  let isOver = false
  const write = async (writer: number): Promise<void> => {
    for (let count = 0; !isOver || count < 5; count += 1)
      expect((await client.post('/v1/customers', { Name: `W${writer}-${count}`, LastName: 'L' })).status).toBe(201)
  }
  const writers = Array.from({ length: WRITERS }, (_, index) => write(index))
  await moveTo(client, '2027-03-11')
  isOver = true
  await Promise.all(writers)
  all = await pages('', 200)
}, 120_000)

test('identifiers are given once and rise, one event for each invoice', async () => {
  const ids = idsOf(all)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  const issued = all.filter(({ Type }) => Type === 'invoice.issued')
  const invoices = await pages('type=invoice.issued', 200)
  expect(invoices).toEqual(issued)
  expect(new Set(issued.map(({ RecordID }) => RecordID)).size).toBe(SUBSCRIBERS * 3)
  expect(await differencesOf(service, client)).toEqual([])
})

test('rows hold many events, but never more than 256, and break where identifiers of others lie between', async () => {
  const rows = await service.db
    .reader(client.id)
    .rows<{ events: number }>(
      sql`select (last_event_id - first_event_id + 1)::integer as events from event_packs where account_id = ${client.id} and mailed is null`,
    )
  const lengths = rows.map(({ events }) => events)
  expect(lengths.reduce((sum, one) => sum + one, 0)).toBe(SUBSCRIBERS * 3)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(256)
  expect(lengths.length).toBeLessThan(SUBSCRIBERS * 2)
  expect(lengths.length).toBeGreaterThan(4)
})

test('each mail has its event, which says which invoice it was', async () => {
  const mailed = all.filter(({ Type }) => Type === 'invoice.mail_queued')
  expect(mailed).toHaveLength(MAILED * 3)
  const ofInvoice = new Map(all.flatMap((event) => (event.Type === 'invoice.issued' ? [[event.RecordID, event]] : [])))
  for (const { RecordID, customerID, Date, Record, eventID } of mailed) {
    const issued = ofInvoice.get(RecordID)!
    expect([customerID, Date, Record]).toEqual([issued.customerID, issued.Date, { invoiceID: RecordID }])
    expect(eventID).toBeGreaterThan(issued.eventID)
  }
  expect(new Set(mailed.map(({ RecordID }) => RecordID)).size).toBe(MAILED * 3)
  const queued = await service.db
    .reader(client.id)
    .rows<{ id: bigint }>(sql`select document_id as id from outbox where account_id = ${client.id} order by 1`)
  expect(mailed.map(({ RecordID }) => RecordID).toSorted((a, b) => a - b)).toEqual(queued.map(({ id }) => Number(id)))
  for (const size of [10, 199]) {
    expect(await pages('type=invoice.mail_queued', size)).toEqual(mailed)
    expect(idsOf(await pages('type=invoice.mail_queued&sort=-id', size))).toEqual(idsOf(mailed).toReversed())
  }
  expect((await client.get('/v1/events?type=invoice.mail_queued&total=true')).headers['total-count']).toBe(
    String(mailed.length),
  )
  const { customerID, RecordID, eventID } = mailed[40]!
  expect(idsOf(await list(`RecordID=${RecordID}&type=invoice.mail_queued`))).toEqual([eventID])
  expect(await list(`customerID=${customerID}&type=invoice.mail_queued`)).toEqual(
    mailed.filter((event) => event.customerID === customerID),
  )
  const rows = await service.db
    .reader(client.id)
    .rows<{ n: number }>(
      sql`select count(*)::integer as n from event_packs where account_id = ${client.id} and mailed is not null`,
    )
  expect(rows[0]!.n).toBeLessThan(MAILED * 2)
})

test.each([7, 50, 199])('pages of %d are exact, from the oldest and from the newest', async (size) => {
  expect(idsOf(await pages('', size))).toEqual(idsOf(all))
  expect(idsOf(await pages('sort=-id', size))).toEqual(idsOf(all).toReversed())
})

test('pages are the same once blocks are counted, and deep ones are found', async () => {
  for (let times = 0; times < 3; times += 1) await sealLists(service.db, COUNTED_LISTS)
  expect(idsOf(await pages('', 100))).toEqual(idsOf(all))
  expect((await client.get('/v1/events?total=true')).headers['total-count']).toBe(String(all.length))
  expect(await differencesOf(service, client)).toEqual([])
})

test('filters by customer, record, type and time find what going through all of them finds', async () => {
  const issued = all.filter(({ Type }) => Type === 'invoice.issued')
  const mailed = all.filter(({ Type }) => Type === 'invoice.mail_queued')
  const some = [issued[0], issued[200], mailed[60], issued.at(-1)] as Listed[]
  for (const { customerID, RecordID, Date } of some) {
    const ofCustomer = all.filter((event) => event.customerID === customerID)
    expect(await list(`customerID=${customerID}`)).toEqual(ofCustomer)
    expect(await list(`customerID=${customerID}&sort=-id`)).toEqual(ofCustomer.toReversed())
    expect(await list(`customerID=${customerID}&page=2&page_size=2`)).toEqual(ofCustomer.slice(2, 4))
    expect(await list(`RecordID=${RecordID}`)).toEqual(all.filter((event) => event.RecordID === RecordID))
    expect(await list(`RecordID=${RecordID}&type=invoice.issued&customerID=${customerID}`)).toEqual(
      issued.filter((event) => event.RecordID === RecordID),
    )
    const from = all.filter((event) => event.Date >= Date)
    expect(idsOf(await pages(`from=${Date}`, 150))).toEqual(idsOf(from))
    expect((await client.get(`/v1/events?from=${Date}&total=true`)).headers['total-count']).toBe(String(from.length))
  }
  expect(await list(`RecordID=${some[0]!.RecordID}&type=invoice.cancelled`)).toEqual([])
})

test('each keeps what its own invoice had', () => {
  const orders = all.flatMap(({ Type, Record }) => (Type === 'invoice.issued' ? [Record.poNumber ?? null] : []))
  expect(orders.filter((order) => order !== null)).toHaveLength((SUBSCRIBERS / 5) * 3)
  expect(new Set(orders).size).toBe(SUBSCRIBERS / 5 + 1)
})
