import { describe, expect, test } from 'vitest'
import { testEnvelope } from '../../../test/support/envelope.ts'
import { makeEnvelope, type SealedPlace, PURPOSES, type Sealer } from './envelope.ts'
import { KeyRing, UnknownKey } from './key-ring.ts'

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const place: SealedPlace = { table: 'gateways', column: 'settings', row: 7n }
const text = 'Łódź 🔑'

const flipped = (sealed: Buffer, at: number): Buffer => {
  const changed = Buffer.from(sealed)
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
  return changed
}

describe.each<[string, Sealer]>([
  ['a data key of its own', testEnvelope()],
  ['the data key of a purpose', testEnvelope().under('outbox')],
])('a text sealed under %s', (_, { seal, open }) => {
  test('opens again in its place, and differs each time it is sealed', () => {
    expect(open(1n, place, seal(1n, place, text))).toBe(text)
    expect(open(1n, place, seal(1n, place, ''))).toBe('')
    expect(seal(1n, place, text).equals(seal(1n, place, text))).toBe(false)
    expect(seal(1n, place, 'visible').includes('visible')).toBe(false)
  })

  test.each<[string, bigint, SealedPlace]>([
    ['account', 2n, place],
    ['table', 1n, { ...place, table: 'webhooks' }],
    ['column', 1n, { ...place, column: 'secret' }],
    ['row', 1n, { ...place, row: 8n }],
  ])('is refused in another %s', (_name, account, elsewhere) => {
    expect(() => open(account, elsewhere, seal(1n, place, text))).toThrow('sealed for another place')
  })

  test('is refused when any byte of it was changed, added or cut off', () => {
    const sealed = seal(1n, place, text)
    for (let at = 0; at < sealed.length; at += 1)
      expect(() => open(1n, place, flipped(sealed, at)), `byte ${at}`).toThrow()
    expect(() => open(1n, place, Buffer.concat([sealed, Buffer.of(0)]))).toThrow()
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => open(1n, place, sealed.subarray(0, length)), `${length} bytes`).toThrow()
  })
})

test('a data key of one record does not open another, though both are rightly wrapped', () => {
  const { seal, open } = testEnvelope()
  const [one, other] = [seal(1n, place, 'one'), seal(1n, place, 'other')]
  expect(() => open(1n, place, Buffer.concat([one.subarray(0, 69), other.subarray(69)]))).toThrow()
})

test('purposes have keys of their own, and hashes under them are the same in every process', () => {
  const envelope = testEnvelope()
  expect(() =>
    envelope.under('outbox').open(1n, place, envelope.under('idempotency body').seal(1n, place, text)),
  ).toThrow()
  const hash = envelope.keyedHash('bank number')
  expect(hash(text)).toEqual(testEnvelope().keyedHash('bank number')(text))
  expect(hash(text)).toHaveLength(32)
  expect(hash(text)).not.toEqual(hash(`${text} `))
  expect(hash(text)).not.toEqual(envelope.keyedHash('idempotency hash')(text))
  expect(hash(text)).not.toEqual(testEnvelope(newKey).keyedHash('bank number')(text))
})

test('the first of two keys wraps, both unwrap, and a third is named as unknown', () => {
  const dataKeys = new Map(PURPOSES.map((purpose) => [purpose, oldKey]))
  const [before, switching, during, after] = [[oldKey], [oldKey, newKey], [newKey, oldKey], [newKey]].map((keys) =>
    makeEnvelope(new KeyRing(keys[0]!, ...keys.slice(1)), dataKeys),
  )
  const byOld = [before, switching].map((envelope) => envelope!.seal(1n, place, text))
  const byNew = [during, after].map((envelope) => envelope!.seal(1n, place, text))
  for (const sealed of [...byOld, ...byNew]) expect(switching!.open(1n, place, sealed)).toBe(text)
  for (const sealed of [...byOld, ...byNew]) expect(during!.open(1n, place, sealed)).toBe(text)
  for (const sealed of byOld) expect(() => after!.open(1n, place, sealed)).toThrow(UnknownKey)
  for (const sealed of byNew) expect(() => before!.open(1n, place, sealed)).toThrow(UnknownKey)
})
