import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addKey, endKey } from './actions.ts'

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
