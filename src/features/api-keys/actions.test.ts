import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addKey, endKey, setStrictness } from './actions.ts'
import { listKeys } from './queries.ts'

const service = await startTestService()
const moment = {
  realNow: '2027-01-01T12:00:00.000Z',
  accountNow: '2027-01-01T12:00:00.000Z',
  actor: 'command line',
}

test('an account has at most 50 keys that work; revoked and expired ones do not count', async () => {
  const client = await service.newAccount()
  const add = (expiresAt: string | null = null) =>
    service.db.transaction(client.id, (tx) =>
      addKey(tx, { mode: 'test', name: 'another', permission: 'full', expiresAt }, moment),
    )
  await add('2027-01-01T11:59:59.000Z')
  const keys: Awaited<ReturnType<typeof add>>[] = []
  for (let count = 1; count < 50; count += 1) keys.push(await add())
  await expect(add()).rejects.toMatchObject({
    kind: 'invalid',
    problems: [{ code: 'too_many_api_keys', message: expect.stringContaining('50') }],
  })
  await service.db.transaction(client.id, (tx) => endKey(tx, keys[0]!.id, moment, false))
  await add()
  await expect(add()).rejects.toMatchObject({ kind: 'invalid' })
})

test('the last key that may write ends only by force; read keys and expired ones do not count, and end freely', async () => {
  const client = await service.newAccount()
  const inAccount = <T>(work: Parameters<typeof service.db.transaction<T>>[1]) =>
    service.db.transaction(client.id, work)
  const [first] = await inAccount((tx) => listKeys(tx, client.id))
  const add = (permission: 'full' | 'read', expiresAt: string | null = null) =>
    inAccount((tx) => addKey(tx, { mode: 'test', name: 'another', permission, expiresAt }, moment))
  const end = (id: bigint, isForced = false) => inAccount((tx) => endKey(tx, id, moment, isForced))
  const read = await add('read')
  const expired = await add('full', '2027-01-01T11:59:59.000Z')
  await expect(end(first!.id)).rejects.toMatchObject({ kind: 'conflict', problems: [{ code: 'api_key_last' }] })
  await end(expired.id)
  const second = await add('full')
  await end(first!.id)
  await expect(end(second.id)).rejects.toMatchObject({ problems: [{ code: 'api_key_last' }] })
  await end(second.id, true)
  await end(read.id)
})

test('a key is tolerant unless it is made strict; each change has an event, none changes nothing, and a revoked key stays', async () => {
  const client = await service.newAccount()
  const inAccount = <T>(work: Parameters<typeof service.db.transaction<T>>[1]) =>
    service.db.transaction(client.id, work)
  const set = (id: bigint, isStrict: boolean) => inAccount((tx) => setStrictness(tx, id, isStrict, moment))
  const strictness = async () => (await inAccount((tx) => listKeys(tx, client.id))).map(({ isStrict }) => isStrict)
  const wish = { mode: 'test', name: 'another', permission: 'full', expiresAt: null } as const
  const tolerant = await inAccount((tx) => addKey(tx, wish, moment))
  await inAccount((tx) => addKey(tx, { ...wish, isStrict: true }, moment))
  expect(await strictness()).toEqual([false, false, true])
  await set(tolerant.id, true)
  await set(tolerant.id, true)
  expect(await strictness()).toEqual([false, true, true])
  const { body } = await client.get('/v1/events?type=api_key.updated')
  expect(body).toMatchObject([{ RecordID: Number(tolerant.id), Record: { Name: 'another', isStrict: true } }])
  await inAccount((tx) => endKey(tx, tolerant.id, moment, false))
  await expect(set(tolerant.id, false)).rejects.toMatchObject({ problems: [{ code: 'api_key_revoked' }] })
  await expect(set(999n, true)).rejects.toMatchObject({ kind: 'missing' })
})
