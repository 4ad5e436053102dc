import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Binaries, DATABASE_ENVIRONMENT } from './binaries.ts'
import { type DataFolder, syncFolder } from './data-folder.ts'
import { folderAsSeenInside } from './guard.ts'
import type { Identity } from './identity.ts'
import { folderFailure, fullDisk, StartFailure } from './start-failure.ts'

/**
 * Makes the cluster. It is made beside its final name and renamed when it is complete, so that a start that is killed
 * half-way leaves nothing that looks like a database. Throws a StartFailure when it cannot be made.
 */
export async function makeCluster(given: {
  folder: DataFolder
  lockDescriptor: number
  binaries: Binaries
  identity: Identity
  isDurable: boolean
}): Promise<void> {
  const { folder } = given
  const { root, clusterInTheMaking } = folder
  try {
    rmSync(clusterInTheMaking, { recursive: true, force: true })
    mkdirSync(clusterInTheMaking, { mode: 0o700 })
    if (given.identity.runAs) chownSync(clusterInTheMaking, given.identity.runAs.uid, given.identity.runAs.gid)
    await runInitdb(given)
    renameSync(clusterInTheMaking, folder.cluster)
    if (given.isDurable) syncFolder(root)
  } catch (error) {
    rmSync(clusterInTheMaking, { recursive: true, force: true })
    throw folderFailure(root, error)
  }
}

const INITDB = ['-U', 'postgres', '-A', 'peer', '-E', 'UTF8']

async function runInitdb(given: Parameters<typeof makeCluster>[0]): Promise<void> {
  const { folder, binaries, identity } = given
  const path = folder.clusterInTheMaking
  const words = [...INITDB, ...binaries.locale, ...(given.isDurable ? [] : ['--no-sync'])]
  const child = spawn(join(binaries.bin, 'initdb'), ['-D', folderAsSeenInside(path), ...words], {
    ...identity.runAs,
    cwd: path,
    env: DATABASE_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', given.lockDescriptor],
  })
  let errorText = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errorText += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code === 0) return
  if (/No space left|Disk quota exceeded/.test(errorText)) throw fullDisk(folder.root)
  throw new StartFailure(`The database could not be made in ${folder.root}: ${lastLineOf(errorText)}`)
}

function lastLineOf(text: string): string {
  const lines = text.split('\n').filter((line) => /error|FATAL|PANIC/.test(line))
  return (lines.at(-1) ?? text).trim()
}
