import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { type Envelope, type SealedPlace, PURPOSES } from '../envelope/envelope.ts'
import { KeyRing } from '../envelope/key-ring.ts'
import {
  checkEncryptionKeys,
  checkKeysOfPurposes,
  envelopeUnder,
  openEnvelope,
  weakKeysInUse,
} from '../envelope/open.ts'
import { listWrappingKeys } from '../envelope/queries.ts'
import { countKeyUse, rotateKeys } from '../envelope/rotation.ts'
import { BY_ROWS, type Queryable } from './database.ts'
import { sql } from './sql.ts'
import { clientConfig } from './open-database.ts'

/** Stored data keys and their rotation, on a database with a table whose column holds sealed records. */

const connection = await createTestDatabase()
const db = openTestDatabase(connection)
const owner = new pg.Client(clientConfig(connection, undefined))
await owner.connect()
await owner.query('set search_path = perennial; set role perennial_owner')
await owner.query(
  'create table secrets (account_id bigint, secret_id bigint, sealed bytea, primary key (account_id, secret_id))',
)
await owner.query(
  `select own_by_account('secrets', 'select, insert, update, delete'), sealed_column('secrets', 'sealed')`,
)
afterAll(async () => {
  await owner.end()
  await db.close()
})
beforeEach(() => owner.query('delete from secrets; delete from data_keys'))

const [oldKey, newKey, strangeKey] = [1, 2, 3].map(() => randomBytes(32)) as [Buffer, Buffer, Buffer]
const weakKey = Buffer.alloc(32, 'pattern')
const dataDir = mkdtempSync(join(tmpdir(), 'perennial-envelope-'))
afterAll(() => rmSync(dataDir, { recursive: true }))
const config = (...keys: Buffer[]) => ({ encryptionKeys: keys as [Buffer], dataDir })
const idOf = (key: Buffer): string => new KeyRing(key).ids[0]!
const openWith = (...keys: Buffer[]): Promise<Envelope> => openEnvelope(db.unscoped, config(...keys))
const rotate = (queryable: Queryable = db.unscoped) => rotateKeys(queryable, new KeyRing(newKey, oldKey))

const placeOf = (row: bigint): SealedPlace => ({ table: 'secrets', column: 'sealed', row })

async function sealRows(envelope: Envelope, account: bigint, rows: number): Promise<void> {
  for (let row = 1n; row <= BigInt(rows); row += 1n)
    await db.transaction(account, (tx) =>
      tx.rows(
        sql`insert into secrets values (${account}, ${row}, ${envelope.seal(account, placeOf(row), `secret ${account}/${row}`)})`,
      ),
    )
}

async function openedRows(envelope: Envelope, account: bigint): Promise<string[]> {
  const rows = await db
    .reader(account)
    .rows<{ id: bigint; sealed: Buffer }>(
      sql`select secret_id as "id", sealed from secrets where account_id = ${account} order by 1`,
    )
  return rows.map(({ id, sealed }) => envelope.open(account, placeOf(id), sealed))
}

const expected = (account: bigint, rows: number) =>
  Array.from({ length: rows }, (_, index) => `secret ${account}/${index + 1}`)

