import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Config, ConfigFailure, keyFromText } from './config.ts'
import { giveToFolderOwner, openDataFolder, syncFolder } from './postgres/data-folder.ts'
import { errorCodeOf, folderFailure } from './postgres/start-failure.ts'

/**
 * Returns the 32-byte key that stored secrets are encrypted with: the given one, else the one in DATA_DIR/encryption.key, which is made at
 * the first call (mode 0600), also where the database lies elsewhere by DATABASE_URL. Throws a ConfigFailure when the file holds something
 * else, a StartFailure when it cannot be read or written.
 */
export function encryptionKey(config: Pick<Config, 'encryptionKey' | 'dataDir'>): Buffer {
  if (config.encryptionKey) return config.encryptionKey
  const path = join(resolve(config.dataDir), 'encryption.key')
  return readKeyFile(path) ?? makeKeyFile(config.dataDir)
}

function readKeyFile(path: string): Buffer | undefined {
  try {
    const key = keyFromText(readFileSync(path, 'utf8').trim())
    if (key) return key
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw folderFailure(path, error)
  }
  // Making a new one would lock away for ever what the old one encrypted.
  throw new ConfigFailure([
    `The file ${path} does not hold a key of 32 bytes: restore it from a backup, or set ENCRYPTION_KEY.`,
  ])
}

// Linked into place when complete: of two processes that start at once one makes the key and both use it.
function makeKeyFile(dataDir: string): Buffer {
  const folder = openDataFolder(dataDir)
  const path = join(folder.root, 'encryption.key')
  const making = `${path}.${process.pid}`
  try {
    rmSync(making, { force: true })
    const descriptor = openSync(making, 'wx', 0o600)
    writeSync(descriptor, `${randomBytes(32).toString('hex')}\n`)
    fsyncSync(descriptor)
    closeSync(descriptor)
    giveToFolderOwner(folder, making)
    linkSync(making, path)
  } catch (error) {
    const isMadeByAnother = errorCodeOf(error) === 'EEXIST'
    if (!isMadeByAnother) throw folderFailure(folder.root, error)
  } finally {
    rmSync(making, { force: true })
  }
  syncFolder(folder.root)
  const key = readKeyFile(path)
  if (!key) throw new Error('a key file that was just made is there')
  return key
}
