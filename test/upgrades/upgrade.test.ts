import { describe, expect, test } from 'vitest'
import { readMigrations, readOlderMigrations } from '../../src/platform/database/migrations.ts'
import { processesCommand } from '../../src/commands/processes.ts'
import type { CommandContext } from '../../src/commands/context.ts'
import { readConfig } from '../../src/platform/config.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { clientOf, startTestService, type TestClient } from '../support/app.ts'
import { differencesOf } from '../support/shop.ts'
import { appliedTo, besideDump, loadDump, MIGRATIONS, upgrade } from './dump.testing.ts'

/** Databases as earlier programs left them, upgraded: their books are right, and what was answered then is answered now. */

/** Means of a command on a database. */
const commandOn = ({ host = '', port = 0, user = '', database = '' }: Connection): CommandContext => ({
  config: readConfig({
    DATABASE_URL: `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    LOG_LEVEL: 'silent',
  }),
  root: new URL('../..', import.meta.url).pathname,
  version: 'test',
  isJson: true,
})

const DUMPS = ['before-0.1.0', '0.1.0']

/** Names what of an answer is another now: every field that was answered then has to be there with its value, whatever there is beside it. */
function changes(then: unknown, now: unknown, at: string): string[] {
  if (typeof then !== 'object' || then === null || typeof now !== 'object' || now === null)
    return Object.is(then, now) ? [] : [`${at}: ${JSON.stringify(then)} is ${JSON.stringify(now)}`]
  if (Array.isArray(then) && Array.isArray(now) && then.length !== now.length)
    return [`${at}: ${then.length} are ${now.length}`]
  return Object.entries(then).flatMap(([name, value]) =>
    changes(value, (now as Record<string, unknown>)[name], `${at} ${name}`),
  )
}

for (const dump of DUMPS) {
  const beside = besideDump(dump)
  const connection = await loadDump(dump)
  const before = await appliedTo(connection)
  const shown = await processesCommand(commandOn(connection)).catch((error: Error) => error.message)
  const ran = await upgrade(connection)
  const service = await startTestService({
    connection,
    key: Buffer.from(beside.EncryptionKey, 'hex'),
    now: () => Date.parse(beside.MadeAt),
  })
  const clients: Record<string, TestClient> = Object.fromEntries(
    Object.entries(beside.Accounts).map(([name, { account, key }]) => [
      name,
      clientOf(service.app, BigInt(account), key),
    ]),
  )
  const names = Object.keys(clients)

  describe(dump, () => {
    test('a command that only shows who lives says which migrations the database lacks, and runs none', () => {
      expect(shown).toMatch(/^This command needs what the database lacks, \d{4}_.*: run "perennial migrate" first\.$/)
      expect(ran).not.toEqual([])
    })

    test('what it lacked of the migrations ran, and it has those of a new database', async () => {
      const [present, older] = [await readMigrations(MIGRATIONS), await readOlderMigrations(MIGRATIONS)]
      const isOlder = before[0]?.name !== present[0]?.name
      expect(isOlder).toBe(dump === 'before-0.1.0')
      if (isOlder) expect(before.map(({ version }) => version)).toContain(119)
      // They stand as they ran.
      const known = isOlder ? older : present
      for (const { version, hash } of before)
        expect([version, known.find((one) => one.version === version)?.hash]).toEqual([version, hash])
      const lacking = known.filter(({ version }) => !before.some((one) => one.version === version))
      expect(ran).toEqual([...lacking, ...(isOlder ? present.slice(1) : [])].map(({ name }) => name))
      expect(await appliedTo(connection)).toEqual(present.map(({ version, name, hash }) => ({ version, name, hash })))
      expect(await upgrade(connection)).toEqual([])
    })

    test.each(names)('the books of the account "%s" are verified without a difference', async (name) => {
      expect(await differencesOf(service, clients[name] as TestClient)).toEqual([])
    })

    test.each(names)('its key opens the account "%s", and what was answered then is answered now', async (name) => {
      const client = clients[name] as TestClient
      // The clock of a live account is the machine's.
      const answers = Object.entries(beside.Answers[name] ?? {}).filter(
        ([path]) => name !== 'live' || path !== '/v1/clock',
      )
      expect(answers.length).toBeGreaterThan(20)
      for (const [path, then] of answers) {
        const now = await client.get(Array.isArray(then) ? `${path}?page_size=200` : path)
        expect([now.status, ...changes(then, now.body, path)]).toEqual([200])
      }
    })
  })
}
