import { randomBytes } from 'node:crypto'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../src/features/accounts/actions.ts'
import { raisingAfterFailover } from '../../src/features/accounts/settings.ts'
import type { ChargeToMake, GatewayAdapter, Outcome } from '../../src/features/gateways/contract.ts'
import { SANDBOX } from '../../src/features/gateways/facts.ts'
import { mailDuty } from '../../src/features/mailing/duty.ts'
import { serverAt, startMailServer } from '../../src/features/mailing/mailing.testing.ts'
import { readConfig } from '../../src/platform/config.ts'
import { openService } from '../../src/platform/database/open.ts'
import { lackOfStandbys } from '../../src/platform/failover/standbys.ts'
import { clientOf, startTestService, type TestClient, type TestService } from '../support/app.ts'
import { ROOT, runProgram, serve, testFolder } from './program.ts'
import {
  copyServer,
  makeStandby,
  onServer,
  promote,
  serverFolders,
  signalServer,
  startPair,
  startServer,
  stopServer,
  stopServers,
  urlOf,
} from './servers.ts'

/** A failover that lost something: nothing is given out twice or charged again, and what is missing is listed. */

/** A gateway with a book of its own, which keeps what it charged whatever the service knows. */
function bookedGateway() {
  const book = new Map<string, ChargeToMake>()
  const answerOf = (reference: string): Outcome => ({
    kind: 'succeeded',
    gatewayReference: `book ${reference}`,
    on: today(),
  })
  const today = () => new Date().toISOString().slice(0, 10)
  const adapter: GatewayAdapter = {
    ...SANDBOX,
    check: async () => ({ kind: 'accepted' }),
    storeCard: async (_call, { reference, ...card }) => ({
      kind: 'stored',
      token: reference,
      fingerprint: null,
      lastFour: '4242',
      cardType: card.cardType,
      expiryMonth: card.expiryMonth,
      expiryYear: card.expiryYear,
    }),
    charge: async (_call, charge) => {
      book.set(charge.reference, charge)
      return answerOf(charge.reference)
    },
    askCharge: async (_call, { reference }) => ({
      outcome: book.has(reference) ? answerOf(reference) : { kind: 'none' },
      changes: [],
    }),
  }
  return { adapter, book }
}

const mailServer = await startMailServer()
const key = randomBytes(32)
const ENCRYPTION_KEY = key.toString('hex')

const quiet = (_text: string): void => {}
const LOG = { debug: quiet, info: quiet, warn: quiet, error: quiet }

const open = (url: string, DATA_DIR: string, log = LOG) =>
  openService(readConfig({ DATABASE_URL: url, DATA_DIR, ENCRYPTION_KEY, DATABASE_POOL: '4' }), {
    root: ROOT,
    version: 'test',
    ownership: 'own',
    raiseNumbers: raisingAfterFailover(Date.now),
    hasCallers: true,
    realClock: Date.now,
    log,
  })

/** Makes a live account with a gateway of a type. */
async function liveAccount(
  url: string,
  { DATA_DIR, primary, gateway }: Record<'DATA_DIR' | 'primary' | 'gateway', string>,
) {
  const { db, close } = await open(url, DATA_DIR)
  const wish = { mode: 'live', name: 'Live', currency: 'USD', clockAt: null } as const
  const account = await createAccount(db, Date.now, wish, 'test')
  await onServer(
    primary,
    `insert into perennial.gateways (account_id, type, name, friendly_name, is_active, created_at)
       values (${account.id}, '${gateway}', 'Ours', 'Ours', true, now())`,
  )
  await close()
  return account
}

/** Waits until a standby has all that its primary has. */
const caughtUp = (primary: string) =>
  expect
    .poll(async () => {
      const [row] = await onServer(primary, 'select replay_lsn = pg_current_wal_lsn() as "is" from pg_stat_replication')
      return row?.is
    })
    .toBe(true)

/** Asks until it is answered otherwise than by a database that is away. */
async function again(ask: () => ReturnType<TestClient['get']>) {
  for (;;) {
    const reply = await ask()
    if (reply.status !== 503) return reply
  }
}

