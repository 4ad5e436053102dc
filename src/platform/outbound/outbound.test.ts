import http, { type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { networksFromText } from './networks.ts'
import { makeOutbound, type Resolve } from './outbound.ts'

const allow = networksFromText('127.0.0.0/8') ?? []
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') }
const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A receiver on loopback; counts the connections that it gets. */
async function receiver(listener: RequestListener) {
  const server = http.createServer(listener)
  let connections = 0
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, server, at: (host: string) => new URL(`http://${host}:${port}/hook`), connections: () => connections }
}

/** A receiver below HTTP, which answers whatever bytes it likes. */
async function rawReceiver(onConnection: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    closing.push(() => socket.destroy())
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return (server.address() as AddressInfo).port
}

const answers: RequestListener = (_request, response) => response.end('ok')
const post = (url: URL, resolve?: Resolve) => makeOutbound({ allow, ...(resolve && { resolve }) }).post(url, MESSAGE)

describe('a URL', () => {
  const refusal = (url: string, networks = '') =>
    makeOutbound({ allow: networks === '' ? [] : (networksFromText(networks) ?? []) }).refusalOf(new URL(url))

  test.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://0/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:ffff:7f00:0001]/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://①②⑦.0.0.1/',
  ])('of a private host is refused however it is written: %s', (url) =>
    expect(refusal(url)).toBe('an address that is public'),
  )

  test('with a zone is none at all', () => {
    expect(URL.canParse('https://[fe80::1%25eth0]/')).toBe(false)
    expect(URL.canParse('https://[fe80::1%eth0]/')).toBe(false)
  })

  test('is https, but within the networks of the operator', () => {
    expect(refusal('https://example.org/hook')).toBeUndefined()
    expect(refusal('https://8.8.8.8/')).toBeUndefined()
    expect(refusal('http://example.org/')).toBe('an https address')
    expect(refusal('http://8.8.8.8/', '10.0.0.0/8')).toBe('an https address')
    expect(refusal('http://10.0.0.1/', '10.0.0.0/8')).toBeUndefined()
    expect(refusal('http://11.0.0.1/', '12.0.0.0/8')).toBe('an https address')
    expect(refusal('http://127.0.0.1/', '10.0.0.0/8')).toBe('an address that is public')
    expect(refusal('http://inside.example/', '10.0.0.0/8')).toBeUndefined()
    for (const scheme of ['ftp', 'file', 'javascript', 'data', 'gopher'])
      expect(refusal(`${scheme}://example.org/`)).toBe('an https address')
    expect(refusal('https://user:secret@example.org/')).toBe('an address without user and password')
  })
})

