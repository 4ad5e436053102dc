import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { call, runProgram, serve, type Serving, startProgram, testFolder } from './program.ts'

/** The copy that a running service makes on its own, of both kinds of databases, taken back elsewhere. */

async function stopped({ child, ended }: Pick<Serving, 'child' | 'ended'>): Promise<void> {
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
}

/** Waits until a whole copy is there, and returns its name. */
async function copyIn(folder: string): Promise<string> {
  for (;;) {
    const [name] = existsSync(folder) ? readdirSync(folder).filter((one) => !one.endsWith('.part')) : []
    if (name !== undefined) return name
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const ageIn = async ({ address }: Serving): Promise<string | undefined> =>
  /^perennial_backup_age_seconds (\S+)$/m.exec(await (await fetch(`${address}/metrics`)).text())?.[1]

async function findingOf(env: Record<string, string>) {
  const { out } = await runProgram(['doctor', '--json'], env)
  return (JSON.parse(out) as { About: string; State: string; Says: string }[]).filter(
    ({ About }) => About === 'BACKUP_DIR',
  )
}

test('the embedded database is copied by itself, without its key; metrics and doctor know the age, and the copy is restored elsewhere', async () => {
  const folder = testFolder()
  const [DATA_DIR, BACKUP_DIR, OTHER] = ['data', 'copies', 'other'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const env = { DATA_DIR, BACKUP_DIR }
  // Without a worker nothing is copied, and that shows.
  const idle = await serve(env, ['--no-worker'])
  expect(await ageIn(idle)).toBe('+Inf')
  expect(await findingOf(env)).toMatchObject([{ State: 'warn', Says: expect.stringContaining('holds no copy yet') }])
  const added = await call(idle, idle, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
  expect(added.status).toBe(201)
  await stopped(idle)

  const service = await serve(env)
  const name = await copyIn(BACKUP_DIR)
  expect(name).toMatch(/^perennial-\d{8}T\d{6}Z\.tar$/)
  expect(Number(await ageIn(service))).toBeLessThan(600)
  expect(await findingOf(env)).toMatchObject([{ State: 'ok' }])
  await stopped(service)
  expect(readdirSync(BACKUP_DIR)).toEqual([name])

  const restored = await runProgram(['restore', join(BACKUP_DIR, name)], { DATA_DIR: OTHER })
  expect([restored.code, restored.err]).toEqual([0, expect.stringContaining('The encryption key is missing')])
  const key = await runProgram(['account', 'list', '--json'], { DATA_DIR: OTHER })
  expect([key.code, key.err]).toEqual([1, expect.stringContaining('There is no encryption key')])
})

test('several workers on one server make one copy, which a new database takes in; a folder that cannot be used stops nothing', async () => {
  const { admin, url } = await foreignServer()
  await admin.query('create role billing login createrole')
  for (const name of ['old', 'fresh']) await admin.query(`create database ${name} owner billing`)
  const folder = testFolder()
  const BACKUP_DIR = join(folder, 'copies')
  const env = { DATABASE_URL: url('billing', 'old'), DATA_DIR: join(folder, 'data'), BACKUP_DIR }
  const astray = await serve({ ...env, BACKUP_DIR: join(folder, 'not', 'mounted') })
  const added = await call(astray, astray, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
  expect(added.status).toBe(201)
  while (!astray.said.err.includes('the nightly copy of the database failed'))
    await new Promise((resolve) => setTimeout(resolve, 50))
  await stopped(astray)

  const workers = [1, 2, 3].map(() => startProgram(['work', '--json'], env))
  const name = await copyIn(BACKUP_DIR)
  expect(name).toMatch(/^perennial-\d{8}T\d{6}Z\.export\.gz$/)
  await Promise.all(workers.map(({ says }) => says(/working/)))
  for (const worker of workers) await stopped(worker)
  expect(readdirSync(BACKUP_DIR)).toEqual([name])
  const imported = await runProgram(['import', join(BACKUP_DIR, name), '--json'], {
    ...env,
    DATABASE_URL: url('billing', 'fresh'),
  })
  expect([imported.code, imported.err]).toEqual([0, ''])
})
