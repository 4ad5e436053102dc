import { describe, expect, test } from 'vitest'
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
    const opened = link()
    servers.begin(opened)
    servers.cutOthers(same.identity)
    expect([kept, restarted, gone, opened].map(({ cuts }) => cuts.length)).toEqual([0, 1, 0, 1])
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
