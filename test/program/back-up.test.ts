import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, chownSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { call, ROOT, runProgram, serve, type Serving, testFolder } from './program.ts'

/** docs/operate/back-up.md, done word for word: its blocks are what runs here. */

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** The blocks of commands under a heading of the document, in order. */
function blocksOf(heading: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/operate/back-up.md'), 'utf8')
  const [section = ''] = text.split(`## ${heading}\n`)[1]?.split('\n## ') ?? []
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
}

/** A folder with the program under the name that the document calls it by. */
function folderOfPerennial(): string {
  const folder = testFolder()
  writeFileSync(
    join(folder, 'perennial'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'bin', 'perennial.js')}" "$@"\n`,
    { mode: 0o755 },
  )
  return folder
}

/** Runs a block of the document; the two lines for systemd are done by what was handed over, everything else by a shell. */
async function follow(
  block: string,
  env: Record<string, string>,
  systemd: { stop?: () => Promise<void>; start?: () => Promise<void> } = {},
): Promise<void> {
  for (const piece of block.split(/^(systemctl \w+ perennial)\n/m)) {
    if (piece === 'systemctl stop perennial') await systemd.stop?.()
    else if (piece === 'systemctl start perennial') await systemd.start?.()
    else if (piece.trim() !== '')
      execFileSync('sh', ['-eu', '-c', piece], {
        env: { ...env, PATH: `${folderOfPerennial()}:${env['PATH'] ?? process.env['PATH']}` },
        stdio: 'pipe',
      })
  }
}

async function stopped(service: Serving): Promise<void> {
  service.child.kill('SIGTERM')
  expect((await service.ended).code).toBe(0)
}

interface Story {
  customerID: number
  invoice: { invoiceID: number; invoiceNum: unknown }
  /** A mail with a password in it, which the database keeps encrypted. */
  mail: { Text: string }
}

const CUSTOMER = { Name: 'Ann', LastName: 'Lee' }

/** Adds a customer under a key, as a client does that may have to send again. */
async function addKeyed(service: Serving, first: Serving) {
  const response = await fetch(`${service.address}/v1/customers`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${first.account}:${first.key}`).toString('base64')}`,
      'content-type': 'application/json',
      'idempotency-key': 'the first customer',
    },
    body: JSON.stringify(CUSTOMER),
  })
  const body = (await response.json()) as { customerID: number }
  return { status: response.status, id: body.customerID, isReplayed: response.headers.has('idempotency-replayed') }
}

