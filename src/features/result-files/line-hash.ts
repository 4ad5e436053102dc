import type { AccountId } from '../../kernel/ids.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'

/** Returns the hash of a text in hex. */
export type LineHash = (text: string) => string

/** Returns the keyed hash by which lines of an account's files are compared. Deriving its key costs more than a hash: many texts are given to one. */
export function lineHash(envelope: Pick<Envelope, 'keyedHash'>, account: AccountId): LineHash {
  const hash = envelope.keyedHash('result likeness')
  return (text) => hash(`${account}\n${text}`).toString('hex')
}
