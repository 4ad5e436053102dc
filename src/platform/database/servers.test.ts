import { describe, expect, test } from 'vitest'
import { databaseFault, ofLogin, serverSilent, TAKES_NO_WRITES } from './failures.ts'
import { type ServerAnswer, Servers, UNKNOWN } from './servers.ts'

const ADDRESS = 'postgres://me:never-shown@one,two,three/billing'
const [ONE, TWO, THREE] = ['one', 'two', 'three'].map((host) => `postgres://me:never-shown@${host}/billing`) as [
  string,
  string,
  string,
]

const answer = (address: string, timeline: number | null, system: string | null = 'ours'): ServerAnswer => ({
  address,
  identity: { system, startedAt: `start of ${address}`, timeline },
})

const away = (address: string) => Object.assign(new Error(`${address} is away`), { code: 'ECONNREFUSED' })
const standby = (address: string) => Object.assign(new Error(`${address} is a standby`), { code: TAKES_NO_WRITES })

/** Asks servers that answer so; all others are away. */
const asking =
  (...answers: ServerAnswer[]) =>
  async (address: string) => {
    const found = answers.find((one) => one.address === address)
    if (!found) throw away(address)
    return found
  }

function link() {
  const cuts: string[] = []
  return { cuts, cut: (reason: Error) => void cuts.push(reason.message), isWaiting: () => false }
}

describe('the choice among servers that take writes', () => {
  test('is the highest timeline, among equals the one used last, else the first', async () => {
    const servers = new Servers(ADDRESS)
    expect(servers.last).toBeUndefined()
    expect((await servers.choose(asking(answer(TWO, 3), answer(THREE, 3)))).address).toBe(TWO)
    expect((await servers.choose(asking(answer(ONE, 3), answer(TWO, 3)))).address).toBe(TWO)
    expect((await servers.choose(asking(answer(TWO, 3), answer(THREE, 4)))).address).toBe(THREE)
    expect(servers.last).toBe(THREE)
  })

  test('is never a former primary, also where no other server answers, and names it once', async () => {
    const servers = new Servers(ADDRESS)
    const named: string[] = []
    servers.onFormerPrimary = (address) => void named.push(address)
    await servers.choose(asking(answer(TWO, 4)))
    for (let times = 0; times < 2; times += 1)
      await expect(servers.choose(asking(answer(ONE, 3)))).rejects.toMatchObject({
        code: 'FORMER_PRIMARY',
        message: 'connection terminated: the database server at one/billing is a former primary',
      })
    expect(named).toEqual([ONE])
    // Another system has timelines of its own.
    expect((await servers.choose(asking(answer(ONE, 1, 'another')))).address).toBe(ONE)
  })

  test('takes a server that does not answer what it is', async () => {
    const servers = new Servers(ADDRESS)
    expect((await servers.choose(asking({ address: TWO, identity: UNKNOWN }))).address).toBe(TWO)
  })

  test('throws what the last server answered where none takes writes, and is asked for once by all who wait', async () => {
    const servers = new Servers(ADDRESS)
    let asked = 0
    const ask = async (address: string) => {
      asked += 1
      throw away(address)
    }
    const both = await Promise.allSettled([servers.choose(ask), servers.choose(ask)])
    expect(both).toMatchObject([{ reason: { message: `${THREE} is away` } }, { status: 'rejected' }])
    expect(asked).toBe(3)
  })
})