async function live(service: Serving): Promise<Story> {
  const { status, id: customerID } = await addKeyed(service, service)
  expect(status).toBe(201)
  const invoice = await call(service, service, '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
  expect(invoice.status).toBe(201)
  const contact = { customerID, ...CUSTOMER, Email: 'ann@example.com', Username: 'ann.lee', isActive: true }
  expect((await call(service, service, '/v1/customercontacts', contact)).status).toBe(201)
  const [mail] = (await call(service, service, '/v1/outbox')).body
  expect(mail.Text).toMatch(/Password: \S{6,}/)
  return { customerID, invoice: invoice.body, mail }
}

/** Happens after the backup, so that it must be gone. */
const liveOn = (service: Serving, { customerID }: Story, first: Serving) =>
  call(service, first, '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 99 }] })

/** Everything is there as it was, sealed answers too, what came later is not, and numbers go on without a gap. */
async function expectRestored(service: Serving, first: Serving, story: Story): Promise<void> {
  const { body: invoices } = await call(service, first, '/v1/invoices')
  expect(invoices.map(({ invoiceID }: any) => invoiceID)).toEqual([story.invoice.invoiceID])
  const kept = await call(service, first, `/v1/invoices/${story.invoice.invoiceID}`)
  expect(kept.body).toMatchObject({ invoiceNum: story.invoice.invoiceNum, Total: 10 })
  expect(await addKeyed(service, first)).toEqual({ status: 201, id: story.customerID, isReplayed: true })
  expect((await call(service, first, '/v1/outbox')).body).toEqual([story.mail])
  const next = await liveOn(service, story, first)
  expect(next.status).toBe(201)
  expect(Number(next.body.invoiceNum)).toBe(Number(story.invoice.invoiceNum) + 1)
  expect(next.body.invoiceID).toBeGreaterThan(story.invoice.invoiceID)
}

test('the embedded database: what was backed up while the service runs is all there after a restore', async () => {
  const folder = testFolder()
  const [DATA_DIR, BACKUPS] = [join(folder, 'data'), join(folder, 'backups')]
  mkdirSync(BACKUPS)
  const [backUp = '', restore = ''] = blocksOf('Embedded database')
  const first = await serve({ DATA_DIR })
  let service = first
  const systemd = {
    stop: () => stopped(service),
    start: async () => {
      service = await serve({ DATA_DIR })
    },
  }
  const story = await live(service)
  await follow(backUp, { DATA_DIR, BACKUPS }, systemd)
  await liveOn(service, story, first)
  await follow(restore, { DATA_DIR, BACKUPS }, systemd)
  await expectRestored(service, first, story)
})

/** The newest PostgreSQL that Debian installed, server and tools. */
function debianTools(): string | undefined {
  const parent = '/usr/lib/postgresql'
  const versions = existsSync(parent) ? readdirSync(parent).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions
    .map((version) => join(parent, version, 'bin'))
    .find((bin) => ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'psql'].every((tool) => existsSync(join(bin, tool))))
}

/** A server of the distribution with one empty database for one user who may create roles. */
async function distributionServer(bin: string): Promise<{ url: string; query(text: string): void }> {
  const folder = join(testFolder(), 'server')
  mkdirSync(folder, { mode: 0o700 })
  execFileSync('chmod', ['0755', join(folder, '..')])
  if (isRoot) chownSync(folder, NOBODY, NOBODY)
  const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  execFileSync(join(bin, 'initdb'), ['-D', folder, '-U', 'postgres', '-A', 'trust', '--no-sync'], {
    ...who,
    cwd: folder,
  })
  const args = ['-D', folder, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off']
  const server = spawn(join(bin, 'postgres'), args, { ...who, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(server, 'close')
  onTestFinished(async () => {
    server.kill('SIGINT')
    await ended
  })
  let said = ''
  for await (const text of server.stderr) if ((said += text).includes('ready to accept')) break
  server.stderr.resume()
  const psql = (text: string) =>
    spawnSync(join(bin, 'psql'), ['-h', folder, '-U', 'postgres', '-c', text], { encoding: 'utf8' })
  const query = (text: string) => expect(psql(text)).toMatchObject({ status: 0 })
  query('create role billing login createrole')
  query('create database billing owner billing')
  return { url: `postgres://billing@localhost/billing?host=${encodeURIComponent(folder)}`, query }
}

const bin = debianTools()

test.skipIf(bin === undefined)(
  'a server of your own: a dump taken while the service runs is all there in the new database of another server (needs postgresql)',
  async () => {
    const tools = bin as string
    const [old, fresh] = [await distributionServer(tools), await distributionServer(tools)]
    const folder = testFolder()
    const [DATA_DIR, NEW_DATA_DIR, BACKUPS] = ['data', 'new', 'backups'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(BACKUPS)
    const [backUp = '', restore = ''] = blocksOf('A server of your own')
    const env = {
      DATA_DIR,
      BACKUPS,
      NEW_DATA_DIR,
      DATABASE_URL: old.url,
      NEW_DATABASE_URL: fresh.url,
      PATH: `${tools}:${process.env['PATH']}`,
    }
    const first = await serve({ DATABASE_URL: old.url, DATA_DIR })
    const story = await live(first)
    await follow(backUp, env)
    await liveOn(first, story, first)
    await stopped(first)
    await follow(restore, env)
    const second = await serve({ DATABASE_URL: fresh.url, DATA_DIR: NEW_DATA_DIR })
    expect(second.account).toBeUndefined()
    await expectRestored(second, first, story)

    // Without the key of the backup the same database is not served: that is what it is for.
    const keyless = await runProgram(['serve'], { DATABASE_URL: fresh.url, DATA_DIR: testFolder() })
    expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining('There is no encryption key')])
  },
)
