import { describe, expect, test } from 'vitest'
import type { BankEntry, BankReferences, OverLine, PartLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import type { SentPayment } from './bookings.ts'
import {
  batchTokenOf,
  bookingKeyOf,
  entryKeyOf,
  isAboutBatch,
  likenessOf,
  numbersIn,
  paymentIdOf,
  referenceOf,
} from './references.ts'
import {
  dayOfResult,
  decisionOnPart,
  decisionOnStatus,
  ENTRY_BEGUN,
  kindOf,
  overOf,
  progressBehind,
  type SentBatch,
} from './rules.ts'

const NO_REFERENCES: BankReferences = {
  endToEnd: null,
  instruction: null,
  paymentInformation: null,
  message: null,
  mandate: null,
}
const eur = (amountMinor: bigint) => ({ amountMinor, currency: 'EUR' })

const entry = (more: Partial<BankEntry> = {}): BankEntry => ({
  account: 'DE89370400440532013000',
  on: '2027-01-29',
  amount: eur(11_500n),
  isCredit: false,
  isUnreadable: false,
  bankReference: null,
  details: 1,
  isWhole: false,
  knownMinor: 11_500n,
  unknownParts: 0,
  ...more,
})
type PartWish = Partial<PartLine> & { on?: string }
const part = ({ on, ...more }: PartWish = {}): PartLine => ({
  kind: 'part',
  entry: entry({ isCredit: more.isCredit ?? false, ...(on && { on }) }),
  index: 1,
  amount: eur(11_500n),
  original: null,
  isCredit: false,
  isContrary: false,
  isUnreadable: false,
  isReversal: false,
  hasReturnInformation: false,
  family: null,
  subFamily: null,
  code: null,
  references: NO_REFERENCES,
  written: null,
  bankReference: null,
  name: null,
  text: null,
  ...more,
})
const status = (more: Partial<StatusLine> = {}): StatusLine => ({
  kind: 'status',
  scope: 'payment',
  status: 'RJCT',
  isInherited: false,
  code: 'AC04',
  on: '2027-01-20',
  original: null,
  references: NO_REFERENCES,
  name: null,
  apart: [],
  ...more,
})
const TOKEN = '0a1b2c3d-0000-4000-8000-00000000000f'
const payment: SentPayment = {
  id: 7n,
  customerId: 5n,
  gatewayId: 1n,
  batchToken: TOKEN,
  amountMinor: 11_500n,
  currency: 'EUR',
  actionDate: '2027-01-25',
  result: null,
  failedOn: null,
  failedBy: null,
  credit: null,
  return: null,
}
const waits = { amountMinor: 11_500n, failedOn: null, credit: null }
const batch: SentBatch = {
  id: 2n,
  gatewayId: 1n,
  token: TOKEN,
  currency: 'EUR',
  actionDate: '2027-01-25',
  payments: [waits, waits, waits],
}
const none = { payment: undefined, batch: undefined, otherPayment: undefined, isOtherBatch: false }
const ofPayment = (more: Partial<SentPayment> = {}) => ({ ...none, payment: { ...payment, ...more } })
const ofBatch = { ...none, batch }
const FILE = 9n

describe('what an entry is by its bank’s codes', () => {
  test.each<[string, PartWish, string]>([
    ['a debit that returns', { hasReturnInformation: true }, 'return'],
    ['a debit that reverses', { isReversal: true }, 'return'],
    ['a debit of the direct debits that we issue', { family: 'IDDT', subFamily: 'UPDD' }, 'return'],
    ['an unpaid one under the other family', { family: 'RDDT', subFamily: 'UPDD' }, 'return'],
    ['a direct debit that somebody collected from us', { family: 'RDDT', subFamily: 'ESDD' }, 'other'],
    ['a transfer that we sent', { family: 'ICDT' }, 'other'],
    ['a debit without a code', {}, 'other'],
    ['a transfer that came in', { isCredit: true, family: 'RCDT' }, 'credit'],
    ['a credit without a code', { isCredit: true }, 'credit'],
    ['a collection that was booked', { isCredit: true, family: 'IDDT' }, 'other'],
    ['a transfer of ours that came back', { isCredit: true, hasReturnInformation: true }, 'other'],
    ['a debit that was taken back', { isCredit: true, isReversal: true }, 'other'],
    ['a detail against its entry, by its own direction', { isContrary: true, hasReturnInformation: true }, 'return'],
    ['one without a direction', { isCredit: null }, 'other'],
  ])('%s', (_name, more, kind) => {
    expect(kindOf(part(more), false)).toBe(kind)
  })

  test('without a family, a debit that names a payment of ours returns it', () => {
    expect(kindOf(part(), true)).toBe('return')
    expect(kindOf(part({ family: 'ICDT' }), true)).toBe('other')
  })
})

describe('our references', () => {
  const named = (more: Partial<BankReferences>) => paymentIdOf(3n, { ...NO_REFERENCES, ...more })

  test('name a payment of this account by end-to-end identifier, or else by instruction', () => {
    expect(named({ endToEnd: 'P3-7' })).toBe(7n)
    expect(named({ endToEnd: 'X', instruction: 'P3-7' })).toBe(7n)
    for (const endToEnd of ['P4-7', 'P3-07', 'p3-7', 'P3-7 ', 'P3-', 'P3-1e3', `P3-${'9'.repeat(19)}`, null])
      expect(named({ endToEnd })).toBeNull()
  })

  test('name a batch by its block or message, with and without hyphens and number', () => {
    const plain = TOKEN.replaceAll('-', '')
    for (const paymentInformation of [TOKEN, plain, plain.toUpperCase(), `${plain}-1`])
      expect(batchTokenOf({ ...NO_REFERENCES, paymentInformation })).toBe(TOKEN)
    expect(batchTokenOf({ ...NO_REFERENCES, paymentInformation: 'PMT', message: plain })).toBe(TOKEN)
    expect(batchTokenOf({ ...NO_REFERENCES, message: `${plain}0` })).toBeNull()
  })

  test('a line about a batch names no payment', () => {
    const references = { ...NO_REFERENCES, paymentInformation: TOKEN }
    expect(isAboutBatch(3n, part({ isCredit: true, references }))).toBe(true)
    expect(isAboutBatch(3n, part({ references }))).toBe(false)
    expect(isAboutBatch(3n, part({ isCredit: true, references: { ...references, endToEnd: 'P3-7' } }))).toBe(false)
    expect(isAboutBatch(3n, part({ isCredit: true }))).toBe(false)
    expect(isAboutBatch(3n, status({ scope: 'message' }))).toBe(true)
    expect(isAboutBatch(3n, status())).toBe(false)
  })
})

describe('a status', () => {
  const listed = (as: string, code: string | null, named: SentPayment | null = payment) => ({
    kind: 'listed',
    as,
    code,
    named,
  })

  test.each(['ACTC', 'ACCP', 'ACSP', 'PART', 'PDNG'])('%s changes nothing', (word) => {
    expect(decisionOnStatus(status({ status: word }), ofPayment())).toEqual({ kind: 'passed', isMatched: true })
    expect(decisionOnStatus(status({ status: word, scope: 'message' }), ofBatch)).toEqual({
      kind: 'passed',
      isMatched: false,
    })
  })

  test.each([
    ['RJCT', 'rejected'],
    ['CANC', 'cancelled'],
  ])('%s ends its payment if an amount given is its amount', (word, ending) => {
    const ended = { kind: 'ended', payment, ending }
    const decided = (more: Partial<StatusLine>, named = ofPayment() as any) =>
      decisionOnStatus(status({ status: word, ...more }), named)
    expect(decided({})).toEqual(ended)
    expect(decided({ original: eur(11_500n) })).toEqual(ended)
    for (const original of [eur(11_501n), { amountMinor: 11_500n, currency: 'SEK' }])
      expect(decided({ original })).toEqual(listed('return', 'AC04'))
    expect(decided({}, none)).toEqual(listed('return', 'AC04', null))
    expect(decided({}, { ...none, otherPayment: payment })).toEqual(listed('return', 'AC04'))
    expect(decided({}, ofPayment({ failedOn: '2027-01-20' }))).toEqual({ kind: 'passed', isMatched: true })
    for (const scope of ['payments', 'message'] as const) {
      expect(decided({ scope }, ofBatch)).toEqual({ kind: 'batch_ended', batch, ending })
      expect(decided({ scope }, none)).toEqual(listed('other', 'AC04', null))
    }
  })

  test('by which the bank keeps the money, or that nobody knows, is listed with its word', () => {
    expect(decisionOnStatus(status({ status: 'BLCK' }), ofPayment())).toEqual(listed('return', 'BLCK'))
    expect(decisionOnStatus(status({ status: 'BLCK', scope: 'payments' }), ofBatch)).toEqual(
      listed('return', 'BLCK', null),
    )
    expect(decisionOnStatus(status({ status: 'WAIT' }), ofPayment())).toEqual(listed('other', 'WAIT'))
    expect(decisionOnStatus(status({ status: 'acsc' }), ofPayment())).toEqual(listed('other', 'acsc'))
  })

  test('that a payment lacks in a block that was accepted in part leaves its reason to a person', () => {
    expect(decisionOnStatus(status({ status: 'PART', isInherited: true }), ofPayment())).toEqual(
      listed('return', 'AC04'),
    )
  })
})

describe('a part that names a payment', () => {
  const returned = { hasReturnInformation: true }
  const booked = (isCredit: boolean, over: { minor: bigint; isCredit: boolean } | null = null) => ({
    kind: 'booking',
    payment,
    isCredit,
    hasChanged: true,
    difference: over && { amount: eur(over.minor), isCredit: over.isCredit, code: 'CHRG' },
  })
  const listed = (as: string) => ({ kind: 'listed', as, code: null, named: payment })

  test.each<[string, PartWish, object]>([
    ['settles it as a credit', { isCredit: true }, booked(true)],
    ['settles it as a direct debit', { isCredit: true, family: 'IDDT', subFamily: 'ESDD' }, booked(true)],
    ['returns it', returned, booked(false)],
    ['returns it where the bank gives no code', {}, booked(false)],
    [
      'returns it less the fee, which is a debit',
      { ...returned, amount: eur(11_800n), original: eur(11_500n) },
      booked(false, { minor: 300n, isCredit: false }),
    ],
    [
      'returns it, and the bank takes less',
      { ...returned, amount: eur(11_400n), original: eur(11_500n) },
      booked(false, { minor: 100n, isCredit: true }),
    ],
    [
      'settles it less the fee, which is a debit',
      { isCredit: true, amount: eur(11_470n), original: eur(11_500n) },
      booked(true, { minor: 30n, isCredit: false }),
    ],
    [
      'is not compared between two currencies',
      { ...returned, amount: { amountMinor: 130_000n, currency: 'SEK' }, original: eur(11_500n) },
      booked(false),
    ],
    ['is applied without an amount', { ...returned, amount: null }, booked(false)],
    ['waits with a fee that is not shown', { ...returned, amount: eur(11_800n) }, listed('return')],
    ['waits with another amount', { ...returned, original: eur(11_400n) }, listed('return')],
    ['waits in another currency', { ...returned, amount: { amountMinor: 11_500n, currency: 'SEK' } }, listed('return')],
    ['waits before the day of the debit', { ...returned, on: '2027-01-24' }, listed('return')],
    ['counts on that day', { ...returned, on: '2027-01-25' }, booked(false)],
    ['is no transfer that we sent', { family: 'ICDT' }, listed('other')],
    ['is no transfer that came in', { isCredit: true, family: 'RCDT' }, listed('credit')],
    ['is no return of a return', { isCredit: true, isReversal: true }, listed('other')],
    ['is none against its entry', { isContrary: true, ...returned }, listed('return')],
  ])('%s', (_name, more, verdict) => {
    expect(decisionOnPart(part(more), ofPayment(), FILE)).toEqual(verdict)
  })

  test('of another gateway is a return or other, never a credit', () => {
    const decided = (more: PartWish) => decisionOnPart(part(more), { ...none, otherPayment: payment }, FILE)
    expect(decided(returned)).toEqual(listed('return'))
    expect(decided({ isCredit: true })).toEqual(listed('other'))
    expect(decisionOnPart(part({ isCredit: true }), { ...none, isOtherBatch: true }, FILE)).toMatchObject({
      as: 'other',
    })
  })

  test('that cannot be read is listed and names it', () => {
    const unreadable = { isUnreadable: true, amount: null }
    expect(decisionOnPart(part(unreadable), ofPayment(), FILE)).toEqual({ ...listed('other'), code: 'unreadable' })
  })
})

describe('a booking of a whole collection', () => {
  const references = { ...NO_REFERENCES, paymentInformation: TOKEN }
  const booking = (more: PartWish = {}) =>
    decisionOnPart(part({ isCredit: true, family: 'IDDT', amount: eur(34_500n), references, ...more }), ofBatch, FILE)

  test('settles it if its amount is that of the lines not yet failed', () => {
    expect(booking()).toEqual({ kind: 'collected', batch })
  })

  test.each<[string, PartWish]>([
    ['less', { amount: eur(34_499n) }],
    ['another currency', { amount: { amountMinor: 34_500n, currency: 'SEK' } }],
    ['before its day', { on: '2027-01-24' }],
    ['a debit', { isCredit: false }],
    ['a reversal', { isReversal: true }],
    ['a transfer', { family: 'RCDT' }],
    ['one with a reference of somebody else', { references: { ...references, endToEnd: 'X' } }],
    ['one without an amount', { amount: null }],
  ])('%s does not, and is no credit', (_name, more) => {
    const decision = booking(more)
    expect(decision).toMatchObject({ kind: 'listed', named: null })
    expect(decision).not.toMatchObject({ as: 'credit' })
  })
})

describe('what is over an entry', () => {
  const over = (more: Partial<BankEntry>): OverLine => ({ kind: 'over', entry: entry(more), bankReference: null })

  test.each<[string, Partial<BankEntry>, object | null]>([
    [
      'a debit larger than its parts is a charge',
      { amount: eur(11_800n) },
      { amount: eur(300n), isCredit: false, code: 'CHRG' },
    ],
    [
      'a debit smaller is a difference',
      { amount: eur(11_400n) },
      { amount: eur(100n), isCredit: true, code: 'difference' },
    ],
    [
      'a credit smaller is a charge',
      { amount: eur(11_400n), isCredit: true },
      { amount: eur(100n), isCredit: false, code: 'CHRG' },
    ],
    [
      'a credit larger is a difference',
      { amount: eur(11_800n), isCredit: true },
      { amount: eur(300n), isCredit: true, code: 'difference' },
    ],
    ['nothing', {}, null],
  ])('%s', (_name, more, remainder) => {
    expect(overOf(over(more), ENTRY_BEGUN)).toEqual(remainder)
  })

  test('counts a part without an amount as what it was applied with, and is nothing where one was not applied', () => {
    const unknown = over({ amount: eur(23_000n), knownMinor: 10_000n, unknownParts: 1 })
    const decision = decisionOnPart(part({ amount: null, hasReturnInformation: true }), ofPayment(), FILE)
    const applied = progressBehind(ENTRY_BEGUN, part({ amount: null }), decision)
    expect(overOf(unknown, applied)).toEqual({ amount: eur(1_500n), isCredit: false, code: 'CHRG' })
    const listed = progressBehind(
      ENTRY_BEGUN,
      part({ amount: null }),
      decisionOnPart(part({ amount: null }), none, FILE),
    )
    expect(overOf(unknown, listed)).toBeNull()
  })

  test('is known while all parts are known or there again', () => {
    const again = { kind: 'again', payment } as const
    const both = progressBehind(progressBehind(ENTRY_BEGUN, part(), { kind: 'known' }), part(), again)
    expect(both.isKnown).toBe(true)
    expect(progressBehind(both, part(), { kind: 'passed', isMatched: true }).isKnown).toBe(false)
  })
})

test('numbers of invoices are read from a text, once each, without what is no number of one', () => {
  expect(numbersIn('Invoice 7, INV-0012; 7. 1000000000000000 and 34.5')).toEqual([7n, 12n, 34n, 5n])
  expect(numbersIn(null)).toEqual([])
  expect(numbersIn(Array.from({ length: 100 }, (_, n) => n + 1).join(' '))).toHaveLength(20)
})

test('a line is recognised by its reference: a credit by its text, a return by the payment', () => {
  const references = { ...NO_REFERENCES, endToEnd: 'E' }
  expect(referenceOf(part({ references, text: 'Invoice 7' }), 'credit')).toBe('Invoice 7')
  expect(referenceOf(part({ references, text: 'Invoice 7' }), 'return')).toBe('E')
  expect(referenceOf(part({ bankReference: 'REF#1' }), 'other')).toBe('REF#1')
  expect(referenceOf(status(), 'return')).toBeNull()
})

test('two lines are alike in account, day, direction, amount, reference and name, whatever else differs', () => {
  const one = part({ isCredit: true, name: 'Ada', text: 'Invoice 7' })
  const likeness = (more: Partial<PartLine>) => likenessOf({ ...one, ...more }, 'credit', null).own
  expect(likeness({ bankReference: 'X', family: 'RCDT' })).toBe(likeness({}))
  const others: Partial<PartLine>[] = [
    { entry: entry({ account: null }) },
    { entry: entry({ on: '2027-01-30' }) },
    { isCredit: false },
    { amount: eur(1n) },
    { amount: { amountMinor: 11_500n, currency: 'SEK' } },
    { text: 'Invoice 8' },
    { name: 'Bob' },
  ]
  expect(new Set(others.map(likeness)).add(likeness({})).size).toBe(others.length + 1)
})

test('by its bank’s reference a line is like one of another day, and none without a reference is', () => {
  const byReference = (more: PartWish) => likenessOf(part(more), 'credit', null).byReference
  expect(byReference({ bankReference: 'R' })).toBe(byReference({ bankReference: 'R', on: '2027-02-02' }))
  expect(byReference({ bankReference: 'R' })).not.toBe(byReference({ bankReference: 'R', isCredit: true }))
  expect(byReference({})).toBeNull()
  // A line of a bank's reference alone was compared by that as by a text before.
  expect(likenessOf(part({ bankReference: 'R' }), 'other', null).ofBefore).toContain('"R"')
  expect(likenessOf(part({ bankReference: 'R', text: 'T' }), 'other', null).ofBefore).toBeNull()
})

test('a booking is its reference, direction, amount, currency and day in its account, or with its gateway', () => {
  const key = (more: PartWish, named: string | null = null, gatewayId = 1n) =>
    bookingKeyOf(part({ bankReference: 'R', ...more }), { gatewayId, remainder: null, named })
  const keys = [
    key({}),
    key({ bankReference: 'S' }),
    key({ isCredit: true }),
    key({ amount: eur(1n) }),
    key({ amount: { amountMinor: 11_500n, currency: 'SEK' } }),
    key({ on: '2027-01-30' }),
    key({}, 'payment 7'),
    key({ entry: entry({ account: null }) }),
    key({ entry: entry({ account: null }) }, null, 2n),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(key({}, null, 2n)).toBe(key({}))
  expect(key({ entry: entry({ account: 'de89 3704 0044 0532 0130 00' }) })).toBe(key({}))
  expect(key({ bankReference: null })).toBeNull()
})

test('a sum and its parts have the entry in common, which needs a reference of its own', () => {
  const whole = entry({ bankReference: 'REF', isWhole: true, details: 0 })
  const ofParts = entry({ bankReference: 'REF', details: 2 })
  expect(entryKeyOf(part({ entry: whole }), 1n)).toBe(entryKeyOf(part({ entry: ofParts, amount: eur(1n) }), 1n))
  for (const more of [{ bankReference: null }, { amount: null }, { on: null }, { isUnreadable: true }])
    expect(entryKeyOf(part({ entry: { ...whole, ...more } }), 1n)).toBeNull()
})

test.each<[string | null, string, string, string]>([
  ['2027-01-29', '2027-02-01', '2027-01-29', 'its own'],
  ['2027-02-01', '2027-02-01', '2027-02-01', 'today'],
  ['2099-01-01', '2027-02-01', '2027-02-01', 'none that is still to come'],
  ['2027-01-29', '2027-01-20', '2027-01-25', 'the day of the debit, where that is still to come'],
  ['2027-01-21', '2027-01-22', '2027-01-21', 'a rejection before the debit'],
  [null, '2027-02-01', '2027-02-01', 'today, where the file names none'],
])('a line of %s that is read on %s is of %s: %s', (on, today, expected) => {
  expect(dayOfResult(on, { actionDate: '2027-01-25', today })).toBe(expected)
})
