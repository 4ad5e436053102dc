import { expect, test } from 'vitest'
import { runProgram, serve, type Serving, startedFolder } from './program.ts'

const authorization = ({ account, key }: Serving) => `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`

test('gateway test asks each gateway of an account, or one, and fails where one does not answer', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
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
  const unknown = await runProgram(['gateway', 'test', '999999'], env)
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('has no gateway 999999')])
})
