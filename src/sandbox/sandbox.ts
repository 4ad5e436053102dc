import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as waitFor } from 'node:timers/promises'
import { addDays, type Instant, type IsoDate } from '../kernel/calendar.ts'
import type { Id } from '../kernel/ids.ts'
import type { CardNumber } from '../kernel/card-number.ts'
import { instantOf } from '../kernel/zone.ts'
import type { Database, Queryable } from '../platform/database/database.ts'
import {
  chargeFateOf,
  debitFateOf,
  DEBIT_RESULT_DAYS,
  conductOf,
  expiryOn,
  HIDDEN_MS,
  REFUSED_NUMBER,
  refundFateOf,
  removedFrom,
  renewedFrom,
} from './conduct.ts'
import {
  type Book,
  findCard,
  findCardByReference,
  findCharge,
  findRefund,
  hasAskedForAction,
  insertCard,
  insertCharge,
  insertRefund,
  insertReport,
  listRefunds,
  listReportsBehind,
  lockCharge,
  type NewCharge,
  type SandboxCard,
  type SandboxCharge,
  type SandboxRefund,
  updateCardRemoved,
  updateCardRemovedOn,
  updateChargeCancelled,
  updateChargeConfirmed,
} from './queries.ts'

/**
 * The sandbox: a simulated gateway, which is honest about being one. It keeps a book of its own, each entry committed on its own, and follows
 * the clock that its callers name. Whatever it is asked twice under one reference it does once.
 */

/** Whose book, and the clock that it follows. */
export interface SandboxCall extends Book {
  now: Instant
  today: IsoDate
  signal: AbortSignal
  /** Milliseconds until anything is answered. */
  latencyMs: number
  /** Fault that every call meets: nothing is wrong; it cannot connect; nothing arrives and nothing is answered; all is done, nothing is answered. */
  fault: SandboxFault
}

export const SANDBOX_FAULTS = ['none', 'refused', 'not_received', 'not_answered'] as const
export type SandboxFault = (typeof SANDBOX_FAULTS)[number]

/** No answer: `unknown` when the call may have arrived, `not_sent` when it surely did not. */
export type NoAnswer = { kind: 'unknown' } | { kind: 'not_sent' }

export interface CardRequest {
  reference: string
  number: CardNumber
  brand: string
  expiryYear: number
  expiryMonth: number
}

export interface ChargeRequest {
  reference: string
  token: string
  amountMinor: bigint
  currency: string
  isCustomerPresent: boolean
}

/** Debits of a batch; numbers of accounts are read and not kept. */
export interface DebitRequest {
  actionDate: IsoDate
  currency: string
  debits: readonly { reference: string; number: string; amountMinor: bigint }[]
}

export interface RefundRequest {
  reference: string
  chargeReference: string
  amountMinor: bigint
}

