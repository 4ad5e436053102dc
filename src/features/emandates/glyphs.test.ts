import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { MANDATE, signingBy } from './emandates.testing.ts'

const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ now: () => Date.parse('2027-01-01T00:00:00Z'), publicUrl: ORIGIN })
const { sign, download } = signingBy(service, ORIGIN)

const missing = (...fields: string[]) => fields.map((field) => `glyphs_missing;field="EMandate.${field}"`).join(', ')

test('a mandate tells of characters that no font has when it is asked for, and with its PDF, signed or not', async () => {
  const client = await service.newAccount({ name: '株式会社' })
  const body = { ...MANDATE, City: '北京', Company: '公司', debit_ContractRef: '合同' }
  const asked = await client.post('/v1/emandate', body)
  // It shows no company: its signee is none.
  const all = missing('City', 'debit_ContractRef', 'BeneficiaryName')
  expect([asked.status, asked.headers['perennial-warning']]).toEqual([201, all])
  const { Token, Url } = asked.body
  const unsigned = await download(Token, client)
  expect([unsigned.statusCode, unsigned.headers['perennial-warning']]).toEqual([200, all])
  expect(await sign(new URL(Url, ORIGIN).pathname)).toBe(303)
  const signed = await download(Token, client)
  expect([signed.statusCode, signed.headers['perennial-warning']]).toEqual([200, all])
  const ofCompany = await client.post('/v1/emandate', { ...MANDATE, Company: '公司', isCompanySignee: true })
  expect(ofCompany.headers['perennial-warning']).toBe(missing('Company', 'BeneficiaryName'))
})

test('a mandate in letters that the typeface has tells of none', async () => {
  const client = await service.newAccount({ name: 'Engines Ltd' })
  const asked = await client.post('/v1/emandate', MANDATE)
  const drawn = await download(asked.body.Token, client)
  expect([asked.headers['perennial-warning'], drawn.headers['perennial-warning']]).toEqual([undefined, undefined])
})
