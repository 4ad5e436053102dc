import pg from 'pg'
import { expect, test } from 'vitest'
import { besideDump, dumpText } from '../upgrades/dump.testing.ts'
import { foreignServer } from './foreign-server.ts'
import { runProgram, serve, testFolder } from './program.ts'

/** A server with the database of an older program, upgraded by the program itself as a person does it. */

const NAME = 'before-0.1.0'

test('the program upgrades an older database, names the bank files to be sent again, and verifies it', async () => {
  const server = await foreignServer()
  await server.admin.query('create role perennial_owner nologin noinherit; create role perennial_app nologin noinherit')
  await server.admin.query('create database billing')
  const { host, port } = server
  const client = new pg.Client({ host, port, user: 'postgres', database: 'billing' })
  await client.connect()
  await client.query(dumpText(NAME))
  await client.end()

  const { EncryptionKey, Accounts, Files } = besideDump(NAME)
  const env = {
    DATABASE_URL: server.url('postgres', 'billing'),
    DATA_DIR: testFolder(),
    ENCRYPTION_KEY: EncryptionKey,
    LOG_LEVEL: 'warn',
  }
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