export function makeSandbox(db: Database, fingerprintOf: (number: string) => string) {
  async function storeCard(call: SandboxCall, request: CardRequest) {
    const number = request.number.reveal()
    if (number === REFUSED_NUMBER) return { kind: 'declined', code: 'card_declined' } as const
    const card = {
      token: `card_${randomBytes(16).toString('hex')}`,
      reference: request.reference,
      conduct: conductOf(number),
      fingerprint: fingerprintOf(number),
      brand: request.brand,
      lastFour: request.number.lastFour,
      expiryYear: request.expiryYear,
      expiryMonth: request.expiryMonth,
    }
    const stored = await db.transaction(call.account, async (tx) => {
      const added = await insertCard(tx, call, card, call.now)
      if (added && card.conduct === 'renewed')
        insertReport(tx, call, {
          type: 'card.updated',
          reference: card.token,
          dueOn: renewedFrom(card.expiryYear, card.expiryMonth),
        })
      return added
    })
    return shownCard(
      stored ?? (await findCardByReference(db.reader(call.account), call, request.reference)),
      call.today,
    )
  }

  async function charge(call: SandboxCall, request: ChargeRequest): Promise<ChargeView> {
    const token = rootOf(request.token)
    const { amountMinor, isCustomerPresent } = request
    // Looked up together with those of other charges of this moment.
    const card = await findCard(db.lookup(call.account), call, token)
    const usable = card && !isRemoved(card, call.today) ? card : undefined
    const read = db.reader(call.account)
    const hasAsked = usable?.conduct === 'requires_action' && (await hasAskedForAction(read, call, token))
    const fate = usable
      ? chargeFateOf({ conduct: usable.conduct, amountMinor, today: call.today, isCustomerPresent, hasAsked })
      : UNKNOWN_CARD
    const knownFrom = fate.isHidden ? instantOf(Date.parse(call.now) + HIDDEN_MS) : null
    const entry = { ...request, ...fate, token, chargedOn: call.today, settlesOn: null, knownFrom }
    const removedOn = usable && fate.state === 'succeeded' ? removedFrom(usable.conduct, call.today) : null
    const write = async (tx: Tx) => {
      const written = await writeCharge(call, tx, entry)
      if (removedOn !== null && (await updateCardRemovedOn(tx, call, token, removedOn)))
        insertReport(tx, call, { type: 'card.updated', reference: token, dueOn: removedOn })
      return written
    }
    const charged = await db.transaction(call.account, write, { plans: 'lasting' })
    return shown(call, read, charged ?? (await findCharge(read, call, request.reference)))
  }

  /** Books the debits of a batch, each once under its reference, in one commit. */
  async function debit(call: SandboxCall, { actionDate, currency, debits }: DebitRequest) {
    const settlesOn = addDays(actionDate, DEBIT_RESULT_DAYS)
    await db.transaction(call.account, async (tx) => {
      for (const { reference, number, amountMinor } of debits) {
        const fate = debitFateOf(number, amountMinor, settlesOn)
        const entry = { reference, amountMinor, currency, ...fate, token: '', isCustomerPresent: false }
        const booked = await writeCharge(call, tx, { ...entry, chargedOn: settlesOn, settlesOn, knownFrom: null })
        if (booked) insertReport(tx, call, { type: 'charge.settled', reference, dueOn: settlesOn })
      }
    })
    return { kind: 'submitted' } as const
  }

  async function refund(call: SandboxCall, request: RefundRequest): Promise<RefundView> {
    return db.transaction(call.account, async (tx) => {
      // The charge is locked, so that two refunds together never give back more than it took.
      const charged = await lockCharge(tx, call, request.chargeReference)
      const known = await findRefund(tx, call, request.reference)
      if (known) return shownRefund(known, call.today)
      const card = charged && (await findCard(tx, call, charged.token))
      const conduct = charged?.settlesOn ? 'approved' : card?.conduct
      const given = await listRefunds(tx, call, request.chargeReference)
      const fate =
        charged && conduct && request.amountMinor <= refundableMinor(charged, given, call)
          ? refundFateOf(conduct, request.amountMinor, call.today)
          : { state: 'declined' as const, code: 'not_refundable', settlesOn: null, failsOn: null }
      const entry = { ...request, ...fate, refundedOn: call.today }
      await insertRefund(tx, call, entry)
      for (const dueOn of [fate.settlesOn, fate.failsOn])
        if (dueOn !== null) insertReport(tx, call, { type: 'refund.updated', reference: request.reference, dueOn })
      return shownRefund(entry, call.today)
    })
  }

  return {
    storeCard: (call: SandboxCall, request: CardRequest) => answered(call, () => storeCard(call, request)),

    findStored: (call: SandboxCall, reference: string) =>
      asked(call, async () =>
        shownCard(await findCardByReference(db.reader(call.account), call, reference), call.today),
      ),

    askStored: (call: SandboxCall, token: string) =>
      asked(call, async () => shownCard(await findCard(db.reader(call.account), call, rootOf(token)), call.today)),

    removeStored: (call: SandboxCall, token: string) =>
      answered(call, async () => {
        await db.transaction(call.account, (tx) => updateCardRemoved(tx, call, rootOf(token), call.now))
        return { kind: 'removed' } as const
      }),

    charge: (call: SandboxCall, request: ChargeRequest) => answered(call, () => charge(call, request)),

    debit: (call: SandboxCall, request: DebitRequest) => answered(call, () => debit(call, request)),

    askCharge: (call: SandboxCall, reference: string) =>
      asked(call, async () => {
        const read = db.reader(call.account)
        return shown(call, read, await findCharge(read, call, reference))
      }),

    cancelCharge: (call: SandboxCall, reference: string) =>
      answered(call, async () => {
        const ended = await db.transaction(call.account, (tx) => updateChargeCancelled(tx, call, reference))
        const read = db.reader(call.account)
        return shown(call, read, ended ?? (await findCharge(read, call, reference)))
      }),

    /** Confirms or ends a charge that waits for its customer, as their bank would. */
    playBank: (call: SandboxCall, reference: string, isConfirmed: boolean) =>
      answered(call, async () => {
        const update = isConfirmed ? updateChargeConfirmed : updateChargeCancelled
        const played = await db.transaction(call.account, (tx) => update(tx, call, reference))
        const read = db.reader(call.account)
        return shown(call, read, played ?? (await findCharge(read, call, reference)))
      }),

    /** Lists what is due to be reported behind a place, which is that of the last one of an earlier list. */
    listReports: (call: SandboxCall, behind: { dueOn: IsoDate; id: Id }, limit: number) =>
      asked(call, async () => ({
        kind: 'listed' as const,
        reports: await listReportsBehind(db.reader(call.account), call, call.today, behind, limit),
      })),

    refund: (call: SandboxCall, request: RefundRequest) => answered(call, () => refund(call, request)),

    askRefund: (call: SandboxCall, reference: string) =>
      asked(call, async () => {
        const found = await findRefund(db.reader(call.account), call, reference)
        return found ? shownRefund(found, call.today) : ({ kind: 'none' } as const)
      }),
  }
}