/** Hands the mail of a service to a mail server, as a worker does. */
function sending({ app, db, calling: { envelope } }: TestService) {
  const { url, arrived } = mailServer
  const duty = mailDuty({
    server: serverAt(url),
    from: 'mailer@billing.example',
    domains: [],
    drawing: app.drawing,
    secrets: { sealer: envelope.under('outbox'), links: app.links },
  })
  const log = pino({ level: 'silent' })
  return { arrived, send: () => duty.run({ db, log, realClock: Date.now }, () => {}) }
}

const customer = (client: TestClient) =>
  client.post('/v1/customers', { Name: 'Some', LastName: 'Body', PaymentMethod: 'credit_card' })

async function cardInvoice(client: TestClient, customerID: number) {
  const added = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
  expect(added.status, added.text).toBe(201)
  return added.body as { invoiceID: number; invoiceNum: number }
}

test('an asynchronous failover: no identifier or number is given out twice, nothing is charged again, and each lost change is listed', async () => {
  const [primary = '', standby = '', third = ''] = serverFolders(testFolder(), 3)
  onTestFinished(stopServers)
  const DATA_DIR = join(primary, '..', 'data')
  const env = { DATABASE_URL: urlOf(primary, standby), DATA_DIR, ENCRYPTION_KEY, LOG_LEVEL: 'warn' }
  const { adapter, book } = bookedGateway()
  let account = { id: 0n, secret: '' }
  await startPair(primary, standby, {
    isSynchronous: false,
    prepare: async (url) => {
      account = await liveAccount(url, { DATA_DIR, primary, gateway: 'sandbox' })
    },
  })
  const said: string[] = []
  const opened = await open(env.DATABASE_URL, DATA_DIR, { ...LOG, error: (text: string) => void said.push(text) })
  const service = await startTestService({ db: opened.db, connection: opened.connection, key, adapters: [adapter] })
  const client = clientOf(service.app, account.id, account.secret)
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const { customerID } = (await customer(client)).body
  const card = await client.post('/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary: true,
    CreditCard: {
      Number: '4242424242424242',
      CardType: 'Visa',
      ExpiryMonth: 12,
      ExpiryYear: 2035,
      NameOnCard: 'A',
      LastNameOnCard: 'B',
    },
  })
  expect(card.status, card.text).toBe(200)
  const mails = sending(service)
  const { body: reader } = await client.post('/v1/customers', {
    Name: 'Reads',
    isCompany: true,
    Email: 'reads@example.com',
    autoSendInvoice: true,
  })
  await cardInvoice(client, reader.customerID)
  const known = await cardInvoice(client, customerID)
  expect((await client.post(`/v1/invoices/${known.invoiceID}/collect`)).status).toBe(201)
  // Commits behind it: instants are known less exactly on a busy machine, which is as much slower with these.
  const [charged, waiting] = [await cardInvoice(client, customerID), await cardInvoice(client, customerID)]
  await caughtUp(primary)

  // A command tells while it can: nobody remembers what it has changed.
  const make = ['key', 'create', '--account', String(account.id), '--json']
  const made = await runProgram(make, env)
  expect([made.code, made.err]).toEqual([0, ''])
  signalServer(standby, 'SIGSTOP')
  await cardInvoice(client, customerID)
  expect(await lackOfStandbys({ connectionString: env.DATABASE_URL }, 200)).toMatch(
    /^Not yet on the standby standby0: /,
  )
  signalServer(standby, 'SIGCONT')
  expect(await lackOfStandbys({ connectionString: env.DATABASE_URL })).toBeUndefined()
  // From here on the standby receives nothing.
  await stopServer(standby)
  await startServer(standby)
  const revoked = await runProgram(['key', 'revoke', String(JSON.parse(made.out).ApiKeyID)], env)
  expect([revoked.code, revoked.err]).toEqual([0, expect.stringContaining('No standby is connected: a failover now')])
  expect((await runProgram(['key', 'list'], env)).err).toBe('')
  const lost = [(await customer(client)).body.customerID, (await customer(client)).body.customerID] as number[]
  const collected = await client.post(`/v1/invoices/${charged.invoiceID}/collect`)
  expect(collected.status, collected.text).toBe(201)
  const lostInvoice = await cardInvoice(client, customerID)
  const note = await client.post(`/v1/invoices/${lostInvoice.invoiceID}/credit`, { Amount: 1, Reason: 'Wrong' })
  expect(note.status, note.text).toBe(201)
  expect(book.size).toBe(2)
  await mails.send()
  expect(mails.arrived).toHaveLength(1)
  await stopServer(primary)
  await promote(standby)

  const added = await again(() => customer(client))
  expect(added.status, added.text).toBe(201)
  expect(added.body.customerID).toBeGreaterThan(Math.max(...lost) + 500_000)
  expect(said.join('\n')).toMatch(/lacks what was acknowledged before/)
  const next = await cardInvoice(client, customerID)
  expect(next.invoiceNum).toBe(lostInvoice.invoiceNum + 1)
  const nextNote = await client.post(`/v1/invoices/${next.invoiceID}/credit`, { Amount: 1, Reason: 'Wrong' })
  expect(nextNote.status, nextNote.text).toBe(201)
  expect(nextNote.body.CreditNumber).not.toBe(note.body.CreditNumber)

  // Its record is as before it left, and a person decides.
  await mails.send()
  expect((await client.get('/v1/outbox')).body).toMatchObject([{ Status: 'Unknown', SentDate: null }])
  expect(mails.arrived).toHaveLength(1)

  // No money moves until somebody has looked.
  expect((await client.get(`/v1/gateways/${gatewayID}`)).body.HeldFor).toBe('failover')
  expect((await client.post(`/v1/invoices/${charged.invoiceID}/collect`)).body.Errors[0].Code).toBe('gateway_held')
  // As a process does that told of its numbers after others had begun to write.
  await onServer(
    standby,
    `insert into perennial.failover_notes (account_id, failover_id, process_id, position, kind, operation, record_type, record_id, number, sent_at, answered_at, state)
       select ${account.id}, max(failover_id), gen_random_uuid(), 1, 'change', 'billingRun', 'invoices', '1', '${next.invoiceNum}', now(), now(), 'lost' from perennial.failovers`,
  )
  const told = await runProgram(['after-failover', '--json'], env)
  expect(told.code, told.err).toBe(0)
  const listed = JSON.parse(told.out)
  expect(listed).toMatchObject({ Lossy: true, Timeline: 2 })
  const records = listed.Records as {
    Operation: string
    Type: string
    ID: string
    State: string
    NumberNowOf: number | null
  }[]
  const idsOf = (operation: string) =>
    records.filter(({ Operation }) => Operation === operation).map(({ ID }) => Number(ID))
  expect(idsOf('addCustomer')).toEqual(lost)
  expect(idsOf('addInvoice')).toEqual([lostInvoice.invoiceID])
  expect(records.find(({ Operation }) => Operation === 'addInvoice')).toMatchObject({
    Type: 'invoices',
    Number: String(lostInvoice.invoiceNum),
  })
  expect(records.filter(({ NumberNowOf }) => NumberNowOf !== null)).toMatchObject([
    { Operation: 'billingRun', NumberNowOf: next.invoiceID },
  ])
  const there = await onServer(standby, 'select customer_id::int as id from perennial.customers')
  const kept = new Set(there.map(({ id }) => id))
  expect(lost.filter((id) => kept.has(id))).toEqual([])
  const [effect] = listed.Effects
  expect(listed.Effects).toMatchObject([
    { Kind: 'charge', gatewayID, Reference: expect.stringMatching(`^${collected.body.paymentID}\\.`) },
    { Kind: 'mail', gatewayID: null },
  ])
  expect(book.has(effect.Reference)).toBe(true)
  await onServer(
    standby,
    `update perennial.failovers set settled_at = null, met_at = met_at - interval '1 minute' where is_lossy`,
  )
  const { out } = await runProgram(['doctor'], env)
  expect(out).toMatch(/warn +gateways: .*held \(failover\)/)
  expect(out).toMatch(/fail +failover: what the one .* has lost is not settled/)

  // Released once what left is recorded.
  const refused = await runProgram(['gateway', 'release'], env)
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`charge ${effect.Reference}`)])
  // Each command settles what is open.
  expect((await runProgram(['doctor'], env)).out).not.toContain('failover: ')
  const paid = await client.post('/v1/payments', {
    customerID,
    Amount: 10,
    CurrencyCode: 'USD',
    Method: 'credit_card',
    Date: new Date().toISOString().slice(0, 10),
    Allocations: [{ invoiceID: charged.invoiceID, amountApplied: 10 }],
  })
  expect(paid.status, paid.text).toBe(201)
  // Who holds it by hand takes nothing away from that.
  await onServer(standby, `update perennial.gateways set held_for = 'by_hand'`)
  expect((await runProgram(['gateway', 'release'], env)).code).toBe(1)
  const released = await runProgram(['gateway', 'release', String(gatewayID), '--anyway', '--json'], env)
  expect(JSON.parse(released.out)).toMatchObject([{ WasHeldFor: 'by_hand', Effects: [effectShown(effect)] }])
  expect((await client.post(`/v1/invoices/${charged.invoiceID}/collect`)).body.Errors[0].Code).toBe(
    'nothing_to_collect',
  )
  expect((await client.post(`/v1/invoices/${waiting.invoiceID}/collect`)).status).toBe(201)
  expect(book.size).toBe(3)
  expect((await runProgram(['after-failover', '--numbers', `${account.id}=1`], env)).code).toBe(1)
  expect((await runProgram(['after-failover', '--credit-numbers', `${account.id}=1`], env)).code).toBe(1)
  for (const wrong of [
    ['--skip', '0'],
    ['--numbers', `${account.id}=1000000000000`],
    ['--json', '--csv'],
  ])
    expect((await runProgram(['after-failover', ...wrong], env)).code).toBe(2)
  expect((await runProgram(['verify'], env)).code).toBe(0)
  await opened.db.close()

  // Where nobody is left who remembers, somebody has to tell.
  await stopServer(standby)
  copyServer(standby, third)
  makeStandby(third)
  await startServer(third)
  await promote(third)
  const alone = { ...env, DATABASE_URL: urlOf(third) }
  const unknown = await runProgram(['after-failover'], alone)
  expect([unknown.code, unknown.out]).toEqual([0, expect.stringContaining('Nobody can tell')])
  // Each start says so, whoever met it first, until somebody tells.
  const doctor = async () => (await runProgram(['doctor'], alone)).out
  const startSays = async () => {
    const started = await serve({ ...alone, DRAIN_SECONDS: '0' })
    started.child.kill('SIGTERM')
    await started.ended
    return started.said.err
  }
  const nobodyTells = /nobody can tell whether the database server of timeline 3 has all/
  expect(await startSays()).toMatch(nobodyTells)
  expect(await doctor()).toMatch(/warn +failover: nobody can tell .* timeline 2 to 3/)
  const declared = JSON.parse((await runProgram(['after-failover', '--lossy', '--json'], alone)).out)
  expect(declared).toMatchObject({ Lossy: true, Timeline: 3, Records: [], Earlier: [{ Timeline: 2 }] })
  expect(declared.Earlier[0].Records).toEqual(listed.Records)
  expect(await startSays()).not.toMatch(nobodyTells)
  expect(await doctor()).not.toContain('nobody can tell')
  const heldFor = () => onServer(third, 'select held_for from perennial.gateways')
  expect(await heldFor()).toEqual([{ held_for: 'failover' }])
  expect((await runProgram(['gateway', 'release'], alone)).code).toBe(0)
  // Said again it does nothing again.
  const repeated = await runProgram(['after-failover', '--lossy', '--json'], alone)
  expect(JSON.parse(repeated.out).Sequences).toEqual(declared.Sequences)
  expect(repeated.err).toContain('nothing was done again')
  expect(await heldFor()).toEqual([{ held_for: null }])

  // A command that meets the server again waits for no standby.
  const acknowledgedBy = async (names: string) => {
    await onServer(third, `alter system set synchronous_standby_names = '${names}'`)
    await onServer(third, 'select pg_reload_conf()')
    const is = () => onServer(third, 'show synchronous_standby_names')
    await expect.poll(is).toEqual([{ synchronous_standby_names: names }])
  }
  await acknowledgedBy('nobody')
  expect((await runProgram(['processes'], alone)).code).toBe(0)
  await acknowledgedBy('')

  // The newest is said first, also where it lost nothing.
  await onServer(
    third,
    `insert into perennial.failovers (system, timeline, from_timeline, met_at, is_known) select system, 4, 3, now(), true from perennial.failovers limit 1`,
  )
  const shown = (await runProgram(['after-failover'], alone)).out
  expect(shown).toMatch(
    /^Nothing was lost by the failover from timeline 3 to 4.*\n\nSomething was lost by the failover from timeline 2 to 3/,
  )
  // Of the one before, the watch may have seen some.
  expect(shown).not.toMatch(/from timeline 2 to 3, .* bytes of the log/)
  expect(shown).toMatch(/Not listed is what commands have changed: .* revocations first\.\n$/)
})

