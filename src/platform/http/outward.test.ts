import { describe, expect, test } from 'vitest'
import { probeServer } from '../../../test/support/probe.ts'
import { startTestService } from '../../../test/support/app.ts'
import { conflict, Fault } from '../../kernel/fault.ts'
import { Places } from '../places.ts'
import { sql } from '../database/sql.ts'
import { text } from '../wire/fields.ts'
import { objectOf, required } from '../wire/read.ts'
import { outwardOperation, writeOperation } from './operation.ts'

const service = await startTestService()
const key = (value: string) => ({ 'idempotency-key': value })

/**
 * A gateway that stores texts by reference, and an operation that stores one there. Notes stand for the intents of a real operation; a note
 * that was answered has its text. `at` decides how a call goes on: it may end the process for all that its database can know.
 */
async function gatewayOperation() {
  const client = await service.newAccount()
  const { body: customer } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
  const book = new Map<string, number>()
  const calls: string[] = []
  let at: (reference: string, store: () => void) => Promise<void> = async (_reference, store) => store()
  const operation = outwardOperation({
    id: 'store',
    method: 'POST',
    path: '/store',
    tag: 't',
    summary: 's',
    success: { status: 201 },
    body: objectOf({ Text: required(text()) }),
    begin: async (tx, _context, { body }, _record, _found, { begunIntent }) => {
      if (body.Text === 'forbidden') throw conflict('forbidden', 'Not this one.')
      if (begunIntent !== null) {
        const { note } = await tx.one<{ note: string }>(sql`
          select note from customer_notes where account_id = ${client.id} and note_id = ${begunIntent}`)
        if (note === 'open') return { intent: begunIntent, call: begunIntent }
      }
      const { id } = await tx.one<{ id: bigint }>(sql`
        insert into customer_notes (account_id, customer_id, created_at, note, note_type)
        values (${client.id}, ${customer.customerID}, now(), 'open', 'General') returning note_id as "id"`)
      return { intent: id, call: id }
    },
    call: async (_context, _input, intent) => {
      const reference = String(intent)
      calls.push(reference)
      await at(reference, () => book.set(reference, (book.get(reference) ?? 0) || 1))
      return reference
    },
    finish: async (tx, _context, { body }, intent, reference) => {
      await tx.rows(
        sql`update customer_notes set note = ${body.Text} where account_id = ${client.id} and note_id = ${intent}`,
      )
      if (body.Text === 'declined')
        return new Fault('invalid', [{ code: 'declined', message: 'The gateway declined.', field: 'Text' }])
      return { status: 201, body: JSON.stringify({ reference }) }
    },
  })
  const notes = async () =>
    (
      await service.db
        .reader(client.id)
        .rows<{ note: string }>(sql`select note from customer_notes where account_id = ${client.id} order by note_id`)
    ).map(({ note }) => note)
  /** Lets the leases of processes that died lapse. */
  const lapse = () =>
    service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update leases set leased_until = now() - interval '1 second' where account_id = ${client.id}`),
    )
  const process = (overrides = {}) => probeServer(service.db, client.id, [operation], overrides).client
  return { operation, client, book, calls, notes, lapse, process, answersBy: (way: typeof at) => (at = way) }
}

const never = new Promise<void>(() => {})

/** Calls up to a point, and waits until that is reached. */
function killedAt(point: 'before' | 'after') {
  let reached = () => {}
  const isReached = new Promise<void>((resolve) => (reached = resolve))
  const way = async (_reference: string, store: () => void) => {
    if (point === 'after') store()
    reached()
    await never
  }
  return { way, isReached }
}

describe('an outward operation', () => {
  test('writes its intent before the call, and its result with the kept answer', async () => {
    const { process, answersBy, notes, book } = await gatewayOperation()
    const during: string[][] = []
    answersBy(async (_reference, store) => {
      during.push(await notes())
      store()
    })
    const first = await process().post('/store', { Text: 'a' }, key('k'))
    expect([first.status, during, await notes()]).toEqual([201, [['open']], ['a']])
    const again = await process().post('/store', { Text: 'a' }, key('k'))
    expect([again.text, again.headers['idempotency-replayed'], book.size]).toEqual([first.text, 'true', 1])
    expect((await process().post('/store', { Text: 'b' }, key('k'))).status).toBe(422)
  })

  test.each(['before', 'after'] as const)(
    'killed %s the gateway has done it, the same key goes on with the same intent, and it is done once',
    async (point) => {
      const { process, answersBy, notes, book, calls, lapse } = await gatewayOperation()
      const { way, isReached } = killedAt(point)
      answersBy(way)
      void process().post('/store', { Text: 'a' }, key('k'))
      await isReached
      const running = await process().post('/store', { Text: 'a' }, key('k'))
      expect([running.status, running.headers['retry-after'], running.body.Errors[0].Code]).toEqual([
        409,
        '1',
        'idempotency_key_in_use',
      ])
      await lapse()
      answersBy(async (_reference, store) => store())
      const next = await process().post('/store', { Text: 'a' }, key('k'))
      expect([next.status, await notes(), [...book.values()]]).toEqual([201, ['a'], [1]])
      expect(new Set(calls).size).toBe(1)
    },
  )

  test('whose process stood still leaves the answer to the one that went on', async () => {
    const { process, answersBy, notes, lapse } = await gatewayOperation()
    let goOn = () => {}
    const still = new Promise<void>((resolve) => (goOn = resolve))
    let reached = () => {}
    const begun = new Promise<void>((resolve) => (reached = resolve))
    answersBy(async (_reference, store) => {
      store()
      reached()
      await still
    })
    const first = process().post('/store', { Text: 'a' }, key('k'))
    await begun
    await lapse()
    answersBy(async (_reference, store) => store())
    const second = await process().post('/store', { Text: 'a' }, key('k'))
    goOn()
    expect([second.status, (await first).text, await notes()]).toEqual([201, second.text, ['a']])
  })

  test('under a key with another request begins its own intent while nothing is answered', async () => {
    const { process, answersBy, notes, lapse } = await gatewayOperation()
    const { way, isReached } = killedAt('before')
    answersBy(way)
    void process().post('/store', { Text: 'a' }, key('k'))
    await isReached
    await lapse()
    answersBy(async (_reference, store) => store())
    expect((await process().post('/store', { Text: 'b' }, key('k'))).status).toBe(201)
    expect(await notes()).toEqual(['open', 'b'])
  })

  test('that a gateway refuses keeps the end of its intent, and leaves the key free', async () => {
    const { process, notes } = await gatewayOperation()
    const refused = await process().post('/store', { Text: 'declined' }, key('k'))
    expect([refused.status, await notes()]).toEqual([400, ['declined']])
    expect((await process().post('/store', { Text: 'a' }, key('k'))).status).toBe(201)
    expect(await notes()).toEqual(['declined', 'a'])
  })

  test('that is refused before its call leaves nothing', async () => {
    const { process, notes, calls, client } = await gatewayOperation()
    expect((await process().post('/store', { Text: 'forbidden' }, key('k'))).status).toBe(409)
    expect((await process().post('/store', {}, key('k'))).status).toBe(400)
    const rows = await service.db.reader(client.id).rows(
      sql`select 1 from outward_requests where account_id = ${client.id}
          union all select 1 from leases where account_id = ${client.id}`,
    )
    expect([await notes(), calls, rows]).toEqual([[], [], []])
  })

  test('holds no connection while it calls: a pool of six serves others beside fifty of them', async () => {
    const { process, answersBy, operation, client } = await gatewayOperation()
    let goOn = () => {}
    const gate = new Promise<void>((resolve) => (goOn = resolve))
    let begun = 0
    let all = () => {}
    const allBegun = new Promise<void>((resolve) => (all = resolve))
    answersBy(async (_reference, store) => {
      begun += 1
      if (begun === 50) all()
      await gate
      store()
    })
    const one = process()
    const open = Array.from({ length: 50 }, (_, n) => one.post('/store', { Text: 'a' }, key(`k${n}`)))
    await allBegun
    const write = writeOperation({
      ...{ id: 'short', method: 'POST', path: '/short', tag: 't', summary: 's', success: { status: 204 } },
      write: async (tx) => {
        await tx.rows(sql`select 1 from accounts where account_id = ${client.id} for no key update`)
        return { status: 204 }
      },
    } as const)
    const other = probeServer(service.db, client.id, [write, operation]).client
    const quick = await Promise.all(Array.from({ length: 20 }, () => other.post('/short')))
    expect(quick.map(({ status }) => status)).toEqual(quick.map(() => 204))
    goOn()
    expect((await Promise.all(open)).map(({ status }) => status)).toEqual(open.map(() => 201))
  })

  test('beyond what an account may have open is 429, beyond what the process may 503; neither writes an intent', async () => {
    const { process, answersBy, notes } = await gatewayOperation()
    const { way, isReached } = killedAt('before')
    answersBy(way)
    const bounded = process({ outwardPlaces: new Places({ running: 2, waiting: 0, perOwner: 1 }) })
    void bounded.post('/store', { Text: 'a' })
    await isReached
    const refused = await bounded.post('/store', { Text: 'b' })
    expect([refused.status, refused.headers['retry-after'], refused.body.Errors[0].Code]).toEqual([
      429,
      '2',
      'too_many_calls',
    ])
    const full = process({ outwardPlaces: new Places({ running: 0, waiting: 0 }) })
    expect((await full.post('/store', { Text: 'c' })).status).toBe(503)
    expect(await notes()).toEqual(['open'])
  })
})
