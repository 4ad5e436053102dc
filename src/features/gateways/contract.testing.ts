import { expect, test } from 'vitest'
import { CardNumber } from '../../kernel/card-number.ts'
import { addDays } from '../../kernel/calendar.ts'
import { BANK_KINDS, DECLINE_CLASSES } from '../../kernel/rails.ts'
import { askedCharge, askedRefund, askedStoring, chargeToMake } from './calls.testing.ts'
import type {
  AccountToVerify,
  BatchToBuild,
  Declined,
  GatewayAdapter,
  GatewayReport,
  ChargingCall,
  LineToBuild,
  Outcome,
} from './contract.ts'

/**
 * The contract of gateways as tests that every adapter passes, shaped by what it can do: cards, refunds, checks of bank accounts, reports.
 * They ask only what the contract promises, so a new adapter is held to it by one more call of `testContract`.
 */

/** Numbers of cards by what the gateway is known to do with them. */
interface CardsOfTest {
  approved: string
  declined: string
  refusedAtStoring: string
}

export interface ContractOf {
  type: string
  make(): GatewayAdapter
  /** A call of an account and a gateway that nothing was asked of yet. */
  newCall(): Promise<ChargingCall>
  /** Of an adapter that takes cards. */
  cards?: CardsOfTest
  /** Signs a request with reports as the gateway does; of an adapter that reads reports. */
  signed?(call: ChargingCall, reports: readonly GatewayReport[]): { raw: Buffer; headers: Record<string, string> }
  /** Texts that no answer may hold: secrets of Settings. */
  secrets?: readonly string[]
}

type Store = Required<Pick<GatewayAdapter, 'storeCard' | 'findStored' | 'askStored' | 'removeStored'>>
type AskedCharge = Required<Pick<GatewayAdapter, 'charge' | 'askCharge' | 'cancelCharge'>>
type Refund = Required<Pick<GatewayAdapter, 'refund' | 'askRefund'>>

const CARD_CALLS = [
  'storeCard',
  'findStored',
  'askStored',
  'removeStored',
  'charge',
  'askCharge',
  'cancelCharge',
] as const
const REFUND_CALLS = ['refund', 'askRefund'] as const

const store = (adapter: Store, call: ChargingCall, number: string, reference = 'card-1') =>
  adapter.storeCard(call, {
    reference,
    number: new CardNumber(number),
    cardType: 'Visa',
    expiryMonth: 12,
    expiryYear: 2030,
    nameOnCard: 'Ann',
    lastNameOnCard: 'Lee',
  })

async function tokenOf(adapter: Store, call: ChargingCall, number: string): Promise<string> {
  const stored = await store(adapter, call, number)
  if (stored.kind !== 'stored') throw new Error(`stored, not ${stored.kind}`)
  return stored.token
}

const chargeOf = (token: string, reference = '7', amountMinor = 1000n) =>
  chargeToMake(reference, token, { amountMinor })

const nameOf = (outcome: Outcome) => ('gatewayReference' in outcome ? outcome.gatewayReference : undefined)

/** Expects a decline to name a class of ours, a code and a sentence, none of them with a number of a card. */
function expectDeclined(outcome: Outcome | { kind: 'stored' }, call: ChargingCall): asserts outcome is Declined {
  expect(outcome).toMatchObject({ kind: 'declined', on: call.today })
  const { class: declineClass, code, message } = outcome as Declined
  expect(DECLINE_CLASSES).toContain(declineClass)
  expect(`${code}${message}`).not.toMatch(/\d{9}/)
  expect(message).toMatch(/^[A-Z].*\.$/)
}

const ACCOUNT: AccountToVerify = {
  kind: 'sepa',
  accountType: 'Current',
  accountHolder: 'Ann Lee',
  bank: 'Bank',
  accountNumber: null,
  branchCode: null,
  routingNumber: null,
  iban: 'DE89370400440532013000',
  bic: null,
}

const US_ACCOUNT: AccountToVerify = {
  ...ACCOUNT,
  kind: 'ach',
  accountNumber: '1234567',
  routingNumber: '081000210',
  iban: null,
}

const lineOf = (paymentId: bigint, account: AccountToVerify): LineToBuild => ({
  ...account,
  paymentId,
  reference: `P7-${paymentId}`,
  chargeReference: `${paymentId}.Qm3kz0aXw1Yb`,
  amountMinor: 1000n,
  mandateReference: 'EM1',
  mandateDate: '2026-12-01',
  hasAccountChanged: false,
  invoiceNumbers: ['=1+1'],
})

