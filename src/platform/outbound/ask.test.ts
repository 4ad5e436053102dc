import http, { type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Question } from './ask.ts'
import { networksFromText } from './networks.ts'
import { makeOutbound } from './outbound.ts'

const allow = networksFromText('127.0.0.0/8') ?? []
const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const listening = async (server: http.Server | ReturnType<typeof createServer>): Promise<URL> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/things`)
}

async function gateway(listener: RequestListener): Promise<URL> {
  const server = http.createServer(listener)
  closing.push(() => server.closeAllConnections())
  return listening(server)
}

/** A gateway below HTTP, which answers whatever bytes it likes. */
const rawGateway = (onConnection: (socket: Socket) => void): Promise<URL> =>
  listening(
    createServer((socket) => {
      socket.on('error', () => {})
      closing.push(() => socket.destroy())
      onConnection(socket)
    }),
  )

const answer: RequestListener = (_request, response) => void response.end('{"ok":1}')
const question = (fields: Partial<Question> = {}): Question => ({
  method: 'POST',
  headers: { authorization: 'Bearer sk_test_planted' },
  body: 'amount=1',
  signal: new AbortController().signal,
  isRepeatable: false,
  ...fields,
})

/** Real time that a test moves. */
function movedClock() {
  let now = 0
  return { realNow: () => now, moves: (ms: number) => (now += ms) }
}

describe('a question', () => {
  test('is answered with status, headers and JSON, and carries what was asked', async () => {
    const seen: unknown[] = []
    const url = await gateway((request, response) => {
      const { authorization, 'accept-encoding': encoding, 'content-length': length } = request.headers
      request.on('data', (chunk: Buffer) =>
        seen.push([request.method, request.url, authorization, encoding, length, chunk.toString()]),
      )
      request.on('end', () => response.writeHead(402, { 'request-id': 'req_1' }).end('{"error":{"code":"ü"}}'))
    })
    expect(await makeOutbound({ allow }).ask(url, question())).toMatchObject({
      kind: 'answered',
      status: 402,
      headers: { 'request-id': 'req_1' },
      body: { error: { code: 'ü' } },
    })
    expect(seen).toEqual([['POST', '/v1/things', 'Bearer sk_test_planted', 'identity', '8', 'amount=1']])
  })

  test('was surely not sent where the address is refused, nobody listens, TLS fails, or its caller had left', async () => {
    const url = await gateway(answer)
    const tls = await rawGateway((socket) => socket.once('data', () => socket.destroy()))
    const gone = new URL('http://127.0.0.1:1/')
    const outbound = makeOutbound({ allow })
    const answers = [
      await makeOutbound({}).ask(url, question()),
      await outbound.ask(new URL('https://10.0.0.1/'), question()),
      await makeOutbound({ allow, resolve: async () => ['10.0.0.1'] }).ask(new URL('http://a.example/'), question()),
      await makeOutbound({ allow, resolve: async () => Promise.reject(new Error('NX')) }).ask(
        new URL('https://a.example/'),
        question(),
      ),
      await outbound.ask(gone, question()),
      await outbound.ask(new URL(tls.href.replace('http:', 'https:')), question()),
      await outbound.ask(url, question({ signal: AbortSignal.abort() })),
      await makeOutbound({ allow, askMs: 20, resolve: () => new Promise(() => {}) }).ask(
        new URL('https://silent.example/'),
        question(),
      ),
    ]
    expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'not_sent'))
    expect(JSON.stringify(answers)).not.toContain('planted')
  })

  test('is not sent by a process that slept more than a minute before its first byte', async () => {
    let requests = 0
    const url = await gateway((request, response) => {
      requests += 1
      answer(request, response)
    })
    const asleepFor = async (ms: number) => {
      const { realNow, moves } = movedClock()
      const resolve = async () => {
        moves(ms)
        return ['127.0.0.1']
      }
      const named = new URL(url.href.replace('127.0.0.1', 'a.example'))
      return makeOutbound({ allow, realNow, resolve }).ask(named, question())
    }
    expect(await asleepFor(60_001)).toEqual({ kind: 'not_sent', reason: 'ASLEEP' })
    expect(requests).toBe(0)
    expect(await asleepFor(60_000)).toMatchObject({ kind: 'answered' })
  })

  test('is unknown once a byte was sent: cut off, late, left, no JSON, too large, compressed, no HTTP', async () => {
    const with200 = (body: string | Buffer, headers = {}) =>
      gateway((_request, response) => void response.writeHead(200, headers).end(body))
    const left = new AbortController()
    const answers = [
      await rawGateway((socket) => socket.once('data', () => socket.destroy())),
      await rawGateway((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"')),
      await rawGateway((socket) => socket.end('SSH-2.0\r\n')),
      await with200('<html>'),
      await with200(''),
      await with200(Buffer.from([0x22, 0xff, 0x22])),
      await with200(`"${'x'.repeat(1024 * 1024)}"`),
      await with200('{}', { 'content-encoding': 'gzip' }),
    ].map((url) => makeOutbound({ allow }).ask(url, question()))
    const silent = await gateway(() => {})
    answers.push(makeOutbound({ allow, askMs: 60 }).ask(silent, question()))
    const leaving = await gateway(() => left.abort())
    answers.push(makeOutbound({ allow }).ask(leaving, question({ signal: left.signal })))
    const all = await Promise.all(answers)
    expect(all.map(({ kind }) => kind)).toEqual(all.map(() => 'unknown'))
    expect(all).toContainEqual({ kind: 'unknown', reason: 'ANSWER_TOO_LARGE' })
    const largest = await with200(`"${'x'.repeat(1024 * 1024 - 2)}"`)
    expect(await makeOutbound({ allow }).ask(largest, question())).toMatchObject({ kind: 'answered' })
  })

  test('follows no redirect', async () => {
    let requests = 0
    const inside = await gateway(() => (requests += 1))
    const url = await gateway((_request, response) =>
      response.writeHead(307, { location: inside.href }).end('{"moved":true}'),
    )
    expect(await makeOutbound({ allow }).ask(url, question())).toMatchObject({ kind: 'answered', status: 307 })
    expect(requests).toBe(0)
  })
})

describe('on a kept connection that ends before any answer a question', () => {
  /** A gateway that does something else with the second request on a connection. */
  async function onSecond(second: (socket: Socket) => void) {
    const bodies: string[] = []
    const seen = new Set<Socket>()
    const url = await gateway((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
      request.on('end', () => {
        if (seen.has(request.socket)) return second(request.socket)
        seen.add(request.socket)
        response.end('{}')
      })
    })
    return { url, bodies }
  }

  test('is asked once more on a fresh one if it may arrive twice', async () => {
    const { url, bodies } = await onSecond((socket) => socket.resetAndDestroy())
    const outbound = makeOutbound({ allow })
    await outbound.ask(url, question())
    expect(await outbound.ask(url, question({ isRepeatable: true, body: 'again' }))).toMatchObject({ status: 200 })
    expect(bodies).toEqual(['amount=1', 'again', 'again'])
  })

  test('is unknown otherwise, and where a part of an answer had come', async () => {
    const { url, bodies } = await onSecond((socket) => socket.resetAndDestroy())
    const outbound = makeOutbound({ allow })
    await outbound.ask(url, question())
    expect(await outbound.ask(url, question())).toEqual({ kind: 'unknown', reason: 'ECONNRESET' })
    expect(bodies).toHaveLength(2)
    const part = await onSecond((socket) => socket.end('HTTP/1.1 20'))
    await outbound.ask(part.url, question())
    expect(await outbound.ask(part.url, question({ isRepeatable: true }))).toMatchObject({ kind: 'unknown' })
    expect(part.bodies).toHaveLength(2)
  })

  test('is unknown where the second was not sent: the first may have arrived', async () => {
    const { realNow, moves } = movedClock()
    const { url } = await onSecond((socket) => {
      moves(60_001)
      socket.resetAndDestroy()
    })
    const outbound = makeOutbound({ allow, realNow })
    await outbound.ask(url, question())
    expect(await outbound.ask(url, question({ isRepeatable: true }))).toEqual({ kind: 'unknown', reason: 'ASLEEP' })
  })
})
