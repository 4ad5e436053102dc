import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()

describe('POST /v1/customers', () => {
  test('a customer is answered with its defaults and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace', Country: 'south africa' })
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({
      Name: 'Ada',
      CurrencyCode: 'USD',
      PaymentMethod: 'cash',
      countryID: 710,
      Balance: 0,
      comp_status: 'Active',
    })
    const read = await client.get(`/v1/customers/${added.body.customerID}`)
    expect(read.status).toBe(200)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
  })

  test('all problems of a body are told together, each with its field', async () => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/customers', {
      name: 'x',
      isCompany: 'true',
      Email: 'nobody',
      CurrencyCode: 'EUR',
      PaymentTermDays: 1.5,
    })
    expect(refused.status).toBe(400)
    expect(refused.body.Errors.map((error: { Field: string }) => error.Field).sort()).toEqual([
      'CurrencyCode',
      'Email',
      'Name',
      'PaymentTermDays',
      'isCompany',
      'name',
    ])
  })
})

test.each(['suspend', 'unsuspend', 'archive', 'reopen'])(
  '%s is refused where If-Match names another state',
  async (change) => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
    const path = `/v1/customers/${body.customerID}`
    const { headers } = await client.get(path)
    expect((await client.put(`${path}/${change}`, undefined, { 'if-match': '"another"' })).status).toBe(412)
    expect((await client.put(`${path}/${change}`, undefined, { 'if-match': headers['etag'] ?? '' })).status).toBe(204)
  },
)
