import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addDays } from '../../kernel/calendar.ts'
import { CardNumber } from '../../kernel/card-number.ts'
import { askedCharge, askedRefund, askedStoring, callOf, chargeToMake } from './calls.testing.ts'
import type { ChargeToMake, ChargingCall } from './contract.ts'
import { sandboxAdapter, sandboxReport } from './sandbox.ts'

const service = await startTestService()
const keyedHash = (text: string) => createHmac('sha256', 'key of this test').update(text).digest()
const sandbox = sandboxAdapter(service.db, keyedHash)
const TODAY = '2027-01-31'
let gateways = 0n

async function newCall(settings = {}): Promise<ChargingCall> {
  const { id: accountId } = await service.newAccount()
  gateways += 1n
  return callOf({ accountId, gatewayId: gateways, settings, now: `${TODAY}T08:00:00.000Z`, today: TODAY })
}

const at = (call: ChargingCall, days: number, seconds = 0): ChargingCall => {
  const today = addDays(TODAY, days)
  return { ...call, today, now: new Date(Date.parse(`${today}T08:00:00.000Z`) + seconds * 1000).toISOString() }
}

const EXPIRY = { expiryMonth: 12, expiryYear: 2028, nameOnCard: 'Ann', lastNameOnCard: 'Lee' }
const store = (call: ChargingCall, number: string, reference = 'store-1', expiry = EXPIRY) =>
  sandbox.storeCard!(call, { reference, number: new CardNumber(number), cardType: 'Visa', ...expiry })

async function tokenOf(call: ChargingCall, number: string): Promise<string> {
  const stored = await store(call, number)
  if (stored.kind !== 'stored') throw new Error(`stored, not ${stored.kind}`)
  return stored.token
}

const chargeOf = (token: string, amountMinor = 1000n, rest: Partial<ChargeToMake> = {}): ChargeToMake =>
  chargeToMake('1', token, { amountMinor, currency: 'ZAR', ...rest })

test('a card is stored once under its reference, found by it and by its token, and gone once removed', async () => {
  const call = await newCall()
  const stored = await store(call, '4111111111111111')
  expect(stored).toEqual({
    kind: 'stored',
    token: expect.stringMatching(/^card_[0-9a-f]{32}$/),
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    cardType: 'Visa',
    lastFour: '1111',
    expiryMonth: 12,
    expiryYear: 2028,
  })
  if (stored.kind !== 'stored') return
  expect(await store(call, '4111111111111111')).toEqual(stored)
  expect(await sandbox.findStored!(call, askedStoring('store-1'))).toEqual(stored)
  expect(await sandbox.askStored!(call, stored.token)).toEqual(stored)
  const again = await store(call, '4111111111111111', 'store-2')
  expect(again).toMatchObject({ fingerprint: stored.fingerprint })
  expect(again).not.toMatchObject({ token: stored.token })
  expect(await sandbox.removeStored!(call, stored.token)).toEqual({ kind: 'removed' })
  expect(await sandbox.removeStored!(call, stored.token)).toEqual({ kind: 'removed' })
  expect(await sandbox.askStored!(call, stored.token)).toEqual({ kind: 'none' })
  expect(await sandbox.charge!(call, chargeOf(stored.token))).toMatchObject({ kind: 'declined', code: 'no_such_card' })
  expect(await sandbox.findStored!(call, askedStoring('store-3'))).toEqual({ kind: 'none' })
})

test('each number is treated as its row says', async () => {
  const call = await newCall()
  expect(await store(call, '4000000000000002', 'refused')).toMatchObject({
    kind: 'declined',
    class: 'declined',
    on: TODAY,
  })
  expect(await sandbox.findStored!(call, askedStoring('refused'))).toEqual({ kind: 'none' })
  const rows = [
    ['4000000000000341', 'declined', 'declined'],
    ['4000000000009995', 'declined', 'insufficient_funds'],
    ['4000000000000069', 'declined', 'method_expired'],
    ['4242424242424242', 'succeeded', undefined],
    ['4000000000000259', 'succeeded', undefined],
  ] as const
  for (const [number, kind, declineClass] of rows) {
    const one = await newCall()
    const outcome = await sandbox.charge!(one, chargeOf(await tokenOf(one, number)))
    expect(outcome).toMatchObject({ kind, on: TODAY, ...(declineClass && { class: declineClass }) })
    expect(await sandbox.askCharge!(one, askedCharge('1'))).toMatchObject({ outcome, changes: [] })
  }
})