describe('a server that is silent', () => {
  const failing = (failures: Record<string, Error>, ...answers: ServerAnswer[]) => {
    const ask = asking(...answers)
    return async (address: string) => {
      const failure = failures[address]
      if (failure) throw failure
      return ask(address)
    }
  }

  test('may be the one that takes writes, so that is what is thrown where the others take none', async () => {
    const servers = new Servers(ADDRESS)
    await expect(servers.choose(failing({ [ONE]: serverSilent(), [TWO]: standby(TWO) }))).rejects.toMatchObject({
      code: 'ONE_IS_SILENT',
    })
    // None has answered.
    await expect(servers.choose(failing({ [ONE]: serverSilent() }))).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    // All others are gone: the standby waits for its promotion.
    await expect(servers.choose(failing({ [TWO]: standby(TWO) }))).rejects.toMatchObject({ code: 'TAKES_NO_WRITES' })
  })

  test('was silent to whoever used it, for a minute and until the next one is settled; one that was not used says nothing', async () => {
    let nowMs = 0
    const servers = new Servers(ADDRESS, () => nowMs)
    const told: boolean[] = []
    servers.settleFrom({ system: 'ours', timeline: 1 }, async (_before, wasSilent) => {
      told.push(wasSilent)
      return undefined
    })
    await servers.choose(failing({ [THREE]: serverSilent() }, answer(ONE, 1)))
    expect(servers.wasSilent).toBe(true)
    nowMs = 60_000
    expect(servers.wasSilent).toBe(false)
    await servers.choose(failing({ [THREE]: serverSilent() }, answer(ONE, 1)))
    expect(servers.wasSilent).toBe(false)
    const moveTo = async (two: ServerAnswer, failures: Record<string, Error>) => {
      await servers.choose(failing(failures, two))
      await servers.settledOn(two.identity)
    }
    await moveTo(answer(TWO, 2), { [ONE]: serverSilent() })
    await moveTo(answer(THREE, 3), { [ONE]: serverSilent() })
    expect(told).toEqual([true, false])
  })
})

describe('a server that refuses a login', () => {
  const refusing = (code: string) => (address: string) =>
    ofLogin(
      Object.assign(new Error('password authentication failed for user "me"'), { code, severity: 'FATAL' }),
      new URL(address).host,
    ) as Error
  const wrongPassword = refusing('28P01')
  const starting = refusing('57P03')
  const hasNoneLeft = refusing('53300')
  const noPassword = (address: string) =>
    ofLogin(new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), new URL(address).host)
  const silent = () => serverSilent()
  type Fails = (address: string) => unknown
  const asks = (failures: Record<string, Fails>, others: Fails) => async (address: string) => {
    throw (failures[address] ?? others)(address)
  }

  test.each(['one', 'two', 'three'])('is what is thrown, wherever it stands: %s', async (server) => {
    const refusing = `postgres://me:never-shown@${server}/billing`
    for (const others of [standby, away, starting]) {
      const servers = new Servers(ADDRESS)
      const thrown = await servers.choose(asks({ [refusing]: wrongPassword }, others)).catch((error: unknown) => error)
      expect(thrown).toMatchObject({
        code: '28P01',
        server,
        message: `the database server at ${server} refuses: password authentication failed for user "me"`,
      })
      expect(databaseFault(thrown)).toMatchObject({
        problems: [{ code: 'database_unavailable' }],
        retryAfterSeconds: 2,
        cause: thrown,
      })
      expect(servers.refusal).toBe(thrown)
    }
    // Without an SQLSTATE, too; and one that has no connection left is there.
    for (const [one, words] of [
      [noPassword, 'asks for a password'],
      [hasNoneLeft, 'refuses: '],
    ] as const) {
      const choice = new Servers(ADDRESS).choose(asks({ [refusing]: one }, standby))
      await expect(choice).rejects.toThrow(`the database server at ${server} ${words}`)
    }
    // One that is silent may be the one that takes writes, so that it is asked again.
    await expect(new Servers(ADDRESS).choose(asks({ [refusing]: wrongPassword }, silent))).rejects.toMatchObject({
      code: 'ONE_IS_SILENT',
      message: expect.stringContaining(`the database server at ${server} refuses: `),
    })
    // What it says while it starts is an answer, and no refusal.
    await expect(new Servers(ADDRESS).choose(asks({ [refusing]: starting }, away))).rejects.toMatchObject({
      code: '57P03',
      name: 'Error',
    })
  })

  test('is so until a connection is made; one without a connection left has one later', async () => {
    const servers = new Servers(ADDRESS)
    const refused = () => servers.choose(asks({ [ONE]: wrongPassword }, standby)).catch(() => servers.refusal)
    expect(await refused()).toBeDefined()
    await servers.choose(asking(answer(ONE, 3)))
    expect(servers.refusal).toBeUndefined()
    expect(await refused()).toBeDefined()
    servers.admit(link(), answer(ONE, 3))
    expect(servers.refusal).toBeUndefined()
    expect(await refused()).toBeDefined()
    await expect(servers.choose(asks({ [ONE]: hasNoneLeft }, standby))).rejects.toThrow()
    expect(servers.refusal).toBeUndefined()
  })
})

