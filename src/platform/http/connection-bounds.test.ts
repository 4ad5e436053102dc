import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { Fault } from '../../kernel/fault.ts'
import type { HttpDeps } from './deps.ts'
import { readOperation, writeOperation } from './operation.ts'
import { objectOf } from '../wire/read.ts'

const service = await startTestService()
const { id } = await service.newAccount()
const closing: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(closing.map((close) => close())))

const UNREAD_MS = 250
const SHORT = { headersMs: 200, requestMs: 400 }
// No shorter than its test needs: a machine with other work stands still for a second now and then.
const BOUNDS = {
  headersMs: 60_000,
  requestMs: 60_000,
  formMs: 60_000,
  answeredMs: 60_000,
  unreadMs: UNREAD_MS,
  connections: 100,
  connectionsPerAddress: 0,
}
const LARGE = 64 * 1024 * 1024
const SIP = 4 * 1024 * 1024
const about = { tag: 't', summary: 's', success: { status: 200 } } as const
let listsRead = 0
let onHeld = (_release: () => void) => {}
const OPERATIONS = [
  readOperation({
    ...about,
    id: 'large',
    method: 'GET',
    path: '/large',
    read: async () => ({ status: 200, body: Buffer.alloc(LARGE) }),
  }),
  readOperation({
    ...about,
    id: 'list',
    method: 'GET',
    path: '/list',
    read: async () => {
      listsRead += 1
      return { status: 200, body: Buffer.alloc(256 * 1024) }
    },
  }),
  readOperation({
    ...about,
    id: 'slow',
    method: 'GET',
    path: '/slow',
    // Three times as long as an answer may go unread: nothing is to be read yet.
    read: () => new Promise((resolve) => setTimeout(() => resolve({ status: 200, body: '"slow"' }), 3 * UNREAD_MS)),
  }),
  readOperation({
    ...about,
    id: 'held',
    method: 'GET',
    path: '/held',
    read: () => new Promise((resolve) => onHeld(() => resolve({ status: 200, body: '"held"' }))),
  }),
  writeOperation({
    ...about,
    id: 'write',
    method: 'POST',
    path: '/write',
    body: objectOf({}),
    write: async () => ({ status: 200, body: '"written"' }),
  }),
]

/** A server with bounds that tests can wait for, and the far ends of its connections. */
async function listening(bounds: object = {}, more: Partial<HttpDeps> = {}) {
  const { server } = probeServer(service.db, id, OPERATIONS, { bounds: { ...BOUNDS, ...bounds }, ...more })
  await server.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => server.close())
  const { port } = server.server.address() as AddressInfo
  const accepted = () => once(server.server, 'connection') as Promise<[Socket]>
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    closing.push(async () => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { open, accepted }
}

/** Everything that arrives until the other side ends the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  await once(socket, 'close')
  return text
}

/** Reports whether the words arrive before the connection ends. */
async function isSaid(socket: Socket, words: RegExp): Promise<boolean> {
  let text = ''
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      text += String(chunk)
      if (words.test(text)) return true
    }
  } catch {
    // Ended before all was said.
  }
  return false
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic eDp5\r\n\r\n`

describe('a request that does not arrive', () => {
  test.each([
    ['nothing at all', ''],
    ['half a header', 'GET /slow HTTP/1.1\r\nHost: x\r\nX-Half'],
    [
      'half a body',
      'POST /write HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
    ],
    ['half a chunk', 'POST /write HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"a"'],
    ['half of a body that nobody wants', 'DELETE /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"a"'],
  ])('ends in 408 and takes no connection for longer: %s', async (_name, text) => {
    const { open } = await listening(SHORT)
    const socket = await open()
    socket.write(text)
    expect(await untilClosed(socket)).toMatch(/408 Request Timeout[^]*request_timeout/)
  })
})

describe('a request that is answered before its body has arrived', () => {
  const unfinished = (line: string) =>
    `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{"a"`

  test.each([
    ['401', 'POST /write', 401, 'unauthenticated'],
    ['404', 'POST /nowhere', 404, 'path_unknown'],
    ['405', 'PUT /write', 405, 'method_not_allowed'],
    ['413', 'POST /write', 413, 'body_too_large'],
  ])(
    'is answered at once, and its connection ends when the time for the rest is over: %s',
    async (_name, line, status, code) => {
      const refusing: Partial<HttpDeps> =
        status === 401
          ? {
              authenticate: async () => {
                throw new Fault('unauthenticated', [{ code: 'unauthenticated', message: 'No.', field: null }])
              },
            }
          : {}
      const { open } = await listening({ answeredMs: 300 }, refusing)
      const socket = await open()
      socket.write(unfinished(line))
      const text = await untilClosed(socket)
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*${code}`))
      expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
    },
  )

  test('may send the rest within that time, and the next request on the same connection is answered', async () => {
    const { open } = await listening()
    const socket = await open()
    const body = 'x'.repeat(2_000_000)
    socket.write(`POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`)
    expect(await isSaid(socket, /path_unknown/)).toBe(true)
    socket.write(body)
    socket.write(get('/list'))
    expect(await isSaid(socket, /HTTP\/1\.1 200 OK/)).toBe(true)
    socket.destroy()
  })

  test('whose body is whole keeps its connection for the next', async () => {
    const { open } = await listening({ answeredMs: 100 })
    const socket = await open()
    socket.write(get('/nowhere'))
    expect(await isSaid(socket, /path_unknown/)).toBe(true)
    await pause(300)
    socket.write(get('/nowhere'))
    expect(await isSaid(socket, /path_unknown/)).toBe(true)
    socket.destroy()
  })
})

