// Bundles the program and the threads that draw documents and hash passwords into dist/ (packages stay outside), and writes the pages of the reference there. Every command is a piece of its own, so that none waits for another's imports.
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const making = join(root, `dist.${process.pid}`)

function giveUp(error) {
  // What is wrong with the sources has been told in full already.
  if (!error.errors) console.error(`The program could not be built: ${error.message}`)
  rmSync(making, { recursive: true, force: true })
  process.exit(1)
}

await build({
  entryPoints: [
    { in: join(root, 'src/main.ts'), out: 'main' },
    { in: join(root, 'src/features/documents/drawing-thread.ts'), out: 'drawing' },
    { in: join(root, 'src/features/contacts/hashing-thread.ts'), out: 'hashing' },
    { in: join(root, 'src/reference/write.ts'), out: 'reference' },
  ],
  outdir: making,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
  logLevel: 'warning',
}).catch(giveUp)

const { writeReference } = await import(pathToFileURL(join(making, 'reference.js')).href)
try {
  writeReference(root, join(making, 'docs'))
} catch (error) {
  giveUp(error)
}

// Moved into place as a whole: whoever starts meanwhile finds the old build or the new one, not half of each.
const old = `${making}.old`
mkdirSync(dist, { recursive: true })
renameSync(dist, old)
try {
  renameSync(making, dist)
} catch (error) {
  // Another build that ran at the same time was faster, and its result is the same.
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') giveUp(error)
  rmSync(making, { recursive: true, force: true })
}
rmSync(old, { recursive: true, force: true })
