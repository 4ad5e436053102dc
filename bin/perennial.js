#!/usr/bin/env node
// Runs the built program; builds it first when the sources are newer, so that a checkout always runs what it holds. An image has none.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const built = join(root, 'dist', 'main.js')
const sources = join(root, 'src')

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

if (existsSync(sources) && modifiedAt(built) < newestSource(sources)) {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'build.js')], { stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(1)
}

process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(built).href)
// Not left to an empty event loop: what did not finish in time must not keep the program alive.
process.exit(await main(process.argv.slice(2), root))
