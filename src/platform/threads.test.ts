import { afterEach, expect, test } from 'vitest'
import { ThreadDeath, ThreadRefusal, Threads, type ThreadsSettings } from './threads.ts'

const opened: Threads[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((threads) => threads.close()))
})

/** Program of a test thread, which does something else for each word; any other word comes back in capitals. */
const PROGRAM = `
import { parentPort, threadId } from 'node:worker_threads'
parentPort.on('message', (input) => {
  const word = new TextDecoder().decode(input)
  if (word === 'throw') throw new Error('broken')
  if (word === 'exit') process.exit(0)
  if (word === 'hang') for (;;);
  if (word === 'fill') { const kept = []; for (;;) kept.push({ word, kept: kept.length }) }
  if (word === 'refuse') parentPort.postMessage({ refusal: 'unwilling' })
  else if (word === 'fail') parentPort.postMessage({ error: new RangeError('too far') })
  else parentPort.postMessage({ bytes: new TextEncoder().encode(word === 'who' ? String(threadId) : word.toUpperCase()) })
})`

function threadsOf(wish: Partial<ThreadsSettings> = {}): Threads {
  const threads = new Threads({
    program: new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`),
    heapMb: 16,
    timeMsMax: 30_000,
    ...wish,
  })
  opened.push(threads)
  return threads
}

const bytesOf = (word: string): Uint8Array => new Uint8Array(new TextEncoder().encode(word))
const ask = async (threads: Threads, word: string): Promise<string> =>
  new TextDecoder().decode(await threads.run(bytesOf(word)))

test('work is done in a thread that stays for the next', async () => {
  const threads = threadsOf()
  expect(await ask(threads, 'one')).toBe('ONE')
  const who = await ask(threads, 'who')
  expect([Number(who) > 0, await ask(threads, 'who')]).toEqual([true, who])
})

test.each([
  ['throw', 'crash'],
  ['exit', 'crash'],
  ['fill', 'memory'],
])('a thread that dies (%s) fails its own work, and the next has a new thread', async (word, reason) => {
  const threads = threadsOf()
  const who = await ask(threads, 'who')
  const death = await ask(threads, word).catch((error: unknown) => error)
  expect(death).toBeInstanceOf(ThreadDeath)
  expect(death).toMatchObject({ reason })
  expect(await ask(threads, 'who')).not.toBe(who)
})

test('work that does not end is given up', async () => {
  const threads = threadsOf({ timeMsMax: 50 })
  await expect(ask(threads, 'hang')).rejects.toMatchObject({ reason: 'time' })
})

test('a refusal and an error of the work leave the thread alive', async () => {
  const threads = threadsOf()
  const who = await ask(threads, 'who')
  await expect(ask(threads, 'refuse')).rejects.toEqual(new ThreadRefusal('unwilling'))
  await expect(ask(threads, 'fail')).rejects.toEqual(new RangeError('too far'))
  expect(await ask(threads, 'who')).toBe(who)
})

test('work at the same time has a thread each', async () => {
  const threads = threadsOf()
  expect(new Set(await Promise.all([ask(threads, 'who'), ask(threads, 'who')])).size).toBe(2)
})

test('closing fails what is being done, and what comes later', async () => {
  const threads = threadsOf()
  const running = expect(ask(threads, 'hang')).rejects.toThrow(ThreadDeath)
  await threads.close()
  await running
  await expect(ask(threads, 'c')).rejects.toThrow(ThreadDeath)
})
