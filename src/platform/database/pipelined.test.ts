import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import type { OfMany, StatementsOfPart, Transaction } from './database.ts'
import { arrayLiteral, sql } from './sql.ts'

/** Statements of a transaction that several requests share. */

const service = await startTestService()
const { id: account } = await service.newAccount()
const GATHERED = { gathered: { lockMs: 1000 }, boundMs: 30_000 }

const shared = <T>(work: (tx: Transaction) => Promise<T>) => service.db.transaction(account, work, GATHERED)

const adding: readonly OfMany<string>[] = [0, 1].map(
  (kind) => (of, labels) =>
    sql`
    insert into custom_fields (account_id, label, label_key)
    select ${of}, r.label, r.label || ${kind}::text from unnest(${arrayLiteral(labels)}::text[]) as r(label)`,
)

/** Writes a label of a part: by a statement of its own, or by one that others may join. */
function write(part: StatementsOfPart, how: number, label: string): void {
  const grouped = adding[how]
  if (grouped) part.sendGrouped(grouped, [label])
  else part.send(sql`insert into custom_fields (account_id, label, label_key) values (${account}, ${label}, ${label})`)
}

let runs = 0

test('run in the order in which each request asked for them, whatever they share', async () => {
  const steps = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 5 }), async (parts) => {
      runs += 1
      const run = runs
      await shared(async (tx) => {
        for (const [number, hows] of parts.entries()) {
          const part = tx.part()
          for (const [place, how] of hows.entries()) write(part, how, `${run} ${number} ${place}`)
        }
      })
      const rows = await service.db.reader(account).rows<{ label: string }>(sql`
        select label from custom_fields where account_id = ${account} and label like ${`${run} %`} order by custom_field_id`)
      for (const [number, hows] of parts.entries()) {
        const own = rows.filter(({ label }) => label.startsWith(`${run} ${number} `)).map(({ label }) => label)
        expect(own).toEqual(hows.map((_how, place) => `${run} ${number} ${place}`))
      }
    }),
    { numRuns: 40 },
  )
}, 60_000)

test('that ask for the same way are one statement, and each gets the rows of its own items', async () => {
  let statements = 0
  const doubled: OfMany<number> = (_account, numbers) => {
    statements += 1
    return sql`select r.n, 2 * r.n as "twice" from unnest(${arrayLiteral(numbers)}::integer[]) as r(n)`
  }
  const found = await shared((tx) =>
    Promise.all(
      [[1, 2], [], [3], [4, 5]].map((numbers) => tx.part().grouped<number, { twice: number }>(doubled, numbers)),
    ),
  )
  expect(found.map((rows) => rows.map(({ twice }) => twice))).toEqual([[2, 4], [], [6], [8, 10]])
  expect(statements).toBe(1)
  const isOdd = (row: { n: number }, numbers: readonly number[]) => numbers.includes(row.n) && row.n % 2 === 1
  const odd = await shared((tx) =>
    Promise.all(
      [[1, 2, 3], [4], [5]].map((numbers) => tx.part().grouped<number, { n: number }>(doubled, numbers, isOdd)),
    ),
  )
  expect(odd.map((rows) => rows.map(({ n }) => n))).toEqual([[1, 3], [], [5]])
})

test('one after the other of the same request do not join each other', async () => {
  const labels = await shared(async (tx) => {
    const part = tx.part()
    write(part, 0, 'twice a')
    write(part, 0, 'twice b')
    return part.rows<{ label: string }>(
      sql`select label from custom_fields where account_id = ${account} and label like 'twice %' order by custom_field_id`,
    )
  })
  expect(labels.map(({ label }) => label)).toEqual(['twice a', 'twice b'])
})

test('that wait when a request is refused do not hide its refusal', async () => {
  const refused = shared(async (tx) => {
    write(tx.part(), 0, 'never written')
    throw new Error('refused')
  })
  await expect(refused).rejects.toThrow('refused')
})

test('of work that waits for its locks are tried again after a serialisation failure', async () => {
  let tries = 0
  const fail = sql`do $$ begin raise exception 'not now' using errcode = '40001'; end $$`
  const work = async (tx: Transaction) => {
    tries += 1
    if (tries === 1) await tx.part().rows(fail)
    return tries
  }
  await expect(service.db.transaction(account, work, { gathered: {} })).resolves.toBe(2)
  tries = 0
  await expect(shared(work)).rejects.toThrow('not now')
})
