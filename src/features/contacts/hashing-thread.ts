import type { ThreadReply } from '../../platform/threads.ts'
import { workInThread } from '../../platform/low-priority.ts'
import { passwordHash } from './password.ts'

/** The program of the threads that hash passwords: one password in, its hash out. An entry point of the build. */

function answer(input: Uint8Array): ThreadReply {
  try {
    return { bytes: new TextEncoder().encode(passwordHash(new TextDecoder().decode(input))) }
  } catch (error) {
    return { error: error as Error }
  }
}

workInThread(answer)