const effectShown = ({ Kind, Reference, At }: Record<string, unknown>) => ({ Kind, Reference, At })

test('a standby that acknowledges nothing: writes are refused before they begin, reads go on, and a failover to it lost nothing', async () => {
  const [primary = '', standby = ''] = serverFolders(testFolder(), 2)
  onTestFinished(stopServers)
  const DATA_DIR = join(primary, '..', 'data')
  let account = { id: 0n, secret: '' }
  await startPair(primary, standby, {
    isSynchronous: true,
    prepare: async (url) => {
      account = await liveAccount(url, { DATA_DIR, primary, gateway: 'manual' })
    },
  })
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  // One address, which leads to another machine later.
  const address = join(primary, '..', 'address')
  symlinkSync(primary, address)
  const opened = await open(urlOf(address), DATA_DIR, { debug: quiet, info: say, warn: say, error: say })
  const { app, db } = await startTestService({ db: opened.db, connection: opened.connection, key })
  const client = clientOf(app, account.id, account.secret)
  expect((await customer(client)).status).toBe(201)

  signalServer(standby, 'SIGSTOP')
  const waiting = customer(client)
  await expect.poll(() => db.readiness().waitsForStandby, { timeout: 20_000 }).toBe(true)
  const refused = await customer(client)
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([503, 'database_unavailable'])
  expect((await client.get('/v1/customers')).status).toBe(200)
  expect((await client.get('/readyz')).status).toBe(200)
  expect((await client.get('/metrics')).text).toContain('perennial_database_waits_for_standby 1')
  // Whoever waited is let go after 15 seconds; its commit waits on.
  expect((await waiting).status).toBe(503)
  signalServer(standby, 'SIGCONT')
  await expect.poll(() => db.readiness().waitsForStandby, { timeout: 20_000 }).toBe(false)
  expect((await again(() => customer(client))).status).toBe(201)

  signalServer(standby, 'SIGSTOP')
  const cancelled = customer(client)
  const cancel = `select pg_cancel_backend(pid) as "is" from pg_stat_activity where wait_event = 'SyncRep'`
  await expect.poll(async () => (await onServer(primary, cancel)).length).toBeGreaterThan(0)
  // It is committed here, and nobody knows whether it is there.
  expect((await cancelled).status).toBe(503)
  signalServer(standby, 'SIGCONT')
  expect((await again(() => customer(client))).status).toBe(201)
  await stopServer(primary)
  await promote(standby)
  rmSync(address)
  symlinkSync(standby, address)
  expect((await again(() => customer(client))).status).toBe(201)
  expect(said.filter((text) => /no standby acknowledges/.test(text))).toHaveLength(1)
  expect(said.join('\n')).toMatch(/has all that was acknowledged before/)
  // The watch may end a connection that is being opened while it notices the move.
  expect((await again(() => client.get('/v1/gateways'))).body).toMatchObject([{ HeldFor: null }])
})
