import { expect, test } from 'vitest'
import { makeSealer } from './sealing.ts'

const key = Buffer.alloc(32, 1)

test('a sealed text is read again under its key and purpose, and differs each time it is sealed', () => {
  const { seal, open } = makeSealer(key, 'test')
  expect(open(seal('Łódź 🔑'))).toBe('Łódź 🔑')
  expect(seal('a').equals(seal('a'))).toBe(false)
})

test.each([
  ['another key', makeSealer(Buffer.alloc(32, 2), 'test')],
  ['another purpose', makeSealer(key, 'other')],
])('a text sealed under %s is not read', (_, other) => {
  expect(() => makeSealer(key, 'test').open(other.seal('secret'))).toThrow()
})

test('a changed byte is found', () => {
  const { seal, open } = makeSealer(key, 'test')
  const sealed = seal('secret')
  sealed.writeUInt8(sealed.readUInt8(sealed.length - 1) ^ 1, sealed.length - 1)
  expect(() => open(sealed)).toThrow()
})