const UNKNOWN_CARD = {
  state: 'declined',
  code: 'no_such_card',
  isHidden: false,
  returnedOn: null,
  returnedMinor: null,
  wonOn: null,
  refundedOn: null,
  refundedMinor: null,
} as const

type Tx = Parameters<Parameters<Database['transaction']>[1]>[0]

async function writeCharge(call: SandboxCall, tx: Tx, entry: NewCharge): Promise<SandboxCharge | undefined> {
  const written = await insertCharge(tx, call, entry)
  if (!written) return undefined
  const { reference, returnedOn, wonOn, refundedOn } = entry
  if (returnedOn !== null) insertReport(tx, call, { type: 'charge.returned', reference, dueOn: returnedOn })
  if (wonOn !== null) insertReport(tx, call, { type: 'charge.dispute_won', reference, dueOn: wonOn })
  if (refundedOn !== null) insertReport(tx, call, { type: 'charge.refunded', reference, dueOn: refundedOn })
  return written
}

/** Does what is asked, as far as it arrives, and hides the answer as the fault wants it. */
async function answered<T>(call: SandboxCall, work: () => Promise<T>): Promise<T | NoAnswer> {
  if (call.fault === 'refused') return { kind: 'not_sent' }
  if (!(await hasTravelled(call))) return { kind: 'unknown' }
  if (call.fault === 'not_received') return { kind: 'unknown' }
  const answer = await work()
  return call.fault === 'not_answered' ? { kind: 'unknown' } : answer
}

/** Answers a question, which changes nothing: while the sandbox is away or silent it has no answer. */
async function asked<T>(call: SandboxCall, work: () => Promise<T>): Promise<T | NoAnswer> {
  if (call.fault === 'refused') return { kind: 'not_sent' }
  return (await hasTravelled(call)) ? work() : { kind: 'unknown' }
}

async function hasTravelled({ latencyMs, signal }: SandboxCall): Promise<boolean> {
  if (latencyMs > 0) await waitFor(latencyMs, undefined, { signal }).catch(() => {})
  return !signal.aborted
}

/** Returns the token that a card began with. A renewed card answers a new one, the old one with a number behind it; both charge it. */
const rootOf = (token: string): string => token.replace(/\.\d+$/, '')

const isRemoved = ({ removedAt, removedOn }: SandboxCard, today: IsoDate): boolean =>
  removedAt !== null || (removedOn !== null && removedOn <= today)

function shownCard(card: SandboxCard | undefined, today: IsoDate) {
  if (card === undefined || isRemoved(card, today)) return { kind: 'none' } as const
  const { year, month, renewals } = expiryOn(card, today)
  return {
    kind: 'stored',
    token: renewals === 0 ? card.token : `${card.token}.${renewals}`,
    fingerprint: card.fingerprint,
    brand: card.brand,
    lastFour: card.lastFour,
    expiryYear: year,
    expiryMonth: month,
  } as const
}

/** A charge as its book shows it at an instant. */
export type ChargeView =
  | { kind: 'none' }
  | { kind: 'unknown' }
  | { kind: 'pending' }
  | { kind: 'succeeded'; on: IsoDate; changes: ChargeChangeView[] }
  | { kind: 'declined'; on: IsoDate; code: string }
  | { kind: 'requires_action' }

export interface ChargeChangeView {
  kind: 'returned' | 'dispute_won' | 'refunded'
  on: IsoDate
  amountMinor: bigint
}

/** Returns a charge as it is shown, with what its refunds left for its return, or for the console. */
async function shown(call: SandboxCall, read: Queryable, charge: SandboxCharge | undefined): Promise<ChargeView> {
  if (!charge) return { kind: 'none' }
  const isChanged = [charge.returnedOn, charge.refundedOn].some((on) => on !== null && on <= call.today)
  return shownCharge(charge, isChanged ? await listRefunds(read, call, charge.reference) : [], call)
}

