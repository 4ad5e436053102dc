import { expect, test } from 'vitest'
import { sideBySide } from './side-by-side.ts'

/** Work that ends when the test says so. */
function heldWork() {
  const begun: number[] = []
  const ends = new Map<number, (error?: Error) => void>()
  const work = (entry: number) =>
    new Promise<void>((resolve, reject) => {
      begun.push(entry)
      ends.set(entry, (error) => (error ? reject(error) : resolve()))
    })
  const end = async (entry: number, error?: Error) => {
    ends.get(entry)?.(error)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { begun, work, end }
}

test('so many are at work as are wanted, and the next begins when one ends', async () => {
  const { begun, work, end } = heldWork()
  const all = sideBySide([1, 2, 3, 4], 2, work)
  expect(begun).toEqual([1, 2])
  await end(2)
  expect(begun).toEqual([1, 2, 3])
  await end(1)
  await end(3)
  await end(4)
  await all
  expect(begun).toEqual([1, 2, 3, 4])
})

test('after a failure none begins, those at work are waited for, and the failure is thrown', async () => {
  const { begun, work, end } = heldWork()
  let isOver = false
  const all = sideBySide([1, 2, 3], 2, work).finally(() => (isOver = true))
  all.catch(() => {})
  await end(1, new Error('one'))
  expect([begun, isOver]).toEqual([[1, 2], false])
  await end(2)
  await expect(all).rejects.toThrow('one')
  expect(begun).toEqual([1, 2])
})
