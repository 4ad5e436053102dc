import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { listEventSeals } from './checks-queries.ts'
import { listEvents, type RecordedEvent } from './queries.ts'
import { type EventSeal, findNewestEventSeal, takeEventMark } from './seal-queries.ts'
import { sealEvents } from './seal.ts'
import { takeLedgerMark } from '../ledger/mark-queries.ts'
import { sealLedger } from '../ledger/seal.ts'
import { verifyNightly } from '../../checks.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'

/** Seals of events: what each says follows from the events as they are listed, and an event that is not as it was sealed is found. */

const service = await startTestService()
const AT = '2027-03-01T02:00:00.000Z'
/** So few that rows which events share lie across the ends of seals. */
const MOST = 23

let client: TestClient
let first: { customerID: number }
const { tampered, superuser } = await tamperWith(service, () => client)

const mark = () => takeEventMark(service.db.unscoped)
const seal = async (most?: number) =>
  sealEvents(service.db, client.id, { at: AT, below: await mark(), goOn: () => {}, ...(most ? { most } : {}) })
const reader = () => service.db.reader(client.id)
const seals = () => listEventSeals(reader(), client.id, -1n, 1000)

beforeAll(async () => {
  client = await service.newAccount()
  const { packageID } = await addPackage(client, { price: 10 })
  const customers: { customerID: number }[] = []
  for (let n = 0; n < 40; n += 1) {
    const { body } = await client.post('/v1/customers', { Name: `N${n}`, LastName: 'L', Email: `n${n}@example.org` })
    customers.push(body)
    await client.post('/v1/subscriptions', { customerID: body.customerID, packageID, StartDate: '2027-01-10' })
  }
  first = customers[0] as { customerID: number }
  await moveTo(client, '2027-02-11')
  expect(await seal(MOST)).toBeGreaterThan(5)
})

/** Hashes events as the documentation of a seal says it, from how they are listed. */
function hashOf(before: Buffer, events: readonly RecordedEvent[]): Buffer {
  const hash = createHash('sha256').update(before)
  let common = ''
  for (const { id, type, recordId, customerId, happenedAt, actor, reason, record } of events) {
    const now = `${JSON.stringify([type, happenedAt, actor, reason])}\n`
    if (now !== common) hash.update((common = now))
    const isNobodys =
      /^(account|api_key|currency|gateway|collection_rules|gl_codes|package|package_group|package_version)\./.test(type)
    hash.update(`${id} ${recordId} ${customerId ?? ''}${isNobodys && record !== null ? ` ${record}` : ''}\n`)
  }
  return hash.digest()
}

test('a seal counts and hashes the events since the one before, as they are listed, whatever rows they share', async () => {
  const events = await listEvents(reader(), client.id, {}, { fromId: 0n, skip: 0, isNewestFirst: false }, 10_000)
  const kinds = await superuser.query<{ kind: boolean; most: number }>(
    `select mailed is null as kind, max(last_event_id - first_event_id)::integer as most from perennial.event_packs where account_id = ${client.id} group by 1`,
  )
  expect(kinds.rows.filter(({ most }) => most > MOST)).toHaveLength(2)
  let before: Pick<EventSeal, 'below' | 'seal'> = { below: 0n, seal: Buffer.alloc(0) }
  const all = await seals()
  for (const one of all) {
    const own = events.filter(({ id }) => id >= before.below && id < one.below)
    expect([one.events, own.length <= MOST]).toEqual([BigInt(own.length), true])
    expect(one.seal.toString('hex')).toBe(hashOf(before.seal, own).toString('hex'))
    before = one
  }
  expect(all.reduce((sum, one) => sum + one.events, 0n)).toBe(BigInt(events.length))
  expect(await seal(MOST)).toBe(0)
  expect(await differencesOf(service, client)).toEqual([])
})

const OWN = `account_id = :account and event_id = (select min(event_id) from event_rows where account_id = :account and type = 'customer.created')`
const SHARED = `account_id = :account and first_event_id = (select min(first_event_id) from event_packs where account_id = :account)`
const NOBODYS = `account_id = :account and event_id = (select min(event_id) from event_rows where account_id = :account and type = 'package.created')`
const IS_NAMED =
  /^sealed events: event seal #: events from \d+ up to below \d+ says \d+ of [0-9a-f]{16}, should say \d+ of [0-9a-f]{16}, as they were sealed$/

describe('verification names the seal, and that one alone, of an event that was', () => {
  test.each([
    ['deleted', `delete from event_rows where ${OWN}`],
    ['given another actor', `update event_rows set actor = 'key 9' where ${OWN}`],
    ['given a reason', `update event_rows set reason = 'x' where ${OWN}`],
    ['given another type', `update event_rows set type = 'customer.updated' where ${OWN}`],
    ['given another instant', `update event_rows set happened_at = happened_at + interval '1 second' where ${OWN}`],
    ['moved to another record', `update event_rows set record_id = record_id + 1 where ${OWN}`],
    ['moved to another customer', `update event_rows set customer_id = customer_id + 1 where ${OWN}`],
    [
      'given another record, in which no person stands',
      `update event_rows set record = '{"Name": "x"}' where ${NOBODYS}`,
    ],
    ['shared by others and given another actor', `update event_packs set actor = 'key 9' where ${SHARED}`],
  ])('%s', async (_, statement) => {
    const found = reported(await tampered(statement)).filter((text) => text.startsWith('sealed events'))
    // Events that share a row may lie in several seals.
    expect(found).toEqual(found.map(() => expect.stringMatching(IS_NAMED)))
    expect(found.length).toBe(statement.includes('event_packs') ? 3 : 1)
  })

  test('moved in the order', async () => {
    const { rows } = await superuser.query<{ id: bigint }>(
      `select event_id as id from perennial.event_rows where account_id = ${client.id} order by 1 offset 30 limit 2`,
    )
    const [one, other] = rows.map(({ id }) => id)
    const move = (from: unknown, to: unknown) =>
      `update event_rows set event_id = ${to} where account_id = :account and event_id = ${from}`
    const found = await tampered(move(one, -1), move(other, one), move(-1, other))
    expect(reported(found)).toEqual([expect.stringMatching(IS_NAMED)])
  })

  test('inserted behind the back of the service', async () => {
    const found = await tampered(
      `insert into event_rows (account_id, event_id, type, record_id, happened_at, actor) select :account, min(event_id) - 1, 'account.updated', 1, '2027-01-01', 'x' from event_rows where account_id = :account`,
    )
    expect(reported(found)).toEqual([expect.stringMatching(IS_NAMED)])
  })

  test('taken from those that share a row', async () => {
    const found = reported(
      await tampered(`update event_packs set first_invoice_id = first_invoice_id + 7000 where ${SHARED}`),
    )
    expect(found).toContainEqual(expect.stringMatching(IS_NAMED))
  })
})

