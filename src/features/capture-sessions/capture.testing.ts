import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'

/** Sessions as tests begin them, and the frame as a browser without script uses it. */

export const CARD = { number: '4242 4242 4242 4242', expiry: '12/29', givenName: 'Ada', familyName: 'Lovelace' }

export async function beginSession(client: TestClient, changes: object = {}) {
  const [gateway] = (await client.get('/v1/gateways')).body
  const body = {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultOnly',
    ExpiresIn: '01:00:00',
    isVaultOnlyOnSuccess: false,
    CurrencyCode: 'USD',
    GatewayToken: gateway.GatewayToken,
    AuthDomain: 'shop.example',
    ...changes,
  }
  return client.post('/v1/widgets/capturepaymethod/create', body)
}

/** Makes the means to look at a frame and to send its form. */
export function frameOf(service: TestService, hashToken: string, origin = 'http://localhost:80') {
  const path = `/w/${hashToken}`
  const { server } = service.app
  return {
    path,
    get: (below = '', headers = {}) => server.inject({ method: 'GET', url: path + below, headers }),
    post: (fields: Record<string, string>, below = '', headers = {}) =>
      server.inject({
        method: 'POST',
        url: path + below,
        headers: { origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: new URLSearchParams(fields).toString(),
      }),
  }
}

/** Begins a session and captures a card in it. */
export async function capturedSession(service: TestService, client: TestClient) {
  const { body: session } = await beginSession(client)
  const frame = frameOf(service, session.HashToken)
  const sent = await frame.post(CARD)
  expect(sent.statusCode).toBe(303)
  return { session, frame }
}

export const complete = (client: TestClient, customerID: number, SessionToken: string) =>
  client.put('/v1/widgets/capturepaymethod/complete', { customerID, SessionToken })

export const readSession = async (client: TestClient, token: string) =>
  (await client.get(`/v1/widgets/capturepaymethod/get/${token}`)).body

/** Begins a session that charges 49.00, and sends a card by its form. */
export async function sendSale(service: TestService, client: TestClient, number: string, changes: object = {}) {
  const sale = { SaleType: 'VaultSale', Amount: 49, Description: 'First month' }
  const begun = await beginSession(client, { ...sale, ...changes })
  expect([begun.status, begun.body.Errors]).toEqual([200, undefined])
  const session = begun.body
  const frame = frameOf(service, session.HashToken)
  const sent = await frame.post({ ...CARD, number })
  return { session, frame, sent, read: () => readSession(client, session.SessionToken) }
}
