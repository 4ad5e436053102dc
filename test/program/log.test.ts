import { expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { call, serve, testFolder } from './program.ts'

test('no line of the log holds a secret of the environment, from the start to the loss of the database and the stop', async () => {
  const server = await foreignServer()
  await server.admin.query('create role billing login superuser')
  await server.admin.query('create database billing owner billing')
  const env = {
    DATA_DIR: testFolder(),
    DATABASE_URL: server.url('billing', 'billing'),
    SMTP_URL: 'smtp://mailer:kept%20to%20itself@mail.example:587',
    ENCRYPTION_KEY: 'c0ffee'.repeat(10) + 'beef',
    BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice-0123456789',
    LOG_LEVEL: 'trace',
  }
  const service = await serve(env)
  const credentials = { account: 1, key: env.BOOTSTRAP_API_KEY }
  const read = () => call(service, credentials, '/v1/customers?token=in-the-query')
  expect((await read()).status).toBe(200)
  await call(service, { account: 1, key: 'a-key-that-is-wrong' }, '/v1/customers')
  await call(service, credentials, '/v1/customers', { Name: env.ENCRYPTION_KEY, Password: 'in-the-body' })
  await server.stop()
  expect((await read()).status).toBe(503)
  await expect.poll(async () => (await fetch(`${service.address}/readyz`)).status).toBe(503)
  expect(await (await fetch(`${service.address}/metrics`)).text()).toMatch(/^perennial_database_up 0$/m)
  service.child.kill('SIGTERM')
  const { out, err } = await service.ended
  const secrets = [
    'never-shown',
    'kept%20to%20itself',
    'kept to itself',
    env.ENCRYPTION_KEY,
    env.BOOTSTRAP_API_KEY,
    Buffer.from(`1:${env.BOOTSTRAP_API_KEY}`).toString('base64'),
    'a-key-that-is-wrong',
    'in-the-query',
    'in-the-body',
  ]
  expect(secrets.filter((secret) => (out + err).includes(secret))).toEqual([])
  const lines = err.trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty('level')
})
