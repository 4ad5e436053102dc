import type pg from 'pg'
import { serverSilent } from './failures.ts'

/**
 * The client's own bound on waiting: a server that is frozen, or a network that drops everything, ends no statement and closes no connection.
 * A connection on which nothing has arrived for longer than its statement may take is ended, and whoever waits on it gets 503.
 */

/** How much longer than the server's own limit the answer to a statement may take: the server's refusal has to arrive, too. */
export const GRACE_MS = 5_000

/** The parts of the driver's client that its type package does not describe. */
interface Inner {
  connection: { stream: { bytesRead: number; destroy(error: Error): void } }
  _activeQuery: unknown
  _sentQueryQueue: readonly unknown[]
  _queryQueue: readonly unknown[]
}

const bounds = new WeakMap<object, number>()

/** Returns whether somebody waits for an answer on a connection. */
export function isWaitedOn(client: pg.ClientBase): boolean {
  const { _activeQuery: active, _sentQueryQueue: sent, _queryQueue: queued } = client as unknown as Inner
  return active != null || sent.length > 0 || queued.length > 0
}

/** Returns how many bytes a connection has received. */
export const bytesReceived = (client: pg.ClientBase): number => (client as unknown as Inner).connection.stream.bytesRead

/** Ends a connection at once; whoever waits on it gets the reason. */
export const cut = (client: pg.ClientBase, reason: Error): void =>
  (client as unknown as Inner).connection.stream.destroy(reason)

/** Sets how long the server may send nothing while an answer is waited for on a connection, in milliseconds. */
export const boundSilence = (client: pg.ClientBase, silenceMs: number): void => void bounds.set(client, silenceMs)

/** Looks at a connection every so often until it ends, and ends it when its server has been silent for too long. */
export function watchSilence(client: pg.ClientBase, silenceMs: number, everyMs = GRACE_MS): void {
  boundSilence(client, silenceMs)
  let bytes = -1
  let silentMs = 0
  const look = () => {
    // Looks are counted, not a clock: a process that was held up itself has not read what had arrived meanwhile.
    silentMs = isWaitedOn(client) && bytesReceived(client) === bytes ? silentMs + everyMs : 0
    bytes = bytesReceived(client)
    if (silentMs <= (bounds.get(client) ?? silenceMs)) return
    clearInterval(timer)
    cut(client, serverSilent())
  }
  const timer = setInterval(look, everyMs).unref()
  client.once('end', () => clearInterval(timer))
}
