import pg from 'pg'
import { expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { createAccount, createFirstAccount } from './actions.ts'

const WISH = { mode: 'test', name: 'Test', currency: 'USD', clockAt: null } as const

async function database() {
  const connection = await createTestDatabase()
  const db = openTestDatabase(connection)
  const make = async (idStart: number) => Number((await createAccount(db, Date.now, { ...WISH, idStart }, 'test')).id)
  return { connection, db, make }
}

test('the first account has the identifier that accounts begin at, and the next ones follow', async () => {
  const { db, make } = await database()
  const first = await createFirstAccount(db, Date.now, { ...WISH, idStart: 5000 })
  expect([first?.id, await make(5000), await make(5000)]).toEqual([5000n, 5001, 5002])
  await db.close()
})

test('services that start together on an empty database make one first account', async () => {
  const { db } = await database()
  const made = await Promise.all([1, 2, 3, 4].map(() => createFirstAccount(db, Date.now, WISH)))
  expect(made.filter((one) => one !== undefined)).toHaveLength(1)
  expect(await createFirstAccount(db, Date.now, WISH)).toBeUndefined()
  await db.close()
})

test('another start later holds for what is made from then on, and a lower one moves nothing back', async () => {
  const { db, make } = await database()
  expect([await make(1), await make(1), await make(70), await make(1), await make(71), await make(72)]).toEqual([
    1, 2, 70, 71, 72, 73,
  ])
  await db.close()
})

test('accounts made at once do not collide, and identifiers that came from elsewhere are passed over', async () => {
  const { connection, db, make } = await database()
  const owner = new pg.Client(clientConfig(connection, undefined))
  await owner.connect()
  await owner.query(`insert into accounts (account_id, mode, name, currency, created_at) values (100, 'test', 'Joined', 'USD', now()),
    (102, 'test', 'Joined', 'USD', now())`)
  await owner.end()
  const made = await Promise.all([1, 2, 3, 4, 5].map(() => make(100)))
  expect(made.sort((one, other) => one - other)).toEqual([101, 103, 104, 105, 106])
  await db.close()
})
