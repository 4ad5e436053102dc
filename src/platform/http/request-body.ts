import { isAscii } from 'node:buffer'
import type { Readable } from 'node:stream'
import { Fault } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { PlainBody, PlainWay } from './plain-body.ts'
import { canonicalJson, type Json, readJsonInSlices } from '../wire/json.ts'

/** Bodies: collected up to a limit, or let pass unread by operations that have no input. */

const tooLarge = (max: number) =>
  new Fault('too_large', [{ code: 'body_too_large', message: `The body may have at most ${max} bytes.`, field: null }])

const broken = () =>
  new Fault('invalid', [{ code: 'body_broken', message: 'The body ended before it was complete.', field: null }])

/**
 * Returns the bytes of a body. 'ignore' reads to the end and keeps nothing: clients send empty JSON and left-over bodies with every method.
 * A large one is counted, refused where there is no room for it, and read as fast as others allow. What is refused is read to its end as well, so that the connection
 * stays usable for the answer and the next request.
 */
export function collectBody(
  payload: Readable,
  max: number | 'ignore',
  lengthHeader: string | undefined,
  counted?: CountedBody | null,
): Promise<Buffer | undefined> {
  if (max === 'ignore') {
    payload.resume()
    return Promise.resolve(undefined)
  }
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = Number(lengthHeader ?? 0) > max ? Number(lengthHeader) : 0
    let isRefused = false
    const refuse = (refusal: unknown) => {
      isRefused = true
      chunks = []
      reject(refusal as Error)
    }
    if (size > max) refuse(tooLarge(max))
    payload.on('data', (chunk: Buffer) => {
      size += chunk.length
      const next = counted?.next()
      if (next) {
        payload.pause()
        void next.then(() => payload.resume())
      }
      if (isRefused) return
      if (size > max) return refuse(tooLarge(max))
      try {
        counted?.add(chunk.length)
        chunks.push(chunk)
      } catch (refusal) {
        refuse(refusal)
      }
    })
    payload.on('end', () => resolve(Buffer.concat(chunks)))
    payload.on('error', () => reject(broken()))
  })
}

const JSON_TYPE = /^(application\/([\w.+-]+\+)?json|text\/json)\s*(;.*)?$/i
const CHARSET = /charset\s*=\s*"?([^\s";]*)/i

/** Refuses a body whose Content-Type is not JSON in UTF-8. A body without Content-Type is taken as JSON. */
export function checkJsonType(contentType: string | undefined, hasBody: boolean): void {
  if (!hasBody || contentType === undefined) return
  const charset = CHARSET.exec(contentType)?.[1] ?? 'utf-8'
  if (JSON_TYPE.test(contentType) && /^utf-?8$/i.test(charset)) return
  throw new Fault('not_json', [
    { code: 'not_json', message: 'The body must be JSON in UTF-8 (Content-Type: application/json).', field: null },
  ])
}

/** Refuses a raw body whose Content-Type is none that the operation takes. Without Content-Type the bytes decide. */
export function checkMediaType(contentType: string | undefined, hasBody: boolean, types: readonly string[]): void {
  if (!hasBody || contentType === undefined) return
  if (types.includes(contentType.split(';')[0]?.trim().toLowerCase() ?? '')) return
  throw new Fault('not_json', [
    { code: 'wrong_media_type', message: `The body must be ${sentenceList(types, 'or')} (Content-Type).`, field: null },
  ])
}

/**
 * A body as it was sent: its JSON, or what is wrong with it; the bytes where no JSON is expected. Of a plain one no JSON is made, unless the bytes have to be
 * read again.
 */
export type SentBody =
  | { json: Json }
  | { problem: string }
  | { empty: true }
  | { bytes: Buffer }
  | { plain: PlainBody; unread: Buffer }

/** Returns the text by which an Idempotency-Key compares a body. */
export function bodyIdentity(body: SentBody): string {
  if ('json' in body) return canonicalJson(body.json)
  if ('plain' in body) return body.plain.identity()
  if ('bytes' in body) return body.bytes.toString('base64')
  return 'problem' in body ? body.problem : ''
}

const decoder = new TextDecoder('utf-8', { fatal: true })

export function readSentBody(bytes: Buffer, plainWay?: PlainWay<any>): SentBody {
  const { value } = readSentBodyInSlices(bytes, Infinity, plainWay).next()
  return value as SentBody
}

/** Reads a body so many characters at a time, and yields nothing between them. */
export function* readSentBodyInSlices(
  bytes: Buffer,
  characters: number,
  plainWay?: PlainWay<any>,
): Generator<undefined, SentBody, undefined> {
  let text: string
  try {
    // The decoder takes thirty times as long, for letters of any script.
    text = isAscii(bytes) ? bytes.toString('ascii') : decoder.decode(bytes)
  } catch {
    return { problem: 'The body is not UTF-8 text.' }
  }
  if (text.trim() === '') return { empty: true }
  const plain: PlainBody | undefined = plainWay && (yield* plainWay.read(text, characters))
  if (plain) return { plain, unread: bytes }
  const read = yield* readJsonInSlices(text, characters)
  return 'json' in read ? read : { problem: `The body is not valid JSON: ${read.problem}.` }
}

/** The bytes of one request's body as they arrive. */
export interface CountedBody {
  /** Counts bytes that have arrived. Throws unavailable (503) where there is no room for them. */
  add(bytes: number): void
  /** Returns when more may be read; undefined: at once. While other accounts wait, each part that has arrived takes a turn of the event loop. */
  next(): Promise<void> | undefined
  /** Forgets the bytes: the request is answered, or its caller is gone. */
  end(): void
}