describe('at the start', () => {
  test('the first process makes a data key for each purpose; others, at the same time or later, have the same', async () => {
    const envelopes = await Promise.all(Array.from({ length: 4 }, () => openWith(oldKey)))
    for (const purpose of PURPOSES) {
      const hashes = [...envelopes, await openWith(oldKey)].map((envelope) =>
        envelope.keyedHash(purpose)('x').toString('hex'),
      )
      expect(new Set(hashes).size).toBe(1)
    }
    expect(await listWrappingKeys(db.unscoped)).toEqual([idOf(oldKey)])
  })

  test('two databases under one key hash differently: data keys are drawn, not derived', async () => {
    const first = (await openWith(oldKey)).keyedHash('outbox')('x')
    await owner.query('delete from data_keys')
    expect((await openWith(oldKey)).keyedHash('outbox')('x')).not.toEqual(first)
  })

  test('a wrong key is refused with one sentence that names the one that is missed', async () => {
    await openWith(oldKey)
    await expect(openWith(strangeKey)).rejects.toThrow(
      new RegExp(
        `^The key in ENCRYPTION_KEY is not the one that .*${idOf(oldKey)}.*: set ENCRYPTION_KEY to that one\\.$`,
      ),
    )
    await expect(checkEncryptionKeys(db.unscoped, config(strangeKey, newKey))).rejects.toThrow(idOf(oldKey))
  })

  test('while what accounts keep cannot be asked for, the data keys of purposes show a wrong key, and without any nobody starts', async () => {
    await expect(checkKeysOfPurposes(db.unscoped, config(oldKey))).rejects.toThrow(/^Nothing shows whether/)
    await sealRows(await openWith(oldKey), 1n, 1)
    await rotate()
    await owner.query(`update secrets set sealed = overlay(sealed placing '\\x0011223344556677' from 2 for 8)`)
    await expect(checkEncryptionKeys(db.unscoped, config(newKey))).rejects.toThrow('0011223344556677')
    expect((await checkKeysOfPurposes(db.unscoped, config(newKey)))?.ids).toEqual([idOf(newKey)])
    await expect(checkKeysOfPurposes(db.unscoped, config(oldKey))).rejects.toThrow(
      new RegExp(`is not the one that .*${idOf(newKey)}`),
    )
    await expect(checkKeysOfPurposes(db.unscoped, config(strangeKey, newKey))).resolves.toBeDefined()
    await expect(checkKeysOfPurposes(db.unscoped, config(weakKey, newKey))).rejects.toThrow(/repeats a pattern/)
    const unset = { encryptionKeys: undefined, dataDir: join(dataDir, 'none') }
    await expect(checkKeysOfPurposes(db.unscoped, unset)).rejects.toThrow(/^There is no encryption key/)
  })

  test('a key that repeats a pattern is refused until something is sealed under it; from then on it is warned of', async () => {
    const refusal =
      /^The key in ENCRYPTION_KEY repeats a pattern .* nothing is sealed under it yet: set ENCRYPTION_KEY to one that was drawn/
    await expect(openWith(weakKey)).rejects.toThrow(refusal)
    expect(await listWrappingKeys(db.unscoped)).toEqual([])
    // Where it was taken by a version before.
    await envelopeUnder(db.unscoped, new KeyRing(weakKey))
    await openWith(weakKey)
    expect(weakKeysInUse(config(weakKey))).toMatchObject({
      text: expect.stringMatching(/^A key in ENCRYPTION_KEY repeats a pattern/),
      mend: expect.stringMatching(/^name a drawn one before it, as new,old, and run "perennial encryption rotate"/),
    })
    // On the way out it may still be named behind the new one, also when it wraps nothing any more.
    await openWith(newKey, weakKey)
    await rotateKeys(db.unscoped, new KeyRing(newKey, weakKey))
    await openWith(newKey, weakKey)
    expect(weakKeysInUse(config(newKey, weakKey))?.mend).toMatch(/leave it out/)
    expect(weakKeysInUse(config(newKey))).toBeUndefined()
    await expect(openWith(weakKey, newKey)).rejects.toThrow(refusal)
  })

  test('without a key nothing is made where something is sealed, and one is made where nothing is', async () => {
    const unset = { encryptionKeys: undefined, dataDir: join(dataDir, 'unset') }
    expect(await checkEncryptionKeys(db.unscoped, unset)).toBeUndefined()
    await openWith(oldKey)
    for (const opening of [checkEncryptionKeys, openEnvelope])
      await expect(opening(db.unscoped, unset)).rejects.toThrow(
        /^There is no encryption key, .*encryption\.key from a backup\.$/,
      )
    expect(readdirSync(dataDir)).toEqual([])
    await owner.query('delete from data_keys')
    await openEnvelope(db.unscoped, unset)
    expect(readdirSync(unset.dataDir)).toEqual(['encryption.key'])
    expect(await checkEncryptionKeys(db.unscoped, unset)).toBeDefined()
  })

  test('every key that still wraps something is needed, in whatever order; the last row counts', async () => {
    const before = await openWith(oldKey)
    await sealRows(before, 1n, 1)
    const during = await openWith(newKey, oldKey)
    await sealRows(during, 2n, 1)
    await expect(openWith(newKey)).rejects.toThrow(
      /^Some of .* sealed under the key .*, which is not in ENCRYPTION_KEY/,
    )
    await expect(openWith(oldKey)).rejects.toThrow(idOf(newKey))
    for (const order of [
      [newKey, oldKey],
      [oldKey, newKey],
    ]) {
      const envelope = await openWith(...order)
      expect([await openedRows(envelope, 1n), await openedRows(envelope, 2n)]).toEqual([
        expected(1n, 1),
        expected(2n, 1),
      ])
    }
    expect(await openedRows(before, 1n)).toEqual(expected(1n, 1))
    await expect(openedRows(before, 2n)).rejects.toThrow(`does not name the key ${idOf(newKey)}`)
  })

  test('of two processes that start a new database under different keys the second is refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      await owner.query('delete from data_keys')
      const rings = [new KeyRing(oldKey), new KeyRing(newKey)]
      const results = await Promise.allSettled(rings.map((ring) => envelopeUnder(db.unscoped, ring)))
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect(await listWrappingKeys(db.unscoped)).toHaveLength(1)
    }
  })
})

