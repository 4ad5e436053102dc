import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { clientConfig } from './open-database.ts'
import { COUNTED_LISTS } from '../../duties.ts'
import type { CountedList, Packed } from '../packed/declare.ts'
import { APP_ROLE } from './roles.ts'

/** Tests of the registry of counted lists: the table and what rooms declare. */

const owner = new pg.Client(clientConfig(await createTestDatabase(), undefined))
await owner.connect()
afterAll(() => owner.end())

describe('the counted lists', () => {
  const rights = async (role: string) =>
    (
      await owner.query<{ rights: boolean }>(
        `select has_table_privilege($1, 'counted_lists', 'select, insert, update, delete') as rights`,
        [role],
      )
    ).rows[0]?.rights

  test('are those of the table, each with the column that a sequence of its own fills', async () => {
    const { rows } = await owner.query<{ list: string }>(`
      select list, id_column as column, drawn_from as rows, pack_ids as "packIds", sequence_of_list(list) is not null as "isDrawn"
        from counted_lists order by list`)
    const declared = COUNTED_LISTS.map((of: CountedList & Partial<Packed>) => ({
      list: of.list,
      column: of.id,
      rows: of.rows ?? of.list,
      packIds: of.maxIds ?? null,
      isDrawn: true,
    }))
    expect(rows).toEqual(declared.toSorted((one, other) => (one.list < other.list ? -1 : 1)))
  })

  test('are sealed by their row alone, and any other name is refused', async () => {
    await owner.query(`
      create table things (account_id bigint not null, thing_id bigint generated always as identity, primary key (account_id, thing_id));
      alter table things owner to perennial_owner;
      insert into counted_lists (list, id_column, drawn_from) values ('things', 'thing_id', 'things');
      insert into accounts (account_id, name, mode, currency, time_zone, created_at)
        values (7, 'A', 'test', 'USD', 'UTC', now());
      insert into things (account_id) select 7 from generate_series(1, 10000)`)
    const seal = async () => (await owner.query<{ n: number }>(`select seal_list('things') as n`)).rows[0]?.n
    // The first step notes what has been drawn, the second counts the whole blocks below it.
    expect([await seal(), await seal(), await seal()]).toEqual([0, 2, 0])
    const { rows } = await owner.query(`select block, records from list_blocks where list = 'things' order by block`)
    expect(rows).toEqual([
      { block: 0n, records: 4095 },
      { block: 1n, records: 4096 },
    ])
    await owner.query(`delete from counted_lists where list = 'things'`)
    await expect(owner.query(`select seal_list('accounts')`)).rejects.toThrow('accounts is no counted list')
  })

  test('are not the service’s to read or to change', async () => {
    expect(await rights(APP_ROLE)).toBe(false)
  })
})
