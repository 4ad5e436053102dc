import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errorCodeOf, folderFailure, StartFailure } from './start-failure.ts'

/** The parts of a data folder; all absolute. */
export type DataFolder = {
  readonly root: string
  readonly lock: string
  readonly cluster: string
  readonly clusterInTheMaking: string
  /** The database of a backup until all of it is there. */
  readonly clusterInRestore: string
}

const OUR_ENTRIES = new Set(['lock', 'postgres', 'postgres.new', 'postgres.restoring', 'encryption.key'])

/** Names the parts of a data folder without touching it. */
export function dataFolderAt(dataDir: string): DataFolder {
  const root = resolve(dataDir)
  return {
    root,
    lock: join(root, 'lock'),
    cluster: join(root, 'postgres'),
    clusterInTheMaking: join(root, 'postgres.new'),
    clusterInRestore: join(root, 'postgres.restoring'),
  }
}

/** Names the file that marks a database as restored, until its first start has taken note of it. */
export const restoredMarkOf = (cluster: string): string => join(cluster, 'perennial.restored')

/** Returns whether a database lies in the data folder, started or not. Only looked at. */
export const hasDatabase = (dataDir: string): boolean => existsSync(dataFolderAt(dataDir).cluster)

/** Refuses a folder in which a restore has begun and not ended: an empty database in its place would answer as if all were lost. Throws a StartFailure. */
export function refuseHalfRestored({ root, cluster, clusterInRestore }: DataFolder): void {
  if (existsSync(cluster) || !existsSync(clusterInRestore)) return
  throw new StartFailure(
    `A restore into ${root} did not come to its end: run "perennial restore" again, or delete ${clusterInRestore} to begin without that backup.`,
  )
}

/**
 * Makes the data folder (mode 0700) where it is missing and proves that it can be written.
 * Throws a StartFailure when it cannot.
 */
export function openDataFolder(dataDir: string): DataFolder {
  const wanted = resolve(dataDir)
  try {
    makeFolder(wanted)
    const folder = dataFolderAt(realpathSync(wanted))
    const probe = join(folder.root, `.writable-${process.pid}`)
    writeFileSync(probe, 'x')
    rmSync(probe)
    return folder
  } catch (error) {
    throw folderFailure(wanted, error)
  }
}

// An existing folder is closed to others only when nothing but ours is in it: DATA_DIR=/tmp must not lock out everybody.
function makeFolder(root: string): void {
  const isNew = makeWithParents(root)
  const { mode, uid } = statSync(root)
  if (isNew || (mode & 0o777) === 0o700) return
  const isOurs = uid === process.getuid?.() && readdirSync(root).every((entry) => OUR_ENTRIES.has(entry))
  if (isOurs) chmodSync(root, 0o700)
}

// One folder at a time: Node's recursive mkdir tries for ever where a parent exists and yet answers ENOENT, as /proc does.
function makeWithParents(path: string): boolean {
  if (existsSync(path)) return false
  const parent = dirname(path)
  if (parent !== path) makeWithParents(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error
  }
  return true
}

/** Gives a file that root made in somebody else's data folder to the owner of that folder, who must read it next time. */
export function giveToFolderOwner(folder: DataFolder, file: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder.root)
  if (uid !== 0) chownSync(file, uid, gid)
}

/**
 * Returns true when the folder holds a database of the right major version; false when there is none yet. Throws a StartFailure for a
 * database of another version and for a folder with something else in it.
 */
export function hasCluster(folder: DataFolder, majorVersion: number): boolean {
  const found = readVersion(folder)
  if (found === undefined) return false
  if (found === majorVersion) return true
  const remedy =
    found > majorVersion
      ? 'start it with the newer Perennial that made it'
      : 'export it with the Perennial that made it and import it into an empty DATA_DIR'
  throw new StartFailure(
    `The database in ${folder.cluster} was made by PostgreSQL ${found} and this Perennial brings PostgreSQL ${majorVersion}: ${remedy}.`,
  )
}

function readVersion(folder: DataFolder): number | undefined {
  try {
    const version = Number(/^\d+/.exec(readFileSync(join(folder.cluster, 'PG_VERSION'), 'utf8'))?.[0])
    if (Number.isInteger(version)) return version
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw folderFailure(folder.root, error)
  }
  return emptyOrAbsent(folder)
}

function emptyOrAbsent(folder: DataFolder): undefined {
  try {
    rmdirSync(folder.cluster)
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw new StartFailure(
      `The folder ${folder.cluster} holds no PostgreSQL database and is not empty: move it away or set DATA_DIR to another folder.`,
    )
  }
}

/** Brings the names inside a folder to disk, so that a power cut cannot undo a rename. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
