import { describe, expect, test } from 'vitest'
import type { BankReferences, EntryLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import {
  batchTokenOf,
  isAboutBatch,
  kindOfEntry,
  likenessOf,
  numbersIn,
  paymentIdOf,
  referenceOf,
  type SentBatch,
  type SentPayment,
  dayOfResult,
  decisionOn,
} from './rules.ts'

const NO_REFERENCES: BankReferences = {
  endToEnd: null,
  instruction: null,
  paymentInformation: null,
  message: null,
  mandate: null,
}
const eur = (amountMinor: bigint) => ({ amountMinor, currency: 'EUR' })

const entry = (more: Partial<EntryLine> = {}): EntryLine => ({
  kind: 'entry',
  account: 'DE89370400440532013000',
  on: '2027-01-29',
  amount: eur(11_500n),
  original: null,
  isCredit: false,
  isContrary: false,
  isReversal: false,
  hasReturnInformation: false,
  family: null,
  subFamily: null,
  code: null,
  references: NO_REFERENCES,
  bankReference: null,
  name: null,
  text: null,
  ...more,
})
const status = (more: Partial<StatusLine> = {}): StatusLine => ({
  kind: 'status',
  scope: 'payment',
  status: 'RJCT',
  code: 'AC04',
  on: '2027-01-20',
  original: null,
  references: NO_REFERENCES,
  name: null,
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
  failedOn: null,
}
const batch: SentBatch = {
  id: 2n,
  gatewayId: 1n,
  token: TOKEN,
  currency: 'EUR',
  actionDate: '2027-01-25',
  openMinor: 34_500n,
}
const none = { payment: undefined, batch: undefined, isOfOtherGateway: false }
const ofPayment = (more: Partial<SentPayment> = {}) => ({ ...none, payment: { ...payment, ...more } })
const ofBatch = { ...none, batch }

describe('what an entry is by its bank’s codes', () => {
  test.each<[string, Partial<EntryLine>, string]>([
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
    ['a detail against its entry', { isContrary: true, hasReturnInformation: true }, 'other'],
  ])('%s', (_name, more, kind) => {
    expect(kindOfEntry(entry(more))).toBe(kind)
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
    expect(isAboutBatch(3n, entry({ references }))).toBe(true)
    expect(isAboutBatch(3n, entry({ references: { ...references, endToEnd: 'P3-7' } }))).toBe(false)
    expect(isAboutBatch(3n, entry())).toBe(false)
    expect(isAboutBatch(3n, status({ scope: 'message' }))).toBe(true)
    expect(isAboutBatch(3n, status())).toBe(false)
  })
})

describe('a status', () => {
  test.each(['ACTC', 'ACCP', 'ACSP', 'PART', 'PDNG'])('%s changes nothing', (word) => {
    expect(decisionOn(status({ status: word }), ofPayment())).toEqual({ kind: 'passed', isMatched: true })
    expect(decisionOn(status({ status: word, scope: 'message' }), ofBatch)).toEqual({
      kind: 'passed',
      isMatched: false,
    })
  })

  test('of rejection fails its payment where an amount given is its amount', () => {
    const failed = { kind: 'result', payment, isSuccess: false, beyondMinor: 0n }
    expect(decisionOn(status(), ofPayment())).toEqual(failed)
    expect(decisionOn(status({ original: eur(11_500n) }), ofPayment())).toEqual(failed)
    for (const original of [eur(11_501n), { amountMinor: 11_500n, currency: 'SEK' }])
      expect(decisionOn(status({ original }), ofPayment())).toEqual({ kind: 'listed', as: 'return', proposed: 7n })
    expect(decisionOn(status(), none)).toEqual({ kind: 'listed', as: 'return', proposed: null })
  })

  test.each(['payments', 'message'] as const)('of rejection of %s fails the batch', (scope) => {
    expect(decisionOn(status({ scope }), ofBatch)).toEqual({ kind: 'results', batch, isSuccess: false })
    expect(decisionOn(status({ scope }), none)).toEqual({ kind: 'listed', as: 'other', proposed: null })
  })
})

describe('an entry that names a payment', () => {
  const returned = { hasReturnInformation: true }
  const result = (isSuccess: boolean, beyondMinor = 0n) => ({ kind: 'result', payment, isSuccess, beyondMinor })
  const listed = (as: string) => ({ kind: 'listed', as, proposed: 7n })

  test.each<[string, Partial<EntryLine>, object]>([
    ['settles it as a credit', { isCredit: true }, result(true)],
    ['settles it as a direct debit', { isCredit: true, family: 'IDDT', subFamily: 'ESDD' }, result(true)],
    ['returns it', returned, result(false)],
    ['returns it where the bank gives no code', {}, result(false)],
    ['returns it less the fee', { ...returned, amount: eur(11_800n), original: eur(11_500n) }, result(false, 300n)],
    ['settles it less the fee', { isCredit: true, amount: eur(11_470n), original: eur(11_500n) }, result(true, 30n)],
    ['waits with a fee that is not shown', { ...returned, amount: eur(11_800n) }, listed('return')],
    ['waits with another amount', { ...returned, original: eur(11_400n) }, listed('return')],
    ['waits in another currency', { ...returned, amount: { amountMinor: 11_500n, currency: 'SEK' } }, listed('return')],
    ['waits without an amount', { ...returned, amount: null }, listed('return')],
    ['waits before the day of the debit', { ...returned, on: '2027-01-24' }, listed('return')],
    ['counts on that day', { ...returned, on: '2027-01-25' }, result(false)],
    ['is no transfer that we sent', { family: 'ICDT' }, listed('other')],
    ['is no transfer that came in', { isCredit: true, family: 'RCDT' }, listed('credit')],
    ['is no return of a return', { isCredit: true, isReversal: true }, listed('other')],
    ['is none against its entry', { isContrary: true, ...returned }, listed('other')],
  ])('%s', (_name, more, verdict) => {
    expect(decisionOn(entry(more), ofPayment())).toEqual(verdict)
  })

  test('and settles one that has failed is old news, or comes for a person when it is later', () => {
    const settled = (on: string) => decisionOn(entry({ isCredit: true, on }), ofPayment({ failedOn: '2027-01-28' }))
    expect(settled('2027-01-28')).toEqual({ kind: 'passed', isMatched: true })
    expect(settled('2027-01-29')).toEqual({ kind: 'listed', as: 'credit', proposed: 7n })
  })
})

describe('a booking of a whole collection', () => {
  const references = { ...NO_REFERENCES, paymentInformation: TOKEN }
  const booking = (more: Partial<EntryLine> = {}) =>
    decisionOn(entry({ isCredit: true, family: 'IDDT', amount: eur(34_500n), references, ...more }), ofBatch)

  test('settles it where its amount is that of the lines not yet failed', () => {
    expect(booking()).toEqual({ kind: 'results', batch, isSuccess: true })
  })

  test.each<[string, Partial<EntryLine>]>([
    ['less', { amount: eur(34_499n) }],
    ['another currency', { amount: { amountMinor: 34_500n, currency: 'SEK' } }],
    ['before its day', { on: '2027-01-24' }],
    ['a debit', { isCredit: false }],
    ['a reversal', { isReversal: true }],
    ['a transfer', { family: 'RCDT' }],
    ['one with a reference of somebody else', { references: { ...references, endToEnd: 'X' } }],
  ])('%s does not', (_name, more) => {
    expect(booking(more)).toMatchObject({ kind: 'listed', proposed: null })
  })
})

test('numbers of invoices are read from a text, once each, without what is no number of one', () => {
  expect(numbersIn('Invoice 7, INV-0012; 7. 1000000000000000 and 34.5')).toEqual([7n, 12n, 34n, 5n])
  expect(numbersIn(null)).toEqual([])
  expect(numbersIn(Array.from({ length: 100 }, (_, n) => n + 1).join(' '))).toHaveLength(20)
})

test('a line is recognised by its reference: a credit by its text, a return by the payment', () => {
  const references = { ...NO_REFERENCES, endToEnd: 'E' }
  expect(referenceOf(entry({ references, text: 'Invoice 7' }), 'credit')).toBe('Invoice 7')
  expect(referenceOf(entry({ references, text: 'Invoice 7' }), 'return')).toBe('E')
  expect(referenceOf(entry({ bankReference: 'REF#1' }), 'other')).toBe('REF#1')
  expect(referenceOf(status(), 'return')).toBeNull()
})

test('two lines are alike in account, day, direction, amount, reference and name, whatever else differs', () => {
  const one = entry({ isCredit: true, name: 'Ada', text: 'Invoice 7' })
  const likeness = (more: Partial<EntryLine>) => likenessOf({ ...one, ...more }, 'credit')
  expect(likeness({ bankReference: 'X', family: 'RCDT' })).toBe(likeness({}))
  const others: Partial<EntryLine>[] = [
    { account: null },
    { on: '2027-01-30' },
    { isCredit: false },
    { amount: eur(1n) },
    { amount: { amountMinor: 11_500n, currency: 'SEK' } },
    { text: 'Invoice 8' },
    { name: 'Bob' },
  ]
  expect(new Set(others.map(likeness)).add(likeness({})).size).toBe(others.length + 1)
})

test.each([
  ['2027-01-29', '2027-02-01', '2027-01-29', 'its own'],
  ['2027-02-01', '2027-02-01', '2027-02-01', 'today'],
  ['2099-01-01', '2027-02-01', '2027-02-01', 'none that is still to come'],
  ['2027-01-29', '2027-01-20', '2027-01-25', 'the day of the debit, where that is still to come'],
  ['2027-01-21', '2027-01-22', '2027-01-21', 'a rejection before the debit'],
])('a line of %s that is read on %s is of %s: %s', (on, today, expected) => {
  expect(dayOfResult(on, { actionDate: '2027-01-25', today })).toBe(expected)
})
