import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

/** The header Host, in the two ways that an operator can set up the service. */

const bare = await startTestService()
const named = await startTestService({ connection: bare.connection, publicUrl: 'https://billing.example' })
const proxied = await startTestService({ connection: bare.connection, trustProxy: true })

const ask = async (service: typeof bare, headers: Record<string, string>) => {
  const { statusCode, payload } = await service.app.server.inject({ method: 'GET', url: '/v1/customers', headers })
  return [statusCode, JSON.parse(payload).Errors[0].Code]
}

const HOSTS = [
  'localhost',
  'localhost:3000',
  'billing.example',
  'BILLING.example.',
  'my_host:65535',
  '10.0.0.7:80',
  '[::1]',
  '[2001:db8::1]:443',
  'xn--mnchen-3ya.example',
]
const NO_HOSTS = [
  ' ',
  'a b',
  'evil.example/path',
  'user@evil.example',
  'evil.example?x',
  'evil.example#x',
  'https://evil.example',
  'localhost:',
  'localhost:x',
  'localhost:65536',
  'localhost:123456',
  '::1',
  '[::1',
  '"><script>',
  'a,b',
  '-a',
  `${'a'.repeat(300)}.example`,
  'm\u00fcnchen.example',
]

describe('without PUBLIC_URL', () => {
  test.each(HOSTS)('a host with a port or without is taken: %s', async (host) => {
    expect(await ask(bare, { host })).toEqual([401, 'credentials_missing'])
  })

  test.each(NO_HOSTS)('anything else is 400 before all else: %s', async (host) => {
    expect(await ask(bare, { host })).toEqual([400, 'host_invalid'])
  })

  test('behind a proxy the host that the proxy was asked for is looked at too', async () => {
    expect(await ask(proxied, { host: 'inside:3000', 'x-forwarded-host': 'billing.example' })).toEqual([
      401,
      'credentials_missing',
    ])
    expect(await ask(proxied, { host: 'inside:3000', 'x-forwarded-host': 'evil.example/x' })).toEqual([
      400,
      'host_invalid',
    ])
    expect(await ask(bare, { host: 'inside:3000', 'x-forwarded-host': 'evil.example/x' })).toEqual([
      401,
      'credentials_missing',
    ])
  })
})

test('an empty one names no host either', async () => {
  const { server } = bare.app
  await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET /v1/customers HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  await once(socket, 'close')
  expect(text).toMatch(/^HTTP\/1\.1 400 [^]*host_invalid/)
})

test('with PUBLIC_URL no address is made of it, and it may be anything', async () => {
  expect(await ask(named, { host: 'evil.example/path' })).toEqual([401, 'credentials_missing'])
})
