/**
 * Records the examples of the document: starts the service on a database of its own, lives a year of the demo and makes one call of each
 * operation. Usage: npm run record:examples, then npm run generate.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { buildWhenStale } from '../bin/build-when-stale.js'
import { buildApp } from '../src/app.ts'
import { withDatabase } from '../src/commands/context.ts'
import { DEMO_CURRENCY, DEMO_NAME, DEMO_ZONE } from '../src/demo/catalogue.ts'
import { createAccount } from '../src/features/accounts/actions.ts'
import { reportLostCard } from '../src/features/gateway-reports/receive.ts'
import { makeAdapters } from '../src/features/gateways/adapters.ts'
import { callingOf } from '../src/commands/calling.ts'
import { midnightOf } from '../src/kernel/zone.ts'
import { readConfig } from '../src/platform/config.ts'
import { connectionBounds } from '../src/platform/http/connection-bounds.ts'
import { makeOutbound } from '../src/platform/outbound/outbound.ts'
import { FIRST_DAY, NOW, recordExamples } from './recording.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const FILE = join(root, 'src/platform/http/recorded-examples.json')

buildWhenStale(root)
const dataDir = mkdtempSync(join(tmpdir(), 'perennial-examples-'))
const config = readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
const realClock = () => Date.parse(NOW)

try {
  await withDatabase(
    { config, root, version: '', isJson: true },
    async (db, opened) => {
      const envelope = await opened.openEnvelope()
      const app = await buildApp({
        db,
        envelope,
        adapters: makeAdapters({ db, envelope, calling: callingOf(config, db), onCardGone: reportLostCard }),
        outbound: makeOutbound({}),
        log: pino({ level: 'silent' }),
        realClock,
        settings: {
          publicUrl: 'https://billing.example.org',
          widgetOrigin: undefined,
          corsOrigins: [],
          trustProxy: false,
          bounds: connectionBounds(config),
          rateLimitPerMinute: 0,
          slowRequestMs: 0,
          hasMailServer: false,
          version: '',
          root,
        },
      })
      const clockAt = midnightOf(FIRST_DAY, DEMO_ZONE)
      const wish = { mode: 'test', name: DEMO_NAME, currency: DEMO_CURRENCY, clockAt } as const
      const { id, secret } = await createAccount(db, realClock, wish, 'test')
      const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
      const recorded = await recordExamples(async (method, url, body, headers = {}) => {
        const {
          statusCode,
          payload,
          headers: answered,
        } = await app.server.inject({
          method: method as 'GET',
          url,
          headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
          ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
        })
        const isJson = payload !== '' && String(answered['content-type']).includes('json')
        return { status: statusCode, body: isJson ? JSON.parse(payload) : undefined, text: payload }
      })
      writeFileSync(FILE, `${JSON.stringify(recorded, null, 1)}\n`)
      await app.close()
    },
    { makes: true },
  )
} finally {
  rmSync(dataDir, { recursive: true, force: true })
}
