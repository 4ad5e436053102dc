import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigFailure } from '../config.ts'
import { type Keys, keysFromText } from '../setting-values.ts'
import { dataFolderAt, giveToFolderOwner, openDataFolder, syncFolder } from '../postgres/data-folder.ts'
import { errorCodeOf, folderFailure } from '../postgres/start-failure.ts'

type KeyConfig = Pick<Config, 'encryptionKeys' | 'dataDir'>

export const keyFileOf = (dataDir: string): string => join(dataFolderAt(dataDir).root, 'encryption.key')

/**
 * Returns the keys that wrap data keys: the given ones, else those in DATA_DIR/encryption.key; undefined where neither is there. Throws a
 * ConfigFailure when the file holds something else, a StartFailure when it cannot be read.
 */
export function findEncryptionKeys({ encryptionKeys, dataDir }: KeyConfig): Keys | undefined {
  return encryptionKeys ?? readKeyFile(keyFileOf(dataDir))
}

/** Returns the keys as they are found, and makes DATA_DIR/encryption.key (mode 0600) where there are none. */
export const findOrMakeEncryptionKeys = (config: KeyConfig): Keys =>
  findEncryptionKeys(config) ?? makeKeyFile(config.dataDir)

function readKeyFile(path: string): Keys | undefined {
  try {
    const keys = keysFromText(readFileSync(path, 'utf8').trim())
    if (keys) return keys
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw folderFailure(path, error)
  }
  // Making a new one would lock away for ever what the old one sealed.
  throw new ConfigFailure([
    `The file ${path} does not hold a key of 32 bytes: restore it from a backup, or set ENCRYPTION_KEY.`,
  ])
}

// Linked into place when complete: of two processes that start at once one makes the key and both use it.
function makeKeyFile(dataDir: string): Keys {
  const folder = openDataFolder(dataDir)
  const path = keyFileOf(dataDir)
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
  const keys = readKeyFile(path)
  if (!keys) throw new Error('a key file that was just made is there')
  return keys
}
