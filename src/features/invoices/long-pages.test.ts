import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

/** Pages of invoices with so many lines that they are read and sent some at a time. */

const service = await startTestService()

async function clientWith(lineCounts: readonly number[]) {
  const client = await service.newAccount()
  const { customerID } = (await client.post('/v1/customers', { Name: 'Much Ltd', isCompany: true })).body
  for (const count of lineCounts) {
    const Charges = Array.from({ length: count }, (_, index) => ({
      UnitCostEx: 1.5,
      Line: `Line ${index}`,
      Descrip: '"a"\nb',
    }))
    expect((await client.post('/v1/invoices', { customerID, Charges })).status).toBe(201)
  }
  return client
}

/** The records of a list, asked for one by one. */
async function oneByOne(client: TestClient, path: string, count: number): Promise<string> {
  const texts = []
  for (let page = 1; page <= count; page += 1) {
    const { text } = await client.get(`${path}${path.includes('?') ? '&' : '?'}page_size=1&page=${page}`)
    texts.push(text.slice(1, -1))
  }
  return `[${texts.join(',')}]`
}

describe('a page of long invoices', () => {
  // Some fill a portion together, one fills it alone, and the last ones are short.
  const COUNTS = [900, 900, 900, 1000, 1000, 1000, 1, 2, 3]

  test.each(['/v1/invoices', '/v1/events?type=invoice.issued'])(
    'has all of them, to the byte as one by one: %s',
    async (path) => {
      const client = await clientWith(COUNTS)
      const page = await client.get(path)
      expect([page.status, page.body.length, page.headers['content-length']]).toEqual([200, COUNTS.length, undefined])
      expect(page.text === (await oneByOne(client, path, COUNTS.length))).toBe(true)
    },
  )

  test('keeps its number of records, its links and, where it is short, its length', async () => {
    const client = await clientWith(COUNTS)
    const first = await client.get('/v1/invoices?page_size=5')
    expect([first.body.length, first.headers['link']]).toEqual([5, '</v1/invoices?page_size=5&page=2>; rel="next"'])
    const last = await client.get('/v1/invoices?page_size=6&page=2')
    expect(last.body.map(({ Charges }: { Charges: object[] }) => Charges.length)).toEqual([1, 2, 3])
    expect(last.headers['content-length']).toBe(String(Buffer.byteLength(last.text)))
    const beyond = await client.get('/v1/invoices?page_size=6&page=9')
    expect([beyond.text, beyond.headers['content-length']]).toEqual(['[]', '2'])
  })
})
