import { connect } from 'node:net'
import type pg from 'pg'

/** Ending a statement that nobody waits for any more, so that its connection can be lent again. */

/** The parts of the driver's client that its type package does not describe. */
interface Addressed {
  processID: number
  secretKey: number
  host: string
  port: number
  connection: { stream: { remoteAddress?: string; remotePort?: number } }
}

const CANCEL_REQUEST = 80_877_102
const ANSWER_MS = 5_000
const CANCELLED = '57014'
const TRIES_MAX = 3

/**
 * Asks the server to end the statement that runs on a connection, by a connection of its own (protocol 3.0, "Canceling Requests in
 * Progress"), to the very server that it leads to. Returns when the server has passed the request on, which it confirms by closing the connection.
 */
export function requestCancel(client: pg.ClientBase): Promise<void> {
  const { processID, secretKey, host, port, connection } = client as unknown as Addressed
  const { remoteAddress, remotePort } = connection.stream
  return new Promise((resolve) => {
    const socket =
      remoteAddress === undefined
        ? connect(`${host}/.s.PGSQL.${port}`)
        : connect(remotePort ?? port, remoteAddress.replace(/^::ffff:/, ''))
    const message = Buffer.alloc(16)
    message.writeInt32BE(message.length, 0)
    message.writeInt32BE(CANCEL_REQUEST, 4)
    message.writeInt32BE(processID, 8)
    message.writeInt32BE(secretKey, 12)
    // Where it cannot be passed on, the statement's own time limit ends it.
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.on('connect', () => socket.write(message))
    socket.resume()
  })
}

/**
 * Ends what runs on a connection and its transaction. Returns whether the connection is quiet: a cancellation that arrives late would
 * end the statement of whoever borrows it next, so one is waited for until a statement came through behind it.
 */
export async function quieten(client: pg.ClientBase): Promise<boolean> {
  await requestCancel(client)
  return isQuiet(client)
}

/** Returns whether a statement came through behind every cancellation that is still on its way. */
export async function isQuiet(client: pg.ClientBase): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    try {
      await client.query('rollback')
      return true
    } catch (error) {
      if ((error as { code?: string }).code !== CANCELLED) return false
    }
  }
  return false
}
