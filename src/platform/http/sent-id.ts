import { isJsonNumber, isJsonObject, type Json } from '../wire/json.ts'

/** Identifiers as they were sent, before a request is read: by them it is found which requests are about the same. */

/** Returns an identifier of a path; undefined for what is written in no plain way. */
export const idIn = (text: string | undefined): bigint | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? BigInt(text) : undefined

/** Returns the identifier in a field of a body; undefined where it is written in no plain way, or under another name. */
export function sentId(body: Json | undefined, field: string): bigint | undefined {
  const value = isJsonObject(body) && Object.hasOwn(body, field) ? body[field] : undefined
  return isJsonNumber(value) ? idIn(value.digits) : undefined
}
