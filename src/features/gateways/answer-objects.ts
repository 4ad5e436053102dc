import type { GatewayCall } from './contract.ts'

/** Objects in the answers of gateways as they are read: nothing is taken for granted of what comes from outside. */

export type AnswerObject = Readonly<Record<string, unknown>>

/** Returns a value as an object; an empty one where it is none. */
export const record = (value: unknown): AnswerObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as AnswerObject) : {}

/** Returns a text of an object; empty where there is none. */
export function textIn(object: AnswerObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

/** Returns the identifier of an object that an answer names or holds; empty where there is none. */
export function nameIn(object: AnswerObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : textIn(record(value), 'id')
}

/** Returns a whole number of an object; undefined where there is none. */
export function wholeIn(object: AnswerObject, name: string): number | undefined {
  const value = object[name]
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

export const listIn = (object: AnswerObject, name: string): AnswerObject[] => {
  const value = object[name]
  return Array.isArray(value) ? value.map(record) : []
}

/** Kinds of what stands at a gateway under a reference of ours. */
export type NameKind = 'charge' | 'refund' | 'card' | 'mandate'

/** Returns the name under which what is ours stands at a gateway: of whose gateway it is, what it is, and its reference. */
export const nameOfOurs = ({ scope }: Pick<GatewayCall, 'scope'>, kind: NameKind, reference: string): string =>
  `${scope}/${kind}/${reference}`

/** Returns the reference that metadata bear under a scope; undefined where they bear none. */
export function referenceIn(
  { scope }: Pick<GatewayCall, 'scope'>,
  kind: NameKind,
  metadata: unknown,
): string | undefined {
  const name = textIn(record(metadata), 'perennial')
  const start = `${scope}/${kind}/`
  return name.startsWith(start) && name.length > start.length ? name.slice(start.length) : undefined
}

const HOUR_MS = 3_600_000

/** Returns whether the account's clock is more than an hour from real time: days of the gateway mean nothing there (§31, §38). */
export const isMoved = ({ now }: Pick<GatewayCall, 'now'>, realNow: number): boolean =>
  Math.abs(Date.parse(now) - realNow) > HOUR_MS

const MESSAGE_MAX = 500

/** Returns a sentence of a gateway's for a person, ended by a full stop: without what patterns find, as identifiers and numbers that could be an account's. */
export function sentenceWithout(message: string, patterns: readonly RegExp[]): string {
  const text = patterns
    .reduce((left, pattern) => left.replace(pattern, '…'), message)
    .trim()
    .slice(0, MESSAGE_MAX)
  if (text === '') return 'The gateway declined.'
  const begun = text[0]!.toUpperCase() + text.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
