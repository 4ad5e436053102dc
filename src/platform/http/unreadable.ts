import type { Socket } from 'node:net'
import { errorBody } from './errors.ts'

/** Answers to what is no request, or does not become a whole one: the plainest answer, and the connection ends. */

const UNREADABLE_LINGER_MS = 1_000

const LATE = ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time.'] as const

/** Answers bytes that are no HTTP request, and requests that do not arrive in time. There is no request to answer in full. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const [line, code, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'headers_too_large', 'The headers of the request are too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? LATE
        : ['400 Bad Request', 'malformed_request', 'The request is not HTTP.']
  end(socket, line, code, message)
}

/** Answers a request whose body does not arrive in time (408); one that was answered already just ends. */
export function answerLate(socket: Socket, isAnswered: boolean): void {
  if (isAnswered || socket.destroyed || !socket.writable) socket.destroy()
  else end(socket, ...LATE)
}

function end(socket: Socket, line: string, code: string, message: string): void {
  const body = errorBody([{ code, message, field: null }])
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
  )
  // One who does not read this either must not keep its connection open for it.
  const linger = setTimeout(() => socket.destroy(), UNREADABLE_LINGER_MS).unref()
  socket.once('close', () => clearTimeout(linger))
}