function shownCharge(
  charge: SandboxCharge,
  refunds: readonly SandboxRefund[],
  { now, today }: SandboxCall,
): ChargeView {
  if (charge.knownFrom !== null && now < charge.knownFrom) return { kind: 'unknown' }
  if (charge.settlesOn !== null && today < charge.settlesOn) return { kind: 'pending' }
  switch (charge.state) {
    case 'lost':
      return { kind: 'none' }
    case 'requires_action':
      return { kind: 'requires_action' }
    case 'cancelled':
      return { kind: 'declined', on: charge.chargedOn, code: 'cancelled' }
    case 'declined':
      return { kind: 'declined', on: charge.chargedOn, code: charge.code ?? 'card_declined' }
    case 'succeeded':
      return { kind: 'succeeded', on: charge.chargedOn, changes: changesOf(charge, refunds, today) }
  }
}

/** Rule: a return, or a refund of the console, takes no more than earlier refunds have left of the charge. */
function changesOf(
  { amountMinor: chargedMinor, returnedOn, returnedMinor, wonOn, refundedOn, refundedMinor }: SandboxCharge,
  refunds: readonly SandboxRefund[],
  today: IsoDate,
): ChargeChangeView[] {
  const taken = (on: IsoDate | null, wantedMinor: bigint | null): bigint => {
    if (on === null || on > today) return 0n
    const before = refunds.filter((refund) => refund.refundedOn < on)
    const leftMinor = chargedMinor - givenMinor(before, on)
    return wantedMinor !== null && wantedMinor < leftMinor ? wantedMinor : leftMinor
  }
  const change = (kind: ChargeChangeView['kind'], on: IsoDate | null, amountMinor: bigint): ChargeChangeView[] =>
    on === null || on > today || amountMinor === 0n ? [] : [{ kind, on, amountMinor }]
  const lostMinor = taken(returnedOn, returnedMinor)
  return [
    ...change('returned', returnedOn, lostMinor),
    ...change('dispute_won', wonOn, lostMinor),
    ...change('refunded', refundedOn, taken(refundedOn, refundedMinor)),
  ]
}

/** Returns how much refunds took by a day: not those that came back. */
const givenMinor = (refunds: readonly SandboxRefund[], today: IsoDate): bigint =>
  refunds
    .filter((refund) => shownRefund(refund, today).kind !== 'declined')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n)

export type RefundView =
  | { kind: 'none' }
  | { kind: 'succeeded'; on: IsoDate }
  | { kind: 'pending' }
  | { kind: 'declined'; on: IsoDate; code: string }

function shownRefund(refund: SandboxRefund, today: IsoDate): RefundView {
  const { state, refundedOn, settlesOn, failsOn, code } = refund
  if (state === 'declined') return { kind: 'declined', on: refundedOn, code: code ?? 'refund_refused' }
  if (failsOn !== null && failsOn <= today) return { kind: 'declined', on: failsOn, code: 'refund_failed' }
  if (settlesOn !== null && settlesOn > today) return { kind: 'pending' }
  return { kind: 'succeeded', on: settlesOn ?? refundedOn }
}

/**
 * Returns how much of a charge can still be given back: not what a refund took, unless it came back, nor what the console has refunded, nor what the
 * customer's bank has taken.
 */
function refundableMinor(charge: SandboxCharge, refunds: readonly SandboxRefund[], call: SandboxCall): bigint {
  const view = shownCharge(charge, refunds, call)
  if (view.kind !== 'succeeded') return 0n
  const taken = view.changes.reduce(
    (sum, { kind, amountMinor }) => (kind === 'dispute_won' ? sum - amountMinor : sum + amountMinor),
    0n,
  )
  return charge.amountMinor - taken - givenMinor(refunds, call.today)
}

/** Signs a report as the Standard Webhooks specification describes: identifier, instant in seconds, body. */
export function signReport(secret: Buffer, id: string, seconds: number, body: Buffer): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.`).update(body).digest('base64')}`
}

/** How far the instant of a report may lie from real time. */
const TOLERANCE_S = 300

/** Compares a report's signature in constant time; false also when its instant is not within five minutes. */
export function isSignedReport(
  secret: Buffer,
  { id, seconds, signature }: { id: string; seconds: number; signature: string },
  body: Buffer,
  nowSeconds: number,
): boolean {
  if (!Number.isSafeInteger(seconds) || Math.abs(nowSeconds - seconds) > TOLERANCE_S) return false
  const right = Buffer.from(signReport(secret, id, seconds, body))
  return signature.split(' ').some((one) => {
    const given = Buffer.from(one)
    return given.length === right.length && timingSafeEqual(given, right)
  })
}
