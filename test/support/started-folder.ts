import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestProject } from 'vitest/node'
import { buildWhenStale } from '../../bin/build-when-stale.js'
import { roomyFolder } from './roomy-parent.ts'

/**
 * Starts the program once in an empty folder and stops it, as a person does, so that tests which are about something else begin with a copy of
 * that folder: a first start costs several times as much as a later one.
 */

/** A folder in which a service was started and stopped, and the account that its first start made. */
export interface Started {
  path: string
  account: number
  key: string
}

declare module 'vitest' {
  interface ProvidedContext {
    started: Started
  }
}

const ROOT = new URL('../..', import.meta.url).pathname

export default async function setup(project: TestProject) {
  // Built here, once: programs that are started at the same moment would each build it.
  if (!buildWhenStale(ROOT)) throw new Error('the program could not be built')
  const path = roomyFolder('started')
  const service = spawn(process.execPath, [join(ROOT, 'bin', 'perennial.js'), 'serve', '--json', '--no-worker'], {
    env: { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0', DATA_DIR: path, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(service, 'exit')
  const [line] = (await Promise.race([once(createInterface({ input: service.stdout }), 'line'), ended])) as unknown[]
  if (typeof line !== 'string') throw new Error('the program could not be started')
  const { AccountID, ApiKey } = JSON.parse(line) as { AccountID: number; ApiKey: string }
  service.kill('SIGTERM')
  await ended
  project.provide('started', { path, account: AccountID, key: ApiKey })
  return () => rmSync(path, { recursive: true, force: true })
}
