import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type pg from 'pg'
import { hasFunction, hasTable } from './is-there.ts'
import { type Connection, WHOLE_STATEMENT_MS } from './database.ts'
import { isLockedOut, isRetryable, RETRIES_MAX } from './failures.ts'
import { type AppliedMigration, checkKnowsLeast, checkOthersKnow, leastOf, type LiveProcess } from './schema-numbers.ts'
import { ServerClient } from './server-client.ts'
import { boundSilence, GRACE_MS } from './silence.ts'
import { runMigration } from './distribution.ts'
import { clientConfig, STARTING_NAME, WORKING_NAME } from './open-database.ts'
import { OF_ONE_ACCOUNT } from './young-tables.ts'

/** Numbered plain SQL, forward only, run by the owner under one lock. */

export interface Migration {
  version: number
  name: string
  text: string
  hash: string
  /** The newest migration that a program must know to work on what this one leaves. */
  least: number
}

const NAME = /^(\d{4})_[a-z0-9_]+\.sql$/

const migrationOf = (name: string, text: string): Migration => ({
  version: Number(name.slice(0, 4)),
  name,
  text,
  hash: createHash('sha256').update(text).digest('hex'),
  least: leastOf(Number(name.slice(0, 4)), text),
})

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort()
  return Promise.all(names.map(async (name) => migrationOf(name, await readFile(join(folder, name), 'utf8'))))
}

/** The line before each migration in the file of those that version 0.1.0 replaced by one. */
const NAMED = /^-- file (\d{4}_[a-z0-9_]+\.sql)\n/m

/** Returns the migrations before version 0.1.0, as they ran: decision 54. */
export async function readOlderMigrations(folder: string): Promise<Migration[]> {
  const packed = await readFile(join(folder, '..', 'before-0.1.0.sql.gz'))
  const [, ...parts] = (await promisify(gunzip)(packed)).toString('utf8').split(NAMED)
  const older: Migration[] = []
  for (let at = 0; at < parts.length; at += 2) older.push(migrationOf(parts[at] as string, parts[at + 1] as string))
  return older
}

/** Migrations that a database has, and those it lacks. */
export interface MigrationState {
  /** Whether it was made before version 0.1.0, and has not got over all older migrations. */
  isOlder: boolean
  /** Migrations that a database of its age may have. */
  known: Migration[]
  /** Migrations that are yet to run, in their order: of an older database the older ones first. */
  lacking: Migration[]
}

/** Returns what a database with these rows of `migrations` has and lacks. */
export async function stateOfMigrations(
  folder: string,
  applied: readonly Pick<Migration, 'version' | 'name'>[],
): Promise<MigrationState> {
  const present = await readMigrations(folder)
  const [first, ...later] = present
  const lackingOf = (known: readonly Migration[]) =>
    known.filter(({ version }) => !applied.some((one) => one.version === version))
  if (!applied.some(({ version, name }) => version === first?.version && name !== first.name))
    return { isOlder: false, known: present, lacking: lackingOf(present) }
  const older = await readOlderMigrations(folder)
  return { isOlder: true, known: older, lacking: [...lackingOf(older), ...later] }
}

// Any constant will do, as long as no other program of this database uses it.
const MIGRATION_LOCK = 7_305_861_200_411

const hasMigrations = (client: pg.Client): Promise<boolean> => hasTable(client, 'perennial.migrations')

/** Lists the migrations that a database has, and changes nothing: none of one that is empty. */
export async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  if (!(await hasMigrations(client))) return []
  // Columns that a database before schema numbers has not are null in this form.
  const { rows } = await client.query<AppliedMigration>(`
    select version, name, hash, (to_jsonb(m) ->> 'least')::integer as "least", to_jsonb(m) ->> 'program' as "program"
      from perennial.migrations m order by version`)
  return rows
}

async function listApplied(client: pg.Client): Promise<AppliedMigration[]> {
  // Not again and again: while no standby acknowledges, each commit waits, and a start that has nothing to change does too.
  if (!(await hasMigrations(client)))
    await client.query(`
      create table if not exists perennial.migrations (
        version integer primary key, name text not null, hash text not null, applied_at timestamptz not null default now());
      alter table perennial.migrations enable row level security`)
  const { rows } = await client.query(
    `select 1 from pg_attribute where attrelid = 'perennial.migrations'::regclass and attname = 'least'`,
  )
  if (rows.length === 0)
    await client.query('alter table perennial.migrations add column least integer, add column program text')
  return readApplied(client)
}