describe('a database of a version that derived its keys from ENCRYPTION_KEY itself', () => {
  const derived = (purpose: string) => Buffer.from(hkdfSync('sha256', oldKey, '', `perennial ${purpose}`, 32))
  beforeEach(() =>
    owner.query(`insert into data_keys (purpose) values ('idempotency hash'), ('idempotency body'), ('outbox')`),
  )

  test('keeps them as data keys: what was sealed and hashed before opens and is found, also after a rotation', async () => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', derived('outbox'), nonce)
    const encrypted = Buffer.concat([cipher.update('of before'), cipher.final()])
    const sealed = Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
    const { under, keyedHash } = await openWith(oldKey)
    const hash = keyedHash('idempotency hash')('request')
    expect(under('outbox').open(1n, placeOf(1n), sealed)).toBe('of before')
    await openWith(newKey, oldKey)
    await rotate()
    const after = await openWith(newKey)
    expect(after.under('outbox').open(1n, placeOf(1n), sealed)).toBe('of before')
    expect(after.keyedHash('idempotency hash')('request')).toEqual(hash)
  })

  test('takes one key at its first start, because the other could have been used', async () => {
    await expect(openWith(newKey, oldKey)).rejects.toThrow('takes one key')
    await openWith(oldKey)
    await openWith(newKey, oldKey)
  })

  test('makes no new key where none is given', async () => {
    const unset = { encryptionKeys: undefined, dataDir: join(dataDir, 'none') }
    await expect(openEnvelope(db.unscoped, unset)).rejects.toThrow('There is no encryption key')
  })
})

