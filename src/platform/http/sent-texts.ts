import type { FastifyRequest } from 'fastify'
import { isJsonNumber, type Json } from '../wire/json.ts'
import { readSentBody } from './request-body.ts'

/** Texts that a caller has sent, to be removed from the log of the request's failure. */

// Shorter texts mean nothing on their own, and taking them out would tear every message apart.
const LENGTH_MIN = 3
const BODY_BYTES_MAX = 64 * 1024

/** Returns every text and number of the request, wherever it stood in it; 'too much' when looking through all of it would take long. */
export function sentTexts(request: FastifyRequest): readonly string[] | 'too much' {
  const { body } = request
  if (Buffer.isBuffer(body) && body.length > BODY_BYTES_MAX) return 'too much'
  const found = new Set<string>()
  const add = (text: string) => {
    if (text.length >= LENGTH_MIN) found.add(text)
  }
  for (const [name, value] of Object.entries(request.headers)) {
    if (name === 'authorization') credentialsOf(String(value)).forEach(add)
    else if (name === 'cookie' || name === 'idempotency-key') add(String(value))
  }
  const [, query = ''] = request.url.split('?', 2)
  add(query)
  for (const [, value] of new URLSearchParams(query)) add(value)
  for (const value of Object.values((request.params ?? {}) as Record<string, string>)) add(value)
  if (Buffer.isBuffer(body)) {
    const sent = readSentBody(body)
    if ('json' in sent) scalarsOf(sent.json, add)
    else add(body.toString('utf8'))
  }
  return [...found]
}

/** Returns the header, its token, and the user and password that the token may be made of. */
function credentialsOf(header: string): string[] {
  const token = header.slice(header.indexOf(' ') + 1)
  const [, password = ''] = Buffer.from(token, 'base64').toString('utf8').split(':', 2)
  return [header, token, password]
}

function scalarsOf(json: Json, add: (text: string) => void): void {
  if (typeof json === 'string') add(json)
  else if (isJsonNumber(json)) add(json.digits)
  else if (typeof json === 'object' && json !== null) for (const value of Object.values(json)) scalarsOf(value, add)
}

/**
 * Returns the path of a request as it may be logged: the pattern of its route with the identifiers in it. A path that is nobody's, or a
 * parameter that is no identifier, may be anything, a token too.
 */
export function loggedPath(request: FastifyRequest): string {
  const pattern = request.is404 ? undefined : request.routeOptions.url
  if (pattern === undefined) return 'unknown'
  const params = (request.params ?? {}) as Record<string, string>
  return pattern.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name] ?? ''
    return /^\d{1,12}$/.test(value) ? value : '…'
  })
}
