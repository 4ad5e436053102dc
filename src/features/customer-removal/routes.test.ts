import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()

test('a customer without money records is deleted for good, and deleting it again is 404', async () => {
  const client = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
  expect((await client.delete(`/v1/customers/${body.customerID}`)).status).toBe(204)
  expect((await client.get(`/v1/customers/${body.customerID}`)).status).toBe(404)
  expect((await client.delete(`/v1/customers/${body.customerID}`)).status).toBe(404)
})

test('a customer is not deleted while another state of it was read, nor by another account', async () => {
  const client = await service.newAccount()
  const stranger = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
  const path = `/v1/customers/${body.customerID}`
  expect((await client.delete(path, undefined, { 'if-match': '"other"' })).status).toBe(412)
  expect((await stranger.delete(path)).status).toBe(404)
  expect((await client.get(path)).status).toBe(200)
})
