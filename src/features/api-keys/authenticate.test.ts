import { describe, expect, test, vi } from 'vitest'
import { openTestDatabase, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { makeAuthenticator } from './authenticate.ts'
import { endKey } from './actions.ts'
import { insertKey, listKeys, revokeKey } from './queries.ts'
import { newSecret, secretHash } from './secret.ts'
import { WrongCredentials } from './wrong-credentials.ts'

let realNow = Date.parse('2026-11-21T12:00:00Z')
const service = await startTestService({ now: () => realNow })

const DAYS_BACK_MS = 2 * 86_400_000

const headerOf = (account: bigint | string, secret: string) =>
  `Basic ${Buffer.from(`${account}:${secret}`).toString('base64')}`

async function addKey(client: TestClient, expiresAt: string | null = null) {
  const secret = newSecret('test')
  const key = {
    name: 'another',
    permission: 'full' as const,
    hash: secretHash(secret),
    createdAt: '2026-01-01T00:00:00Z',
    expiresAt,
  }
  const id = await service.db.transaction(client.id, (tx) => insertKey(tx, client.id, key))
  return { id, secret, header: headerOf(client.id, secret) }
}

describe('keys', () => {
  test('are kept as a hash only: no row of the database holds one', async () => {
    const client = await service.newAccount()
    const { secret } = await addKey(client)
    const rows = await service.db
      .reader(client.id)
      .rows<{ text: string }>(
        sql`select row_to_json(k)::text as "text" from api_keys k where account_id = ${client.id}`,
      )
    expect(rows).toHaveLength(2)
    expect(rows.some(({ text }) => text.includes(secret) || text.includes(client.secret))).toBe(false)
  })

  test('a key of one account is none of another, and a long or odd one is none at all', async () => {
    const [client, neighbour] = [await service.newAccount(), await service.newAccount()]
    const { authenticate } = makeAuthenticator(service.db, () => realNow)
    await expect(authenticate(headerOf(client.id, client.secret), 'a')).resolves.toMatchObject({
      account: { id: client.id },
      permission: 'full',
    })
    for (const wrong of [
      headerOf(neighbour.id, client.secret),
      headerOf(client.id, `${client.secret} `),
      headerOf(client.id, client.secret.toUpperCase()),
      headerOf(client.id, ''),
      headerOf('', client.secret),
      headerOf('1e1', client.secret),
      headerOf('9'.repeat(30), client.secret),
      headerOf(client.id, '\u0000'),
      headerOf(client.id, 'x'.repeat(10_000)),
    ])
      await expect(authenticate(wrong, String(wrong.length)), wrong.slice(0, 80)).rejects.toMatchObject({
        kind: 'unauthenticated',
      })
  })

  test('an expired one stops working at its moment', async () => {
    const client = await service.newAccount()
    const { header } = await addKey(client, '2026-11-21T12:00:01Z')
    const { authenticate } = makeAuthenticator(service.db, () => realNow)
    await expect(authenticate(header, 'a')).resolves.toMatchObject({ permission: 'full' })
    realNow += 1000
    await expect(authenticate(header, 'a')).rejects.toMatchObject({ kind: 'unauthenticated' })
  })

  test('a revoked one stops working at once where it was revoked, and within a second in every other process', async () => {
    const client = await service.newAccount()
    const { id, header } = await addKey(client)
    const here = makeAuthenticator(service.db, () => realNow)
    const otherDatabase = openTestDatabase(service.connection)
    const elsewhere = makeAuthenticator(otherDatabase, () => realNow)
    await Promise.all([here.authenticate(header, 'a'), elsewhere.authenticate(header, 'a')])
    await service.db.transaction(client.id, (tx) => revokeKey(tx, client.id, id, '2026-11-21T12:00:00Z'))
    const revokedAtMs = Date.now()
    here.forget(client.id)
    await expect(here.authenticate(header, 'a')).rejects.toMatchObject({ kind: 'unauthenticated' })
    let lastSuccessMs = 0
    for (let isKnown = true; isKnown;) {
      const askedAtMs = Date.now()
      isKnown = await elsewhere.authenticate(header, 'a').then(
        () => true,
        () => false,
      )
      if (isKnown) lastSuccessMs = askedAtMs
    }
    expect(lastSuccessMs - revokedAtMs).toBeLessThan(1000)
    await otherDatabase.close()
  })

  test('a revoked one stops working within a second though the wall clock steps back by two days', async () => {
    const client = await service.newAccount()
    const { id, header } = await addKey(client)
    let steadyMs = 0
    const { authenticate } = makeAuthenticator(service.db, () => realNow, { clock: () => steadyMs })
    await authenticate(header, 'a')
    await service.db.transaction(client.id, (tx) => revokeKey(tx, client.id, id, '2026-11-21T12:00:00Z'))
    const wallClock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - DAYS_BACK_MS)
    realNow -= DAYS_BACK_MS
    await expect(authenticate(header, 'a')).resolves.toBeDefined()
    steadyMs = 999
    await expect(authenticate(header, 'a')).rejects.toMatchObject({ kind: 'unauthenticated' })
    wallClock.mockRestore()
    realNow += DAYS_BACK_MS
  })

  test('a look-up that takes long answers nobody who asks a second later', async () => {
    const client = await service.newAccount()
    const { id, header } = await addKey(client)
    let steadyMs = 0
    let goOn = () => {}
    const held = new Promise<void>((resolve) => (goOn = resolve))
    let toHold = 2
    let sent = () => {}
    const bothSent = new Promise<void>((resolve) => (sent = resolve))
    const slow = {
      ...service.db,
      credentials: (...about: Parameters<typeof service.db.credentials>) => {
        const reader = service.db.credentials(...about)
        return {
          ...reader,
          rows: async <Row>(statement: Parameters<typeof reader.rows>[0]): Promise<Row[]> => {
            const found = await reader.rows<Row>(statement)
            toHold -= 1
            if (toHold === 0) sent()
            if (toHold >= 0) await held
            return found
          },
        }
      },
    }
    const { authenticate } = makeAuthenticator(slow, () => realNow, { clock: () => steadyMs })
    const early = authenticate(header, 'a')
    await bothSent
    await service.db.transaction(client.id, (tx) => revokeKey(tx, client.id, id, '2026-11-21T12:00:00Z'))
    steadyMs = 999
    await expect(authenticate(header, 'a')).rejects.toMatchObject({ kind: 'unauthenticated' })
    goOn()
    await expect(early).resolves.toBeDefined()
  })

  test('ending one is told to every process', async () => {
    const client = await service.newAccount()
    const { id } = await addKey(client)
    let hear = (_account: string) => {}
    const heard = new Promise<string>((resolve) => (hear = resolve))
    const stopListening = await service.db.listen('account_changed', (account) => hear(account))
    const moment = { realNow: '2026-11-21T12:00:00Z', accountNow: '2027-01-01T00:00:00Z', actor: 'test' }
    await service.db.transaction(client.id, (tx) => endKey(tx, id, moment, false))
    expect(await heard).toBe(String(client.id))
    await stopListening()
  })

  test('last use is kept to the minute, written beside the requests', async () => {
    const client = await service.newAccount()
    const { header, id } = await addKey(client)
    const authenticator = makeAuthenticator(service.db, () => realNow)
    const lastUse = async () =>
      (await listKeys(service.db.reader(client.id), client.id)).find((key) => key.id === id)?.lastUsedAt
    const first = new Date(realNow).toISOString()
    await authenticator.authenticate(header, 'a')
    expect(await lastUse()).toBe(null)
    await authenticator.flushLastUse()
    expect(await lastUse()).toBe(first)
    realNow += 59_000
    await authenticator.authenticate(header, 'a')
    await authenticator.flushLastUse()
    expect(await lastUse()).toBe(first)
    realNow += 2000
    await authenticator.authenticate(header, 'a')
    await authenticator.flushLastUse()
    expect(await lastUse()).toBe(new Date(realNow).toISOString())
  })
})

