import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { besideDump, dumpText } from '../upgrades/dump.testing.ts'
import { foreignServer } from './foreign-server.ts'
import { ROOT, runProgram, serve, startProcess, testFolder } from './program.ts'

/** A server with the database of an older program, upgraded by the program itself as a person does it. */

/** Loads a dump into a new server, and returns the settings by which a program works on it. */
async function settingsOf(dump: string) {
  const server = await foreignServer()
  await server.admin.query('create role perennial_owner nologin noinherit; create role perennial_app nologin noinherit')
  await server.admin.query('create database billing')
  const { host, port } = server
  const client = new pg.Client({ host, port, user: 'postgres', database: 'billing' })
  await client.connect()
  await client.query(dumpText(dump))
  await client.end()
  return {
    DATABASE_URL: server.url('postgres', 'billing'),
    DATA_DIR: testFolder(),
    ENCRYPTION_KEY: besideDump(dump).EncryptionKey,
    LOG_LEVEL: 'warn',
  }
}

test('the packed program of version 0.1.0 verifies its own database, which this program upgrades and verifies, and refuses it from then on', async () => {
  const env = await settingsOf('0.1.0')
  const folder = testFolder()
  execFileSync('tar', ['-xzf', join(ROOT, 'test/upgrades/0.1.0.program.tgz'), '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const packed = () => startProcess(process.execPath, [join(folder, 'bin/perennial.js'), 'verify', '--json'], env).ended
  const none = [0, 0, 0, 0, 0]
  const differences = (out: string) => JSON.parse(out).map(({ Differences }: { Differences: number }) => Differences)
  const before = await packed()
  expect([before.code, before.err, differences(before.out)]).toEqual([0, '', none])
  expect(await runProgram(['migrate'], env)).toMatchObject({ code: 0, err: '' })
  const after = await runProgram(['verify', '--json'], env)
  expect([after.code, after.err, differences(after.out)]).toEqual([0, '', none])
  const refused = await packed()
  expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/start a version at least as new/)])
})

test('the program upgrades an older database, names the bank files to be sent again, and verifies it', async () => {
  const env = await settingsOf('before-0.1.0')
  const { Accounts, Files } = besideDump('before-0.1.0')
  const migrated = await runProgram(['migrate', '--json'], env)
  expect([migrated.code, migrated.err]).toEqual([0, ''])
  const known = Files.filter(({ answer }) => answer.AlreadyKnown > 0)
  const listed = await runProgram(['resultfiles', 'to-send-again', '--json'], env)
  expect(listed.code).toBe(0)
  const found: { AccountID: number; resultFileID: number; gatewayID: number; AlreadyKnown: number }[] = JSON.parse(
    listed.out,
  )
  expect(found.map((one) => [one.AccountID, one.resultFileID, one.gatewayID, one.AlreadyKnown]).toSorted()).toEqual(
    known
      .map(({ account, answer, gatewayID }) => [account, answer.resultFileID, gatewayID, answer.AlreadyKnown])
      .toSorted(),
  )
  const ofOne = await runProgram(
    ['resultfiles', 'to-send-again', '--account', String(Accounts['references']?.account)],
    env,
  )
  expect(ofOne.out.trimEnd().split('\n')).toHaveLength(3)
  expect(ofOne.out).toMatch(/^Account +resultFileID +Read on +gatewayID +Gateway +Format +Already known +SHA-256$/m)
  const doctor = await runProgram(['doctor'], env)
  expect(doctor.out).toMatch(
    new RegExp(
      `^warn  bank files: ${known.length} files were read .* – list them with "perennial resultfiles to-send-again"`,
      'm',
    ),
  )

  const service = await serve(env, ['--no-worker'])
  const { account = 0, key = '' } = Accounts['live'] ?? {}
  const file = known.find((one) => one.account === account)
  const answer = await fetch(`${service.address}/v1/resultfiles?gatewayID=${file?.gatewayID}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
      'content-type': 'application/xml',
    },
    body: file?.body ?? '',
  })
  expect([answer.status, await answer.json()]).toMatchObject([200, { AlreadyKnown: 0, Unmatched: 1 }])
  expect(JSON.parse((await runProgram(['resultfiles', 'to-send-again', '--json'], env)).out)).toHaveLength(
    known.length - 1,
  )
  const verified = await runProgram(['verify', '--json'], env)
  expect(JSON.parse(verified.out).map(({ Differences }: { Differences: number }) => Differences)).toEqual([
    0, 0, 0, 0, 0,
  ])
})
