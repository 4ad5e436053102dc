import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Programs that are measured run as processes of their own, bundled as the service itself is. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Bundles a program of this folder and answers the file to run. Lies inside the project so that it finds the packages. */
export async function bundled(entry: string): Promise<string> {
  const folder = join(ROOT, 'node_modules', '.cache', 'perennial-bench')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${entry.replaceAll('/', '-').replace(/\.ts$/, '')}-${process.pid}.mjs`)
  await build({
    entryPoints: [join(ROOT, 'bench', entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'warning',
  })
  process.once('exit', () => rmSync(outfile, { force: true }))
  return outfile
}

export interface Child<Said> {
  process: ChildProcess
  pid: number
  /** The first message that it sends. */
  said: Promise<Said>
  /** Settles when it ends, with the last message that it sent. */
  last: Promise<unknown>
  ended: Promise<void>
}

/** Runs a bundled program, which answers with process.send; `flags` are for Node. */
export function run<Said>(file: string, settings: object, flags: readonly string[] = []): Child<Said> {
  const child = spawn(process.execPath, ['--enable-source-maps', ...flags, file, JSON.stringify(settings)], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const said = new Promise<Said>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Said))
    child.once('exit', (code) => reject(new Error(`${basename(file)} ended with ${code} before it said anything`)))
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let latest: unknown
  child.on('message', (message) => (latest = message))
  const last = ended.then(() => latest)
  return { process: child, last, pid: child.pid ?? 0, said, ended }
}
