#!/usr/bin/env node
// Runs the built program; builds it first when the sources are newer, so that a checkout always runs what it holds.
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildWhenStale } from './build-when-stale.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
if (!buildWhenStale(root)) process.exit(1)

process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(join(root, 'dist', 'main.js')).href)
const code = await main(process.argv.slice(2), root)
// A long answer leaves in pieces, as fast as its reader takes them.
await new Promise((resolve) => process.stdout.write('', resolve))
// Not left to an empty event loop: what did not finish in time must not keep the program alive.
process.exit(code)
