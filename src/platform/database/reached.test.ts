import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../config.ts'
import { shownServer } from './addresses.ts'
import { clientConfig } from './open-database.ts'
import { reached } from './reached.ts'
import { ServerClient } from './server-client.ts'

/** Sentences about a server that has answered and is not used, as the driver meets it. */

/** Starts a server with an answer to each thing that it is sent, and returns its port. */
async function answering(answers: readonly Buffer[]): Promise<number> {
  const server = createServer((socket) => {
    let heard = 0
    socket.on('error', () => {})
    socket.on('data', () => socket.writable && socket.write(answers[heard++] ?? ''))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Message of a server about a login (protocol 3.0): its letter, its length, its body. */
const aboutLogin = (body: string) => Buffer.from(`R\0\0\0${String.fromCharCode(body.length + 4)}${body}`, 'latin1')
const ASKS_FOR_PASSWORD = [aboutLogin('\0\0\0\x0aSCRAM-SHA-256\0\0'), aboutLogin('\0\0\0\x0br=drawn,s=c2FsdA==,i=4096')]

test.each([
  ['asks for a password', ASKS_FOR_PASSWORD, '', 'asks for a password: add it to DATABASE_URL.'],
  [
    'has no TLS',
    [Buffer.from('N')],
    '?sslmode=require',
    'has no TLS: switch ssl on there, or take sslmode out of DATABASE_URL.',
  ],
])('a server that %s is not said to be out of reach', async (_, answers, query, words) => {
  const connectionString = `postgres://somebody@127.0.0.1:${await answering(answers)}/books${query}`
  const config = readConfig({ DATABASE_URL: connectionString })
  const connecting = reached(config, () => new ServerClient(clientConfig({ connectionString }, undefined)).connect())
  await expect(connecting).rejects.toThrow(` at ${shownServer(connectionString)} ${words}`)
})
