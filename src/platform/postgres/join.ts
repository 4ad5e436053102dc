import { setTimeout as delay } from 'node:timers/promises'
import { connectionTo, type EmbeddedConnection, tryConnection } from './connection.ts'
import { type DataFolder, dataFolderAt } from './data-folder.ts'
import { findOwner } from './lock.ts'
import { errorCodeOf, StartFailure } from './start-failure.ts'

const RETRY_MS = 50
const WAIT_MS = 60_000

/**
 * Returns the connection to the embedded database that another process runs in `dataDir`, waited for while that process starts it;
 * undefined when none runs. Throws a StartFailure when this user may not reach it.
 */
export async function joinEmbeddedPostgres(given: { dataDir: string }): Promise<EmbeddedConnection | undefined> {
  const folder = dataFolderAt(given.dataDir)
  try {
    for (const since = performance.now(); performance.now() - since < WAIT_MS;) {
      const connection = await tryToJoin(folder)
      if (connection) return connection
      if (!findOwner(folder)) return undefined
      await delay(RETRY_MS)
    }
    throw new StartFailure(
      `The database in ${folder.root} does not answer: look into the log of the process that runs it.`,
    )
  } catch (error) {
    if (['EACCES', 'EPERM', '28000'].includes(errorCodeOf(error) ?? '')) {
      throw new StartFailure(
        `The database in ${folder.root} belongs to another user: run this command as the user that runs Perennial.`,
      )
    }
    throw error
  }
}

async function tryToJoin(folder: DataFolder): Promise<EmbeddedConnection | undefined> {
  try {
    const connection = connectionTo(folder.cluster)
    return (await tryConnection(connection)) === 'ready' ? connection : undefined
  } catch (error) {
    // The folder of a first start is not there yet.
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