describe('a call', () => {
  test('posts the message and answers the status', async () => {
    const seen: unknown[] = []
    const { at } = await receiver((request, response) => {
      request.on('data', (chunk: Buffer) => seen.push(request.method, request.url, chunk.toString()))
      request.on('end', () => response.writeHead(503, { 'retry-after': '7' }).end())
    })
    expect(await post(at('127.0.0.1'))).toEqual({ kind: 'answered', status: 503, retryAfter: '7' })
    expect(seen).toEqual(['POST', '/hook', '{}'])
  })

  test('goes to the address of a name that was checked', async () => {
    const { at, connections } = await receiver(answers)
    expect(await post(at('inside.example'), async () => ['127.0.0.1'])).toMatchObject({ status: 200 })
    expect(connections()).toBe(1)
  })

  test('never connects to a private address that a name resolves to, nor where only one of several is', async () => {
    const { at, connections } = await receiver(answers)
    const outside = makeOutbound({ resolve: async () => ['127.0.0.1'] })
    const url = at('rebound.example')
    expect(await outside.post(new URL(url.href.replace('http:', 'https:')), MESSAGE)).toEqual({
      kind: 'unanswered',
      reason: 'AddressRefused',
    })
    for (const found of [['10.0.0.1', '127.0.0.1'], ['127.0.0.1', '::1'], ['127.0.0.1', '8.8.8.8'], []])
      expect(await post(url, async () => found)).toEqual({ kind: 'unanswered', reason: 'AddressRefused' })
    expect(connections()).toBe(0)
  })

  test('asks for the name with each connection, and goes nowhere else when it has changed', async () => {
    const { at, server, connections } = await receiver(answers)
    const addresses = ['127.0.0.1', '10.0.0.1']
    const asked: string[] = []
    const outbound = makeOutbound({
      allow,
      resolve: async (name) => {
        asked.push(name)
        return [addresses[asked.length - 1] ?? '']
      },
    })
    const url = at('rebound.example')
    expect(await outbound.post(url, MESSAGE)).toMatchObject({ status: 200 })
    expect(await outbound.post(url, MESSAGE)).toMatchObject({ status: 200 })
    expect(asked).toHaveLength(1)
    server.closeAllConnections()
    expect(await outbound.post(url, MESSAGE)).toEqual({ kind: 'unanswered', reason: 'AddressRefused' })
    expect(asked).toHaveLength(2)
    expect(connections()).toBe(1)
  })

  test('follows no redirect', async () => {
    const inside = await receiver(answers)
    const { at } = await receiver((_request, response) =>
      response.writeHead(307, { location: inside.at('127.0.0.1').href }).end(),
    )
    expect(await post(at('127.0.0.1'))).toMatchObject({ status: 307 })
    expect(inside.connections()).toBe(0)
  })

  test('reads an answer without end to its bound, and no further', async () => {
    let sent = 0
    const { at } = await receiver((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) sent += 16_384
      }
      response.on('drain', more)
      more()
    })
    expect(await post(at('127.0.0.1'))).toMatchObject({ status: 200 })
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  test('gives up after its time, whether nothing comes, headers alone, or a body in drops', async () => {
    const outbound = makeOutbound({ allow, callMs: 60 })
    const silent = await receiver(() => {})
    const headersAlone = await receiver((_request, response) => void response.writeHead(200).flushHeaders())
    const hints = await rawReceiver((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 5)
      closing.push(() => clearInterval(timer))
    })
    for (const url of [silent.at('127.0.0.1'), headersAlone.at('127.0.0.1'), new URL(`http://127.0.0.1:${hints}/`)])
      expect(await outbound.post(url, MESSAGE)).toMatchObject({ kind: 'unanswered' })
  })

  test('is unanswered where a name server is silent for its time', async () => {
    const outbound = makeOutbound({ allow, callMs: 30, resolve: () => new Promise(() => {}) })
    expect(await outbound.post(new URL('https://silent.example/'), MESSAGE)).toMatchObject({ kind: 'unanswered' })
  })

  test('is unanswered by huge headers, by what is no HTTP, by a cut body, and by nobody', async () => {
    const huge = await rawReceiver((socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`))
    const noise = await rawReceiver((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
    const cut = await rawReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab'))
    const gone = await receiver(answers)
    gone.server.close()
    for (const port of [huge, noise, cut, gone.port])
      expect(await post(new URL(`http://127.0.0.1:${port}/`))).toMatchObject({ kind: 'unanswered' })
  })

  test('speaks TLS under https: the first byte is that of a handshake', async () => {
    const first: number[] = []
    const port = await rawReceiver((socket) =>
      socket.once('data', (bytes) => socket.end(void first.push(bytes[0] ?? 0))),
    )
    expect(await post(new URL(`https://127.0.0.1:${port}/`))).toMatchObject({ kind: 'unanswered' })
    expect(first).toEqual([22])
  })

  test('takes a fresh connection where the kept one was closed meanwhile', async () => {
    const sockets: Socket[] = []
    const { at, server } = await receiver((request, response) => {
      // The second request on a connection finds it cut.
      if (sockets.includes(request.socket)) return void request.socket.resetAndDestroy()
      sockets.push(request.socket)
      response.end('ok')
    })
    const outbound = makeOutbound({ allow })
    expect(await outbound.post(at('127.0.0.1'), MESSAGE)).toMatchObject({ status: 200 })
    expect(await outbound.post(at('127.0.0.1'), MESSAGE)).toMatchObject({ status: 200 })
    expect(sockets).toHaveLength(2)
    expect(server.listening).toBe(true)
  })
})
