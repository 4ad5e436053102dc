import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, moveTo } from '../../../test/support/shop.ts'
import { bigintList, positionsColumn } from '../../platform/database/columns.ts'
import { column, sql } from '../../platform/database/sql.ts'
import { insertIssuedEvents } from './issued-queries.ts'
import { listEvents } from './queries.ts'

/** Events of issued invoices keep what they have in common once, and what is an invoice's own beside it: whoever reads one gets what it was written with. */

const service = await startTestService()
const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
await owner.connect()
afterAll(() => owner.end())

const INVOICES = 40

let client: TestClient
let invoiceIds: bigint[]

beforeAll(async () => {
  client = await service.newAccount()
  const { packageID } = await addPackage(client, { price: 10 })
  for (let index = 0; index < INVOICES; index += 1) {
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L' })).body
    await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-10' })
  }
  await moveTo(client, '2027-01-11')
  const rows = await service.db
    .reader(client.id)
    .rows<{ id: bigint }>(sql`select invoice_id as id from invoices where account_id = ${client.id} order by 1`)
  invoiceIds = rows.map(({ id }) => id)
  expect(invoiceIds).toHaveLength(INVOICES)
})

interface Kept {
  poNumber: string | null
  customerPaymentMethodID: number | null
  Notes: string
}

const textOf = ({ Notes }: Kept): string => JSON.stringify({ poNumber: null, Notes, customerPaymentMethodID: null })

/** Writes the events of all invoices anew. */
async function write(all: readonly Kept[]): Promise<void> {
  await owner.query('delete from event_packs where account_id = $1', [client.id])
  const kept = [...new Set(all.map(textOf))]
  const rows = all.map(({ customerPaymentMethodID, poNumber }) => ({ method: customerPaymentMethodID, poNumber }))
  await service.db.transaction(client.id, (tx) =>
    insertIssuedEvents(tx, {
      ids: bigintList(invoiceIds),
      kept,
      keptOf: kept.length === 1 ? null : positionsColumn(all.map((one) => kept.indexOf(textOf(one)))),
      methodIds: rows.some(({ method }) => method !== null) ? column(rows, 'method') : null,
      poNumbers: rows.some(({ poNumber }) => poNumber !== null) ? column(rows, 'poNumber') : null,
      happenedAt: '2027-01-11T00:00:00.000Z',
      actor: 'test',
    }),
  )
}

/** Reads what the events keep, one page for each way round. */
async function read(isNewestFirst: boolean): Promise<unknown[]> {
  const start = { fromId: isNewestFirst ? 2n ** 62n : 0n, isNewestFirst, skip: 0 }
  const filter = { type: 'invoice.issued' } as const
  const rows = await listEvents(service.db.reader(client.id), client.id, filter, start, INVOICES)
  const records = rows.map(({ record }) => JSON.parse(record as string) as unknown)
  return isNewestFirst ? records.toReversed() : records
}

// Of one text, of as many as a row has together at most, and of more.
const WORLDS = fc.constantFrom(1, 2, 16, 17, INVOICES).chain((texts) =>
  fc.array(
    fc.record({
      poNumber: fc.constantFrom(null, null, 'PO 7', 'PO "8"\\,{}', 'null', ''),
      customerPaymentMethodID: fc.constantFrom(null, null, 7, 8_000_000_000),
      Notes: fc.nat({ max: texts - 1 }).map((text) => `Note "${text}"\n`),
    }),
    { minLength: INVOICES, maxLength: INVOICES },
  ),
)

test('an event keeps what it was written with, whatever it shares a row with', async () => {
  await fc.assert(
    fc.asyncProperty(WORLDS, async (all) => {
      await write(all)
      expect(await read(false)).toEqual(all)
      expect(await read(true)).toEqual(all)
    }),
    { numRuns: 20 },
  )
})

test('texts are kept once in a row, what is an invoice’s own beside them, and nothing where there is none', async () => {
  const one: Kept = { poNumber: null, customerPaymentMethodID: null, Notes: 'a' }
  const formOf = async () =>
    (
      await owner.query(
        `select jsonb_array_length(records) as records, record_index is null as "isAlike", method_ids is null and po_numbers is null as "isShared"
           from event_packs where account_id = $1 and last_event_id > first_event_id`,
        [client.id],
      )
    ).rows
  await write(invoiceIds.map(() => one))
  expect(await formOf()).toEqual([{ records: 1, isAlike: true, isShared: true }])
  await write(invoiceIds.map((_, index) => ({ ...one, customerPaymentMethodID: index + 1 })))
  expect(await formOf()).toEqual([{ records: 1, isAlike: true, isShared: false }])
  await write(invoiceIds.map((_, index) => ({ ...one, Notes: index % 2 === 0 ? 'a' : 'b' })))
  expect(await formOf()).toEqual([{ records: 2, isAlike: false, isShared: true }])
})

test.each([
  ['places of some events only', `record_index = '{0}'`],
  ['a place that has no record', `record_index = array_fill(2::smallint, array[${INVOICES}])`],
  ['an event without a place', `record_index = array_fill(null::smallint, array[${INVOICES}])`],
  ['a place below the first', `record_index = array_fill((-1)::smallint, array[${INVOICES}])`],
  ['methods of some events only', `method_ids = '{1}'`],
  ['order numbers of some events only', `po_numbers = '{a}'`],
  ['records of some events only', `record_index = null`],
])('the database refuses %s', async (_what, change) => {
  await write(invoiceIds.map((_, index) => ({ poNumber: null, customerPaymentMethodID: null, Notes: `${index % 2}` })))
  await expect(
    owner.query(`update event_packs set ${change} where account_id = $1`, [client.id]),
  ).rejects.toMatchObject({ constraint: 'event_packs_kept' })
})