test('a charge is made once under its reference, whatever is asked the second time', async () => {
  const call = await newCall()
  const token = await tokenOf(call, '4242424242424242')
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => sandbox.charge!(call, chargeOf(token))))
  expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
  expect(await sandbox.charge!(call, chargeOf(token, 99n))).toEqual(outcomes[0])
  const book = await service.db.reader(call.accountId).rows<{ n: bigint }>({
    text: 'select count(*) as n, sum(amount_minor)::bigint as sum from sandbox_charges where account_id = $1',
    name: 'book',
    values: [call.accountId],
  })
  expect(book).toEqual([{ n: 1n, sum: 1000n }])
})

test('returned after ten days, won twenty days after that, or returned by half', async () => {
  const expected = {
    '4000000000000259': [['returned', 10, 1001n]],
    '4000000000001976': [
      ['returned', 10, 1001n],
      ['dispute_won', 30, 1001n],
    ],
    '4000000000002685': [['returned', 10, 500n]],
  } as const
  for (const [number, changes] of Object.entries(expected)) {
    const call = await newCall()
    await sandbox.charge!(call, chargeOf(await tokenOf(call, number), 1001n))
    for (const day of [0, 9, 10, 29, 30, 60]) {
      const state = await sandbox.askCharge!(at(call, day), askedCharge('1'))
      const due = changes.filter(([, after]) => after <= day)
      expect(state).toMatchObject({
        outcome: { kind: 'succeeded', on: TODAY },
        changes: due.map(([kind, after, amountMinor]) => ({
          kind,
          amountMinor,
          on: addDays(TODAY, after),
          class: 'refunded_late',
        })),
      })
    }
  }
})

test('of one card the last two digits of the amount decide, and of no other', async () => {
  const rows = [
    [1005n, { kind: 'declined', class: 'declined' }],
    [1051n, { kind: 'declined', class: 'insufficient_funds' }],
    [1054n, { kind: 'declined', class: 'method_expired' }],
    [1068n, { kind: 'succeeded' }],
    [1091n, { kind: 'unknown' }],
    [1092n, { kind: 'unknown' }],
    [1000n, { kind: 'succeeded' }],
  ] as const
  for (const [amountMinor, outcome] of rows) {
    const call = await newCall()
    expect(await sandbox.charge!(call, chargeOf(await tokenOf(call, '4000000000000077'), amountMinor))).toMatchObject(
      outcome,
    )
  }
  const other = await newCall()
  const token = await tokenOf(other, '4242424242424242')
  expect(await sandbox.charge!(other, chargeOf(token, 1005n))).toMatchObject({ kind: 'succeeded' })
})

test('the truth of an unanswered call is known one minute later: charged, or never arrived', async () => {
  for (const [amountMinor, outcome] of [
    [1091n, { kind: 'succeeded', on: TODAY }],
    [1092n, { kind: 'none' }],
  ] as const) {
    const call = await newCall()
    const charge = chargeOf(await tokenOf(call, '4000000000000077'), amountMinor)
    await sandbox.charge!(call, charge)
    expect(await sandbox.askCharge!(at(call, 0, 59), askedCharge('1'))).toEqual({ kind: 'unknown' })
    expect(await sandbox.charge!(at(call, 0, 59), charge)).toEqual({ kind: 'unknown' })
    expect(await sandbox.askCharge!(at(call, 0, 60), askedCharge('1'))).toMatchObject({ outcome, changes: [] })
  }
})

