import { expect, test } from 'vitest'
import { represented } from './represented.ts'

test('a record that is too long is not repeated in the answer of its change, however it is read', async () => {
  const answer = { status: 204, headers: { 'perennial-warning': 'some' } }
  const asked = (shown: object) =>
    represented(answer, { read: async () => ({ status: 200 }) } as never, async () => ({ status: 200, ...shown }))
  async function* pieces(count: number) {
    for (let n = 0; n < count; n += 1) yield 'x'.repeat(1024)
  }
  const short = await asked({ pieces: pieces(3), headers: { etag: '"1"' } })
  expect(short).toMatchObject({
    status: 200,
    body: 'x'.repeat(3072),
    headers: { 'preference-applied': 'return=representation', etag: '"1"', ...answer.headers },
  })
  expect(await asked({ pieces: pieces(4097) })).toBe(answer)
  expect(await asked({ body: 'x'.repeat(4 * 1024 * 1024 + 1) })).toBe(answer)
  expect(await asked({ body: 'x' })).toMatchObject({ status: 200, body: 'x' })
})
