import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { getAccount } from '../../features/accounts/queries.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { text } from '../wire/fields.ts'
import { objectOf, required } from '../wire/read.ts'
import { writesNothing } from './group.ts'
import { GroupedWrites } from './grouped-writes.ts'
import { writeOperation } from './operation.ts'
import type { Answer } from './answer.ts'

/** Writes that come at once, of a probe whose requests do all that a request may do in a transaction. */

const service = await startTestService()
const LOCK = 4711n
const owner = new pg.Client(service.connection)
await owner.connect()
afterAll(() => owner.end())

const KINDS = [
  'ok',
  'kept',
  'early',
  'refused',
  'late',
  'broken',
  'divides',
  'caught',
  'commit',
  'savepoint',
  'alone',
] as const
type Kind = (typeof KINDS)[number] | 'waits' | 'dies'

/** The status that a request of each kind is answered when it is alone, and whether something stays of it. */
const EXPECTED: Record<Kind, [status: number, stays: boolean]> = {
  ok: [201, true],
  kept: [201, true],
  early: [409, false],
  refused: [409, false],
  late: [409, false],
  broken: [500, false],
  divides: [500, false],
  caught: [500, false],
  commit: [500, false],
  savepoint: [201, true],
  alone: [201, true],
  waits: [201, true],
  dies: [503, false],
}

const insertNote = (tx: Transaction, name: string) =>
  tx.send(sql`insert into custom_fields (account_id, label, label_key) values (${tx.account}, ${name}, ${name})`)

const work: Record<Kind, (tx: Transaction, name: string) => Promise<void> | void> = {
  ok: insertNote,
  kept: insertNote,
  early: () => {},
  refused: () => {
    throw conflict('refused', 'Refused.')
  },
  late: (tx, name) => {
    insertNote(tx, name)
    throw conflict('late', 'Refused after all.')
  },
  broken: () => {
    throw new TypeError('broken')
  },
  divides: async (tx, name) => {
    insertNote(tx, name)
    await tx.rows(sql`select 1 / (${name} <> ${name})::int::numeric as "n"`)
  },
  caught: async (tx, name) => {
    insertNote(tx, name)
    await tx.rows(sql`select 1 / (${name} <> ${name})::int::numeric as "n"`).catch(() => {})
  },
  commit: (tx, name) => {
    insertNote(tx, name)
    for (const place of [1, 1])
      tx.send(sql`
        insert into tax_rules (account_id, tax_setting_id, rate, country_id)
        select ${tx.account}, tax_setting_id, 0.1, ${place}::bigint from tax_settings where account_id = ${tx.account}`)
  },
  savepoint: (tx, name) => tx.savepoint(async () => insertNote(tx, name)),
  alone: (tx, name) => {
    tx.alone()
    insertNote(tx, name)
  },
  waits: async (tx, name) => {
    await tx.rows(sql`select pg_advisory_xact_lock(${LOCK}::bigint)::text as "got"`)
    insertNote(tx, name)
  },
  dies: async (tx, name) => {
    insertNote(tx, name)
    const [{ pid } = { pid: 0 }] = await tx.rows<{ pid: number }>(sql`select pg_backend_pid() as "pid"`)
    await owner.query('select pg_terminate_backend($1, 5000)', [pid])
    await tx.rows(sql`select 1 as "n"`)
  },
}

interface Sent {
  kind: Kind
  name: string
  record?: bigint
  key?: string
}