describe('wrong credentials', () => {
  test('are slowed down per address; right ones and bare requests go on', async () => {
    const client = await service.newAccount()
    const { authenticate } = makeAuthenticator(service.db, () => realNow)
    const kinds: string[] = []
    for (let tries = 0; tries < 15; tries += 1)
      await authenticate(headerOf(999_999_900n + BigInt(tries), 'guess'), '10.0.0.1').catch((fault) =>
        kinds.push(fault.kind),
      )
    expect(kinds.slice(0, 10)).toEqual(Array(10).fill('unauthenticated'))
    expect(kinds.slice(10)).toEqual(Array(5).fill('throttled'))
    await expect(authenticate(headerOf(client.id, client.secret), '10.0.0.1')).resolves.toBeDefined()
    await expect(authenticate(undefined, '10.0.0.1')).rejects.toMatchObject({ kind: 'unauthenticated' })
    await expect(authenticate(headerOf(client.id, 'x'), '10.0.0.2')).rejects.toMatchObject({ kind: 'unauthenticated' })
  })

  test('a wall clock that steps back by two days shuts nobody out for longer than a minute', () => {
    let steadyMs = 0
    const wrong = new WrongCredentials({ clock: () => steadyMs })
    const isRefused = () => {
      try {
        wrong.refuse('10.0.2.1', undefined)
        return false
      } catch {
        return true
      }
    }
    for (let tries = 0; tries < 10; tries += 1) isRefused()
    expect(isRefused()).toBe(true)
    const wallClock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - DAYS_BACK_MS)
    steadyMs = 60_000
    expect(isRefused()).toBe(false)
    wallClock.mockRestore()
  })

  test('of more addresses than are kept, the one that began first is forgotten, not all', () => {
    let steadyMs = 0
    const wrong = new WrongCredentials({ clock: () => steadyMs, namesMax: 3 })
    const isRefused = (address: string) => {
      try {
        wrong.refuse(address, undefined)
        return false
      } catch {
        return true
      }
    }
    for (const address of ['first', 'second', 'third'])
      for (let tries = 0; tries < 10; tries += 1) {
        steadyMs += 1
        isRefused(address)
      }
    isRefused('fourth')
    expect(['second', 'third'].map(isRefused)).toEqual([true, true])
    expect(isRefused('first')).toBe(false)
  })

  test('leave one line a minute in the log, with how many were refused since the line before', () => {
    let steadyMs = 0
    const lines: object[] = []
    const wrong = new WrongCredentials({ clock: () => steadyMs, log: { warn: (facts: object) => lines.push(facts) } })
    const guess = (times: number) => {
      for (let tries = 0; tries < times; tries += 1)
        try {
          wrong.refuse('10.0.3.1', 7n)
        } catch {
          // Refused.
        }
    }
    guess(10)
    expect(lines).toEqual([])
    guess(5)
    expect(lines).toEqual([{ address: '10.0.3.1', account: '7', refused: 1 }])
    steadyMs = 59_999
    guess(100)
    expect(lines).toHaveLength(1)
    steadyMs = 60_000
    guess(11)
    expect(lines.slice(1)).toEqual([{ address: '10.0.3.1', account: '7', refused: 105 }])
  })

  test('of IPv6 are counted by network, whose addresses one caller changes as he likes', () => {
    const wrong = new WrongCredentials({ clock: () => 0 })
    for (let host = 1; host <= 10; host += 1) wrong.refuse(`2001:db8::${host}`, undefined)
    expect(() => wrong.refuse('2001:db8::ffff', undefined)).toThrow('Too many wrong credentials')
    expect(() => wrong.refuse('2001:db8:0:1::1', undefined)).not.toThrow()
  })

  test('are slowed down per account too, from however many addresses they come, and say when to come back', () => {
    const wrong = new WrongCredentials()
    for (let tries = 0; tries < 10; tries += 1) wrong.refuse(`10.0.1.${tries}`, 7n)
    let refusal: { kind?: string; retryAfterSeconds?: number } = {}
    try {
      wrong.refuse('10.0.1.99', 7n)
    } catch (fault) {
      refusal = fault as typeof refusal
    }
    expect(refusal.kind).toBe('throttled')
    expect(refusal.retryAfterSeconds).toBeGreaterThan(0)
    expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(60)
    expect(() => wrong.refuse('10.0.1.99', 8n)).not.toThrow()
  })
})
