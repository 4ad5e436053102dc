import { expect, test } from 'vitest'
import { AccountWork, piecesOf } from './account-work.ts'

/** Work whose pieces end when they are let go. */
function held() {
  const ends = new Map<bigint, () => void>()
  const begun: string[] = []
  return {
    begun,
    work: ({ account, id }: { account: bigint; id?: bigint }) => {
      begun.push(`${account}/${id}`)
      return new Promise<void>((resolve) => ends.set(account, resolve))
    },
    end: (account: bigint) => ends.get(account)?.(),
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('what takes long of one account holds up no other, which a later round brings', async () => {
  const { begun, work, end } = held()
  const atWork = new AccountWork(2)
  const first = atWork.each(piecesOf([1n]), work)
  const second = atWork.each(piecesOf([1n, 2n]), work)
  await settled()
  expect(begun).toEqual(['1/undefined', '2/undefined'])
  end(2n)
  expect(await second).toBe(1)
  end(1n)
  expect(await first).toBe(1)
  const third = atWork.each(piecesOf([1n]), work)
  await settled()
  expect(begun).toHaveLength(3)
  end(1n)
  expect(await third).toBe(1)
})

test('an account with much to do has half of the places, and waits for itself', async () => {
  const { begun, work, end } = held()
  const atWork = new AccountWork(4)
  const much = Array.from({ length: 5 }, (_, id) => ({ account: 1n, id: BigInt(id) }))
  const all = atWork.each([...much, { account: 2n, id: 9n }], work)
  await settled()
  expect(begun).toEqual(['1/0', '1/1', '2/9'])
  end(2n)
  for (let n = 0; n < 5; n += 1) {
    end(1n)
    await settled()
  }
  expect(begun).toHaveLength(6)
  void all.catch(() => {})
})

test('once one fails none of its round is begun any more, and the failure is thrown', async () => {
  const atWork = new AccountWork(2, 1)
  const begun: bigint[] = []
  const failing = atWork.each(piecesOf([1n, 2n, 3n, 4n]), async ({ account }) => {
    begun.push(account)
    await settled()
    throw new Error(`of ${account}`)
  })
  await expect(failing).rejects.toThrow('of 1')
  expect(begun).toEqual([1n, 2n])
})
