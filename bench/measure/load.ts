import { connect, type Socket } from 'node:net'

/** Callers over kept-alive connections, each with one request under way; answers are read to their end and their status is checked. */

export interface Load {
  port: number
  callers: number
  seconds: number
  /** The next request, as bytes of HTTP. */
  next: () => string
  /** Status that every answer must have. */
  status: number
  /** Milliseconds that a caller waits after each answer; left out: none. */
  pauseMs?: number
}

export interface Loaded {
  answers: number
  seconds: number
  /** Milliseconds from each request to the end of its answer. */
  latencies: number[]
}

export const httpGet = (path: string, authorization: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: ${authorization}\r\n\r\n`

export function httpSend(method: 'POST' | 'PUT', path: string, authorization: string, body: string): string {
  const head = `Host: bench\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`
  return `${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`
}

/** Ends an answer whose length was not known; one is under way on a connection at a time. */
const LAST_CHUNK = '\r\n0\r\n\r\n'

/** Bytes of the first answer in what has arrived; undefined while it is not whole. */
function answerLength(bytes: Buffer, status: number): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  if (!head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(`not ${status}: ${bytes.toString('utf8').slice(0, 600)}`)
  if (/transfer-encoding: chunked/i.test(head))
    return bytes.toString('latin1', bytes.length - LAST_CHUNK.length) === LAST_CHUNK ? bytes.length : undefined
  const length = headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
  return bytes.length >= length ? length : undefined
}

function caller(load: Load, until: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const latencies: number[] = []
    let sentMs = 0
    const send = () => {
      sentMs = performance.now()
      socket.write(load.next())
    }
    let arrived: Buffer[] = []
    const socket: Socket = connect(load.port, '127.0.0.1', send)
    socket.setNoDelay(true)
    socket.on('error', reject)
    socket.on('data', (piece: Buffer) => {
      arrived.push(piece)
      try {
        const bytes = arrived.length === 1 ? piece : Buffer.concat(arrived)
        if (answerLength(bytes, load.status) === undefined) {
          arrived = [bytes]
          return
        }
      } catch (error) {
        socket.destroy()
        reject(error as Error)
        return
      }
      arrived = []
      const now = performance.now()
      latencies.push(now - sentMs)
      if (now >= until) socket.end(() => resolve(latencies))
      else if (load.pauseMs === undefined) send()
      else setTimeout(send, load.pauseMs)
    })
  })
}

/** Calls for a while; the last answers may come a little later. */
export async function drive(load: Load): Promise<Loaded> {
  const startedMs = performance.now()
  const until = startedMs + load.seconds * 1000
  const latencies = (await Promise.all(Array.from({ length: load.callers }, () => caller(load, until)))).flat()
  return { answers: latencies.length, seconds: (performance.now() - startedMs) / 1000, latencies }
}

/** Body of one answer. */
export async function fetchText(port: number, path: string, authorization: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.text()
}
