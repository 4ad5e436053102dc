import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { conflict } from '../../kernel/fault.ts'
import { keyFileOf } from '../envelope/encryption-key.ts'
import {
  type DataFolder,
  dataFolderAt,
  giveToFolderOwner,
  openDataFolder,
  restoredMarkOf,
  syncFolder,
} from '../postgres/data-folder.ts'
import { chooseIdentity, type Identity } from '../postgres/identity.ts'
import { takeLock } from '../postgres/lock.ts'
import { folderFailure } from '../postgres/start-failure.ts'
import { type BackupFacts, KEY_ENTRY, MACHINE, OWN_FOLDER, ownPostgres, readFacts, readWhole } from './file.ts'
import { readTar, type TarEntry, type TarReceiver } from './tar.ts'

/**
 * Puts a backup into an empty data folder. The database has its name only when it is whole; what a killed restore leaves under another name keeps
 * every start from making an empty one, and is replaced by the next restore.
 */

/** Entries of a folder without a database: those that a failed start or restore leaves there, and the key that somebody has put back already. */
const MAY_BE_THERE = new Set(['lock', 'postgres.new', 'postgres.restoring', 'encryption.key'])

/** Files of the running server that mean nothing elsewhere. */
const OF_THE_OLD_SERVER = /^\.s\.PGSQL\./

/**
 * Restores a backup and returns its facts. The whole file is read and compared with its hash before anything is written. Throws a Fault about the
 * file and about a folder that is not empty, a StartFailure about a folder that cannot be used.
 */
export async function restoreBackup(file: string, dataDir: string): Promise<BackupFacts> {
  const facts = await readFacts(file)
  checkFits(file, facts)
  checkEmpty(dataFolderAt(dataDir))
  for await (const part of readWhole(file, facts)) void part
  const folder = openDataFolder(dataDir)
  const lock = await takeLock(folder, () => undefined)
  try {
    checkEmpty(folder)
    await unpack(file, facts, folder)
    return facts
  } finally {
    lock.release()
  }
}

function checkFits(file: string, { Postgres, Machine }: BackupFacts): void {
  const own = ownPostgres()
  if (Postgres === own && Machine === MACHINE) return
  throw conflict(
    'backup_of_another_kind',
    `Nothing was restored: ${file} is of PostgreSQL ${Postgres} on ${Machine}, this is PostgreSQL ${own} on ${MACHINE}: restore it there, and carry the data over by "perennial export" and "perennial import".`,
    'FILE',
  )
}

function checkEmpty({ root }: DataFolder): void {
  const other = existsSync(root) ? readdirSync(root).find((entry) => !MAY_BE_THERE.has(entry)) : undefined
  if (other !== undefined)
    throw conflict(
      'data_dir_not_empty',
      `Nothing was restored: ${join(root, other)} is there already: set DATA_DIR to an empty folder.`,
      'DATA_DIR',
    )
}

async function unpack(file: string, facts: BackupFacts, folder: DataFolder): Promise<void> {
  const { clusterInRestore: restoring, clusterInTheMaking: making, cluster, root } = folder
  try {
    for (const left of [restoring, making]) rmSync(left, { recursive: true, force: true })
    const unpacking = new Unpacking(restoring, chooseIdentity(root).runAs)
    syncFolder(root)
    await readTar(readWhole(file, facts), unpacking)
    await unpacking.sync()
    putKey(folder, unpacking.key)
    writeFileSync(restoredMarkOf(restoring), '', { flush: true })
    renameSync(restoring, cluster)
    syncFolder(root)
  } catch (error) {
    rmSync(restoring, { recursive: true, force: true })
    throw folderFailure(root, error)
  }
}

/** Writes what is in the archive of a database into a folder, for the user as whom the database runs. */
class Unpacking implements TarReceiver {
  /** The encryption key, where the archive has it. */
  key: string | undefined
  readonly #root: string
  readonly #owner: Identity['runAs']
  readonly #folders = new Set<string>()
  #file: FileHandle | undefined
  #isKey = false

  constructor(root: string, owner: Identity['runAs']) {
    this.#root = root
    this.#owner = owner
    this.#folder(root)
  }

  async begin({ name, isFolder }: TarEntry): Promise<void> {
    const path = join(this.#root, name)
    this.#isKey = name === KEY_ENTRY
    if (this.#isKey) this.key = ''
    if (isFolder) this.#folder(path)
    if (isFolder || name.startsWith(`${OWN_FOLDER}/`) || OF_THE_OLD_SERVER.test(name)) return
    this.#folder(dirname(path))
    this.#file = await open(path, 'wx', 0o600)
    if (this.#owner) await this.#file.chown(this.#owner.uid, this.#owner.gid)
  }

  async data(bytes: Buffer): Promise<void> {
    if (this.#isKey) this.key += bytes.toString('latin1')
    await this.#file?.writeFile(bytes)
  }

  async end(): Promise<void> {
    await this.#file?.sync()
    await this.#file?.close()
    this.#file = undefined
  }

  /** Brings the names in all folders to the disk. */
  async sync(): Promise<void> {
    for (const folder of this.#folders) syncFolder(folder)
  }

  #folder(path: string): void {
    if (this.#folders.has(path)) return
    if (path !== this.#root) this.#folder(dirname(path))
    mkdirSync(path, { mode: 0o700, recursive: true })
    if (this.#owner) chownSync(path, this.#owner.uid, this.#owner.gid)
    this.#folders.add(path)
  }
}

/** Puts the key of a backup beside the database. Throws a Fault where there is another one. */
function putKey(folder: DataFolder, key: string | undefined): void {
  if (key === undefined) return
  const path = keyFileOf(folder.root)
  if (!existsSync(path)) {
    writeFileSync(path, `${key.trim()}\n`, { mode: 0o600, flag: 'wx', flush: true })
    giveToFolderOwner(folder, path)
  } else if (readFileSync(path, 'utf8').trim() !== key.trim())
    throw conflict(
      'key_differs',
      `Nothing was restored: ${path} holds another key than the backup: move it away.`,
      'DATA_DIR',
    )
}
