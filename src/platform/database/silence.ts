import type pg from 'pg'

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

/** Sets how long the server may send nothing while an answer is waited for on a connection, in milliseconds. */
export const boundSilence = (client: pg.ClientBase, silenceMs: number): void => void bounds.set(client, silenceMs)

/** Looks at a connection every so often until it ends, and ends it when its server has been silent for too long. */
export function watchSilence(client: pg.ClientBase, silenceMs: number, everyMs = GRACE_MS): void {
  boundSilence(client, silenceMs)
  const inner = client as unknown as Inner
  let bytes = -1
  let silentMs = 0
  const look = () => {
    const { connection, _activeQuery: active, _sentQueryQueue: sent, _queryQueue: queued } = inner
    const { stream } = connection
    const isWaiting = active != null || sent.length > 0 || queued.length > 0
    // Looks are counted, not a clock: a process that was held up itself has not read what had arrived meanwhile.
    silentMs = isWaiting && stream.bytesRead === bytes ? silentMs + everyMs : 0
    bytes = stream.bytesRead
    if (silentMs <= (bounds.get(client) ?? silenceMs)) return
    clearInterval(timer)
    stream.destroy(
      Object.assign(new Error('connection terminated: the database server gave no answer'), { code: 'ETIMEDOUT' }),
    )
  }
  const timer = setInterval(look, everyMs).unref()
  client.once('end', () => clearInterval(timer))
}
