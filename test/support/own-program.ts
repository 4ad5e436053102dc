import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

// Inside the project, so that packages are found.
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/perennial-tests', import.meta.url))

/** Programs by the code that they were made of: a bundle takes longer than the start of the process. A run that watches makes each anew. */
const made = new Map<string, string>()

/**
 * Bundles code of a test that is to run in a process of its own, whose imports are seen from the file at `from`, and returns the program to run.
 * Translating the sources at each start would take most of the time of the test.
 */
export function ownProgram(code: string, from: string): string {
  const key = `${from}\n${code}`
  const program = (process.env['VITEST_MODE'] === 'RUN' && made.get(key)) || bundled(code, from)
  made.set(key, program)
  return program
}

function bundled(code: string, from: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents: code, resolveDir: fileURLToPath(new URL('.', from)) },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
  })
  const text = outputFiles[0]?.text ?? ''
  const program = join(FOLDER, `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.mjs`)
  if (existsSync(program)) return program
  mkdirSync(FOLDER, { recursive: true })
  // Whoever runs it meanwhile finds the whole of it.
  const making = `${program}.${process.pid}`
  writeFileSync(making, text)
  renameSync(making, program)
  return program
}
