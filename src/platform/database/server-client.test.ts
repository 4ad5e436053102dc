import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { ServerClient } from './server-client.ts'
import { serversFor } from './servers.ts'

/** Message of a server (protocol 3.0): its letter, its length, its body. */
function message(letter: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(letter), length, body])
}

const LOGGED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
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

test.each(['cutWaiting', 'cutOthers'] as const)(
  'a connection that is being opened to a server that takes it and answers nothing is ended with the others: %s',
  async (how) => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const address = { connectionString: `postgres://somebody@127.0.0.1:${port}/books` }
    const taken = once(server, 'connection')
    const opening = new ServerClient({ ...address, ssl: false }).connect()
    const refused = expect(opening).rejects.toThrow(/connection terminated/)
    await taken
    serversFor(address)[how]({ system: 'one', startedAt: 'now', timeline: 2 })
    await refused
    server.close()
  },
)