/** Migrations that a database lacks, as somebody who plans an upgrade asks for them. */
export interface PendingMigration {
  name: string
  /** The newest migration that a program must know to work on what it leaves. */
  least: number
  /** Programs that know the schema of now work on what it leaves. */
  isRolling: boolean
}

/** Lists what a database lacks, in order, and changes nothing; without a connection what a new one lacks. Throws a StartFailure if the program knows too little of it. */
export async function listPending(
  connection: Connection | undefined,
  folder: string,
): Promise<{ pending: PendingMigration[]; live: LiveProcess[]; isEmpty: boolean }> {
  const client =
    connection && new ServerClient({ ...clientConfig(connection, undefined), application_name: STARTING_NAME })
  try {
    await client?.connect()
    const applied = client ? await readApplied(client) : []
    const { known, lacking } = await stateOfMigrations(folder, applied)
    checkKnowsLeast(applied, known.at(-1)?.version ?? 0)
    const present = newestOf(applied)
    const pending = lacking.map(({ name, least }) => ({ name, least, isRolling: least <= present }))
    return { pending, live: client ? await listLive(client) : [], isEmpty: applied.length === 0 }
  } finally {
    await client?.end()
  }
}

/** Returns the newest migration that a database has; 0: none. */
export const newestOf = (applied: readonly AppliedMigration[]): number =>
  Math.max(0, ...applied.map(({ version }) => version))

/** Circumstances of migrations. */
export interface MigrationSettings {
  /** The version of this program, which the rows of its migrations name. */
  program?: string
  /** Nobody else can be at work: this process has just started the database. */
  isAlone?: boolean
  /** Called once if another program migrates, and is waited for. */
  waits?: () => void
  /** Holds the service in maintenance while they run; left out: they run beside live processes, or not at all. */
  inMaintenance?: InMaintenance
}

/** Does work while the service is in maintenance and no process that lives does anything. Throws a StartFailure if one goes on. */
export type InMaintenance = (work: () => Promise<void>, lacking: readonly Migration[]) => Promise<void>

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Throws a StartFailure, and changes nothing, if this program knows too little
 * of the schema that is there, or live processes would know too little of the one that is to be.
 */