test('a card that wants its customer is charged with him present at the second time, and ended when he gives up', async () => {
  const call = await newCall()
  const token = await tokenOf(call, '4000002500003155')
  const present = (reference: string) => chargeOf(token, 1000n, { reference, isCustomerPresent: true })
  expect(await sandbox.charge!(call, chargeOf(token))).toMatchObject({ kind: 'requires_action' })
  expect(await sandbox.charge!(call, present('2'))).toMatchObject({ kind: 'requires_action', url: './bank' })
  expect(await sandbox.cancelCharge!(call, askedCharge('2'))).toMatchObject({
    kind: 'declined',
    class: 'action_required',
  })
  expect(await sandbox.askCharge!(call, askedCharge('2'))).toMatchObject({ outcome: { kind: 'declined' } })
  expect(await sandbox.charge!(call, present('3'))).toMatchObject({ kind: 'succeeded' })
  expect(await sandbox.cancelCharge!(call, askedCharge('3'))).toMatchObject({ kind: 'succeeded' })
  expect(await sandbox.charge!(call, chargeOf(token, 1000n, { reference: '4' }))).toMatchObject({
    kind: 'requires_action',
  })
  expect(await sandbox.cancelCharge!(call, askedCharge('5'))).toEqual({ kind: 'none' })
})

const refundOf = (reference: string, amountMinor: bigint, charge = '1') => askedRefund(reference, amountMinor, charge)

test('a refund is made once, in parts up to the charge, and refused beyond it', async () => {
  const call = await newCall()
  await sandbox.charge!(call, chargeOf(await tokenOf(call, '4242424242424242')))
  expect(await sandbox.refund!(call, refundOf('1', 600n))).toMatchObject({ kind: 'succeeded', on: TODAY })
  expect(await sandbox.refund!(call, refundOf('1', 600n))).toMatchObject({ kind: 'succeeded' })
  const both = await Promise.all([
    sandbox.refund!(call, refundOf('2', 400n)),
    sandbox.refund!(call, refundOf('3', 400n)),
  ])
  expect(both.map(({ kind }) => kind).toSorted()).toEqual(['declined', 'succeeded'])
  expect(await sandbox.askRefund!(call, askedRefund('9'))).toEqual({ kind: 'none' })
  expect(await sandbox.refund!(call, refundOf('4', 1n, '77'))).toMatchObject({
    kind: 'declined',
  })
})

test('refunds that pend a day, fail a day later, or are refused by their amount', async () => {
  const rows = [
    ['4000000000007726', 400n, ['pending', 'succeeded']],
    ['4000000000005126', 400n, ['succeeded', 'declined']],
    ['4000000000000077', 405n, ['declined', 'declined']],
    ['4000000000000077', 400n, ['succeeded', 'succeeded']],
  ] as const
  for (const [number, amountMinor, kinds] of rows) {
    const call = await newCall()
    await sandbox.charge!(call, chargeOf(await tokenOf(call, number)))
    expect(await sandbox.refund!(call, refundOf('1', amountMinor))).toMatchObject({ kind: kinds[0] })
    expect(await sandbox.askRefund!(at(call, 1), askedRefund('1'))).toMatchObject({ kind: kinds[1] })
  }
})

test('money that a bank took back cannot be refunded, and can again once it is won', async () => {
  const call = await newCall()
  await sandbox.charge!(call, chargeOf(await tokenOf(call, '4000000000001976')))
  expect(await sandbox.refund!(at(call, 10), refundOf('1', 1n))).toMatchObject({ kind: 'declined' })
  expect(await sandbox.refund!(at(call, 30), refundOf('2', 1000n))).toMatchObject({ kind: 'succeeded' })
})

test('a card that is renewed has another token and expiry from the day after its month, and both tokens charge it', async () => {
  const call = await newCall()
  const expiry = { ...EXPIRY, expiryMonth: 2, expiryYear: 2027 }
  const stored = await store(call, '4000000000001232', 'store-1', expiry)
  if (stored.kind !== 'stored') throw new Error('stored')
  expect(await sandbox.askStored!(at(call, 28), stored.token)).toEqual(stored)
  const renewed = await sandbox.askStored!(at(call, 29), stored.token)
  expect(renewed).toEqual({ ...stored, token: `${stored.token}.1`, expiryYear: 2030 })
  for (const [index, token] of [stored.token, `${stored.token}.1`].entries())
    expect(await sandbox.charge!(at(call, 29), chargeOf(token, 100n, { reference: `${index}` }))).toMatchObject({
      kind: 'succeeded',
    })
})

