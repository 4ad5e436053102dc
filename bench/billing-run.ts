import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { createAccount } from '../src/features/accounts/actions.ts'
import type { Connection } from '../src/platform/database/database.ts'
import { bundled, run } from './measure/children.ts'
import {
  asOwner,
  type BenchServer,
  createDatabase,
  createMigrated,
  dropDatabase,
  openAsService,
  settle,
  startServer,
} from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { COMPONENTS, ON_SUBSCRIPTIONS } from './seed-components.ts'

/**
 * Renews subscriptions (one package charge, one tax) into issued invoices, beside the floor: COPY of as many rows into slim reference
 * tables and one UPDATE. Both are restored from templates before every round.
 */

const RENEWS_ON = '2027-02-01'
const RUN_OF_FLOOR = 0.3
const COMPONENTS_OF_FLOOR = 0.3
/** The package, the seats, and a line for each of the two tiers that the calls reach. */
const LINES_WITH_COMPONENTS = 4
const MEMORY_MB = 300
const GROWTH = 1.3
const SMALL = 10_000

interface RunSaid {
  invoices: number
  failed: number
  seconds: number
  cpu: number
  peakMb: number
}

interface Round {
  runSeconds: number
  runNode: number
  runDatabase: number
  peakMb: number
  rowsPerInvoice: number
  bytesPerInvoice: number
  walPerInvoice: number
  floorSeconds: number
  floorCpu: number
}

/** A package with one price, and one tax. */
export const CATALOGUE = `
  insert into package_groups (account_id, package_group_id, name) values (1, 1, 'Packages');
  insert into packages (account_id, package_id, package_group_id, code, name, description, is_active, last_version_no)
    values (1, 1, 1, 'standard', 'Standard package', '', true, 1);
  insert into package_versions (account_id, package_version_id, package_id, version_no, name, is_default, is_active) values (1, 1, 1, 1, 'One', true, true);
  insert into package_rates (account_id, package_rate_id, package_version_id, currency, setup_fee_minor, trial_fee_minor, trial_period, trial_period_type)
    values (1, 1, 1, 'USD', 0, 0, 0, 'days');
  insert into package_rate_terms (account_id, package_rate_term_id, package_rate_id, price, term, term_type) values (1, 1, 1, 99.99, 1, 'months');
  insert into tax_settings (account_id, tax_setting_id, name) values (1, 1, 'VAT');
  insert into tax_rules (account_id, tax_setting_id, rate) values (1, 1, 0.15);`

/** Customers who want no mail, with a subscription each, begun and invoiced on 2027-01-01, whose second month is due. */
export const RECORDS = `
  insert into customers (account_id, customer_id, reference, is_company, name, email, currency, created_at, is_waive_taxes, payment_method,
      auto_send_invoice, auto_send_statement, is_collection_hold)
    select 1, n, 'C' || n, false, 'Customer ' || n, 'customer' || n || '@example.com', 'USD', '2026-12-31', false, 'cash', false, false, false
      from generate_series(1, $1::int) n;
  insert into customer_totals select 1, n, 'USD', 11499 from generate_series(1, $1::int) n;
  insert into subscriptions (account_id, subscription_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date,
      anchor, anchor_day, term, term_type, is_pro_rata, lead_days, created_at, last_modified)
    select 1, n, n, 1, 1, 1, 'USD', '2027-01-01', '2027-01-01', 1, 1, 'months', true, 0, '2026-12-31', '2026-12-31'
      from generate_series(1, $1::int) n;
  insert into subscription_billing (account_id, subscription_id, customer_id, next_from, last_from, last_invoice_date, due_on)
    select 1, n, n, '${RENEWS_ON}', '2027-01-01', '2027-01-01', '${RENEWS_ON}' from generate_series(1, $1::int) n`