const batchFor = ({ takes }: GatewayAdapter): BatchToBuild => ({
  token: '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11',
  batchId: 1n,
  currency: takes.includes('sepa') ? 'EUR' : 'USD',
  actionDate: '2027-02-03',
  submittedAt: '2027-01-31T08:00:00.000Z',
  zone: 'UTC',
  fileOfDay: 0,
  lines: [1n, 2n].map((id) => lineOf(id, takes.includes('sepa') ? { ...ACCOUNT, bic: 'COBADEFFXXX' } : US_ACCOUNT)),
})

/** Declares the tests of an adapter. */
export function testContract(of: ContractOf): void {
  const adapter = of.make()
  const takesCards = adapter.takes.includes('credit_card')
  const named = (what: string) => `${of.type} ${what}`

  test(named('says of itself what it can do, and can do no more and no less'), () => {
    expect(adapter.type).toBe(of.type)
    expect(adapter.takes.length).toBeGreaterThan(0)
    expect(new Set(adapter.takes).size).toBe(adapter.takes.length)
    for (const name of CARD_CALLS) expect([name, adapter[name] !== undefined]).toEqual([name, takesCards])
    // What can be refunded can be asked about.
    const refunds = REFUND_CALLS.map((name) => adapter[name] !== undefined)
    expect(new Set(refunds).size).toBe(1)
    for (const name of adapter.needed) expect(Object.keys(adapter.settings)).toContain(name)
    if (adapter.isGiven) expect(adapter.modes).toEqual(['test'])
  })

  test(named('accepts its Settings, and no answer of a check holds a secret'), async () => {
    const answer = await adapter.check(await of.newCall())
    expect(answer).toEqual({ kind: 'accepted' })
    for (const secret of of.secrets ?? []) expect(JSON.stringify(answer)).not.toContain(secret)
  })

  if (adapter.buildBatch)
    test(named('builds the same lines into the same file, whatever the moment of the call'), async () => {
      expect(adapter.batches).toBeDefined()
      const call = await of.newCall()
      const built = await adapter.buildBatch!(call, batchFor(adapter))
      expect(built.kind).toBe('built')
      expect(await adapter.buildBatch!({ ...call, now: '2027-02-01T09:00:00.000Z' }, batchFor(adapter))).toEqual(built)
      if (built.kind === 'built' && built.file) {
        expect(built.file.bytes.length).toBeGreaterThan(0)
        expect(built.file.name).toMatch(/^[a-z0-9.-]+$/i)
      }
    })

  if (adapter.verifyAccount)
    test(named('answers about bank accounts of its kinds, and never throws for what it is asked'), async () => {
      expect(adapter.takes.some((kind) => BANK_KINDS.some((bank) => bank === kind))).toBe(true)
      const call = await of.newCall()
      for (const iban of ['DE89370400440532013000', 'x', ''])
        expect(['accepted', 'refused']).toContain((await adapter.verifyAccount!(call, { ...ACCOUNT, iban })).kind)
    })

  if (takesCards) testCards(of, adapter as GatewayAdapter & Store & AskedCharge)
  if (takesCards && adapter.refund) testRefunds(of, adapter as GatewayAdapter & Store & AskedCharge & Refund)
  if (adapter.readReport) testReports(of, adapter as GatewayAdapter & Required<Pick<GatewayAdapter, 'readReport'>>)
}

