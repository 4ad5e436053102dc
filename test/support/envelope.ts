import { hkdfSync } from 'node:crypto'
import { type Envelope, makeEnvelope, PURPOSES } from '../../src/platform/envelope/envelope.ts'
import { KeyRing } from '../../src/platform/envelope/key-ring.ts'

export const TEST_KEY = Buffer.alloc(32, 7)

/** An envelope whose data keys lie in no database: two of the same key open what the other sealed. */
export function testEnvelope(key = TEST_KEY): Envelope {
  const dataKeys = PURPOSES.map((purpose) => [purpose, Buffer.from(hkdfSync('sha256', key, '', purpose, 32))] as const)
  return makeEnvelope(new KeyRing(key), new Map(dataKeys))
}
