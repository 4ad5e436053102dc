import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { clientConfig } from './open-database.ts'

/** Tests of `own_by_account`, which migrations call for a new table. */

const owner = new pg.Client(clientConfig(await createTestDatabase(), undefined))
beforeAll(async () => {
  await owner.connect()
  await owner.query(`set search_path = perennial`)
  await owner.query(
    `create table things (account_id bigint not null, thing_id bigint not null, primary key (account_id, thing_id))`,
  )
  await owner.query(`select own_by_account('things', 'select, insert')`)
  await owner.query(`insert into things values (1, 10), (2, 20)`)
  await owner.query(`set role perennial_app`)
})
afterAll(() => owner.end())

const setAccount = (account: number) => owner.query(`select set_config('app.account_id', $1, false)`, [String(account)])

test('an account sees and adds its own rows and no others, and without an account there is an error', async () => {
  await expect(owner.query('select from things')).rejects.toThrow('app.account_id')
  await setAccount(1)
  expect((await owner.query('select thing_id from things')).rows).toEqual([{ thing_id: 10n }])
  await owner.query('insert into things values (1, 11)')
  await expect(owner.query('insert into things values (2, 21)')).rejects.toThrow('row-level security')
})

test('the role has the rights that are named and no others', async () => {
  await setAccount(1)
  await expect(owner.query('delete from things')).rejects.toThrow('permission denied')
  await expect(owner.query(`select own_by_account('things', 'delete')`)).rejects.toThrow('permission denied')
})
