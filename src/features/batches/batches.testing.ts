import { expect } from 'vitest'
import type { TestService } from '../../../test/support/app.ts'

/** An account with its sandbox, on 1 January 2027, and short ways to what a test of batches needs. */
export async function account(service: TestService, { TimeZone }: { TimeZone?: string } = {}) {
  const client = await service.newAccount()
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  if (TimeZone) await must('put', '/v1/account', { TimeZone })
  const [gateway] = (await client.get('/v1/gateways')).body
  const manual = (more: object = {}) => must('post', '/v1/gateways', { GatewayType: 'manual', ...more })
  const move = (Now: string) => must('put', '/v1/clock', { Now: Now.includes('T') ? Now : `${Now}T12:00:00Z` })
  const batch = async (more: object = {}) => {
    const body = { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-05', ...more }
    const { BatchToken } = await must('post', '/v1/batches', body)
    return { BatchToken: BatchToken as string, body }
  }
  return { client, must, gateway, manual, move, batch }
}
