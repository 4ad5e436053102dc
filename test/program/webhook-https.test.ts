import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, expect, test } from 'vitest'
import { call, serve, startedFolder, testFolder } from './program.ts'

/** Webhooks by https, to receivers whose certificates an authority of the operator's own has signed. */

const openssl = (folder: string, ...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })

/** Makes an authority in a folder; its certificate is NAME.pem. */
function makeAuthority(folder: string, name: string): void {
  const about = ['-subj', `/CN=${name}`, '-days', '2', '-keyout', `${name}.key`, '-out', `${name}.pem`]
  openssl(folder, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...about)
}

/** Makes a certificate that an authority signs for some names, as openssl writes them. */
function makeCertificate(folder: string, authority: string, names: string): { key: Buffer; cert: Buffer } {
  const file = (end: string) => join(folder, `receiver${end}`)
  const about = ['-subj', '/CN=receiver', '-addext', `subjectAltName=${names}`, '-days', '2']
  const signed = [
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-keyout',
    file('.key'),
    '-out',
    file('.pem'),
  ]
  openssl(folder, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...about, ...signed)
  return { key: readFileSync(file('.key')), cert: readFileSync(file('.pem')) }
}

interface Arrived {
  host: string | undefined
  servername: string | false | undefined
  headers: Record<string, string>
  body: string
}

/** A receiver on loopback, by TLS. */
async function tlsReceiver(certificate: { key: Buffer; cert: Buffer }) {
  const arrived: Arrived[] = []
  let heard = () => {}
  const server = createServer(certificate, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const { servername } = request.socket as unknown as { servername: string | false | undefined }
      arrived.push({ host: request.headers.host, servername, headers: request.headers as Record<string, string>, body })
      response.end()
      heard()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Waits until one more has arrived. */
  const next = () => new Promise<void>((resolve) => (heard = resolve))
  return { port, arrived, next }
}

test('an event arrives by https where an authority of NODE_EXTRA_CA_CERTS has signed for the name, and nowhere else', async () => {
  const DATA_DIR = startedFolder()
  const folder = testFolder()
  for (const name of ['own', 'other']) makeAuthority(folder, name)
  const right = await tlsReceiver(makeCertificate(folder, 'own', 'DNS:localhost,IP:127.0.0.1'))
  const ofOther = await tlsReceiver(makeCertificate(folder, 'other', 'DNS:localhost,IP:127.0.0.1'))
  const misnamed = await tlsReceiver(makeCertificate(folder, 'own', 'DNS:example.org'))

  const service = await serve({
    DATA_DIR,
    LOG_LEVEL: 'warn',
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    NODE_EXTRA_CA_CERTS: join(folder, 'own.pem'),
  })
  const send = async (path: string, body?: object) => (await call(service, service, path, body)).body
  const hook = async (Url: string) => (await send('/v1/webhooks', { Url, Types: ['customer.*'] })) as any
  const byName = await hook(`https://localhost:${right.port}/by-name`)
  const byNumber = await hook(`https://127.0.0.1:${right.port}/by-number`)
  const refused = [await hook(`https://localhost:${ofOther.port}/`), await hook(`https://localhost:${misnamed.port}/`)]

  await send('/v1/customers', { Name: 'Acme', isCompany: true })
  while (right.arrived.length < 2) await right.next()

  const [event] = await send('/v1/events?type=customer.created')
  const named = right.arrived.find(({ servername }) => servername === 'localhost')
  expect(named?.host).toBe(`localhost:${right.port}`)
  expect(new Webhook(byName.Secret).verify(named!.body, named!.headers)).toEqual(event)
  const numbered = right.arrived.find((one) => one !== named)
  expect(new Webhook(byNumber.Secret).verify(numbered!.body, numbered!.headers)).toEqual(event)

  for (const { webhookID } of refused) {
    const tried = async () => (await send(`/v1/webhooks/${webhookID}/deliveries`))[0]
    let delivery = await tried()
    while (delivery.Tries === 0) delivery = await tried()
    expect(delivery).toMatchObject({ State: 'Waiting', Tries: 1, LastStatus: null })
  }
  expect([ofOther.arrived, misnamed.arrived]).toEqual([[], []])
  service.child.kill('SIGTERM')
  expect((await service.ended).code).toBe(0)
})