export async function migrate(
  connection: Connection,
  owner: string | undefined,
  folder: string,
  { program, isAlone = false, waits, inMaintenance }: MigrationSettings = {},
): Promise<string[]> {
  const client = new ServerClient({ ...clientConfig(connection, owner), application_name: STARTING_NAME })
  await client.connect()
  try {
    boundSilence(client, WHOLE_STATEMENT_MS + GRACE_MS)
    await client.query(`set statement_timeout = ${WHOLE_STATEMENT_MS}`)
    await takeMigrationLock(client, waits)
    const applied = await listApplied(client)
    const { isOlder, known, lacking } = await stateOfMigrations(folder, applied)
    checkKnowsLeast(applied, known.at(-1)?.version ?? 0)
    if (lacking.length === 0) return []
    const run = async () => {
      // Of those who were not live a frozen one may be left, or a command.
      const isRolling = Math.max(...lacking.map(({ least }) => least)) <= newestOf(applied)
      const cutOthers = async () => {
        if (!isRolling && !isAlone && applied.length > 0) await endOtherConnections(connection)
      }
      await cutOthers()
      await runAll(client, { isOlder, known, lacking }, { folder, program })
      await cutOthers()
      // The processes learn of their new schema.
      await client.query(`select pg_notify('watch', '')`)
    }
    if (inMaintenance) await inMaintenance(run, lacking)
    else {
      if (!isAlone) checkOthersKnow(lacking, await listLive(client))
      await run()
    }
    return lacking.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/** Runs what a database lacks, of an older one the older migrations first. */
async function runAll(
  client: pg.Client,
  { isOlder, known, lacking }: MigrationState,
  { folder, program }: { folder: string; program: string | undefined },
): Promise<void> {
  const isOwn = (one: Migration) => !isOlder || known.includes(one)
  for (const migration of lacking.filter(isOwn)) await apply(client, migration, program)
  if (isOlder) await takeTheirPlace(client, folder)
  for (const migration of lacking.filter((one) => !isOwn(one))) await apply(client, migration, program)
  await client.query('set lock_timeout = 0')
  await client.query(OF_ONE_ACCOUNT)
}

/** Lists the live processes of the service; none where the database is older than the list of them. */
export async function listLive(client: pg.Client): Promise<LiveProcess[]> {
  if (!(await hasFunction(client, 'perennial.list_processes()'))) return []
  const { rows } = await client.query<LiveProcess>(
    'select kind, host, pid, version, schema, state from perennial.list_processes() where is_live',
  )
  return rows
}

/**
 * Ends the connections on which processes and commands of the service work, as far as the rights of the login go. Those of watches stay: nothing is done on
 * them.
 */
async function endOtherConnections(connection: Connection): Promise<void> {
  const client = new ServerClient({ ...clientConfig(connection, undefined), application_name: STARTING_NAME })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = $1`,
      [WORKING_NAME],
    )
    for (const { pid } of rows) await client.query('select pg_terminate_backend($1, 1000)', [pid]).catch(() => {})
  } finally {
    await client.end()
  }
}

/**
 * Takes the lock of migrations; `waits` is called if that takes longer than a start without migrations. It is asked for again and again, because a
 * statement that waits for it has a snapshot, and an index that is made beside running work waits for all of those.
 */
export async function takeMigrationLock(client: pg.Client, waits: () => void = () => {}): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.taken) return
    if (tries === TRIES_UNSAID) waits()
    await rest(LOCK_AGAIN_MS)
  }
}

const LOCK_AGAIN_MS = 100
const TRIES_UNSAID = 10
/** How often, and after which time, a step is tried again that got no lock in time. */
const LOCKED_OUT_MAX = 600
const LOCKED_OUT_MS = 1000

/** The first line of a migration whose steps commit one by one. */
const IN_STEPS = /^-- step by step\n/
const NEXT_STEP = /^-- then\n/m

/** How long a migration waits for a lock: whoever asks for it later waits behind. */
const LOCK_WAIT = `set lock_timeout = '2s'`
/** An index that is made beside running work waits for it, and nobody waits behind. */
const MADE_BESIDE = /\bconcurrently\b/i

/** Runs a migration, and again after a dead-lock with what a running service does, or if it got no lock in time: nothing is left of one. */
async function apply(client: pg.Client, migration: Migration, program: string | undefined): Promise<void> {
  const once = IN_STEPS.test(migration.text) ? applyInSteps : applyOnce
  let lockedOut = 0
  for (let tries = 0; ; tries += 1) {
    try {
      return await once(client, migration, program)
    } catch (error) {
      if (isLockedOut(error) && lockedOut < LOCKED_OUT_MAX) {
        lockedOut += 1
        tries -= 1
        await rest(LOCKED_OUT_MS)
      } else if (!isRetryable(error) || tries >= RETRIES_MAX) throw error
    }
  }
}

/**
 * Runs a migration that would hold its locks for too long, or that PostgreSQL takes in no transaction: each step on its own. All can be done again: what was
 * broken off begins at the first one.
 */
async function applyInSteps(client: pg.Client, migration: Migration, program: string | undefined): Promise<void> {
  for (const step of migration.text.split(NEXT_STEP)) {
    await client.query(MADE_BESIDE.test(step) ? 'set lock_timeout = 0' : LOCK_WAIT)
    await client.query(step)
  }
  await note(client, migration, program)
}

async function applyOnce(client: pg.Client, migration: Migration, program: string | undefined): Promise<void> {
  await client.query(LOCK_WAIT)
  await client.query('begin')
  try {
    await runMigration(client, migration.text)
    await note(client, migration, program)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

const note = (client: pg.Client, { version, name, hash, least }: Migration, program: string | undefined) =>
  client.query('insert into perennial.migrations (version, name, hash, least, program) values ($1, $2, $3, $4, $5)', [
    version,
    name,
    hash,
    least,
    program ?? null,
  ])

/** Puts the row of the first migration in place of those of the older ones, which made the same schema. */
async function takeTheirPlace(client: pg.Client, folder: string): Promise<void> {
  const [first] = await readMigrations(folder)
  await client.query('begin')
  await client.query('delete from perennial.migrations')
  await note(client, first as Migration, undefined)
  await client.query('commit')
}
