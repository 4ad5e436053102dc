import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { account } from './batches.testing.ts'

const service = await startTestService()

describe('a batch', () => {
  test('is added open and empty, read, and listed without its lines', async () => {
    const { client, gateway } = await account(service)
    const added = await client.post('/v1/batches', {
      CurrencyCode: 'USD',
      GatewayToken: gateway.GatewayToken.toUpperCase(),
      ActionDate: '2027-01-05',
      Notes: 'January',
    })
    const { BatchToken } = added.body
    expect(added.status).toBe(201)
    expect(added.headers['location']).toBe(`/v1/batches/${BatchToken}`)
    expect(added.body).toEqual({
      BatchToken: expect.stringMatching(/^[0-9a-f-]{36}$/),
      CurrencyCode: 'USD',
      GatewayToken: gateway.GatewayToken,
      CreatedDate: '2027-01-01T00:00:00.000Z',
      SubmitDate: null,
      ActionDate: '2027-01-05T00:00:00Z',
      State: 'open',
      BuildError: null,
      NumberOfPayments: 0,
      PaymentsTotal: '0.00',
      Notes: 'January',
      isAwaitingRelease: false,
      LastMoment: '2027-01-05T23:59:00.000Z',
      isDayPassed: false,
      Payments: [],
    })
    expect((await client.get(`/v1/batches/${BatchToken.toUpperCase()}`)).body).toEqual(added.body)
    expect((await client.get('/v1/batches')).body).toEqual([{ ...added.body, Payments: null }])
    const [event] = (await client.get('/v1/events?type=batch.created')).body
    expect(event.Record).toEqual(added.body)
  })

  test('is edited under its ETag, and edited again without', async () => {
    const { client, batch } = await account(service)
    const { BatchToken, body } = await batch()
    const { headers } = await client.get(`/v1/batches/${BatchToken}`)
    const edit = (more: object, match?: string) =>
      client.put('/v1/batches', { BatchToken, ...body, ...more }, match ? { 'if-match': match } : {})
    const edited = await edit({ ActionDate: '2027-01-06', Notes: undefined }, headers['etag'])
    expect([edited.status, edited.text]).toEqual([204, ''])
    expect((await edit({}, headers['etag'])).status).toBe(412)
    expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
      ActionDate: '2027-01-06T00:00:00Z',
      Notes: null,
      State: 'open',
    })
    expect(edited.headers['etag']).toBe((await client.get(`/v1/batches/${BatchToken}`)).headers['etag'])
  })

  test.each([
    ['a day that is over', { ActionDate: '2026-12-31' }, 400, 'date_in_past', 'ActionDate'],
    ['a Saturday', { ActionDate: '2027-01-09' }, 409, 'no_bank_day', 'ActionDate'],
    ['a gateway that is none', { GatewayToken: 'sandbox' }, 400, 'wrong_type', 'GatewayToken'],
    [
      'an unknown gateway',
      { GatewayToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' },
      400,
      'gateway_unknown',
      'GatewayToken',
    ],
    ['a currency that the account lacks', { CurrencyCode: 'ZAR' }, 400, 'currency_unknown', 'CurrencyCode'],
    ['no currency', { CurrencyCode: undefined }, 400, 'required', 'CurrencyCode'],
    ['no day', { ActionDate: null }, 400, 'required', 'ActionDate'],
  ])('is refused for %s', async (_name, change, status, Code, Field) => {
    const { client, gateway } = await account(service)
    const right = { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-05' }
    const reply = await client.post('/v1/batches', { ...right, ...change })
    expect([reply.status, reply.body.Errors[0]]).toMatchObject([status, { Code, Field }])
    const { BatchToken } = (await client.post('/v1/batches', right)).body
    const edited = await client.put('/v1/batches', { BatchToken, ...right, ...change })
    expect([edited.status, edited.body.Errors[0]]).toMatchObject([status, { Code, Field }])
  })

  test('is refused once the last moment of its day has passed: by the Settings of the gateway, in the zone of the account', async () => {
    const { client, gateway, move } = await account(service, { TimeZone: 'Africa/Johannesburg' })
    await client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { SubmitDays: 1, CutOff: '16:00' } })
    const add = (ActionDate: string) =>
      client.post('/v1/batches', { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate })
    // Monday: the cut-off of its batch is on Friday at 16:00, which is 14:00 UTC.
    await move('2027-01-08T14:00:00Z')
    expect((await add('2027-01-11')).status).toBe(201)
    await move('2027-01-08T14:00:01Z')
    const late = await add('2027-01-11')
    expect([late.status, late.body.Errors[0]]).toMatchObject([409, { Code: 'too_late', Field: 'ActionDate' }])
    expect((await add('2027-01-12')).status).toBe(201)
  })

  test('is refused for a gateway that is not active, or does not take its currency', async () => {
    const { client, gateway, manual } = await account(service)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const { GatewayToken } = await manual({ CurrencyCodes: ['USD'] })
    const add = (token: string, CurrencyCode: string) =>
      client.post('/v1/batches', { CurrencyCode, GatewayToken: token, ActionDate: '2027-01-05' })
    const unfit = await add(GatewayToken, 'EUR')
    expect([unfit.status, unfit.body.Errors[0]]).toMatchObject([409, { Code: 'gateway_unfit', Field: 'CurrencyCode' }])
    await client.put(`/v1/gateways/${gateway.gatewayID}`, { isActive: false })
    const inactive = await add(gateway.GatewayToken, 'USD')
    expect([inactive.status, inactive.body.Errors[0].Code]).toEqual([409, 'gateway_inactive'])
  })

  test('is unknown under another token, and under that of another account', async () => {
    const { client, batch } = await account(service)
    const { BatchToken, body } = await batch()
    const other = await account(service)
    for (const token of [BatchToken, '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60', 'x'])
      expect((await other.client.get(`/v1/batches/${token}`)).body.Errors[0]).toMatchObject({ Code: 'batch_unknown' })
    const wanted = { ...body, GatewayToken: other.gateway.GatewayToken }
    expect((await other.client.put('/v1/batches', { BatchToken, ...wanted })).status).toBe(404)
    expect((await client.put('/v1/batches', { BatchToken: 'x', ...body })).body.Errors[0]).toMatchObject({
      Code: 'wrong_type',
      Field: 'BatchToken',
    })
  })

  test('keeps its gateway from being deleted', async () => {
    const { client, manual } = await account(service)
    const { gatewayID, GatewayToken } = await manual()
    await client.post('/v1/batches', { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-01-05' })
    const reply = await client.delete(`/v1/gateways/${gatewayID}`)
    expect([reply.status, reply.body.Errors[0].Message]).toEqual([
      409,
      `The gateway ${gatewayID} is used by a batch that is not completed; set isActive false instead.`,
    ])
  })
})
