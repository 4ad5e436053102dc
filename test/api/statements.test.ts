import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import { createTestDatabase } from '../support/app.ts'
import { collectStatements, files, SRC, withQueries } from './statements.testing.ts'

/** Every statement is held against the migrated schema: what the queries files say is prepared under the service's role. */

const client = new pg.Client(clientConfig(await createTestDatabase(), APP_ROLE))
await client.connect()
afterAll(() => client.end())

const { called, statements } = await collectStatements()

const UNKNOWN_PARAMETER = '42P18'
const SYNTAX_ERROR = '42601'

describe('statements', () => {
  test('all of the queries files can be prepared against the migrated schema, under the service’s role', async () => {
    expect(called).toBeGreaterThan(50)
    const texts = [...statements.keys()]
    const failures: string[] = []
    for (const [position, text] of texts.entries()) {
      try {
        await client.query(`prepare s${position} as ${text}`)
      } catch (error) {
        const { code, message } = error as { code: string; message: string }
        const isPieceMissing = code === SYNTAX_ERROR && !statements.get(text)?.isComplete
        if (code !== UNKNOWN_PARAMETER && !isPieceMissing)
          failures.push(`${message}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`)
      }
    }
    expect(failures).toEqual([])
    expect(texts.length).toBeGreaterThan(60)
  })

  test('every one in the sources is reached', () => {
    const known = [...statements.keys()].map((text) => text.replace(/\s+/g, ' ').trimStart())
    const unreached: string[] = []
    for (const path of withQueries) {
      const source = readFileSync(path, 'utf8')
      for (const [, body] of source.matchAll(/\bsql(?:<[^`]*>)?`([^`]*?)(?:\$\{|`)/g)) {
        const start = (body ?? '').replace(/\s+/g, ' ').trim()
        if (start !== '' && !known.some((text) => text.startsWith(start)))
          unreached.push(`${path.slice(SRC.length)}: ${start.slice(0, 120)}`)
      }
    }
    expect(unreached).toEqual([])
  })

  test('stand in the queries files, and in the few places of the platform that have none', () => {
    const ALLOWED = /queries\.ts$|platform\/(database|http\/(idempotency|outward|paging|handle|service-pages))/
    const strays = files.filter(
      (path) =>
        !ALLOWED.test(path) && /\bsql`\s*(select|insert|update|delete|with)\b/i.test(readFileSync(path, 'utf8')),
    )
    expect(strays.map((path) => path.slice(SRC.length))).toEqual([])
  })

  test('of accounts’ tables say their account', async () => {
    const tables = (
      await client.query<{ name: string }>(
        `select table_name as name from information_schema.columns where table_schema = 'perennial' and column_name = 'account_id'`,
      )
    ).rows
    const unscoped = [...statements.keys()].filter((text) => {
      const isAbout = tables.some(({ name }) => new RegExp(`\\b(from|join|into|update)\\s+${name}\\b`, 'i').test(text))
      return isAbout && !/\baccount_id\b/.test(text)
    })
    expect(unscoped).toEqual([])
  })
})
