import { createHash } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Plugin } from 'vitest/config'

/**
 * Tests import the sources of `src` as modules that esbuild has written, one file each, so that no worker waits for Vite to transform some 900 of
 * them. A folder of modules is never changed once it is complete: its name is made of the sources, so runs at the same time share it or have their own.
 */

interface Source {
  /** The file's path below the root. */
  path: string
  /** When it was written, and its size. */
  stamp: string
}

const ROOT = resolve(import.meta.dirname, '../..')
const SOURCES = join(ROOT, 'src')
const FOLDERS = join(ROOT, 'dist.modules')
const MANIFEST = 'sources.json'
/** Begins the name of an empty file that a run leaves in the folder it uses, and its process's number ends it. */
const USED_BY = 'used-by-'

/** Modules that Node itself imports. */
export const BUILT = /\/dist\.modules\//

/** Tests and their helpers are transformed by Vite: they know their own place among the sources. */
const isBuilt = (path: string) =>
  path.startsWith(SOURCES + sep) && path.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(path)

/** A plugin that answers each import of a source with the module built from it. Watching runs are without it, since Vite has to see what changes. */
export function builtModules(): Plugin {
  let folder: Promise<string> | undefined
  let isWatching = false
  return {
    name: 'built-modules',
    enforce: 'pre',
    configureVitest({ vitest }) {
      isWatching = vitest.config.watch
    },
    async resolveId(specifier, importer) {
      const path = isWatching ? undefined : pathOf(specifier, importer)
      if (path === undefined || !isBuilt(path)) return undefined
      return join(await (folder ??= buildModules()), relative(ROOT, path).replace(/\.ts$/, '.js'))
    },
    transform(_code, id) {
      // A second copy of a module would have classes of its own, and its Fault would be another.
      if (!isWatching && isBuilt(id)) throw new Error(`${id} is imported beside the module that was built from it`)
    },
  }
}

function pathOf(specifier: string, importer: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return fileURLToPath(specifier)
  if (specifier.startsWith('.')) return importer && resolve(dirname(importer.split('?')[0] ?? ''), specifier)
  // Vite's own resolver writes the paths of files in the project from its root.
  if (specifier.startsWith('/src/')) return join(ROOT, specifier)
  return specifier
}

/** Returns the folder of modules of the sources as they are now, which is built if there is none. */
async function buildModules(): Promise<string> {
  const sources = findSources()
  const name = createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 16)
  const folder = join(FOLDERS, name)
  if (!existsSync(folder)) await buildInto(folder, sources)
  writeFileSync(join(folder, `${USED_BY}${process.pid}`), '')
  removeUnused(folder)
  return folder
}

function findSources(): Source[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .map((name) => join(SOURCES, name))
    .filter((path) => isBuilt(path) || path.endsWith('.json'))
    .toSorted()
    .map((path) => {
      const { mtimeMs, size } = statSync(path)
      return { path: relative(ROOT, path), stamp: `${mtimeMs} ${size}` }
    })
}

async function buildInto(folder: string, sources: Source[]): Promise<void> {
  // Beside the others and as deep, because source maps name the sources by relative paths.
  const making = `${folder}.${process.pid}`
  for (const parent of new Set(sources.map(({ path }) => dirname(path))))
    mkdirSync(join(making, parent), { recursive: true })
  const earlier = findEarlier()
  const changed = sources.filter(
    (source) => !isTakenOver(earlier.get(keyOf(source)), join(making, moduleOf(source.path))),
  )
  const { outputFiles } = await build({
    entryPoints: changed.filter(({ path }) => path.endsWith('.ts')).map(({ path }) => join(ROOT, path)),
    outbase: ROOT,
    outdir: making,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcesContent: false,
    logLevel: 'error',
  })
  for (const { path, text } of outputFiles) writeFileSync(path, withBuiltImports(text))
  for (const { path } of changed)
    if (path.endsWith('.json'))
      writeFileSync(join(making, moduleOf(path)), `export default ${readFileSync(join(ROOT, path), 'utf8')}`)
  writeFileSync(join(making, MANIFEST), JSON.stringify(sources))
  try {
    renameSync(making, folder)
  } catch (error) {
    // Another run that began at the same time was faster, and its modules are the same.
    if (!existsSync(folder)) throw error
    rmSync(making, { recursive: true })
  }
}

const moduleOf = (path: string) => (path.endsWith('.ts') ? path.replace(/\.ts$/, '.js') : `${path}.js`)

/** Writes the imports of other sources, which esbuild leaves as they are, as imports of their modules. Columns stay, since the new names are as long. */
const withBuiltImports = (text: string) =>
  text
    .replaceAll(/(\bfrom |^import |\bimport\()"(\.{1,2}\/[^"]+)\.ts"/gm, '$1"$2.js"')
    .replaceAll(/^(import .* from "\.{1,2}\/[^"]+\.json)"/gm, '$1.js"')

/** Returns the modules that earlier folders have, by source and stamp. */
function findEarlier(): Map<string, string> {
  const earlier = new Map<string, string>()
  for (const folder of completeFolders())
    for (const source of JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')) as Source[])
      earlier.set(keyOf(source), join(folder, moduleOf(source.path)))
  return earlier
}

const keyOf = ({ path, stamp }: Source) => `${stamp} ${path}`

function isTakenOver(module: string | undefined, target: string): boolean {
  try {
    if (module !== undefined) linkSync(module, target)
    return module !== undefined
  } catch {
    // Its folder was removed meanwhile.
    return false
  }
}

const allFolders = () => (existsSync(FOLDERS) ? readdirSync(FOLDERS).map((name) => join(FOLDERS, name)) : [])
const completeFolders = () =>
  allFolders().filter((folder) => existsSync(join(folder, MANIFEST)) && !folder.includes('.', FOLDERS.length))

/** Removes the other folders whose runs have ended, and what runs that were killed have left. */
function removeUnused(current: string): void {
  for (const folder of allFolders()) {
    if (folder === current) continue
    const users = readdirSync(folder).filter((name) => name.startsWith(USED_BY))
    const maker = /\.(\d+)$/.exec(folder.slice(FOLDERS.length))?.[1]
    const pids = [...users.map((name) => name.slice(USED_BY.length)), ...(maker === undefined ? [] : [maker])]
    if (!pids.some((pid) => isAlive(Number(pid)))) rmSync(folder, { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