/** A server with the probe, in an account with a tax setting. */
async function probe() {
  const { id } = await service.newAccount()
  await service.db.transaction(id, (tx) =>
    tx.rows(sql`insert into tax_settings (account_id, name) values (${id}, 'VAT')`),
  )
  const committed: string[] = []
  const begun: string[] = []
  const counts = { together: 0, alone: 0 }
  const operation = writeOperation({
    id: 'probe',
    method: 'POST',
    path: '/probe/{record}',
    tag: 't',
    summary: 's',
    body: objectOf({ Kind: required(text()), Name: required(text()) }),
    success: { status: 201 },
    grouping: {
      recordOf: ({ record = '0' }) => (record === '0' ? null : BigInt(record)),
      hold: async (_tx, records) => new Map(records.map((record) => [record, record])),
    },
    references: async (tx, _context, { body }) => {
      await tx.rows(sql`select 1 as "n"`)
      if (body.Kind === 'early') throw conflict('early', 'Refused by its checks.')
    },
    write: async (tx, _context, { body }): Promise<Answer> => {
      const name = String(body.Name)
      begun.push(name)
      tx.afterCommit(() => committed.push(name))
      await work[body.Kind as Kind](tx, name)
      return { status: 201, body: JSON.stringify(name) }
    },
  })
  const count = (outcome: 'together' | 'alone', number: number) => void (counts[outcome] += number)
  const freshAccount = (tx: Transaction) => getAccount(tx, id)
  const { client } = probeServer(service.db, id, [operation], {
    groupedWrites: new GroupedWrites({ db: service.db, freshAccount, count }),
  })
  const send = ({ kind, name, record = 0n, key }: Sent) =>
    client.post(
      `/probe/${record}`,
      { Kind: kind, Name: name },
      key === undefined ? undefined : { 'idempotency-key': key },
    )
  const rows = () =>
    service.db
      .reader(id)
      .rows<{ name: string; transaction: string }>(
        sql`select label as "name", xmin::text as "transaction" from custom_fields where account_id = ${id} order by label`,
      )
  return { id, send, rows, committed, begun, counts }
}

const named = (kinds: readonly Kind[]): Sent[] => kinds.map((kind, place) => ({ kind, name: `${kind} ${place}` }))
const many = (count: number, kind: Kind): Kind[] => Array.from({ length: count }, () => kind)

const send = async (p: Awaited<ReturnType<typeof probe>>, requests: readonly Sent[]) =>
  Promise.all(requests.map((request) => p.send(request)))

