// Builds the program when its sources are newer than what was built, so that a checkout always runs what it holds. An image has no sources.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const modifiedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

// Folders count as well: a file that was moved or deleted changes nothing else.
function newestSource(folder) {
  let newest = modifiedAt(folder)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path))
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) newest = Math.max(newest, modifiedAt(path))
  }
  return newest
}

/** Returns when what the build makes of sources and of the reference's own files was last changed. */
const newest = (root) =>
  Math.max(
    newestSource(join(root, 'src')),
    ...['openapi.json', 'web/docs', 'web/docs/style.css', 'web/docs/search.js'].map((path) =>
      modifiedAt(join(root, path)),
    ),
  )

/** Answers false when the sources could not be built; what is wrong with them has been told on stderr. */
export function buildWhenStale(root) {
  const sources = join(root, 'src')
  if (!existsSync(sources) || modifiedAt(join(root, 'dist', 'main.js')) >= newest(root)) return true
  const build = [join(root, 'scripts', 'build.js')]
  return spawnSync(process.execPath, build, { stdio: ['ignore', 2, 2] }).status === 0
}