describe('an answer that nobody reads', () => {
  test('ends the connection', async () => {
    const { open, accepted } = await listening()
    const far = accepted()
    const socket = await open()
    socket.pause()
    socket.write(get('/large'))
    const [of] = await far
    await once(of, 'close')
    expect(of.bytesWritten).toBeGreaterThan(0)
  })

  test('ends the connection also where the peer goes on sending', async () => {
    const { open, accepted } = await listening()
    const far = accepted()
    const socket = await open()
    socket.pause()
    socket.write(get('/large'))
    const [of] = await far
    // Empty lines before a request begin none.
    const sending = setInterval(() => socket.write('\r\n'), UNREAD_MS / 10)
    await once(of, 'close')
    clearInterval(sending)
  })

  test('ends the connection also where there are many, and those that no room is for are not even made', async () => {
    const { open, accepted } = await listening()
    const far = accepted()
    const socket = await open()
    socket.pause()
    listsRead = 0
    socket.write(get('/list').repeat(400))
    const [of] = await far
    await once(of, 'close')
    expect(listsRead).toBeGreaterThan(1)
    expect(listsRead).toBeLessThan(100)
  })

  test('leaves requests that come after it unread, and those are answered in their turn', async () => {
    const { open, accepted } = await listening({ unreadMs: 60_000 })
    const far = accepted()
    const socket = await open()
    const begun = new Promise<() => void>((resolve) => (onHeld = resolve))
    socket.write(get('/held'))
    const release = await begun
    const flood = get('/write').repeat(10_000)
    for (let sent = 0; sent < 16 * 1024 * 1024; sent += flood.length) socket.write(flood)
    const [of] = await far
    await vi.waitFor(() => expect(of.isPaused()).toBe(true), { timeout: 30_000 })
    let chunks = 0
    // Whatever else the event loop has to do is done between two turns of it.
    for (let before = -1; before !== of.bytesRead || chunks < 50; chunks += 1) {
      before = of.bytesRead
      await pause(0)
    }
    expect(of.bytesRead).toBeLessThan(1024 * 1024)
    release()
    expect(await isSaid(socket, /"held"[^]*method_not_allowed/)).toBe(true)
    expect(of.bytesRead).toBeLessThan(1024 * 1024)
    socket.destroy()
  })

  test('is none while its reader takes it piece by piece, however long the whole of it takes', async () => {
    const unreadMs = 2000
    const { open } = await listening({ unreadMs })
    const socket = await open()
    socket.write(get('/large'))
    let bytes = 0
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      const taken = Math.floor((bytes += (chunk as Buffer).length) / SIP)
      if (taken > Math.floor((bytes - (chunk as Buffer).length) / SIP)) await pause(unreadMs / 10)
      if (bytes > LARGE) break
    }
    expect(bytes).toBeGreaterThan(LARGE)
    socket.destroy()
  })

  test('is answered in the order of the requests, each in full', async () => {
    const { open } = await listening()
    const socket = await open()
    socket.write(get('/slow') + get('/list') + get('/nowhere') + get('/slow'))
    expect(await isSaid(socket, /\0HTTP\/1\.1 404[^]*path_unknown[^]*"slow"/)).toBe(true)
    socket.destroy()
  })

  test('does not either while the operation is still at work, on a connection that was used before', async () => {
    const { open } = await listening()
    const socket = await open()
    socket.write(get('/write'))
    expect(await isSaid(socket, /method_not_allowed/)).toBe(true)
    socket.write(get('/slow') + get('/slow'))
    expect(await isSaid(socket, /"slow"[^]*"slow"/)).toBe(true)
    socket.destroy()
  })
})

describe('connections', () => {
  const isRefused = async (socket: Socket): Promise<boolean> => {
    socket.write(get('/slow'))
    return !(await isSaid(socket, /"slow"/))
  }

  const logTo = (lines: object[]) =>
    Object.assign(pino({ level: 'silent' }), { warn: (facts: object) => lines.push(facts) })

  test('of one address are bounded, which the log shows; one that ends makes room', async () => {
    const lines: object[] = []
    const { open, accepted } = await listening({ connectionsPerAddress: 2 }, { log: logTo(lines) })
    const first = accepted()
    const [one, two] = [await open(), await open()]
    const [far] = await first
    expect(await isRefused(await open())).toBe(true)
    expect(lines).toEqual([{ bound: 'CONNECTIONS_PER_ADDRESS', allowed: 2, address: '127.0.0.1' }])
    one.destroy()
    await once(far, 'close')
    expect(await isRefused(await open())).toBe(false)
    expect(two.destroyed).toBe(false)
  })

  test.each([[true], ['127.0.0.1'], [['10.0.0.0/8', '127.0.0.0/8']]])(
    'of a trusted proxy are those of many callers: not bounded by address (%s)',
    async (trustProxy) => {
      const { open } = await listening({ connectionsPerAddress: 1 }, { trustProxy })
      await open()
      expect(await isRefused(await open())).toBe(false)
    },
  )

  test('of a process are bounded', async () => {
    const lines: object[] = []
    const { open } = await listening({ connections: 1 }, { log: logTo(lines) })
    const one = await open()
    expect(await isRefused(await open())).toBe(true)
    expect(lines).toEqual([{ bound: 'CONNECTIONS_MAX', allowed: 1, address: '127.0.0.1' }])
    expect(await isRefused(one)).toBe(false)
  })
})
