import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { objectOf } from '../wire/read.ts'
import { Turns } from '../turns.ts'
import { Bodies, BODY_BOUNDS, LARGE_BYTES } from './body-bounds.ts'
import { writeOperation } from './operation.ts'
import { collectBody } from './request-body.ts'

/** Large bodies: what they may take of the memory, and whose turn it is to be read. */

const service = await startTestService()
const OPERATION = writeOperation({
  id: 'write',
  method: 'POST',
  path: '/write',
  tag: 't',
  summary: 's',
  success: { status: 201 },
  body: objectOf({}),
  write: async () => ({ status: 201, body: '"written"' }),
})
const textOf = (bytes: number) => `{"Nothing":"${'x'.repeat(bytes)}"}`
const HALF = 2 * LARGE_BYTES

describe('the bytes of bodies', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterAll(() => Promise.all(closing.map((close) => close())))

  async function twoAccounts(bytes: number) {
    const bodies = new Bodies({ accountBytes: 3 * LARGE_BYTES, bytes })
    const servers = []
    for (let count = 0; count < 2; count += 1) {
      const { id } = await service.newAccount()
      const { server, client } = probeServer(service.db, id, [OPERATION], { bodies })
      await server.listen({ host: '127.0.0.1', port: 0 })
      closing.push(() => server.close())
      servers.push({ client, port: (server.server.address() as AddressInfo).port })
    }
    /** Sends the half of a body and stays, once the server has it. */
    const holdHalf = async (port: number) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(`POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * HALF}\r\n\r\n${'x'.repeat(HALF)}`)
      while (bodies.bytes < HALF) await new Promise(setImmediate)
      return socket
    }
    return { bodies, servers, holdHalf }
  }

  test('that arrive at a time are bounded for an account: 503 with a time to come back, small ones and neighbours pass', async () => {
    const { bodies, servers, holdHalf } = await twoAccounts(100 * LARGE_BYTES)
    const [mine, theirs] = servers
    const held = await holdHalf(mine!.port)
    const reply = await mine!.client.post('/write', textOf(HALF))
    expect([reply.status, reply.body.Errors[0].Code, reply.headers['retry-after']]).toEqual([
      503,
      'bodies_waiting',
      '2',
    ])
    expect((await mine!.client.post('/write', '{}')).status).toBe(201)
    expect((await theirs!.client.post('/write', textOf(HALF))).status).toBe(201)
    held.destroy()
    while (bodies.bytes > 0) await new Promise(setImmediate)
    expect((await mine!.client.post('/write', textOf(HALF))).status).toBe(201)
  })

  test('of all accounts together are bounded too', async () => {
    const { bodies, servers, holdHalf } = await twoAccounts(3 * LARGE_BYTES)
    const [mine, theirs] = servers
    const held = await holdHalf(mine!.port)
    expect((await theirs!.client.post('/write', textOf(HALF))).status).toBe(503)
    held.destroy()
    while (bodies.bytes > 0) await new Promise(setImmediate)
    expect((await theirs!.client.post('/write', textOf(HALF))).status).toBe(201)
  })
})

test('a large body is read in slices, between which the event loop has its turns', async () => {
  const numbers = Array.from({ length: 200_000 }, () => '1')
  let turns = 0
  const count = () => {
    turns += 1
    immediate = setImmediate(count)
  }
  let immediate = setImmediate(count)
  const body = await new Bodies().read(1n, Buffer.from(`[${numbers.join(',')}]`))
  clearImmediate(immediate)
  expect('json' in body && (body.json as unknown[]).length).toBe(200_000)
  expect(turns).toBeGreaterThanOrEqual(4)
})

test('a large body arrives in turns of the event loop while requests of several accounts come', async () => {
  const parts = Array.from({ length: 10 }, (_, part) => Buffer.alloc(LARGE_BYTES, part))
  const sharedTurns = new Turns()
  for (const account of [1n, 2n]) sharedTurns.note(account)
  const counted = new Bodies(BODY_BOUNDS, sharedTurns).count(1n)
  let turns = 0
  let immediate = setImmediate(function count() {
    turns += 1
    immediate = setImmediate(count)
  })
  const bytes = await collectBody(Readable.from(parts), 10 * LARGE_BYTES, undefined, counted)
  clearImmediate(immediate)
  expect([bytes?.equals(Buffer.concat(parts)), turns >= 9]).toEqual([true, true])
})

test('large bodies are read one at a time, accounts in turns', async () => {
  const bodies = new Bodies()
  const order: string[] = []
  const read = async (account: bigint, name: string) => {
    const body = await bodies.read(account, Buffer.from(`"${name}"`))
    order.push(name)
    return body
  }
  const all = [read(1n, 'a1'), read(1n, 'a2'), read(1n, 'a3'), read(2n, 'b1')]
  expect((await Promise.all(all))[3]).toEqual({ json: 'b1' })
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3'])
})
