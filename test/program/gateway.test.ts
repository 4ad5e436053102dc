import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { StripeSimulator } from '../simulators/stripe.ts'
import { runProgram, serve, type Serving, startedFolder } from './program.ts'

const authorization = ({ account, key }: Serving) => `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`

test('gateway test asks each gateway of an account, or one, and fails where one does not answer', async () => {
  const simulator = await StripeSimulator.start()
  onTestFinished(() => simulator.stop())
  const GATEWAY_ENDPOINTS = `stripe=${simulator.address}`
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn', OUTBOUND_ALLOW: '127.0.0.0/8', GATEWAY_ENDPOINTS }
  const service = await serve(env, ['--no-worker'])
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(service.address + path, {
      method,
      headers: { authorization: authorization(service), ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    expect(response.ok).toBe(true)
    const text = await response.text()
    return text === '' ? undefined : JSON.parse(text)
  }
  const [sandbox] = await send('GET', '/v1/gateways')
  const manual = await send('POST', '/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Our bank' })
  const all = await runProgram(['gateway', 'test', '--json'], env)
  expect([all.code, JSON.parse(all.out)]).toEqual([
    0,
    [
      {
        gatewayID: sandbox.gatewayID,
        GatewayType: 'sandbox',
        FriendlyName: 'Sandbox',
        Answer: 'accepted',
        Reason: null,
      },
      {
        gatewayID: manual.gatewayID,
        GatewayType: 'manual',
        FriendlyName: 'Our bank',
        Answer: 'accepted',
        Reason: null,
      },
    ],
  ])
  await send('PUT', `/v1/gateways/${sandbox.gatewayID}`, { Settings: { Fault: 'refused' } })
  const one = await runProgram(['gateway', 'test', String(sandbox.gatewayID)], env)
  expect([one.code, one.out]).toEqual([1, expect.stringMatching(/Sandbox +not reached/)])
  expect((await runProgram(['gateway', 'test', String(manual.gatewayID)], env)).code).toBe(0)
  const id = String(manual.gatewayID)
  const hold = (...words: string[]) => runProgram(['gateway', 'hold', id, ...words, '--json'], env)
  expect(await hold('--account', '999999')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no account 999999'),
  })
  const held = await hold('--account', String(service.account))
  expect([held.code, JSON.parse(held.out)]).toEqual([
    0,
    { gatewayID: manual.gatewayID, AccountID: Number(service.account), HeldFor: 'by_hand' },
  ])
  const released = await runProgram(['gateway', 'release', '--account', String(service.account), '--json'], env)
  expect([released.code, JSON.parse(released.out)]).toMatchObject([
    0,
    [{ gatewayID: manual.gatewayID, WasHeldFor: 'by_hand' }],
  ])
  // Cards of a file, and a whole charge, by a gateway that answers at the simulator of Stripe.
  const { test: stripe } = simulator.openAccount()
  const Settings = { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey }
  const stripeGateway = String((await send('POST', '/v1/gateways', { GatewayType: 'stripe', Settings })).gatewayID)
  await send('POST', '/v1/customers', { Name: 'Ada', LastName: 'Lovelace', isCompany: false, Reference: 'OLD-1' })
  const file = join(env.DATA_DIR, 'cards.csv')
  writeFileSync(file, `Reference,Token\nOLD-1,${stripe.console.addCard('4242424242424242').token}\nOLD-2,pm_2\n`)
  const bring = (...words: string[]) =>
    runProgram(['method', 'import', file, '--gateway', stripeGateway, ...words], env)
  expect(await bring('--dry-run')).toMatchObject({
    code: 1,
    out: '2  stored\n3  error customer_unknown: This account has no customer of this Reference.\n',
    err: '1 would be stored (dry run), 0 there already, 1 error.\n',
  })
  expect(await bring()).toMatchObject({ code: 1, out: /^2 {2}stored {2}payment method \d+$/m })
  const brought = await bring('--json')
  expect(JSON.parse(brought.out.split('\n')[0]!)).toMatchObject({ Line: 2, Result: 'already', Code: null })
  const tried = await runProgram(['gateway', 'try', stripeGateway], env)
  expect([tried.code, tried.out.match(/^ok {4}/gm)?.length, tried.out.includes('FAIL')]).toEqual([0, 8, false])
  expect(tried.out).toMatch(/^ {8}POST \/v1\/payment_intents req_\w+$/m)
  expect(simulator.problems).toEqual([])
  const unknown = await runProgram(['gateway', 'test', '999999'], env)
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('has no gateway 999999')])
})
