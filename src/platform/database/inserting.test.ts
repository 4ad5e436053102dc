import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { openDatabase } from './open-database.ts'
import { APP_ROLE } from './roles.ts'
import { asCount, ofQuery, sql } from './sql.ts'

/** Inserts of what a query, or another part of a statement, reads: with what Citus is sent in their place, they do the same. */

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

test.each(['plain', 'citus'] as const)(
  'a part that inserts what another part has does the same on %s',
  async (engine) => {
    const { id } = await service.newAccount()
    const db = openDatabase(service.connection, { role: APP_ROLE, poolSize: 1, engine })
    const written = await db.transaction(id, (tx) =>
      tx.rows(sql`
    with given as (select r.n, 'it''s (' || r.n || ',' as word from generate_series(3, 1, -1) as r(n)),
    noted as (
      insert into record_changes (account_id, record_type, record_id) select ${id}, 'customer', g.n from given g returning record_id, changed_at),
    written as (
      insert into record_words (account_id, list, block, word, record_id)
      select ${id}, 1, extract(day from date '2027-01-09')::integer, g.word, case when g.n = ${2} then 20 else g.n end
        from given g join noted n on n.record_id = g.n where g.n > 1 order by g.n
      on conflict do nothing returning word, record_id)
    select word, record_id::integer as "id", (select bool_and(changed_at is not null) from noted) as "isNoted" from written order by word`),
    )
    expect(written).toEqual([
      { word: "it's (2,", id: 20, isNoted: true },
      { word: "it's (3,", id: 3, isNoted: true },
    ])
    await db.close()
  },
)
