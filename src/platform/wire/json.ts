import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json'

/**
 * Request bodies keep the digits of their numbers: JSON.parse touches none, because 0.1 + 0.2 is only the beginning.
 * A number is a JsonNumber until a field says what it is.
 */
export type JsonNumber = LosslessNumber
export type Json = null | boolean | string | JsonNumber | Json[] | { [name: string]: Json }

export const isJsonNumber = (value: unknown): value is JsonNumber => isLosslessNumber(value)

export const isJsonObject = (value: unknown): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value)

const NESTING_MAX = 32

function isNestedTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index)
    if (inString) {
      if (char === 92) index += 1
      else if (char === 34) inString = false
    } else if (char === 34) inString = true
    else if (char === 123 || char === 91) {
      depth += 1
      if (depth > NESTING_MAX) return true
    } else if (char === 125 || char === 93) depth -= 1
  }
  return false
}

/** Reads a JSON text; undefined when it is none, or nested deeper than any body of the interface. */
export function parseJson(text: string): Json | undefined {
  // The parser is recursive, so depth is bounded before it runs.
  if (isNestedTooDeep(text)) return undefined
  try {
    return parse(text, undefined, (digits) => new LosslessNumber(digits)) as Json
  } catch {
    return undefined
  }
}

/** A text that is the same for equal bodies, whatever the order of their names: what idempotent requests are compared by. */
export function canonicalJson(value: Json | undefined): string {
  if (value === undefined) return ''
  if (isJsonNumber(value)) return value.toString()
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(',')}}`
}
