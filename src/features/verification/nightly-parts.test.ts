import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { shop } from '../../../test/support/shop.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { verifyNightly } from '../../checks.ts'
import { paymentOf } from '../money/money.testing.ts'
import { NIGHTS } from '../../platform/checks/pages.ts'
import { verifyAccount } from '../../checks.ts'

/** Large accounts are verified in portions: what is new each night, and all the rest once in a round of nights. */

const service = await startTestService()
const superuser = new pg.Client(clientConfig(service.connection, undefined))
let client: TestClient
let customerID: number
let day = Date.parse('2027-03-01T02:10:00Z')

beforeAll(async () => {
  await superuser.connect()
  ;({ client, customerID } = await shop(service))
})
afterAll(() => superuser.end())

/** Changes what nobody may change; returns what changes it back. */
async function tamper(text: string, back: string): Promise<() => Promise<unknown>> {
  const change = async (statement: string) => {
    await superuser.query('set session_replication_role = replica')
    expect((await superuser.query(statement)).rowCount).toBeGreaterThan(0)
  }
  await change(text)
  return () => change(back)
}

/** Lets the next night pass, with every account large; returns what differed, and how many chains were sealed. */
async function night(): Promise<{ differing: string[]; sealed: bigint | null }> {
  day += 86_400_000
  const differing: string[] = []
  let sealed: bigint | null = null
  await verifyNightly(
    {
      db: service.db,
      realClock: () => day,
      partAbove: 0,
      onDifference: ({ check, what }) => differing.push(`${check}: ${what}`),
      onVerified: () => {},
      onSealed: (account, { heads }) => {
        if (account === client.id) sealed = heads
      },
      onFailed: (_, error) => {
        throw error
      },
    },
    () => {},
  )
  return { differing, sealed }
}

const turn = async () =>
  (
    await service.db
      .reader(client.id)
      .rows<{ turn: number | null }>(
        sql`select (progress ->> 'turn')::integer as "turn" from verifications where account_id = ${client.id}`,
      )
  )[0]?.turn

const invoice = async (amount = 10): Promise<number> =>
  (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }] })).body.invoiceID

const pay = async (amount: number, invoiceID?: number) => {
  const Allocations = invoiceID === undefined ? [] : [{ invoiceID, amountApplied: amount }]
  const { status, text } = await client.post('/v1/payments', paymentOf(customerID, amount, { Allocations }))
  expect(status, text).toBe(201)
}

const onDemand = async (): Promise<string[]> => {
  const found: string[] = []
  await verifyAccount(service.db, client.id, ({ check, what }) => found.push(`${check}: ${what}`))
  return found
}

/** Goes on to the night before the one in which the first block of all lists has its turn. */
async function untilFirstTurn(): Promise<void> {
  while ((await turn()) !== 0) expect((await night()).differing).toEqual([])
}

test('a round of nights beside work of every kind finds nothing in books that are clean, and seals each night', async () => {
  const old = await invoice(100)
  expect(await night()).toEqual({ differing: [], sealed: 1n })
  expect(await turn()).toBe(0)
  for (let passed = 1; passed <= 2 * NIGHTS; passed += 1) {
    const next = await invoice(passed)
    await (passed % 2 === 0 ? pay(3, old) : pay(3))
    if (passed % 3 === 0) expect((await client.delete(`/v1/invoices/${next}`)).status).toBeLessThan(300)
    expect(await night()).toEqual({ differing: [], sealed: 1n })
    expect(await turn()).toBe(passed % NIGHTS)
  }
  expect((await client.get(`/v1/invoices/${old}`)).status).toBe(200)
})

test('an old record that was changed is found at once on demand, and within a round of nights without; each night until it is mended', async () => {
  const old = await invoice(7)
  await night()
  await untilFirstTurn()
  expect((await night()).differing).toEqual([])
  const mend = await tamper(
    `update invoices set total_minor = total_minor + 1 where invoice_id = ${old}`,
    `update invoices set total_minor = total_minor - 1 where invoice_id = ${old}`,
  )
  expect(await onDemand()).toContain('invoices: total')
  const found: string[][] = []
  for (let passed = 0; passed < NIGHTS; passed += 1) found.push((await night()).differing)
  expect(found.slice(0, -1).flat()).toEqual([])
  expect(found.at(-1)).toContain('invoices: total')
  expect((await night()).differing).toContain('invoices: total')
  await mend()
  expect((await night()).differing).toEqual([])
  expect(await turn()).toBe(0)
})

test('old entries that were changed are found within a round', async () => {
  await untilFirstTurn()
  const mend = await tamper(
    `update ledger_rows set dated = dated - 1 where entry_id = (select min(entry_id) from ledger_rows where account_id = ${client.id})`,
    `update ledger_rows set dated = dated + 1 where entry_id = (select min(entry_id) from ledger_rows where account_id = ${client.id})`,
  )
  const { differing } = await night()
  expect(differing).toContain('ledger chain: hash of the ledger in USD')
  expect(differing).toContain('ledger entries: entry invoice_issued')
  await mend()
  expect((await night()).differing).toEqual([])
})

const NEWEST = () => `(select max(entry_id) from ledger_rows where account_id = ${client.id})`

test.each([
  [
    'a new invoice',
    'invoices: total',
    (id: number) => `update invoices set total_minor = total_minor + 1 where invoice_id = ${id}`,
    (id: number) => `update invoices set total_minor = total_minor - 1 where invoice_id = ${id}`,
  ],
  [
    'a new entry',
    'ledger chain: hash of the ledger in USD',
    () => `update ledger_rows set dated = dated - 1 where entry_id = ${NEWEST()}`,
    () => `update ledger_rows set dated = dated + 1 where entry_id = ${NEWEST()}`,
  ],
  [
    'the amount of a new entry',
    'ledger entries: entry invoice_issued',
    () => `update ledger_rows set amount_minor = amount_minor + 1 where entry_id = ${NEWEST()}`,
    () => `update ledger_rows set amount_minor = amount_minor - 1 where entry_id = ${NEWEST()}`,
  ],
])(
  '%s that was changed is found in the next night, whosever turn it is, and is not sealed over',
  async (_, what, text, back) => {
    await untilFirstTurn()
    await night()
    const id = await invoice(5)
    const mend = await tamper(text(id), back(id))
    const { differing, sealed } = await night()
    expect(differing).toContain(what)
    if (what.startsWith('ledger chain')) expect(sealed).toBeNull()
    await mend()
  },
)

test('an old invoice that is paid is looked at again in the next night', async () => {
  const old = await invoice(4)
  await night()
  await untilFirstTurn()
  await night()
  await pay(4, old)
  await superuser.query(`update invoices set paid_minor = paid_minor - 1 where invoice_id = ${old}`)
  expect((await night()).differing).toContain('invoices: payments')
})

test('a night that is ended leaves its part to the next', async () => {
  const before = await turn()
  await expect(
    verifyNightly(
      {
        db: service.db,
        realClock: () => day + 86_400_000,
        partAbove: 0,
        onDifference: () => {},
        onVerified: () => {},
        onSealed: () => {},
        onFailed: () => {},
      },
      () => {
        throw new Error('stopped')
      },
    ),
  ).rejects.toThrow('stopped')
  expect(await turn()).toBe(before)
})
