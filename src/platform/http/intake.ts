import type { FastifyInstance } from 'fastify'
import { Fault } from '../../kernel/fault.ts'
import type { LargeBodies } from './body-bounds.ts'

/** Addresses at which others than our callers send bytes: no key, and no Content-Type that has to be right. */

/** Message as it arrived. */
export interface Arrived {
  params: Readonly<Record<string, string>>
  raw: Buffer
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The network address of the sender. */
  address: string
}

export interface Intake {
  /** As in the interface: /gateways/{GatewayToken}/events. */
  path: string
  bytesMax: number
  /** Bounds its bodies above 64 KiB. */
  largeBodies: LargeBodies
  /** Takes a message; what it throws is answered as anywhere else, and what it takes with 200. */
  take(arrived: Arrived): Promise<void>
}

export function addIntake(app: FastifyInstance, { path, bytesMax, largeBodies, take }: Intake): void {
  const url = path.replace(/\{(\w+)\}/g, ':$1')
  app.post(url, { config: { isPublic: true, rawBytesMax: bytesMax, largeBodies } }, async (request, reply) => {
    const { body, headers, ip } = request
    if (body instanceof Error) throw body
    const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    await take({ params: request.params as Arrived['params'], raw, headers, address: ip })
    return reply.code(200).header('cache-control', 'no-store').send()
  })
  app.route({
    method: ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url,
    config: { isPublic: true },
    handler: (request, reply) => {
      reply.header('allow', 'POST')
      const message = `${request.method} is not possible here, only POST.`
      throw new Fault('method', [{ code: 'method_not_allowed', message, field: null }])
    },
  })
}
