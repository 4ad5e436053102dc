import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { newestCopyAge } from '../backup/nightly.ts'
import type { Config } from '../config.ts'
import { dataFolderAt } from '../postgres/data-folder.ts'
import { errorCodeOf } from '../postgres/start-failure.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** The nightly copies: whether any are made, can be written, are new enough and lie apart from what they are copies of. Only looked at. */

const ABOUT = 'BACKUP_DIR'
const HOUR = 3600
/** A night, and what a long copy may take. */
const OLD_SECONDS = 36 * HOUR

/** Checks the folder of the nightly copies. */
export async function checkCopies({ backupDir, dataDir }: Config, nowMs: number): Promise<Finding[]> {
  if (backupDir === undefined) return [fine(ABOUT, 'is unset: no copy is made by night')]
  const folder = resolve(backupDir)
  const blocked = blockedUse(folder)
  if (blocked) return [blocked]
  return [await checkAge(folder, nowMs), ...checkPlace(folder, dataDir)]
}

function blockedUse(folder: string): Finding | undefined {
  const isThere = existsSync(folder)
  try {
    accessSync(isThere ? folder : dirname(folder), constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return broken(
      ABOUT,
      `${folder} cannot be ${isThere ? 'written' : 'made'} by this user (${errorCodeOf(error)})`,
      'give the folder to the user that runs Perennial, or set BACKUP_DIR to another',
    )
  }
}

async function checkAge(folder: string, nowMs: number): Promise<Finding> {
  const seconds = await newestCopyAge(folder, nowMs)
  const mend =
    'the log of the worker says why ("the nightly copy of the database failed"); until then run "perennial backup"'
  if (seconds === Number.POSITIVE_INFINITY)
    return doubtful(ABOUT, `${folder} holds no copy yet`, `start the service; if that stays, ${mend}`)
  const age = `the newest copy in ${folder} is ${Math.floor(seconds / HOUR)} hours old`
  return seconds > OLD_SECONDS ? doubtful(ABOUT, age, mend) : fine(ABOUT, age)
}

function checkPlace(folder: string, dataDir: string): Finding[] {
  const { root } = dataFolderAt(dataDir)
  if (folder !== root && !folder.startsWith(root + sep)) return []
  return [
    doubtful(
      ABOUT,
      `${folder} lies within DATA_DIR: whoever loses one loses the other`,
      'set it to a folder of another disk',
    ),
  ]
}
