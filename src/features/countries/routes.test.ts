import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()
const client = await service.newAccount()

test('every country is listed with its ISO number and code, unless a page is asked for', async () => {
  const all = await client.get('/v1/countries')
  expect(all.status).toBe(200)
  expect(all.body).toHaveLength(249)
  expect(all.body).toContainEqual({ countryID: 710, Name: 'South Africa', Code: 'ZA' })
  const page = await client.get('/v1/countries?page=2&page_size=100')
  expect(page.body).toEqual(all.body.slice(100, 200))
  expect(page.headers['link']).toContain('rel="next"')
  expect((await client.get('/v1/countries?page_size=0')).status).toBe(400)
})

test('the states of a country have numbers that customers and tax rules can name', async () => {
  const states = await client.get('/v1/countries/710/states')
  expect(states.body).toContainEqual({ countryStateID: 71000601, Name: 'Gauteng' })
  const customer = await client.post('/v1/customers', { Name: 'A', isCompany: true, Country: 'ZA', State: 'Gauteng' })
  expect(customer.body.countryStateID).toBe(71000601)
  expect((await client.get('/v1/countries/10/states')).body).toEqual([])
})

test.each(['999', '0', 'ZA'])('country %s is missing, also with a page that cannot be', async (id) => {
  const reply = await client.get(`/v1/countries/${id}/states?page=0`)
  expect([reply.status, reply.body.Errors[0].Code]).toEqual([404, 'country_unknown'])
})
