import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { openDatabase } from './open-database.ts'
import { APP_ROLE } from './roles.ts'
import { asCount, ofQuery, sql } from './sql.ts'

/** Inserts of what a query reads: with what Citus is sent in their place, they do the same. */

const service = await startTestService()

test.each(['plain', 'citus'] as const)(
  'an insert of what a query reads writes and counts its rows on %s',
  async (engine) => {
    const { id } = await service.newAccount()
    const db = openDatabase(service.connection, { role: APP_ROLE, poolSize: 1, engine })
    const insert = (first: number) =>
      ofQuery(sql`
    insert into record_words (account_id, list, block, word, record_id)
    select ${id}, 1, 0, 'word', r.id from generate_series(${first}::integer, ${first + 2}::integer) as r(id)`)
    const counted = await db.transaction(id, async (tx) => {
      tx.send(insert(1))
      await tx.rows(insert(11))
      return tx.count(asCount(insert(21)))
    })
    expect(counted).toBe(3)
    const written = sql`select count(*)::integer as "n" from record_words where account_id = ${id} and word = 'word'`
    expect(await db.reader(id).one<{ n: number }>(written)).toEqual({ n: 9 })
    await db.close()
  },
)
