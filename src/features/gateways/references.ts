import { randomBytes } from 'node:crypto'
import type { Id } from '../../kernel/ids.ts'

/**
 * References of what is asked of gateways: the identifier of the record and the nonce of its intent, `9.Qm3kz0aXw1Yb`. Records of programs before have
 * no nonce, and the identifier alone is their reference.
 */

/** A record with the nonce of its intent, null where it has none. */
export interface Reference {
  id: Id
  nonce: string | null
}

/** Draws a nonce: 12 random characters of base64url. */
export const drawNonce = (): string => randomBytes(9).toString('base64url')

/** Writes the reference of a record. */
export const referenceFor = ({ id, nonce }: Reference): string => (nonce === null ? String(id) : `${id}.${nonce}`)

/** As many digits as an identifier of ours can have. */
const REFERENCE = /^([1-9]\d{0,17})(?:\.([A-Za-z0-9_-]{12}))?$/

/** Reads a reference of either form; undefined for any other text. */
export function readReference(text: string): Reference | undefined {
  const [, id, nonce = null] = REFERENCE.exec(text) ?? []
  return id === undefined ? undefined : { id: BigInt(id), nonce }
}

/** An answer, as far as it shows which charge or refund it is about. */
export interface NamedAnswer {
  kind: string
  gatewayReference?: string | null
  mismatch?: string
}

/** Returns the gateway's name that an answer bears; null where it bears none. */
export const nameOfAnswer = ({ gatewayReference = null }: NamedAnswer): string | null => gatewayReference

/** Words for what a gateway was asked about. */
export interface AskedAbout {
  /** As `sale 7`. */
  what: string
  noun: 'charge' | 'refund'
}

/** Words that an answer bears another name than `kept`, that of what was asked about; null: it has none, and another has that of the answer. */
export const namedOtherwise = ({ what, noun }: AskedAbout, name: string, kept: string | null): string =>
  `The gateway answers about ${what} with ${name}, ${kept === null ? `which is the name of another ${noun}` : `and its ${noun} is ${kept}`}.`