describe('what is settled', () => {
  test('is settled once for all who wait, again where it fails, and up to the server that a connection leads to', async () => {
    const servers = new Servers(ADDRESS)
    const begun: number[] = []
    const ends: { settled(timeline?: number): void; failed(): void }[] = []
    servers.settleFrom({ system: 'ours', timeline: 1 }, (before) => {
      begun.push(before)
      return new Promise((resolve, reject) =>
        ends.push({ settled: resolve, failed: () => reject(new Error('not settled')) }),
      )
    })
    const on = (timeline: number) => servers.settledOn(answer(TWO, timeline).identity)
    await on(1)
    const failing = [on(2), on(2)]
    ends[0]?.failed()
    expect(await Promise.allSettled(failing)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
    const [second, third] = [on(2), on(3)]
    ends[1]?.settled()
    await second
    await expect.poll(() => begun).toEqual([1, 1, 2])
    ends[2]?.settled(4)
    await third
    await on(4)
    expect(begun).toEqual([1, 1, 2])
  })

  test('is begun as soon as a server of a higher timeline is found', async () => {
    const servers = new Servers(ADDRESS)
    const begun: number[] = []
    servers.settleFrom({ system: 'ours', timeline: 1 }, async (before) => {
      begun.push(before)
      return undefined
    })
    await servers.choose(asking(answer(TWO, 2)))
    expect(begun).toEqual([1])
  })
})

describe('connections that are open', () => {
  test('are ended once their server is known for a former primary, by whoever finds that', () => {
    const servers = new Servers(ADDRESS)
    const [old, other] = [link(), link()]
    servers.admit(old, answer(ONE, 3))
    servers.admit(other, answer(THREE, 1, 'another'))
    servers.admit(link(), answer(TWO, 4))
    expect([old.cuts.length, other.cuts.length]).toEqual([1, 0])
    expect(() => servers.admit(link(), answer(ONE, 3))).toThrow(/former primary/)
  })

  test('are ended where their server is another one or was started anew, and not where it is the same', () => {
    const servers = new Servers(ADDRESS)
    const same = answer(ONE, 3)
    const [kept, restarted, gone] = [link(), link(), link()]
    servers.admit(kept, same)
    servers.admit(restarted, { ...same, identity: { ...same.identity, startedAt: 'before' } })
    servers.admit(gone, answer(TWO, 3))
    servers.dismiss(gone)
    const [opened, openedElsewhere] = [link(), link()]
    servers.begin(opened, ONE)
    servers.begin(openedElsewhere, TWO)
    servers.cutOthers(same)
    expect([kept, restarted, gone].map(({ cuts }) => cuts.length)).toEqual([0, 1, 0])
    expect([opened, openedElsewhere].map(({ cuts }) => cuts.length)).toEqual([0, 1])
    // One address alone may have led to another machine when it was opened.
    const one = new Servers(ONE)
    one.begin(opened, ONE)
    one.cutOthers(same)
    expect(opened.cuts).toHaveLength(1)
  })

  test('on which callers wait are ended where the server is silent, and those alone', () => {
    const servers = new Servers(ADDRESS)
    const [idle, waiting] = [link(), { ...link(), isWaiting: () => true }]
    servers.admit(idle, answer(ONE, 3))
    servers.admit(waiting, answer(ONE, 3))
    servers.cutWaiting()
    expect([idle, waiting].map(({ cuts }) => cuts.length)).toEqual([0, 1])
  })
})
