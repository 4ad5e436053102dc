import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findPrimary, ServerClient } from './server-client.ts'
import { type Servers, serversFor } from './servers.ts'

/** Message of a server (protocol 3.0): its letter, its length, its body. */
function message(letter: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(letter), length, body])
}

const LOGGED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
/** It does not tell what it is. */
const REFUSED = Buffer.concat([message('E', Buffer.from('SERROR\0C42501\0Mno\0\0')), READY])
const GOING = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'))

test('a server that dies in the very moment in which a connection is ready does not end the process', async () => {
  // All in one piece, as it arrives where this process was busy meanwhile.
  const server = createServer((socket) =>
    socket.once('data', () => socket.end(Buffer.concat([LOGGED_IN, READY, GOING]))),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = new ServerClient({ host: '127.0.0.1', port, user: 'somebody', ssl: false })
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
  await expect(client.connect()).rejects.toThrow(/terminat|queryable|closed/)
  await ended
  await expect(client.query('select 1')).rejects.toThrow(/terminat|queryable|closed/)
  server.close()
})

test.each([
  ['cutWaiting', (servers: Servers) => servers.cutWaiting()],
  [
    'cutOthers',
    (servers: Servers) =>
      servers.cutOthers({ address: 'another', identity: { system: 'one', startedAt: 'now', timeline: 2 } }),
  ],
])(
  'a connection that is being opened to a server that takes it and answers nothing is ended with the others: %s',
  async (_, end) => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const address = { connectionString: `postgres://somebody@127.0.0.1:${port}/books` }
    const taken = once(server, 'connection')
    const opening = new ServerClient({ ...address, ssl: false }).connect()
    const refused = expect(opening).rejects.toThrow(/connection terminated/)
    await taken
    end(serversFor(address))
    await refused
    server.close()
  },
)

/** Starts a server that lets anybody log in after a time, and tells that it is a standby or that it is none. */
async function loginServer(afterMs: number, isStandby: () => boolean) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (sent) => {
      const status = message('S', Buffer.from(`in_hot_standby\0${isStandby() ? 'on' : 'off'}\0`))
      const isQuestion = sent.toString('latin1', 0, 1) === 'Q'
      const answer = isQuestion ? REFUSED : Buffer.concat([LOGGED_IN, status, READY])
      setTimeout(() => socket.writable && socket.write(answer), afterMs)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('one of several servers that answers after 4 s each time counts as silent: a start asks again, and takes a standby that is promoted meanwhile', async () => {
  let isStandby = true
  const [slow, other] = [await loginServer(4_000, () => false), await loginServer(0, () => isStandby)]
  const config = { connectionString: `postgres://somebody@${slow},${other}/books`, ssl: false }
  await expect(findPrimary(config, 0)).rejects.toMatchObject({ code: 'ONE_IS_SILENT' })
  const found = findPrimary(config)
  isStandby = false
  await found
  expect(serversFor(config).last).toContain(other)
})
