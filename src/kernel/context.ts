import type { Instant, IsoDate } from './calendar.ts'
import type { AccountId } from './ids.ts'
import { dateIn, instantOf } from './zone.ts'

/** The facts of an account that every request needs: its zone, clock, currency and billing defaults. */
export interface Account {
  id: AccountId
  mode: 'test' | 'live'
  timeZone: string
  currency: string
  /** A test account's own clock; null follows real time. */
  clockAt: Instant | null
  paymentTermDays: number
  leadDays: number
  /** Invoices of the rules take the customer's unallocated money. */
  isAutoApply: boolean
  /** The last day whose books are closed. */
  lockDate: IsoDate | null
  /** The only address that mail of a test account goes to; null: none leaves. */
  testMailTo: string | null
  /** Has texts by language, which invoices that are issued take first. */
  hasTexts: boolean
  /** Counts what documents freeze. */
  version: number
}

export type Permission = 'full' | 'read'

/** Who is calling: the key that was sent. */
export interface Caller {
  account: Account
  keyId: bigint
  permission: Permission
  /** Names that nobody knows are refused instead of ignored, unless a request prefers otherwise. */
  isStrict: boolean
}

/** The moment an account lives in: its own clock, and the day that is today there. */
export interface Moment {
  now: Instant
  today: IsoDate
  /** The clock of the account passes through it: mail that is written there never leaves on its own. */
  isPassing?: true
}

/** Real time, in milliseconds since 1970; an argument so that tests can set the time. */
export type RealClock = () => number

export function momentOf(account: Pick<Account, 'clockAt' | 'timeZone'>, realClock: RealClock): Moment {
  const now = account.clockAt ?? instantOf(realClock())
  return { now, today: dateIn(now, account.timeZone) }
}

/** Writes a line of level warn into the log: facts without anything that a caller sent, and what happened. */
export type Warn = (facts: Readonly<Record<string, unknown>>, message: string) => void

/** Context of a request: everything that a handler knows beside its input. */
export interface RequestContext {
  account: Account
  moment: Moment
  caller: Caller
  /** Actor of the change as events name it: "key 3". */
  actor: string
  /** A mail server is set, so that mail is dated when it leaves; left out: there is none, and mail stays readable in the outbox. */
  hasMailServer?: boolean
  /** The address of the service as its callers know it; left out: links are relative. */
  publicUrl?: string | undefined
  /** Left out: nothing is logged. */
  warn?: Warn
}

/** Makes the context of work in the background, in an account and at a moment. */
export const backgroundContext = (
  account: Account,
  moment: Moment,
  { actor, hasMailServer = false }: { actor: string; hasMailServer?: boolean },
): RequestContext => ({
  account,
  moment,
  actor,
  hasMailServer,
  caller: { account, keyId: 0n, permission: 'full', isStrict: false },
})

/** Facts about the reader's account that a row does not hold: the zone its dates are written in, and the day that is today there. */
export interface Writing {
  timeZone: string
  today: IsoDate
}

/** Derives what the fields of an answer depend on beside their record. */
export const writingOf = ({ account, moment }: Pick<RequestContext, 'account' | 'moment'>): Writing => ({
  timeZone: account.timeZone,
  today: moment.today,
})
