import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiDocument, type DocumentedOperation, operationsOf } from '../api/document.ts'
import { type Call, MISTAKES, rightCalls, wrongCalls } from './calls.ts'

/**
 * Clients that two programs generate from openapi.json compile strictly, take every example of the document, and let no wrong call pass. The programs have a lock file of their own beside this file: `npm ci --prefix test/clients`.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url))
const DOCUMENT = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const PACKAGES = join(HERE, 'node_modules')
const isThere = existsSync(PACKAGES) || process.env['CI'] !== undefined

const STRICTLY: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  paths: { 'openapi-fetch': [join(PACKAGES, 'openapi-fetch/dist/index.d.mts')] },
}

interface Generator {
  program: string
  args: (to: string) => string[]
  /** Text before the calls. */
  head: string
  line: (call: Call, operation: DocumentedOperation) => string
}

const GENERATORS: Record<string, Generator> = {
  'openapi-typescript': {
    program: 'openapi-typescript/bin/cli.js',
    args: (to) => [DOCUMENT, '--output', join(to, 'api.ts')],
    head: `import createClient from 'openapi-fetch'\nimport type { paths } from './api.ts'\nconst client = createClient<paths>()`,
    // openapi-fetch infers its options, so that TypeScript looks for misspelt fields only where a type is named.
    line: ({ path, query, body }, { method, path: url }) => {
      const params = { ...(Object.keys(path).length > 0 ? { path } : {}), ...(query ? { query } : {}) }
      const place = `paths['${url}']['${method.toLowerCase()}']['requestBody']`
      const typed = `${JSON.stringify(body)} satisfies NonNullable<${place}>['content']['application/json']`
      return `await client.${method}('${url}', { params: ${JSON.stringify(params)}${body ? `, body: ${typed}` : ''} })`
    },
  },
  'hey-api': {
    program: '@hey-api/openapi-ts/bin/run.js',
    args: (to) => ['--input', DOCUMENT, '--output', join(to, 'client'), '--no-log-file'],
    head: `import * as api from './client/index.ts'`,
    line: ({ id, path, query, body }) =>
      `await api.${id}(${JSON.stringify({ ...(Object.keys(path).length > 0 ? { path } : {}), query, body })})`,
  },
}

const document = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as ApiDocument
const operations = operationsOf(document)

interface Compiled {
  program: ts.Program
  /** Lines with something wrong, from 1, by file; the head of a file is left out of the count of calls. */
  wrongLines(file: string): number[]
  elsewhere: string[]
}

function compiled(folder: string): Compiled {
  const files = ['right.ts', 'wrong.ts'].map((name) => join(folder, name))
  const program = ts.createProgram(files, STRICTLY)
  const found = [
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getSemanticDiagnostics(),
  ]
  const lineOf = ({ file, start = 0 }: ts.Diagnostic) => (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
  return {
    program,
    wrongLines: (name) => [...new Set(found.filter(({ file }) => file?.fileName === join(folder, name)).map(lineOf))],
    elsewhere: found
      .filter(({ file }) => !file || !files.includes(file.fileName))
      .map((one) => `${one.file?.fileName}:${lineOf(one)} ${ts.flattenDiagnosticMessageText(one.messageText, ' ')}`),
  }
}

/** Generates a client, writes the calls beside it, and compiles all of it. */
function compiledClient({ program, args, head, line }: Generator, folder: string): Compiled {
  execFileSync(process.execPath, [join(PACKAGES, program), ...args(folder)], { cwd: folder, stdio: 'pipe' })
  const written = (calls: readonly Call[]) =>
    calls.map((call) => line(call, operations.find(({ id }) => id === call.id) as DocumentedOperation))
  writeFileSync(join(folder, 'right.ts'), [head, ...written(rightCalls(operations)), 'export {}\n'].join('\n'))
  writeFileSync(join(folder, 'wrong.ts'), [head, ...written(wrongCalls(operations)), 'export {}\n'].join('\n'))
  return compiled(folder)
}

describe.skipIf(!isThere).each(Object.entries(GENERATORS))(
  'a client by %s (needs npm ci --prefix test/clients)',
  (_, generator) => {
    const folder = mkdtempSync(join(tmpdir(), 'perennial-client-'))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    const headLines = generator.head.split('\n').length
    let client: Compiled
    beforeAll(() => {
      client = compiledClient(generator, folder)
    })

    test('compiles strictly', () => {
      expect(client.elsewhere).toEqual([])
    })

    test('takes every example of the document', () => {
      const calls = rightCalls(operations)
      expect(client.wrongLines('right.ts').map((line) => calls[line - headLines - 1]?.id)).toEqual([])
    })

    test.each(MISTAKES.map(([what], index) => [what, index] as const))('does not compile with %s', (_what, index) => {
      expect(client.wrongLines('wrong.ts')).toContain(headLines + 1 + index)
    })

    test('has no type whose name TypeScript or a browser has already', () => {
      const source = client.program.getSourceFiles().find(({ fileName }) => fileName.endsWith('lib.dom.d.ts'))
      const known = client.program
        .getTypeChecker()
        .getSymbolsInScope(source as ts.SourceFile, ts.SymbolFlags.Type | ts.SymbolFlags.Value)
        .map(({ name }) => name)
      expect(known).toContain('Event')
      expect(Object.keys(document.components.schemas).filter((name) => known.includes(name))).toEqual([])
    })
  },
)
