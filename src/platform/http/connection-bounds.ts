import { BlockList, isIPv6, Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'

/** Bounds on what a connection may take: how long a request may arrive, an answer may go unread, and how many there are. */
export interface ConnectionBounds {
  /** How long the headers of a request may take to arrive, from the connection or the end of the request before. */
  headersMs: number
  /** How long a request may take to arrive as a whole, its body included. */
  requestMs: number
  /** How long the body of a form of a public page may take to arrive. */
  formMs: number
  /** How long the body of a request that was answered before it had arrived may go on to arrive. */
  answeredMs: number
  /** How long an answer may wait for its reader without any of it being taken. */
  unreadMs: number
  /** Connections of this process. */
  connections: number
  /** Connections of one address that is no proxy of ours; 0: no bound. */
  connectionsPerAddress: number
}

const HEADERS_MS = 30_000
const UNREAD_MS = 60_000
const FORM_MS = 15_000
const ANSWERED_MS = 60_000

/** Returns the bounds that an operator sets, and those that nobody needs to. */
export const connectionBounds = (set: {
  requestTimeoutSeconds: number
  connectionsMax: number
  connectionsPerAddress: number
}): ConnectionBounds => ({
  headersMs: Math.min(HEADERS_MS, set.requestTimeoutSeconds * 1000),
  requestMs: set.requestTimeoutSeconds * 1000,
  formMs: FORM_MS,
  answeredMs: ANSWERED_MS,
  unreadMs: UNREAD_MS,
  connections: set.connectionsMax,
  connectionsPerAddress: set.connectionsPerAddress,
})

/** How often the HTTP server looks for requests that are late. */
const LOOKS_A_BOUND = 5
const LOOK_EVERY_MAX_MS = 5_000

/**
 * Returns the options of the HTTP server that end requests which do not arrive. Node answers them 408 by way of the client error handler.
 */
export const arrivalOptions = ({ headersMs, requestMs }: ConnectionBounds) => ({
  requestTimeout: requestMs,
  http: {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    // Node's own refusal of a request without Host has no body; the server refuses it as it refuses anything else.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(LOOK_EVERY_MAX_MS, Math.ceil(headersMs / LOOKS_A_BOUND)),
  },
})

type Trust = boolean | string | readonly string[]

/** Returns whether an address is a proxy of ours, which brings the connections of many callers. */
function isProxyOf(trust: Trust): (address: string) => boolean {
  if (typeof trust === 'boolean') return () => trust
  const proxies = new BlockList()
  for (const entry of [trust].flat()) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }
  return (address) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

const WARN_EVERY_MS = 60_000

/** Returns an address of IPv4 as such, also where the socket is one of IPv6. */
const plainAddress = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/, '')

/** Closes connections beyond the bounds as they come: they have sent nothing yet, and others must find room. */
export function boundConnections(app: FastifyInstance, bounds: ConnectionBounds, trust: Trust, log: Logger): void {
  const { server } = app
  const isProxy = isProxyOf(trust)
  const countOf = new Map<string, number>()
  let warnedAtMs = -Infinity
  const warn = (bound: string, allowed: number, address: string | undefined) => {
    const nowMs = performance.now()
    if (nowMs - warnedAtMs < WARN_EVERY_MS) return
    warnedAtMs = nowMs
    log.warn({ bound, allowed, address }, 'connections are refused: there are as many as are allowed')
  }
  server.maxConnections = bounds.connections
  server.on('drop', (dropped) => warn('CONNECTIONS_MAX', bounds.connections, plainAddress(dropped?.remoteAddress)))
  if (bounds.connectionsPerAddress === 0) return
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress)
    if (address === undefined || isProxy(address)) return
    const count = (countOf.get(address) ?? 0) + 1
    countOf.set(address, count)
    socket.once('close', () => {
      const left = (countOf.get(address) ?? 1) - 1
      if (left > 0) countOf.set(address, left)
      else countOf.delete(address)
    })
    if (count <= bounds.connectionsPerAddress) return
    warn('CONNECTIONS_PER_ADDRESS', bounds.connectionsPerAddress, address)
    socket.destroy()
  })
}

/** How often a connection is looked at within the time that its peer may take nothing. */
const LOOKS = 12

/**
 * Returns how many of the bytes written to a connection have left the process. Node has this only below the socket: the socket itself counts
 * a write when all of it has left. Its own timeout looks there too, but begins anew with each byte that the peer sends.
 */
function bytesTaken(socket: Socket): number {
  const { _handle } = socket as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0
}

/**
 * Ends connections whose peer takes nothing of what is written to it for `unreadMs` (and up to a twelfth more), whatever it sends meanwhile.
 * While an operation is at work nothing waits to be taken, so that this is no fault of the caller.
 */
export function boundUnread({ server }: FastifyInstance, { unreadMs }: ConnectionBounds): void {
  server.on('connection', (socket: Socket) => {
    let takenBefore = 0
    let looksInVain = 0
    const look = () => {
      const taken = bytesTaken(socket)
      looksInVain = socket.writableLength === 0 || taken !== takenBefore ? 0 : looksInVain + 1
      takenBefore = taken
      if (looksInVain >= LOOKS) socket.destroy()
    }
    const looking = setInterval(look, Math.ceil(unreadMs / LOOKS)).unref()
    socket.once('close', () => clearInterval(looking))
  })
}

/**
 * Ends connections on which the body of a request still arrives, `answeredMs` after its answer has left: a refusal waits for no body, and the connection is
 * kept for a while, so that a caller who sends all of it before it reads finds the answer.
 */
export function boundAnswered(app: FastifyInstance, { answeredMs }: ConnectionBounds): void {
  app.addHook('onResponse', (request, _reply, done) => {
    whileArriving(request, answeredMs, (socket) => socket.destroy())
    done()
  })
}

/** Calls `late` where the body of a request has not arrived within a time. */
export function whileArriving({ raw }: FastifyRequest, ms: number, late: (socket: Socket) => void): void {
  const { socket } = raw
  // Requests that are injected have none.
  if (raw.complete || !(socket instanceof Socket) || socket.destroyed) return
  const timer = setTimeout(() => raw.complete || late(socket), ms).unref()
  for (const event of ['end', 'close'] as const) raw.once(event, () => clearTimeout(timer))
}

/** The newest request of a connection, and how many wait for an answer before theirs. */
interface Queue {
  newest: FastifyReply['raw']
  waiting: number
}

/**
 * Makes the hook that takes up the requests of a connection one after the other: each when the answer before it has left. Node takes up all
 * that have arrived, and would hold the answers of hundreds for a peer that reads none. While one waits no more are read.
 */
export function requestsInTurn() {
  const queues = new WeakMap<Socket, Queue>()
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { socket } = request.raw
    // Requests that are injected have none.
    if (!(socket instanceof Socket)) return done()
    const queue = queues.get(socket)
    if (!queue || queue.newest.closed || queue.newest.writableFinished) {
      queues.set(socket, { newest: reply.raw, waiting: queue?.waiting ?? 0 })
      return done()
    }
    const before = queue.newest
    queue.newest = reply.raw
    queue.waiting += 1
    // In a tick of its own: at the end of a request Node begins to read again.
    process.nextTick(() => queue.waiting > 0 && socket.pause())
    before.once('close', () => {
      queue.waiting -= 1
      // Nobody is left to answer.
      if (socket.destroyed) return
      if (queue.waiting === 0) socket.resume()
      done()
    })
  }
}