describe('a rotation', () => {
  const sealedRows = async (): Promise<string[]> =>
    (
      await owner.query<{ row: string }>(
        `select sealed::text as row from secrets union all select wrapped::text from data_keys`,
      )
    ).rows.map(({ row }) => row)

  test('leaves no row that names the old key, and everything opens with the new one alone', async () => {
    const before = await openWith(oldKey)
    await sealRows(before, 1n, 3)
    await sealRows(before, 2n, 2)
    const contents = (await sealedRows()).map((row) => row.slice(2 + 2 * 69)).sort()
    expect((await sealedRows()).filter((row) => row.includes(idOf(oldKey)))).toHaveLength(5 + PURPOSES.length)
    await openWith(newKey, oldKey)
    expect(await rotate()).toBe(5 + PURPOSES.length)
    expect((await sealedRows()).filter((row) => row.includes(idOf(oldKey)))).toEqual([])
    expect((await sealedRows()).map((row) => row.slice(2 + 2 * 69)).sort(), 'only data keys are wrapped anew').toEqual(
      contents,
    )
    const after = await openWith(newKey)
    expect([await openedRows(after, 1n), await openedRows(after, 2n)]).toEqual([expected(1n, 3), expected(2n, 2)])
    expect(after.keyedHash('outbox')('x')).toEqual(before.keyedHash('outbox')('x'))
    await expect(openWith(oldKey)).rejects.toThrow('is not the one')
    expect(await rotate()).toBe(0)
  })

  test('is counted before and after', async () => {
    await sealRows(await openWith(oldKey), 1n, 2)
    await sealRows(await openWith(newKey, oldKey), 2n, 1)
    const count = () => countKeyUse(db.unscoped, new KeyRing(newKey, oldKey))
    expect(await count()).toEqual([
      { id: idOf(newKey), isFirst: true, dataKeys: 1 },
      { id: idOf(oldKey), isFirst: false, dataKeys: 2 + PURPOSES.length },
    ])
    await rotate()
    expect((await count()).map(({ dataKeys }) => dataKeys)).toEqual([3 + PURPOSES.length, 0])
  })

  test('goes through more records than one step takes, beside writers under either key', async () => {
    const switching = await openWith(oldKey, newKey)
    await owner.query(`insert into secrets select 5, n, null from generate_series(1, 1200) n`)
    const rows = Array.from({ length: 1200 }, (_, index) => BigInt(index + 1))
    const sealed = rows.map((row) => `\\x${switching.seal(5n, placeOf(row), 'x').toString('hex')}`)
    await owner.query(
      `update secrets s set sealed = n.sealed from unnest($1::bigint[], $2::bytea[]) n (id, sealed) where account_id = 5 and secret_id = n.id`,
      [rows, sealed],
    )
    const during = await openWith(newKey, oldKey)
    await Promise.all([rotate(), rotate(), sealRows(switching, 6n, 20), sealRows(during, 7n, 20)])
    await rotate()
    const after = await openWith(newKey)
    expect(new Set(await openedRows(after, 5n))).toEqual(new Set(['x']))
    expect([await openedRows(after, 6n), await openedRows(after, 7n)]).toEqual([expected(6n, 20), expected(7n, 20)])
  })

  test('that is killed after any of its steps leaves everything readable, and the next one goes on', async () => {
    await sealRows(await openWith(oldKey), 1n, 4)
    for (let steps = 0; ; steps += 1) {
      let left = steps
      const dying: Queryable = {
        ...BY_ROWS,
        rows: async (statement) => {
          if (left === 0) throw new Error('killed')
          left -= 1
          return db.unscoped.rows(statement)
        },
      }
      const isWhole = await rotate(dying).then(
        () => true,
        () => false,
      )
      for (const order of [
        [oldKey, newKey],
        [newKey, oldKey],
      ])
        expect(await openedRows(await openWith(...order), 1n)).toEqual(expected(1n, 4))
      if (isWhole) break
      expect(steps).toBeLessThan(50)
    }
    expect(await listWrappingKeys(db.unscoped)).toEqual([idOf(newKey)])
  })

  test('passes over a row that changed in between, and finds it in the next round', async () => {
    const before = await openWith(oldKey)
    await sealRows(before, 1n, 1)
    const changing: Queryable = {
      ...BY_ROWS,
      rows: async (statement) => {
        if (statement.text.includes('replace_wrapped') && statement.values.includes('secrets'))
          await owner
            .query('update secrets set sealed = $1', [before.seal(1n, placeOf(1n), 'changed')])
            .then(() => (changing.rows = db.unscoped.rows))
        return db.unscoped.rows(statement)
      },
    }
    await rotate(changing)
    expect(await openedRows(await openWith(newKey), 1n)).toEqual(['changed'])
  })
})

test('the service may wrap data keys anew in sealed columns and nowhere else', async () => {
  await sealRows(await openWith(oldKey), 1n, 1)
  const replace = (table: string, column: string, after: string) =>
    db.unscoped.rows(sql`select replace_wrapped(${table}, ${column}, '{"\\\\x01"}'::bytea[], array[${after}::bytea])`)
  await expect(replace('customers', 'name', `\\x${'00'.repeat(69)}`)).rejects.toThrow()
  await expect(replace('secrets', 'sealed', '\\x00')).rejects.toThrow()
  await expect(db.unscoped.rows(sql`select purpose from data_keys`)).rejects.toThrow()
})

test('every column of a migration whose name says that it is sealed is known to the rotation', async () => {
  const { rows } = await owner.query<{ name: string }>(`
    select c.table_name || '.' || c.column_name as name from information_schema.columns c
     where c.table_schema = 'perennial' and c.column_name like 'sealed_%' and c.data_type = 'bytea'
       and not exists (select 1 from sealed_columns s where s.table_name = c.table_name and s.column_name = c.column_name)`)
  // A hash of the ledger, and what is sealed under the one key of a purpose.
  expect(rows.map(({ name }) => name).sort()).toEqual([
    'customer_totals.sealed_head',
    'outbox.sealed_bodies',
    'result_lines.sealed_texts',
  ])
})
