/**
 * Writes what is made from the sources: openapi.json, db/schema.sql, .env.example. Usage: npm run generate, or with --check, which writes
 * nothing and fails when a file is not what it should be.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { allOperations, DOWNLOADS } from '../src/app.ts'
import { ORDER_OF_DAY } from '../src/duties.ts'
import { makeHashing } from '../src/features/contacts/hashing.ts'
import { makeDrawing } from '../src/features/documents/draw.ts'
import { envExample } from '../src/platform/config.ts'
import type { Database } from '../src/platform/database/database.ts'
import { makeEnvelope, PURPOSES } from '../src/platform/envelope/envelope.ts'
import { KeyRing } from '../src/platform/envelope/key-ring.ts'
import { makeOutbound } from '../src/platform/outbound/outbound.ts'
import { makeLinks } from '../src/platform/page/links.ts'
import { openApiDocument } from '../src/platform/http/openapi.ts'
import { schemaText } from './schema-text.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const NO_KEY = Buffer.alloc(32)

function openApiText(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const envelope = makeEnvelope(new KeyRing(NO_KEY), new Map(PURPOSES.map((purpose) => [purpose, NO_KEY])))
  // The declarations alone are asked for; nothing of them runs.
  const operations = allOperations({
    db: {} as Database,
    longDb: {} as Database,
    log: pino({ level: 'silent' }),
    realClock: () => 0,
    order: ORDER_OF_DAY,
    forgetAccount: () => {},
    sealer: envelope.under('outbox'),
    envelope,
    adapters: new Map(),
    outbound: makeOutbound({}),
    hasMailServer: false,
    hashing: makeHashing({ root }),
    drawing: makeDrawing({ root }),
    links: makeLinks(envelope, undefined),
  })
  return `${JSON.stringify(openApiDocument(operations, { version, serverUrl: '/', downloads: DOWNLOADS }), null, 1)}\n`
}

/** Returns everything in the document that other tools would not accept; empty if it is fine. */
function lintOpenApi(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-openapi-'))
  const file = join(folder, 'openapi.json')
  writeFileSync(file, text)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/@redocly/cli/bin/cli.js'), 'lint', file, '--config', join(root, 'redocly.yaml')],
    { encoding: 'utf8', env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  )
  rmSync(folder, { recursive: true, force: true })
  return status === 0 ? '' : stdout + stderr
}

const isCheck = process.argv.includes('--check')
const made: Record<string, string> = {
  'openapi.json': openApiText(),
  'db/schema.sql': await schemaText(root),
  '.env.example': envExample(),
}

const complaints = lintOpenApi(made['openapi.json'] ?? '')
if (complaints) process.stderr.write(complaints)

let isStale = false
for (const [name, text] of Object.entries(made)) {
  const path = join(root, name)
  let present: string | undefined
  try {
    present = readFileSync(path, 'utf8')
  } catch {
    // Not there yet.
  }
  if (present === text) continue
  isStale = true
  if (isCheck) console.error(`${name} is not what the sources make of it: run "npm run generate".`)
  else {
    writeFileSync(path, text)
    console.log(`wrote ${name}`)
  }
}
process.exit(complaints || (isCheck && isStale) ? 1 : 0)
