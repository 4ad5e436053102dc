import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { assert } from '../kernel/assert.ts'
import type { ThreadReply } from './threads.ts'

/** The side of a thread of `threads.ts` that does the work, after whatever the thread that answers requests has to do. */

/** On Linux a thread has a priority of its own; elsewhere this would be the whole process's. */
const PRIORITY = 10

/** Answers each piece of work that is sent to this thread, one after the other, at a low priority. */
export function workInThread(answer: (input: Uint8Array) => ThreadReply | Promise<ThreadReply>): void {
  if (process.platform === 'linux') setPriority(PRIORITY)
  const port = parentPort
  assert(port, 'this program runs in a thread')
  port.on('message', async (input: Uint8Array) => port.postMessage(await answer(input)))
}
