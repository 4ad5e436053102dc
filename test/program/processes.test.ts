import { setTimeout as rest } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { runProgram, serve, startProgram, testFolder } from './program.ts'

/** Several processes on one database, as each sees the others. */

const listed = async (env: Record<string, string>) => JSON.parse((await runProgram(['processes', '--json'], env)).out)

test('processes are listed with what they are until they leave, settings that differ are named without their values, and what they log is changed for a while', async () => {
  const { admin, url } = await foreignServer()
  await admin.query('create role billing login createrole')
  await admin.query('create database billing owner billing')
  const env = { DATABASE_URL: url('billing', 'billing'), DATA_DIR: testFolder(), MAIL_FROM: 'one@example.com' }
  const first = await serve(env, ['--no-worker'])
  const second = await serve({ ...env, MAIL_FROM: 'two@example.com', LOG_LEVEL: 'warn' }, ['--no-worker'])
  const work = startProgram(['work', '--json'], env)
  await work.says(/working/)
  expect(await listed(env)).toEqual([
    expect.objectContaining({ Kind: 'serve', Pid: first.child.pid, State: 'ready', LogLevel: 'info' }),
    expect.objectContaining({ Kind: 'serve', Pid: second.child.pid, State: 'ready', LogLevel: 'warn' }),
    expect.objectContaining({ Kind: 'work', Pid: work.child.pid, State: 'ready' }),
  ])
  const apart = `MAIL_FROM is not the same as in the process`
  await expect.poll(() => second.said.err).toContain(apart)
  expect(first.said.err).not.toContain(apart)
  expect(second.said.err).not.toContain('one@example.com')
  const doctor = await runProgram(['doctor'], env)
  expect(doctor.out).toContain(apart)
  expect(doctor.out).not.toContain('example.com')
  expect(await (await fetch(`${first.address}/metrics`)).text()).toMatch(
    /^perennial_processes\{kind="serve",version="[^"]+",state="ready"\} 2$/m,
  )

  expect(JSON.parse(first.said.err.split('\n')[0] ?? '')).toMatchObject({
    msg: 'starting',
    settings: {
      DATABASE_URL: expect.stringMatching(/:\d+\/billing$/),
      MAIL_FROM: 'one@example.com',
    },
  })
  const [, { ProcessID: id }] = await listed(env)
  expect((await runProgram(['log', 'trace', '--process', id], env)).out).toMatch(
    /^serve .*:\d+ logs at trace for 15 min/,
  )
  await expect.poll(() => second.said.err).toContain('"from":"warn","to":"trace"')
  expect(first.said.err).not.toContain('log level changed')
  const levels = async () => (await listed(env)).map(({ LogLevel }: { LogLevel: string }) => LogLevel)
  await expect.poll(levels).toEqual(['info', 'trace', 'info'])
  expect(JSON.parse((await runProgram(['log', 'error', '--json', '--for', '1'], env)).out)).toHaveLength(3)
  await expect.poll(levels).toEqual(['error', 'error', 'error'])
  second.child.kill('SIGUSR2')
  await expect.poll(() => second.said.err).toContain('"from":"error","to":"warn"')
  second.child.kill('SIGUSR2')
  await expect.poll(() => second.said.err).toContain('"from":"warn","to":"debug"')

  // A lock on the rows of processes holds up nothing but what is written there.
  const connected = async () => {
    const client = new pg.Client({ connectionString: env.DATABASE_URL })
    await client.connect()
    return client
  }
  const [billing, other] = [await connected(), await connected()]
  await billing.query('begin; lock table perennial.processes in access exclusive mode')
  await other.query(`select pg_notify('processes', '')`)
  await other.end()
  for (const untilMs = performance.now() + 6_000; performance.now() < untilMs; await rest(100))
    expect((await fetch(`${first.address}/readyz`)).status).toBe(200)
  await billing.query('rollback')
  expect(first.said.err).not.toContain('does not answer')

  second.child.kill('SIGTERM')
  await second.ended
  expect(await runProgram(['log', 'debug', '--process', id], env)).toMatchObject({
    code: 1,
    err: `The process ${id} is not live: "perennial processes" lists those that are.\n`,
  })
  expect((await listed(env)).map(({ Pid }: { Pid: number }) => Pid)).toEqual([first.child.pid, work.child.pid])
  // One that was killed is there for a minute, as far as anybody can know.
  work.child.kill('SIGKILL')
  await work.ended
  expect(await listed(env)).toHaveLength(2)
  await billing.query(`update perennial.processes set seen_at = seen_at - interval '61 seconds' where pid = $1`, [
    work.child.pid,
  ])
  await billing.end()
  expect(await listed(env)).toHaveLength(1)
})
