import { timingSafeEqual } from 'node:crypto'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Envelope } from '../envelope/envelope.ts'

/**
 * Links of public pages. A token is derived: account, record and a counter in the open, and a keyed hash of them, so that it is stored nowhere
 * and made again whenever it is needed. The key is a data key of its own, which a rotation of ENCRYPTION_KEY does not change.
 */

/**
 * Kinds of links by their letter, which is the first part of their path: i an invoice, p the card that is entered to pay it, u the reminders of a customer, w the frame of a capture
 * session, m an eMandate to sign, d the mandate that is given at its gateway, c the signee's own copy of it.
 */
export const LINK_KINDS = ['i', 'p', 'u', 'w', 'm', 'd', 'c'] as const
export type LinkKind = (typeof LINK_KINDS)[number]

export interface Link {
  kind: LinkKind
  account: AccountId
  record: Id
  /** Of an invoice: how often its link was revoked. Of reminders: their kind. */
  counter: number
}

export interface Links {
  token(link: Link): string
  /** Returns what a token of a kind names; undefined where it is not exactly as it was made. */
  read(kind: LinkKind, token: string): Link | undefined
  /** Returns the address to which a link leads; null where nobody knows the address of this service, because PUBLIC_URL is not set. */
  url(link: Link): string | null
}

const HASH_BYTES = 16
const HASH_LENGTH = 26
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/** Writes bytes by five bits a letter, in small letters: an address survives being read out, and has one spelling. */
function lettersOf(bytes: Buffer): string {
  let letters = ''
  let bits = 0
  let rest = 0
  for (const byte of bytes) {
    rest = (rest << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) letters += ALPHABET[(rest >> (bits - 5)) & 31]
    rest &= (1 << bits) - 1
  }
  return bits === 0 ? letters : letters + ALPHABET[(rest << (5 - bits)) & 31]
}

const TOKEN = new RegExp(`^([1-9]\\d{0,15})-([1-9]\\d{0,15})-(0|[1-9]\\d{0,8})-[${ALPHABET}]{${HASH_LENGTH}}$`)

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

export function makeLinks(envelope: Pick<Envelope, 'keyedHash'>, publicUrl: string | undefined): Links {
  const hash = envelope.keyedHash('link')
  const token = ({ kind, account, record, counter }: Link): string => {
    const named = `${account}-${record}-${counter}`
    return `${named}-${lettersOf(hash(`${kind} ${named}`).subarray(0, HASH_BYTES))}`
  }
  return {
    token,
    read: (kind, sent) => {
      const [, account, record, counter] = TOKEN.exec(sent) ?? []
      if (account === undefined || record === undefined) return undefined
      const link = { kind, account: BigInt(account), record: BigInt(record), counter: Number(counter) }
      return isSame(token(link), sent) ? link : undefined
    },
    url: (link) => (publicUrl === undefined ? null : linkUrl(publicUrl, link.kind, token(link))),
  }
}

/** The path of the PDF of an eMandate. Rule: its token stands in the query, by which the signee's copy is fetched like any other. */
export const MANDATE_DOWNLOAD = '/widget/emandate/download'

/** Returns the address that a token opens, below that of the service. */
export const linkUrl = (publicUrl: string, kind: LinkKind, token: string): string =>
  `${publicUrl.replace(/\/$/, '')}${kind === 'c' ? `${MANDATE_DOWNLOAD}?token=${token}` : `/${kind}/${token}`}`
