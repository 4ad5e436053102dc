import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../kernel/fault.ts'
import { WARNING_HEADER } from './warnings.ts'

/** Documents that are found by a token in the query, or in a form or JSON that is posted: with a key or without. */

/** Request for a document. */
export interface AskedDocument {
  token: string
  authorization: string | undefined
  address: string
  /** Raised when the caller has gone. */
  gone: AbortSignal
}

export interface Download {
  path: string
  /** Returns the PDF with its file name and the warnings about it, or throws the Fault of whoever may not have it. */
  fetch(asked: AskedDocument): Promise<{ name: string; pdf: Buffer; warnings: readonly string[] }>
}

const FORM_BYTES_MAX = 4096
const TOKEN_MAX = 200

/** Returns the token of a query, a form or a JSON object; empty where there is none. */
function tokenOf({ query, body, contentType }: FastifyRequest): string {
  const { token, Token } = query as { token?: unknown; Token?: unknown }
  const asked = token ?? Token
  if (typeof asked === 'string') return asked
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : ''
  if (!/json/i.test(contentType ?? '')) {
    const form = new URLSearchParams(text)
    return form.get('token') ?? form.get('Token') ?? ''
  }
  try {
    const sent = JSON.parse(text) as { token?: unknown; Token?: unknown } | null
    const named = sent?.token ?? sent?.Token
    return typeof named === 'string' ? named : ''
  } catch {
    return ''
  }
}

const tokenMissing = () =>
  new Fault('invalid', [{ code: 'required', message: 'token is required, of at most 200 characters.', field: 'token' }])

export function addDownload(app: FastifyInstance, { path, fetch }: Download, visit: (address: string) => void): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const { authorization } = request.headers
    // Whoever has a key is counted by it.
    if (authorization === undefined) visit(request.ip)
    if (request.body instanceof Error) throw request.body
    const token = tokenOf(request)
    if (token === '' || token.length > TOKEN_MAX) throw tokenMissing()
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    const { name, pdf, warnings } = await fetch({ token, authorization, address: request.ip, gone: gone.signal })
    if (warnings.length > 0) reply.header(WARNING_HEADER, warnings.join(', '))
    return reply
      .code(200)
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
      .header('content-disposition', `inline; filename="${name}.pdf"`)
      .type('application/pdf')
      .send(pdf)
  }
  app.get(path, { config: { isPublic: true } }, answer)
  app.post(path, { config: { isPublic: true, isForm: true, rawBytesMax: FORM_BYTES_MAX } }, answer)
  app.route({
    method: ['PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url: path,
    config: { isPublic: true },
    handler: (request, reply) => {
      reply.header('allow', 'GET, HEAD, POST')
      const message = `${request.method} is not possible here, only GET and POST.`
      throw new Fault('method', [{ code: 'method_not_allowed', message, field: null }])
    },
  })
}
