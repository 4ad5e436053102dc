// Runs a script of this folder that is written in TypeScript. Usage: node scripts/run.js generate [arguments]. It is bundled first, by esbuild in about a
// second: translating each of the sources by itself as it is imported takes several.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [name, ...given] = process.argv.slice(2)
// As deep as the script itself, which finds the project from its own place; by process, because another may run at the same time.
const program = join(root, 'dist.scripts', `${name}.${process.pid}.js`)

await build({
  entryPoints: [join(root, 'scripts', `${name}.ts`)],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
}).catch(() => process.exit(1))
const { status } = spawnSync(process.execPath, [program, ...given], { stdio: 'inherit' })
rmSync(program)
process.exit(status ?? 1)
