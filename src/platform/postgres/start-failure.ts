/**
 * The database cannot be started or reached, and the person who started the program can do something about it.
 * The message is one sentence for that person: what is wrong and what to do. It never holds a password,
 * and whoever prints it leaves the stack out.
 */
export class StartFailure extends Error {
  override name = 'StartFailure'
}

/** The way out that every machine has; appended where the embedded database cannot run at all. */
export const OTHER_WAY = 'or set DATABASE_URL to a PostgreSQL server of version 15 or newer'

/** Returns the system's short word for a failed call (ENOENT, EACCES, …), or undefined for any other error. */
export function errorCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Turns the failed file call into a sentence about the folder; anything unknown is handed back to be thrown as it is. */
export function folderFailure(dataDir: string, error: unknown): unknown {
  switch (errorCodeOf(error)) {
    case 'EROFS':
      return new StartFailure(
        `The data folder ${dataDir} cannot be written, because its file system is read-only: mount it writable, or set DATA_DIR to another folder.`,
      )
    case 'ENOENT':
      return new StartFailure(
        `The data folder ${dataDir} cannot be made there, whoever tries: set DATA_DIR to another folder.`,
      )
    case 'EACCES':
    case 'EPERM':
      return new StartFailure(
        `The data folder ${dataDir} cannot be written by this user (${errorCodeOf(error)}): give it to the user that runs Perennial, or set DATA_DIR to another folder.`,
      )
    case 'ENOTDIR':
    case 'EEXIST':
      return new StartFailure(`The data folder ${dataDir} is not a folder: set DATA_DIR to another path.`)
    case 'ENOSPC':
    case 'EDQUOT':
      return fullDisk(dataDir)
    default:
      return error
  }
}

/** Makes the failure of a full disk under the data folder. */
export function fullDisk(dataDir: string): StartFailure {
  return new StartFailure(`The disk that holds ${dataDir} is full: free some space and start again.`)
}
