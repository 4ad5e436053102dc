#!/usr/bin/env node
// Runs the built program; builds it first when the sources are newer, so that a checkout always runs what it holds.
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const built = join(root, 'dist', 'main.js')

const modifiedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newestSource(folder) {
  let newest = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path))
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) newest = Math.max(newest, modifiedAt(path))
  }
  return newest
}

if (modifiedAt(built) < newestSource(join(root, 'src')))
  execFileSync(process.execPath, [join(root, 'scripts', 'build.js')], { stdio: 'inherit' })

process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(built).href)
process.exitCode = await main(process.argv.slice(2), root)