/** Subscriptions that all renew on one day, in a database that rounds are copied from. */
export async function seed(server: BenchServer, name: string, count: number): Promise<void> {
  const connection = await createMigrated(server, name)
  const db = openAsService(connection)
  await createAccount(
    db,
    Date.now,
    { mode: 'test', name: 'Bench', currency: 'USD', clockAt: `${RENEWS_ON}T12:00:00.000Z` },
    'bench',
  )
  await db.close()
  await asOwner(connection, async (client) => {
    await client.query(CATALOGUE)
    for (const statement of RECORDS.split(';')) await client.query(statement, [count])
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

/** Adds seats and calls to the subscriptions of a seeded database. */
async function seedComponents(server: BenchServer, name: string): Promise<void> {
  const connection = server.connectionTo(name)
  await asOwner(connection, async (client) => {
    await client.query(COMPONENTS)
    for (const statement of ON_SUBSCRIPTIONS) await client.query(statement)
    await client.query('vacuum (full, analyze)')
  })
  await settle(connection)
}

async function seedFloor(server: BenchServer, name: string, count: number): Promise<void> {
  const connection = await createDatabase(server, name)
  await asOwner(connection, async (client) => {
    await client.query(readFileSync(new URL('floor/billing-run.sql', import.meta.url), 'utf8'))
    await client.query(
      `insert into floor.subscriptions select 1, n, n, 9999, '${RENEWS_ON}', '${RENEWS_ON}' from generate_series(1, $1::int) n`,
      [count],
    )
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

interface Size {
  rows: number
  bytes: number
  wal: number
}

async function sizeOf(client: pg.Client): Promise<Size> {
  const { rows } = await client.query<{ rows: string; bytes: string; wal: string }>(`
    select (select count(*) from invoices) + (select count(*) from charges) + (select count(*) from invoice_taxes) + (select count(*) from events)
      + (select coalesce(sum(last_event_id - first_event_id + 1), 0) from issued_events)
      + (select count(*) from ledger_entries) as rows,
           pg_database_size(current_database()) as bytes, pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`)
  return { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes), wal: Number(rows[0]?.wal) }
}

/** A fresh copy, settled; what happens in it is told with the CPU-seconds that the server spent. */
async function inCopy<T>(
  server: BenchServer,
  template: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T & { database: number }> {
  const connection = await createDatabase(server, 'round', template)
  await settle(connection)
  const before = server.cpu()
  const result = await work(connection)
  // Backends that have ended are counted with their parent, which learns of it a moment later.
  await settle(connection)
  const database = server.cpu() - before
  await dropDatabase(server, 'round')
  return { ...result, database }
}

export async function measureRun(server: BenchServer, program: string, template: string, count: number, helpers = 0) {
  return inCopy(server, template, async (connection) => {
    const before = await asOwner(connection, sizeOf)
    const said = await run<RunSaid>(program, { connection, account: 1, until: RENEWS_ON, helpers }).said
    if (said.invoices !== count || said.failed !== 0)
      throw new Error(`${said.invoices} invoices and ${said.failed} failures instead of ${count} invoices`)
    const after = await asOwner(connection, sizeOf)
    return { ...said, rows: after.rows - before.rows, bytes: after.bytes - before.bytes, wal: after.wal - before.wal }
  })
}

interface Programs {
  subject: string
  floor: string
}

async function round(server: BenchServer, programs: Programs, count: number, lines: number): Promise<Round> {
  const subject = await measureRun(server, programs.subject, `seeded_${count}`, count)
  const floor = await inCopy(server, `floor_${count}`, (connection) =>
    run<{ seconds: number; cpu: number }>(programs.floor, { connection, count, lines }).said.then((said) => ({
      ...said,
    })),
  )
  return {
    runSeconds: subject.seconds,
    runNode: subject.cpu,
    runDatabase: subject.database,
    peakMb: subject.peakMb,
    rowsPerInvoice: subject.rows / count,
    bytesPerInvoice: subject.bytes / count,
    walPerInvoice: subject.wal / count,
    floorSeconds: floor.seconds,
    floorCpu: floor.cpu + floor.database,
  }
}

async function rounds(
  server: BenchServer,
  programs: Programs,
  count: number,
  options: { times: number; hasComponents: boolean },
): Promise<Round[]> {
  const { times, hasComponents } = options
  await seed(server, `seeded_${count}`, count)
  if (hasComponents) await seedComponents(server, `seeded_${count}`)
  await seedFloor(server, `floor_${count}`, count)
  const found: Round[] = []
  for (let turn = 0; turn < times; turn += 1) {
    const one = await round(server, programs, count, hasComponents ? LINES_WITH_COMPONENTS : 1)
    tell(
      `  ${count.toLocaleString('en')}, round ${turn + 1}: ${one.runSeconds.toFixed(2)} s, CPU ${one.runNode.toFixed(2)} + ${one.runDatabase.toFixed(2)} s; floor ${one.floorSeconds.toFixed(2)} s, CPU ${one.floorCpu.toFixed(2)} s`,
    )
    found.push(one)
  }
  return found
}

const runCpu = ({ runNode, runDatabase }: Round): number => runNode + runDatabase
const floorCpu = (one: Round): number => one.floorCpu

function tellRounds(count: number, found: readonly Round[], lines: number): void {
  const each = (of: (one: Round) => number) => spread(found.map(of))
  tellTable(
    [`${count.toLocaleString('en')} invoices`, 'run', 'floor'],
    [
      ['invoices a second', each((one) => count / one.runSeconds), each((one) => count / one.floorSeconds)],
      ['CPU-seconds', each(runCpu), each(floorCpu)],
      ['… of Node', each((one) => one.runNode), ''],
      ['… of PostgreSQL', each((one) => one.runDatabase), ''],
      ['CPU an invoice, µs', each((one) => (runCpu(one) / count) * 1e6), each((one) => (one.floorCpu / count) * 1e6)],
      ['peak memory of Node, MB', each((one) => one.peakMb), ''],
      ['rows an invoice', each((one) => one.rowsPerInvoice), String(5 + lines)],
      ['bytes an invoice, tables and indexes', each((one) => one.bytesPerInvoice), ''],
      ['bytes an invoice, log', each((one) => one.walPerInvoice), ''],
    ],
  )
  if (isNoisy(found.map(floorCpu))) tell('noisy: the floor itself moved more than twofold')
}

interface Options {
  count: number
  times: number
  isSmoke: boolean
  /** With seats charged in advance and calls by tiers on every subscription. */
  hasComponents: boolean
}

export async function benchBillingRun(options: Options): Promise<void> {
  const { count, isSmoke, hasComponents } = options
  const ofFloor = hasComponents ? COMPONENTS_OF_FLOOR : RUN_OF_FLOOR
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const programs = { subject: await bundled('subject/billing-run.ts'), floor: await bundled('floor/billing-run.ts') }
    const small = isSmoke ? undefined : await rounds(server, programs, SMALL, options)
    const large = await rounds(server, programs, count, options)
    if (small) tellRounds(SMALL, small, hasComponents ? LINES_WITH_COMPONENTS : 1)
    tellRounds(count, large, hasComponents ? LINES_WITH_COMPONENTS : 1)
    const ratio = median(ratioOf(large.map(floorCpu), large.map(runCpu)))
    const memory = median(large.map(({ peakMb }) => peakMb))
    const growth = small ? median(large.map(runCpu)) / count / (median(small.map(runCpu)) / SMALL) : 1
    tellVerdicts(
      [
        {
          goal: `the run${hasComponents ? ' with components' : ''} reaches ${ofFloor * 100} % of the floor in CPU-seconds`,
          reached: `${(ratio * 100).toFixed(1)} %`,
          isMet: ratio >= ofFloor,
        },
        {
          goal: `memory of Node under ${MEMORY_MB} MB`,
          reached: `${memory.toFixed(0)} MB`,
          isMet: memory < MEMORY_MB,
        },
        {
          goal: `CPU an invoice at ${count} at most ${GROWTH} × that at ${SMALL}`,
          reached: `${growth.toFixed(2)} ×`,
          isMet: growth <= GROWTH,
        },
      ],
      { isSmoke },
    )
  } finally {
    await server.stop()
  }
}