describe('writes that come at once', () => {
  test('share a transaction, and each is answered', async () => {
    const p = await probe()
    const replies = await send(p, named(many(12, 'ok')))
    expect(replies.map(({ status, text }) => [status, text])).toEqual(
      named(many(12, 'ok')).map(({ name }) => [201, JSON.stringify(name)]),
    )
    const rows = await p.rows()
    expect(rows).toHaveLength(12)
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBeLessThan(6)
    expect(p.counts.together).toBeGreaterThan(8)
    expect(p.counts.alone).toBe(0)
    expect(p.committed.toSorted()).toEqual(rows.map(({ name }) => name))
  })

  test('of a caller or two are done alone', async () => {
    const p = await probe()
    for (const place of [1, 2, 3])
      await send(
        p,
        [1, 2].map((other) => ({ kind: 'ok' as const, name: `${place} ${other}` })),
      )
    expect(p.counts).toEqual({ together: 0, alone: 0 })
    expect(new Set((await p.rows()).map(({ transaction }) => transaction)).size).toBe(6)
  })

  test('are each accepted or refused as alone, whatever the others do; what failed leaves nothing and calls nothing back', async () => {
    // Half of the mixes hold nothing that ends a group.
    const harmless = fc.constantFrom<Kind>('ok', 'kept', 'early', 'refused', 'broken', 'savepoint', 'alone')
    const some = fc.oneof(
      fc.array(harmless, { minLength: 6, maxLength: 20 }),
      fc.array(fc.constantFrom<Kind>(...KINDS, 'ok', 'ok'), { minLength: 3, maxLength: 20 }),
    )
    let together = 0
    await fc.assert(
      fc.asyncProperty(some, async (kinds) => {
        const p = await probe()
        const requests = named(kinds)
        const replies = await send(p, requests)
        expect(replies.map(({ status }, place) => [kinds[place], status])).toEqual(
          kinds.map((kind) => [kind, EXPECTED[kind][0]]),
        )
        const stays = requests.filter(({ kind }) => EXPECTED[kind][1]).map(({ name }) => name)
        expect((await p.rows()).map(({ name }) => name).toSorted()).toEqual(stays.toSorted())
        expect(p.committed.toSorted()).toEqual(stays.toSorted())
        together += p.counts.together
      }),
      { numRuns: 25 },
    )
    expect(together).toBeGreaterThan(20)
  }, 120_000)

  test('one that is refused before it wrote takes no other out of the transaction', async () => {
    const p = await probe()
    const kinds = [...many(8, 'ok'), ...many(4, 'early')]
    expect((await send(p, named(kinds))).map(({ status }) => status)).toEqual(kinds.map((kind) => EXPECTED[kind][0]))
    expect(p.counts.alone).toBe(0)
    const others = [...many(8, 'ok'), ...many(2, 'refused')].map((kind, place) => ({ kind, name: `again ${place}` }))
    await send(p, others)
    expect(p.counts.alone).toBeLessThanOrEqual(2)
  })

  test('one that waits for a lock leaves the others, who are answered meanwhile', async () => {
    const p = await probe()
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    let isHeld = () => {}
    const held = new Promise<void>((resolve) => (isHeld = resolve))
    const holder = service.db.transaction(p.id, async (tx) => {
      await tx.rows(sql`select pg_advisory_xact_lock(${LOCK}::bigint)::text as "got"`)
      isHeld()
      await released
    })
    await held
    const waits = p.send({ kind: 'waits', name: 'w' })
    const others = await send(p, named(many(9, 'ok')))
    expect(others.map(({ status }) => status)).toEqual(many(9, 'ok').map(() => 201))
    expect(await Promise.race([waits.then(() => 'answered'), new Promise((r) => setTimeout(r, 50, 'waits'))])).toBe(
      'waits',
    )
    release()
    await holder
    expect((await waits).status).toBe(201)
    expect(await p.rows()).toHaveLength(10)
  })

  test('of one record, and under one key, never share a transaction', async () => {
    const p = await probe()
    const requests = Array.from({ length: 24 }, (_, place): Sent => ({
      kind: 'ok',
      name: `r ${place}`,
      record: BigInt(1 + (place % 6)),
    }))
    expect((await send(p, requests)).map(({ status }) => status)).toEqual(requests.map(() => 201))
    const rows = await p.rows()
    const seen = rows.map(({ name, transaction }) => `${transaction} ${Number(name.slice(2)) % 6}`)
    expect(new Set(seen).size).toBe(24)
    expect(p.counts.together).toBeGreaterThan(0)
  })

  test('50 under one key: one does it, and every other is told so or that it runs', async () => {
    const p = await probe()
    const others = named(many(10, 'ok'))
    const same = Array.from({ length: 50 }, (): Sent => ({ kind: 'ok', name: 'same', key: 'k' }))
    const replies = await Promise.all([...same, ...others].map((request) => p.send(request)))
    const ofSame = replies.slice(0, 50)
    for (const { status, text, body } of ofSame) {
      if (status === 201) expect(text).toBe('"same"')
      else expect([status, body.Errors[0].Code]).toEqual([409, 'idempotency_key_in_use'])
    }
    expect(ofSame.filter(({ status, headers }) => status === 201 && !headers['idempotency-replayed'])).toHaveLength(1)
    expect((await p.rows()).map(({ name }) => name)).toEqual([...others.map(({ name }) => name), 'same'].toSorted())
    expect(p.begun.filter((name) => name === 'same')).toHaveLength(1)
  })

  test('are all 503 when their connection is lost, and nothing of them is done', async () => {
    const p = await probe()
    const replies = await send(p, named([...many(5, 'ok'), 'dies', ...many(5, 'ok')]))
    const lost = replies.filter(({ status }) => status !== 201)
    expect(lost.length).toBeGreaterThan(1)
    expect(lost.map(({ status, body }) => [status, body.Errors[0].Code])).toEqual(
      lost.map(() => [503, 'database_unavailable']),
    )
    expect((await p.rows()).length).toBe(11 - lost.length)
    expect(p.committed).toHaveLength(11 - lost.length)
    expect((await p.send({ kind: 'ok', name: 'after' })).status).toBe(201)
  })

  test('after a group has failed, those of its account are done alone for a moment', async () => {
    const p = await probe()
    await send(p, named([...many(7, 'ok'), 'commit']))
    expect(p.counts.alone).toBeGreaterThan(1)
    const { together } = p.counts
    await send(p, named(many(8, 'early')))
    expect(p.counts.together).toBe(together)
  })
})

test.each([
  ['select 1', true],
  ['select 1 from customers c for no key update of c skip locked', true],
  ['with held as (select 1 for key share) select nextval(1)', true],
  ['select 1 from payments for update', true],
  ['insert into events values (1)', false],
  ['with a as (update customers set x = 1 returning x) select * from a', false],
  ['\n  delete from events', false],
])('%s writes nothing: %s', (statement, expected) => {
  expect(writesNothing({ name: '', text: statement, values: [] })).toBe(expected)
})