test('faults: away is not sent, nothing received, nothing answered; questions follow', async () => {
  const call = await newCall()
  const token = await tokenOf(call, '4242424242424242')
  const faulty = (Fault: string) => ({ ...call, settings: { Fault } })
  expect(await sandbox.charge!(faulty('refused'), chargeOf(token))).toEqual({ kind: 'not_sent' })
  expect(await sandbox.charge!(faulty('not_received'), chargeOf(token))).toEqual({ kind: 'unknown' })
  expect(await sandbox.askCharge!(faulty('refused'), askedCharge('1'))).toEqual({ kind: 'not_sent' })
  expect(await sandbox.askCharge!(call, askedCharge('1'))).toEqual({ outcome: { kind: 'none' }, changes: [] })
  expect(await sandbox.charge!(faulty('not_answered'), chargeOf(token))).toEqual({ kind: 'unknown' })
  expect(await sandbox.askCharge!(call, askedCharge('1'))).toMatchObject({ outcome: { kind: 'succeeded' } })
  const hungUp = { ...call, settings: { LatencyMs: 30_000 }, signal: AbortSignal.abort() }
  expect(await sandbox.charge!(hungUp, chargeOf(token, 5n, { reference: '2' }))).toEqual({ kind: 'unknown' })
  expect(await sandbox.askCharge!(call, askedCharge('2'))).toMatchObject({ outcome: { kind: 'none' } })
})

test('accounts ending in 9926 are refused, others accepted', async () => {
  const call = await newCall()
  const account = {
    kind: 'debit_order',
    accountType: 'Savings',
    accountHolder: 'Ann',
    bank: 'Ours',
    branchCode: '123456',
    routingNumber: null,
    iban: null,
    bic: null,
  } as const
  expect(await sandbox.verifyAccount!(call, { ...account, accountNumber: '129926' })).toMatchObject({ kind: 'refused' })
  expect(await sandbox.verifyAccount!(call, { ...account, accountNumber: '1299261' })).toEqual({ kind: 'accepted' })
})

test('a report is read when its signature is right and its time is now, whole and by this gateway', async () => {
  const call = await newCall()
  const now = '2027-01-31T08:00:00.000Z'
  const report = { id: 'r-1', about: 'charge', reference: '1' } as const
  const { raw, headers } = sandboxReport(call, keyedHash, [report], now)
  const read = (whose: ChargingCall, body: Buffer, given: Record<string, string>, realNow: string) =>
    sandbox.readReport!(whose, body, given, realNow)
  expect(read(call, raw, headers, now)).toEqual({ kind: 'read', reports: [report] })
  expect(read(call, raw, { ...headers, 'webhook-signature': `v1,x ${headers['webhook-signature']}` }, now)).toEqual({
    kind: 'read',
    reports: [report],
  })
  expect(read(call, raw, headers, '2027-01-31T08:05:00.000Z')).toEqual({ kind: 'read', reports: [report] })
  expect(read(call, raw, headers, '2027-01-31T08:05:01.000Z')).toEqual({ kind: 'refused' })
  expect(read(call, raw, headers, '2027-01-31T07:54:59.000Z')).toEqual({ kind: 'refused' })
  expect(read({ ...call, gatewayId: 0n }, raw, headers, now)).toEqual({ kind: 'refused' })
  expect(read({ ...call, settings: { EventSecret: 'other' } }, raw, headers, now)).toEqual({ kind: 'refused' })
  expect(read(call, Buffer.from(`${raw.toString()} `), headers, now)).toEqual({ kind: 'refused' })
  for (const name of Object.keys(headers)) {
    expect(read(call, raw, { ...headers, [name]: '' }, now)).toEqual({ kind: 'refused' })
    const { [name]: _without, ...rest } = headers
    expect(read(call, raw, rest as Record<string, string>, now)).toEqual({ kind: 'refused' })
  }
})