function testCards(of: ContractOf, adapter: Store & AskedCharge): void {
  const { approved, declined, refusedAtStoring } = of.cards as CardsOfTest
  const named = (what: string) => `${of.type} ${what}`

  test(named('stores a card once under its reference, and reports it by reference and by token'), async () => {
    const call = await of.newCall()
    expect(await adapter.findStored(call, askedStoring('card-1'))).toEqual({ kind: 'none' })
    const [one, other] = await Promise.all([store(adapter, call, approved), store(adapter, call, approved)])
    expect(one).toMatchObject({ kind: 'stored', lastFour: approved.slice(-4), expiryMonth: 12, expiryYear: 2030 })
    expect(other).toEqual(one)
    expect(JSON.stringify(one)).not.toContain(approved)
    expect(await adapter.findStored(call, askedStoring('card-1'))).toEqual(one)
    expect(await adapter.askStored(call, (one as { token: string }).token)).toEqual(one)
  })

  test(named('keeps nothing of a card that it refuses'), async () => {
    const call = await of.newCall()
    expectDeclined((await store(adapter, call, refusedAtStoring)) as Outcome, call)
    expect(await adapter.findStored(call, askedStoring('card-1'))).toEqual({ kind: 'none' })
  })

  test(named('removes a card however often it is asked, and charges it no more'), async () => {
    const call = await of.newCall()
    const token = await tokenOf(adapter, call, approved)
    for (let time = 0; time < 2; time += 1) expect(await adapter.removeStored(call, token)).toEqual({ kind: 'removed' })
    expect(await adapter.removeStored(call, 'never stored')).toEqual({ kind: 'removed' })
    expect(await adapter.askStored(call, token)).toEqual({ kind: 'none' })
    expectDeclined(await adapter.charge(call, chargeOf(token)), call)
  })

  test(named('charges once under a reference, at the same moment too, and reports the same when asked'), async () => {
    const call = await of.newCall()
    const token = await tokenOf(adapter, call, approved)
    expect(await adapter.askCharge(call, askedCharge('7'))).toEqual({ outcome: { kind: 'none' }, changes: [] })
    const [one, ...others] = await Promise.all([1, 2, 3].map(() => adapter.charge(call, chargeOf(token))))
    expect(one).toMatchObject({ kind: 'succeeded', on: call.today })
    for (const other of others) expect(other).toEqual(one)
    expect(await adapter.charge(call, chargeOf(token, '7', 99n))).toEqual(one)
    expect(await adapter.askCharge(call, askedCharge('7'))).toEqual({ outcome: one, changes: [] })
    const tomorrow = { ...call, today: addDays(call.today, 1) }
    expect(await adapter.askCharge(tomorrow, askedCharge('7'))).toEqual({ outcome: one, changes: [] })
  })

  test(named('asked 25 hours later under a reference answers the same, and makes no second charge'), async () => {
    const call = await of.newCall()
    const token = await tokenOf(adapter, call, approved)
    const made = await adapter.charge(call, chargeOf(token))
    const now = new Date(Date.parse(call.now) + 25 * 3_600_000).toISOString()
    const later = { ...call, now, today: now.slice(0, 10) }
    expect(await adapter.charge(later, chargeOf(token))).toEqual(made)
    expect(await adapter.askCharge(later, askedCharge('7'))).toEqual({ outcome: made, changes: [] })
  })

  test(
    named('knows nothing under another nonce: another installation, or a copy, has drawn the same identifier'),
    async () => {
      const call = await of.newCall()
      const token = await tokenOf(adapter, call, approved)
      const [one, other, old] = ['9.Qm3kz0aXw1Yb', '9.Qm3kz0aXw1Yc', '9']
      const made = await adapter.charge(call, chargeOf(token, one))
      for (const reference of [other, old])
        expect(await adapter.askCharge(call, askedCharge(reference))).toEqual({
          outcome: { kind: 'none' },
          changes: [],
        })
      const theirs = await adapter.charge(call, chargeOf(token, other))
      expect(theirs).toMatchObject({ kind: 'succeeded' })
      expect(nameOf(theirs)).not.toBe(nameOf(made))
      expect(await adapter.askCharge(call, askedCharge(one))).toEqual({ outcome: made, changes: [] })
    },
  )

  test(named('sends nothing more once a name is not kept'), async () => {
    const call = await of.newCall()
    const token = await tokenOf(adapter, call, approved)
    let isKeepAsked = false
    const keep = async () => {
      isKeepAsked = true
      return false
    }
    const outcome = await adapter.charge({ ...call, keep }, chargeOf(token))
    // An adapter of one request has nothing to keep before it.
    if (!isKeepAsked) return
    expect(['unknown', 'not_sent']).toContain(outcome.kind)
    expect(await adapter.askCharge(call, askedCharge('7'))).toEqual({ outcome: { kind: 'none' }, changes: [] })
  })

  test(named('declines by a class of ours, and the same decline again when asked'), async () => {
    const call = await of.newCall()
    const outcome = await adapter.charge(call, chargeOf(await tokenOf(adapter, call, declined)))
    expectDeclined(outcome, call)
    expect(await adapter.askCharge(call, askedCharge('7'))).toEqual({ outcome, changes: [] })
    expectDeclined(await adapter.charge(call, chargeOf('never stored', '8')), call)
  })

  test(named('ends no charge that is over, and knows none that was never made'), async () => {
    const call = await of.newCall()
    expect(await adapter.cancelCharge(call, askedCharge('7'))).toEqual({ kind: 'none' })
    const made = await adapter.charge(call, chargeOf(await tokenOf(adapter, call, approved)))
    expect(await adapter.cancelCharge(call, askedCharge('7'))).toEqual(made)
  })

  test(named('keeps what gateways and accounts hold apart'), async () => {
    const [call, other] = [await of.newCall(), await of.newCall()]
    const token = await tokenOf(adapter, call, approved)
    await adapter.charge(call, chargeOf(token))
    expect(await adapter.askStored(other, token)).toEqual({ kind: 'none' })
    expect(await adapter.askCharge(other, askedCharge('7'))).toEqual({ outcome: { kind: 'none' }, changes: [] })
    expectDeclined(await adapter.charge(other, chargeOf(token)), other)
  })

  test(named('answers a caller who waits no longer as unknown, and throws nothing'), async () => {
    const call = await of.newCall()
    const token = await tokenOf(adapter, call, approved)
    const gone = { ...call, signal: AbortSignal.abort() }
    const answers = [
      await store(adapter, gone, approved, 'card-2'),
      await adapter.charge(gone, chargeOf(token)),
      await adapter.askCharge(gone, askedCharge('7')),
      await adapter.removeStored(gone, token),
    ]
    for (const answer of answers) expect(answer).toEqual({ kind: 'unknown' })
  })
}

