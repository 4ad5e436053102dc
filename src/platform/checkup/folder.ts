import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { keysFromText } from '../setting-values.ts'
import { keyFileOf } from '../envelope/encryption-key.ts'
import { weakKeysInUse } from '../envelope/open.ts'
import { findBinariesPackage } from '../postgres/binaries.ts'
import { type DataFolder, dataFolderAt, refuseHalfRestored } from '../postgres/data-folder.ts'
import { chooseIdentity } from '../postgres/identity.ts'
import { findOwner } from '../postgres/lock.ts'
import { findServersIn } from '../postgres/processes.ts'
import { errorCodeOf, StartFailure } from '../postgres/start-failure.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** The data folder: whether it can be used, the room that is left, the key in it, and the database that lies there. Only looked at. */

const MEGABYTE = 2 ** 20
const ROOM_NEEDED_MB = 200
const ROOM_WANTED_MB = 2048
const NETWORK_FILE_SYSTEMS: Record<number, string> = {
  0x6969: 'NFS',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x517b: 'SMB',
}

export function checkFolder(config: Pick<Config, 'dataDir' | 'encryptionKeys' | 'databaseUrl'>): Finding[] {
  const folder = dataFolderAt(config.dataDir)
  const usable = checkUse(folder)
  if (usable.state === 'fail') return [usable]
  const isEmbedded = config.databaseUrl === undefined
  return [usable, ...checkRoom(folder), checkKey(folder, config), ...(isEmbedded ? checkCluster(folder) : [])]
}

function checkUse({ root }: DataFolder): Finding {
  const about = 'DATA_DIR'
  const mend = 'give the folder to the user that runs Perennial, or set DATA_DIR to another'
  try {
    if (!existsSync(root)) {
      const parent = nearest(root)
      accessSync(parent, constants.W_OK | constants.X_OK)
      return fine(about, `${root} is not there yet; the first start makes it`)
    }
    const { mode, uid } = statSync(root)
    if (!statSync(root).isDirectory()) return broken(about, `${root} is not a folder`, 'set DATA_DIR to another path')
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK)
    const ownUid = process.getuid?.() ?? uid
    if (ownUid !== 0 && uid !== ownUid)
      return doubtful(about, `${root} belongs to user id ${uid}, and this is ${ownUid}`, mend)
    if ((mode & 0o077) !== 0)
      return doubtful(about, `${root} is open to other users (${(mode & 0o777).toString(8)})`, `chmod 700 ${root}`)
    return fine(about, `${root} can be written`)
  } catch (error) {
    if (errorCodeOf(error) === 'EROFS')
      return broken(about, `${root} lies on a read-only file system`, 'mount it writable, or set DATA_DIR to another')
    return broken(about, `${root} cannot be used by this user (${errorCodeOf(error)})`, mend)
  }
}

/** Returns the first folder on the way up that exists. */
function nearest(path: string): string {
  const parent = dirname(path)
  return existsSync(parent) || parent === path ? parent : nearest(parent)
}

function checkRoom({ root }: DataFolder): Finding[] {
  const { bavail, bsize, ffree, files, type } = statfsSync(existsSync(root) ? root : nearest(root))
  const findings: Finding[] = []
  const megabytes = Math.floor((bavail * bsize) / MEGABYTE)
  const text = `${megabytes} MB are free where ${root} lies`
  if (megabytes < ROOM_NEEDED_MB) findings.push(broken('disk', text, 'free some space: a full disk stops the database'))
  else if (megabytes < ROOM_WANTED_MB)
    findings.push(doubtful('disk', text, 'free some space soon: the log of a large run alone takes 2 GB'))
  else findings.push(fine('disk', text))
  if (files > 0 && ffree < 1000) findings.push(broken('disk', 'hardly a file can be made any more', 'free some inodes'))
  const network = NETWORK_FILE_SYSTEMS[type]
  if (network)
    findings.push(
      doubtful(
        'disk',
        `${root} lies on ${network}`,
        'set DATA_DIR to a local disk: locks and durability are not sure there',
      ),
    )
  return findings
}

