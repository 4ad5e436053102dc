import type { FastifyRequest } from 'fastify'
import { Fault, invalid } from '../../kernel/fault.ts'

/** Forms of public pages: what a browser or a mail server posts, before anything is done with it. */

/** Bytes of a form: the pages ask for a few short fields. */
export const FORM_BYTES_MAX = 8 * 1024
const VALUE_LENGTH_MAX = 255

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i
const MULTIPART_TYPE = /^multipart\/form-data\s*;/i

/** The field by which a mail server stops a kind of mail for its reader, after RFC 8058. */
const ONE_CLICK = 'List-Unsubscribe'
const ONE_CLICK_VALUE = 'One-Click'

/** Control characters that no field of a form can bring forth: only lines and tabs. */
const STRANGE = /(?![\t\r\n])\p{Cc}/u

/** Fields of a form by name, each sent once at most. */
export type Values = ReadonlyMap<string, string>

const unreadable = (message: string) => invalid('form_unreadable', message)

/** Fields of a form; those named with a number may have so many characters. */
export type FormFields = Readonly<Record<string, number>> | readonly string[]

function fieldsOf(sent: Iterable<readonly [string, unknown]>, fields: FormFields): Values {
  const bounds: Readonly<Record<string, number>> = Array.isArray(fields)
    ? Object.fromEntries(fields.map((name: string) => [name, VALUE_LENGTH_MAX]))
    : (fields as Readonly<Record<string, number>>)
  const values = new Map<string, string>()
  for (const [name, value] of sent) {
    const max = Object.hasOwn(bounds, name) ? bounds[name] : undefined
    if (max === undefined) throw unreadable('The form has a field that is not of this page.')
    if (values.has(name)) throw unreadable(`The form has the field ${name} twice.`)
    if (typeof value !== 'string' || value.length > max) throw unreadable(`The field ${name} of the form is too long.`)
    if (STRANGE.test(value)) throw unreadable(`The field ${name} of the form has a control character.`)
    values.set(name, value)
  }
  return values
}

/** Reads a form of the declared fields. Throws 415 for another type of content, 400 for fields that are strange, repeated or too long. */
export function readForm(type: string | undefined, bytes: Buffer, fields: FormFields): Values {
  if (!FORM_TYPE.test(type ?? ''))
    throw new Fault('not_json', [
      { code: 'not_a_form', message: 'A form is sent as application/x-www-form-urlencoded.', field: null },
    ])
  return fieldsOf(new URLSearchParams(bytes.toString('utf8')), fields)
}

/** Returns whether a body is the one-click request of a mail server, in either of the two encodings that RFC 8058 knows. */
export async function isOneClick(type: string | undefined, bytes: Buffer): Promise<boolean> {
  try {
    if (MULTIPART_TYPE.test(type ?? '')) {
      const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type ?? '' } }).formData()
      return fieldsOf(form.entries(), [ONE_CLICK]).get(ONE_CLICK) === ONE_CLICK_VALUE
    }
    return readForm(type, bytes, [ONE_CLICK]).get(ONE_CLICK) === ONE_CLICK_VALUE
  } catch {
    return false
  }
}

/** Returns the origin of this service as a browser knows it. */
const ownOrigin = (request: FastifyRequest, publicUrl: string | undefined): string =>
  publicUrl === undefined ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin

/** Refuses a form that a page of another origin has sent, or one whose origin nobody names (403). */
export function checkOrigin(request: FastifyRequest, publicUrl: string | undefined, mayBeMissing: boolean): void {
  const { origin } = request.headers
  if (origin === undefined ? mayBeMissing : origin === ownOrigin(request, publicUrl)) return
  throw new Fault('forbidden', [
    { code: 'foreign_origin', message: 'A form is taken only from a page of this service.', field: null },
  ])
}