test('the texts of customers are in no seal: anonymising changes nothing that is hashed', async () => {
  const records = () =>
    superuser.query(
      `select record::text from perennial.event_rows where account_id = ${client.id} and customer_id = ${first.customerID} order by event_id`,
    )
  const before = await records()
  expect((await client.post(`/v1/customers/${first.customerID}/anonymise`)).status).toBeLessThan(300)
  expect((await records()).rows.slice(0, before.rows.length)).not.toEqual(before.rows)
  expect(await differencesOf(service, client)).toEqual([])
  expect(await seal()).toBe(1)
})

test('a seal that was changed or taken away is found, the newest one by the seal of the ledger', async () => {
  const newest = await findNewestEventSeal(reader(), client.id)
  await sealLedger(service.db, client.id, {
    at: AT,
    below: await takeLedgerMark(service.db.unscoped),
    eventSeal: newest ?? null,
  })
  expect(await differencesOf(service, client)).toEqual([])
  const middle = `account_id = :account and event_seal_id = (select min(event_seal_id) + 1 from event_seals where account_id = :account)`
  const gone = reported(await tampered(`delete from event_seals where ${middle}`))
  expect(gone).toEqual([expect.stringMatching(IS_NAMED)])
  const cut = reported(
    await tampered(`delete from event_seals where account_id = :account and event_seal_id = ${newest?.id}`),
  )
  expect(cut).toEqual([expect.stringMatching(/^ledger chain: ledger seal #: newest seal says/)])
  const all = reported(await tampered(`delete from event_seals where account_id = :account`))
  expect(all).toEqual([expect.stringMatching(/^ledger chain: ledger seal #: newest seal says/)])
  const changed = reported(await tampered(`update event_seals set seal = sha256(seal) where ${middle}`))
  // The next one is hashed onto what is stored of it.
  expect(changed).toEqual([expect.stringMatching(IS_NAMED), expect.stringMatching(IS_NAMED)])
})

test('a seal ends below the events of a transaction that goes on', async () => {
  await superuser.query('begin')
  await superuser.query(
    `insert into perennial.event_rows (account_id, type, record_id, happened_at, actor) values (${client.id}, 'account.updated', 1, '2027-02-12', 'x')`,
  )
  const open = await takeEventMark(service.db.unscoped, 0)
  await client.post('/v1/customers', { Name: 'Later', isCompany: true })
  expect(await sealEvents(service.db, client.id, { at: AT, below: open, goOn: () => {} })).toBe(0)
  await superuser.query('commit')
  expect(await seal()).toBe(1)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a night seals the events of each account behind its clean chains, also of one without money', async () => {
  const empty = await service.newAccount()
  const sealed = new Map<bigint, bigint>()
  const night = (day: string) =>
    verifyNightly(
      {
        db: service.db,
        realClock: () => Date.parse(`${day}T02:10:00Z`),
        onDifference: () => {},
        onVerified: () => {},
        onSealed: (account, { heads }) => sealed.set(account, heads),
        onFailed: (_, error) => {
          throw error
        },
      },
      () => {},
    )
  await night('2027-03-05')
  const rows = await service.db.reader(empty.id).rows(sql`
    select e.below_event_id > (select max(event_id) from event_rows where account_id = ${empty.id}) as "isAll", l.event_seal_id = e.event_seal_id as "isNamed"
      from event_seals e join ledger_seals l on l.account_id = e.account_id where e.account_id = ${empty.id}`)
  expect([sealed.get(empty.id), rows]).toEqual([0n, [{ isAll: true, isNamed: true }]])
  expect(sealed.get(client.id)).toBeGreaterThan(0n)
  expect(await differencesOf(service, empty)).toEqual([])
  await superuser.query(
    `update perennial.ledger_rows set amount_minor = amount_minor + 1 where account_id = ${client.id} and link = 1`,
  )
  await superuser.query(`update perennial.customer_totals set head = sha256(head) where account_id = ${client.id}`)
  const count = (await seals()).length
  await client.post('/v1/customers', { Name: 'Later still', isCompany: true })
  await night('2027-03-06')
  expect(await seals()).toHaveLength(count)
})

test('seals are kept: the role that the service works under can neither change nor delete them', async () => {
  for (const statement of [
    sql`update event_seals set events = 0 where account_id = ${client.id}`,
    sql`delete from event_seals where account_id = ${client.id}`,
  ])
    await expect(service.db.transaction(client.id, (tx) => tx.rows(statement))).rejects.toThrow(/permission denied/)
})
