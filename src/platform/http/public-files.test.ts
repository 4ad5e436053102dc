import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()
const { anonymous } = service

test.each([
  '/',
  '/docs',
  '/docs/customers',
  '/docs/style.css',
  '/docs/search.js',
  '/docs/search.json',
  '/openapi.json',
  '/widget/capture.js',
  '/widget/emandate.js',
])('the public file %s may be kept, and is asked for again by its ETag', async (path) => {
  const first = await anonymous.get(path)
  expect(first.status).toBe(200)
  expect(first.headers).toMatchObject({ 'cache-control': 'public, max-age=300', 'x-content-type-options': 'nosniff' })
  const etag = first.headers['etag'] as string
  expect(etag).toMatch(/^"[\w-]{43}"$/)
  for (const named of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await anonymous.get(path, undefined, { 'if-none-match': named })
    expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag])
  }
  const other = await anonymous.get(path, undefined, { 'if-none-match': '"other"' })
  expect([other.status, other.text]).toEqual([200, first.text])
  const head = await anonymous.request('HEAD', path)
  expect([head.status, head.headers['etag'], head.text]).toEqual([200, etag, ''])
})

test('every other answer is not to be kept, and no answer is to be taken for another type than it has', async () => {
  const client = await service.newAccount()
  for (const reply of [
    await client.get('/v1/customers'),
    await client.get('/v1/customers/1'),
    await client.post('/v1/customers', '{'),
    await anonymous.get('/v1/customers'),
    await anonymous.get('/healthz'),
    await anonymous.get('/%zz'),
  ])
    expect([reply.status, reply.headers['cache-control'], reply.headers['x-content-type-options']]).toEqual([
      reply.status,
      'no-store',
      'nosniff',
    ])
})
