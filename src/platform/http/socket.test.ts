import { connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

/** Tests that need a real connection: bodies that are still arriving, and whether the connection stays open. */

const service = await startTestService()
await service.app.server.listen({ host: '127.0.0.1', port: 0 })
const { port } = service.app.server.server.address() as AddressInfo

interface Wire {
  socket: Socket
  send(text: string): void
  /** Everything received until it holds the text (or the connection ends). */
  until(text: string): Promise<string>
}

function open(): Promise<Wire> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  const waiting: (() => void)[] = []
  const wake = () => waiting.splice(0).forEach((go) => go())
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    wake()
  })
  socket.on('close', wake)
  socket.on('error', wake)
  const wire: Wire = {
    socket,
    send: (text) => void socket.write(text),
    async until(text) {
      while (!received.includes(text) && !socket.destroyed) await new Promise<void>((go) => waiting.push(go))
      const found = received
      received = ''
      return found
    },
  }
  return new Promise((resolve) => socket.on('connect', () => resolve(wire)))
}

const credentials = (client: TestClient) =>
  `Authorization: Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}\r\n`
const MEGABYTE = 'x'.repeat(1024 * 1024)
const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

describe('a body that is still arriving', () => {
  test('without credentials the challenge comes at once, and the connection outlives the rest of the body', async () => {
    const wire = await open()
    const body = MEGABYTE.slice(0, 900_000)
    wire.send(
      `POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    wire.send(body.slice(0, 1000))
    expect(await wire.until('"Errors"')).toMatch(/^HTTP\/1\.1 401 /)
    wire.send(body.slice(1000))
    wire.send(next)
    expect(await wire.until('alive')).toMatch(/HTTP\/1\.1 200 /)
    wire.socket.destroy()
  })

  test.each(['with its length told', 'in chunks'])(
    'too large (%s) is 413, and the connection outlives it',
    async (kind) => {
      const client = await service.newAccount()
      const wire = await open()
      const isChunked = kind === 'in chunks'
      const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${3 * MEGABYTE.length}`
      wire.send(
        `POST /v1/customers HTTP/1.1\r\nHost: x\r\n${credentials(client)}Content-Type: application/json\r\n${length}\r\n\r\n`,
      )
      const piece = isChunked ? `100000\r\n${MEGABYTE}\r\n` : MEGABYTE
      wire.send(piece)
      wire.send(piece)
      expect(await wire.until('body_too_large')).toMatch(/HTTP\/1\.1 413 /)
      wire.send(piece)
      if (isChunked) wire.send('0\r\n\r\n')
      wire.send(next)
      expect(await wire.until('alive')).toMatch(/HTTP\/1\.1 200 /)
      wire.socket.destroy()
    },
  )

  test('one that ends too early harms nobody', async () => {
    const client = await service.newAccount()
    const wire = await open()
    wire.send(
      `POST /v1/customers HTTP/1.1\r\nHost: x\r\n${credentials(client)}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"Name":`,
    )
    wire.socket.destroy()
    expect((await client.get('/v1/customers')).body).toEqual([])
  })
})

test('Expect: 100-continue is answered before the body, and the request then like any other', async () => {
  const client = await service.newAccount()
  const wire = await open()
  const body = '{"Name":"Acme","isCompany":true}'
  wire.send(
    `POST /v1/customers HTTP/1.1\r\nHost: x\r\n${credentials(client)}Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  expect(await wire.until('100 Continue')).toMatch(/^HTTP\/1\.1 100 /)
  wire.send(body)
  expect(await wire.until('customerID')).toMatch(/^HTTP\/1\.1 201 /)
  wire.socket.destroy()
})

test('bodies on GET and on operations without input are passed over, and the connection goes on', async () => {
  const client = await service.newAccount()
  const wire = await open()
  wire.send(`GET /v1/currencies HTTP/1.1\r\nHost: x\r\n${credentials(client)}Content-Length: 6\r\n\r\n{"a":1`)
  expect(await wire.until('CurrencyCode')).toMatch(/^HTTP\/1\.1 200 /)
  wire.send(
    `DELETE /v1/customers/1/suspend HTTP/1.1\r\nHost: x\r\n${credentials(client)}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n${next}`,
  )
  expect(await wire.until('alive')).toMatch(/^HTTP\/1\.1 405 /)
  wire.socket.destroy()
})

test('what is no HTTP is told so in the shape of every error', async () => {
  const wire = await open()
  wire.send('HELLO\r\n\r\n')
  const answer = await wire.until('"Errors"')
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request/)
  expect(answer).toContain('malformed_request')
  const long = await open()
  long.send(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`)
  expect(await long.until('"Errors"')).toMatch(/^HTTP\/1\.1 431 /)
})

test('a request without Host is refused as a caller’s mistake, in the shape of every refusal; one of HTTP/1.0 needs none', async () => {
  const wire = await open()
  wire.send('GET /healthz HTTP/1.1\r\n\r\n')
  const refused = await wire.until('"Errors"')
  expect(refused).toMatch(/^HTTP\/1\.1 400 /)
  expect(refused).toContain('host_missing')
  wire.socket.destroy()
  const older = await open()
  older.send('GET /healthz HTTP/1.0\r\n\r\n')
  expect(await older.until('alive')).toMatch(/ 200 /)
  older.socket.destroy()
})
