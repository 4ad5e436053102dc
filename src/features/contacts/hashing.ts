import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { Places } from '../../platform/places.ts'
import { ThreadDeath, Threads } from '../../platform/threads.ts'

/** Hashes passwords in a thread of low priority: a hash is slow on purpose, and requests are answered meanwhile. */
export interface Hashing {
  /** Returns the hash of a password. Throws a Fault: 503 where too many of the account, or of all, wait, or where the thread ended. */
  hash(account: AccountId, password: string): Promise<string>
  close(): Promise<void>
}

/** From this many cores on a second thread does not take the only other core from the database. */
const CORES_FOR_TWO = 4
/** A thousand hashes are some three minutes. */
const WAITING_MAX = 1000
const OF_ACCOUNT_MAX = 200
/** Of a hash that takes 200 ms where nothing else runs. */
const HASH_MS_MAX = 60_000
/** The 32 MB of a hash are no JavaScript. */
const HEAP_MB = 32
const RETRY_SECONDS = 5

const notHashed = () =>
  new Fault(
    'unavailable',
    [{ code: 'password_not_hashed', message: 'The password could not be hashed in time; try again.', field: null }],
    RETRY_SECONDS,
  )

/** Starts nothing: a thread is started by the first password. `root` is the package's folder, where the build lies. */
export function makeHashing({ root }: { root: string }): Hashing {
  const threads = new Threads({
    program: pathToFileURL(join(root, 'dist', 'hashing.js')),
    heapMb: HEAP_MB,
    timeMsMax: HASH_MS_MAX,
  })
  const places = new Places({
    running: availableParallelism() >= CORES_FOR_TWO ? 2 : 1,
    waiting: WAITING_MAX,
    perOwner: OF_ACCOUNT_MAX,
  })
  return {
    hash: (account, password) =>
      places.run(account, async () => {
        try {
          return new TextDecoder().decode(await threads.run(new TextEncoder().encode(password)))
        } catch (error) {
          throw error instanceof ThreadDeath ? notHashed() : error
        }
      }),
    close: () => threads.close(),
  }
}