function testRefunds(of: ContractOf, adapter: Store & AskedCharge & Refund): void {
  const named = (what: string) => `${of.type} ${what}`
  const refundOf = askedRefund

  test(named('knows no refund under another nonce, and makes that one, too'), async () => {
    const call = await of.newCall()
    await adapter.charge(call, chargeOf(await tokenOf(adapter, call, of.cards!.approved)))
    const [one, other] = ['3.Qm3kz0aXw1Yb', '3.Qm3kz0aXw1Yc']
    expect(await adapter.refund(call, refundOf(one, 600n))).toMatchObject({ kind: 'succeeded' })
    for (const reference of [other, '3'])
      expect(await adapter.askRefund(call, refundOf(reference))).toEqual({ kind: 'none' })
    expect(await adapter.refund(call, refundOf(other, 400n))).toMatchObject({ kind: 'succeeded' })
  })

  test(named('refunds once under a reference, in parts, and never more than was charged'), async () => {
    const call = await of.newCall()
    await adapter.charge(call, chargeOf(await tokenOf(adapter, call, of.cards!.approved)))
    expect(await adapter.askRefund(call, askedRefund('1'))).toEqual({ kind: 'none' })
    const [one, again] = await Promise.all([1, 2].map(() => adapter.refund(call, refundOf('1', 600n))))
    expect(one).toMatchObject({ kind: 'succeeded', on: call.today })
    expect(again).toEqual(one)
    expect(await adapter.askRefund(call, askedRefund('1'))).toEqual(one)
    expectDeclined(await adapter.refund(call, refundOf('2', 401n)), call)
    expect(await adapter.refund(call, refundOf('3', 400n))).toMatchObject({ kind: 'succeeded' })
    expectDeclined(await adapter.refund(call, refundOf('4', 1n, 'never charged')), call)
  })
}

function testReports(of: ContractOf, adapter: Required<Pick<GatewayAdapter, 'readReport'>>): void {
  test(`${of.type} reads no report that it has not signed`, async () => {
    const whose = await of.newCall()
    const { now } = whose
    for (const raw of ['', '{', '{"about":"charge","reference":"7"}'])
      for (const headers of [
        {},
        { 'webhook-id': 'r', 'webhook-timestamp': String(Date.parse(now) / 1000), 'webhook-signature': 'v1,AAAA' },
        { 'webhook-id': ['r'], 'webhook-timestamp': 'soon', 'webhook-signature': '' },
      ])
        expect(adapter.readReport(whose, Buffer.from(raw), headers, now)).toEqual({ kind: 'refused' })
  })

  test(`${of.type} reads 250 reports of one request in their order, and none of another scope`, async () => {
    const call = await of.newCall()
    const about = Array.from({ length: 250 }, (_, n) => ({
      id: `r-${n}`,
      about: 'charge' as const,
      reference: `${n + 1}`,
    }))
    const read = (signed: ReturnType<NonNullable<ContractOf['signed']>>) =>
      adapter.readReport(call, signed.raw, signed.headers, call.now)
    expect(read(of.signed!(call, about))).toEqual({ kind: 'read', reports: about })
    expect(read(of.signed!({ ...call, scope: 'of somebody else' }, about))).toEqual({ kind: 'read', reports: [] })
  })
}