function checkKey(folder: DataFolder, config: Pick<Config, 'encryptionKeys' | 'databaseUrl' | 'dataDir'>): Finding {
  const { encryptionKeys, databaseUrl } = config
  const about = 'encryption key'
  const path = keyFileOf(folder.root)
  const restore = `restore ${path} from a backup, or set ENCRYPTION_KEY`
  const stored = readText(path)
  if (encryptionKeys) {
    const others = (stored === undefined ? undefined : keysFromText(stored)) ?? []
    if (others.some((other) => !encryptionKeys.some((key) => key.equals(other))))
      return doubtful(
        about,
        `ENCRYPTION_KEY is another key than ${path}`,
        'give the one that the secrets of this database were sealed with; the file may be that of another database, whose secrets nothing else opens',
      )
    return weakKey(about, config) ?? fine(about, 'is given as ENCRYPTION_KEY')
  }

  if (stored === undefined) {
    if (existsSync(folder.cluster))
      return broken(
        about,
        `${path} is missing beside a database: what is sealed in it cannot be opened, and the service does not start`,
        restore,
      )
    if (databaseUrl !== undefined)
      return doubtful(
        about,
        `neither ENCRYPTION_KEY nor ${path} is there; the first start makes one`,
        'set ENCRYPTION_KEY where several processes of other folders share the database',
      )
    return fine(about, 'is not there yet; the first start makes it')
  }
  if (!keysFromText(stored)) return broken(about, `${path} holds no key of 32 bytes`, restore)
  const open = statSync(path).mode & 0o077
  if (open !== 0) return doubtful(about, `${path} can be read by other users`, `chmod 600 ${path}`)
  return weakKey(about, config) ?? fine(about, `lies in ${path}; keep a copy with your backups`)
}

/** Finds a key that can be guessed; whether anything is sealed under it yet is asked of the database. */
function weakKey(about: string, config: Parameters<typeof weakKeysInUse>[0]): Finding | undefined {
  const weak = weakKeysInUse(config)
  return weak && doubtful(about, weak.text, `before the first start give another; after it ${weak.mend}`)
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    // What cannot be read is as wrong as what holds something else.
    return ''
  }
}

function checkCluster(folder: DataFolder): Finding[] {
  const about = 'embedded database'
  try {
    const majorVersion = Number.parseInt(findBinariesPackage().version, 10)
    chooseIdentity(folder.root)
    refuseHalfRestored(folder)
    const found = Number.parseInt(readText(join(folder.cluster, 'PG_VERSION')) ?? '', 10)
    if (!existsSync(folder.cluster)) return [fine(about, `PostgreSQL ${majorVersion}; the first start makes it`)]
    if (Number.isNaN(found))
      return [
        broken(
          about,
          `${folder.cluster} holds no PostgreSQL database`,
          'move it away, or set DATA_DIR to another folder',
        ),
      ]
    if (found !== majorVersion)
      return [
        broken(
          about,
          `was made by PostgreSQL ${found}, and this Perennial brings ${majorVersion}`,
          'start it with the Perennial that made it, and move the data with pg_dump',
        ),
      ]
    return [runningOf(folder, majorVersion)]
  } catch (error) {
    if (error instanceof StartFailure) return [broken(about, 'cannot be started here', error.message)]
    throw error
  }
}

function runningOf(folder: DataFolder, majorVersion: number): Finding {
  const owner = findOwner(folder)
  if (owner) return fine('embedded database', `PostgreSQL ${majorVersion}, run by process ${owner.pid}`)
  const orphans = findServersIn(folder.cluster)
  if (orphans.length > 0)
    return doubtful(
      'embedded database',
      `process ${orphans.join(', ')} was left behind by a killed service`,
      'start the service: it ends the process and goes on',
    )
  return fine(
    'embedded database',
    `PostgreSQL ${majorVersion}, not running now: what is in it is checked while the service runs`,
  )
}
