import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { TEST_KEY } from '../../../test/support/envelope.ts'
import { ownProgram } from '../../../test/support/own-program.ts'
import { sql } from '../../platform/database/sql.ts'
import { startMailing, startMailServer, type Step, welcomed } from './mailing.testing.ts'

/** A sender in a process of its own, killed while it sends. */

const server = await startMailServer()
const { service, work, pass, sender, arrivedOf } = await startMailing(server)

// As `perennial work` does it, with the duty of mail alone.
const CODE = `
import { openDatabase } from '../../platform/database/open-database.ts'
import { APP_ROLE } from '../../platform/database/roles.ts'
import { KeyRing } from '../../platform/envelope/key-ring.ts'
import { envelopeUnder } from '../../platform/envelope/open.ts'
import { makeLinks } from '../../platform/page/links.ts'
import { smtpSettings } from '../../platform/smtp/settings.ts'
import { mailDuty } from './duty.ts'
const { connection, url, key } = JSON.parse(process.argv[2])
const db = openDatabase(connection, { role: APP_ROLE, poolSize: 2 })
const envelope = await envelopeUnder(db.unscoped, new KeyRing(Buffer.from(key, 'hex')))
const secrets = { sealer: envelope.under('outbox'), links: makeLinks(envelope, undefined) }
const log = { warn() {}, error() {}, info() {}, debug() {} }
const duty = mailDuty({ server: { settings: smtpSettings(url) }, from: 'mailer@billing.example', domains: [], secrets })
await duty.run({ db, log, realClock: Date.now }, () => {})
`

async function sendAndDie(step: Step): Promise<void> {
  const given = JSON.stringify({ connection: service.connection, url: server.url, key: TEST_KEY.toString('hex') })
  const child = spawn(process.execPath, [ownProgram(CODE, import.meta.url), given], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  server.troubles({ [step]: () => void child.kill('SIGKILL') })
  const [, signal] = await ended
  server.troubles()
  expect(signal).toBe('SIGKILL')
}

const statusOf = async (client: Awaited<ReturnType<typeof sender>>, outboxID: number) =>
  (await client.get(`/v1/outbox/${outboxID}`)).body.Status

test.each([
  ['greeting', 'Queued'],
  ['mail', 'Queued'],
  ['rcpt', 'Queued'],
  ['data', 'Queued'],
  ['body', 'Unknown'],
  ['dot', 'Unknown'],
] as const)('a sender that is killed at the step "%s" leaves its mail %s, and it arrives once', async (step, left) => {
  const client = await sender()
  const { outboxID } = await welcomed(client)
  await sendAndDie(step)
  expect(await statusOf(client, outboxID)).toBe('Sending')
  await work()
  // Its claim is not taken from a sender that may live.
  expect(await statusOf(client, outboxID)).toBe('Sending')
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update outbox set leased_until = now() - interval '1 second' where account_id = ${client.id}`),
  )
  await work()
  expect(await statusOf(client, outboxID)).toBe(left)
  pass(60)
  await work()
  expect(await statusOf(client, outboxID)).toBe(left === 'Queued' ? 'Sent' : 'Unknown')
  const arrived = (await arrivedOf(client)).length
  expect(step === 'body' ? arrived <= 1 : arrived === 1).toBe(true)
})
