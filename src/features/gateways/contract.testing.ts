import { expect, test } from 'vitest'
import { CardNumber } from '../../kernel/card-number.ts'
import { addDays } from '../../kernel/calendar.ts'
import { BANK_KINDS, DECLINE_CLASSES } from '../../kernel/rails.ts'
import { askedRefund, askedStoring, chargeToMake } from './calls.testing.ts'
import type {
  AccountToVerify,
  AskedCharge,
  BatchToBuild,
  ChargingCall,
  Declined,
  GatewayAdapter,
  GatewayReport,
  LineToBuild,
  None,
  Outcome,
} from './contract.ts'
import { ChargeRow, type Charging, type DiesWith, type Dying, dyingAdapter } from './rows.testing.ts'
import type { ClientFacts, StoringToBegin } from './storing.ts'

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
  /** Enters the number of a card into the gateway's own fields, in the place of a browser; of an adapter that stores cards by these. */
  enterCard?(client: ClientFacts, number: string): Promise<void>
  /** Counts the charges in the gateway's book that were paid. */
  paid?(call: ChargingCall): Promise<number>
  /** Requests by which it charges; left out: one, and the call is the request. */
  requests?: { count: number; dying(request: number, diesWith: DiesWith): Dying<GatewayAdapter> }
  /** Lets so many hours pass at the gateway. */
  passHours?(hours: number): void
  /** It names what others charge in the same account there with; of an adapter whose scopes share one. */
  hasSharedBook?: boolean
  /** Signs a request with reports as the gateway does; of an adapter that reads reports. */
  signed?(call: ChargingCall, reports: readonly GatewayReport[]): { raw: Buffer; headers: Record<string, string> }
  /** Reports that one request brings at most; left out: 250 and more. */
  reportsARequest?: number
  /** Has something happen at the gateway so many times that it then lists; returns the names of what it is about, in that order. */
  happens?(call: ChargingCall, times: number): string[]
  /** Refunds a part of a charge at the gateway's console; of an adapter that refunds. */
  refundThere?(call: ChargingCall, charge: AskedCharge, amountMinor: bigint): Promise<void>
  /** Texts that no answer may hold: secrets of Settings. */
  secrets?: readonly string[]
}

type Store = Required<Pick<GatewayAdapter, 'storeCard' | 'findStored' | 'askStored' | 'removeStored'>>
type Fields = Required<Pick<GatewayAdapter, 'beginStore' | 'findStored' | 'endStore' | 'askStored' | 'removeStored'>>
type Cards = Charging & Required<Pick<GatewayAdapter, 'findStored' | 'askStored' | 'removeStored'>>
type Refunds = Required<Pick<GatewayAdapter, 'refund' | 'askRefund'>>

const CARD_CALLS = ['findStored', 'askStored', 'removeStored', 'charge', 'askCharge', 'cancelCharge'] as const
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

/** Stores a card, by its number or by the fields of the gateway; returns its token. */
async function tokenOf(of: ContractOf, adapter: GatewayAdapter, call: ChargingCall, number: string): Promise<string> {
  const stored = adapter.storeCard
    ? await store(adapter as Store, call, number)
    : await enter(of, adapter as Fields, call, number)
  if (stored.kind !== 'stored') throw new Error(`stored, not ${stored.kind}`)
  return stored.token
}

const storingOf = (gatewayReference: string | null, reference = 'card-1'): StoringToBegin => ({
  reference,
  gatewayReference,
  sentAt: null,
  payer: null,
  besideToken: null,
  isForLater: true,
})

/** Begins to store a card, and enters its number into the fields of the gateway. */
async function enter(of: ContractOf, adapter: Fields, call: ChargingCall, number: string) {
  const begun = await adapter.beginStore(call, storingOf(null))
  if (begun.kind !== 'begun') throw new Error(`begun, not ${begun.kind}`)
  await of.enterCard!(begun.client, number)
  return adapter.findStored(call, storingOf(begun.gatewayReference))
}

const nameOf = (outcome: Outcome | None) => ('gatewayReference' in outcome ? outcome.gatewayReference : undefined)

/** Answers after which nobody knows, or nothing was sent. */
const OPEN = ['unknown', 'not_sent']

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
    // Cards are stored by their numbers, or by fields of the gateway's own.
    expect([adapter.storeCard, adapter.beginStore].filter(Boolean)).toHaveLength(takesCards ? 1 : 0)
    // What can be refunded can be asked about.
    const refunds = REFUND_CALLS.map((name) => adapter[name] !== undefined)
    expect(new Set(refunds).size).toBe(1)
    for (const name of adapter.needed) expect(Object.keys(adapter.settings)).toContain(name)
    if (adapter.isGiven) expect(adapter.modes).toEqual(['test'])
  })

  test(named('accepts its Settings, and no answer of a check holds a secret'), async () => {
    const answer = await adapter.check(await of.newCall())
    expect(answer).toMatchObject({ kind: 'accepted' })
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

  if (adapter.storeCard) testStoring(of, adapter as GatewayAdapter & Store)
  if (adapter.beginStore) testFields(of, adapter as GatewayAdapter & Fields)
  if (takesCards) testCharges(of, adapter as GatewayAdapter & Cards)
  if (takesCards && adapter.refund) testRefunds(of, adapter as GatewayAdapter & Cards & Refunds)
  if (adapter.readReport) testReports(of, adapter as GatewayAdapter & Required<Pick<GatewayAdapter, 'readReport'>>)
}

function testStoring(of: ContractOf, adapter: Store): void {
  const { approved, refusedAtStoring } = of.cards as CardsOfTest
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
    expect(OPEN).toContain((await store(adapter, { ...call, signal: AbortSignal.abort() }, approved, 'card-2')).kind)
  })

  test(named('keeps nothing of a card that it refuses'), async () => {
    const call = await of.newCall()
    expectDeclined((await store(adapter, call, refusedAtStoring)) as Outcome, call)
    expect(await adapter.findStored(call, askedStoring('card-1'))).toEqual({ kind: 'none' })
  })
}

function testFields(of: ContractOf, adapter: Fields): void {
  const { approved, refusedAtStoring } = of.cards as CardsOfTest
  const named = (what: string) => `${of.type} ${what}`

  test(named('stores what is entered in its fields once, and takes up what was begun'), async () => {
    const call = await of.newCall()
    expect(await adapter.findStored(call, storingOf(null))).toEqual({ kind: 'none' })
    const begun = await adapter.beginStore(call, storingOf(null))
    if (begun.kind !== 'begun') throw new Error(begun.kind)
    const storing = storingOf(begun.gatewayReference)
    expect(await adapter.beginStore(call, storing)).toEqual(begun)
    expect(await adapter.findStored(call, storing)).toEqual({ kind: 'unknown' })
    await of.enterCard!(begun.client, refusedAtStoring)
    expectDeclined((await adapter.findStored(call, storing)) as Outcome, call)
    await of.enterCard!(begun.client, approved)
    const stored = await adapter.findStored(call, storing)
    expect(stored).toMatchObject({ kind: 'stored', lastFour: approved.slice(-4) })
    expect(JSON.stringify(stored)).not.toContain(approved)
    expect(await adapter.beginStore(call, storing)).toEqual(stored)
    expect(await adapter.endStore(call, storing)).toEqual(stored)
    expect(await adapter.askStored(call, (stored as { token: string }).token)).toEqual(stored)
    // What others store there is never taken for ours.
    expect((await adapter.findStored({ ...call, scope: 'of another' }, storing)).kind).toBe('unknown')
  })

  test(named('stores nothing once a storing has ended'), async () => {
    const call = await of.newCall()
    const begun = await adapter.beginStore(call, storingOf(null))
    if (begun.kind !== 'begun') throw new Error(begun.kind)
    const storing = storingOf(begun.gatewayReference)
    for (let time = 0; time < 2; time += 1) expect(await adapter.endStore(call, storing)).toEqual({ kind: 'none' })
    await of.enterCard!(begun.client, approved)
    expect(await adapter.findStored(call, storing)).toEqual({ kind: 'none' })
  })
}

function testCharges(of: ContractOf, adapter: GatewayAdapter & Cards): void {
  const { approved, declined } = of.cards as CardsOfTest
  const named = (what: string) => `${of.type} ${what}`
  const NONE = { kind: 'none' }
  const rowOf = async (number = approved) => {
    const call = await of.newCall()
    const token = await tokenOf(of, adapter, call, number)
    return { call, token, row: new ChargeRow(call, token), paid: () => of.paid!(call) }
  }

  test(named('removes a card however often it is asked, and charges it no more'), async () => {
    const { call, token, row } = await rowOf()
    for (let time = 0; time < 2; time += 1) expect(await adapter.removeStored(call, token)).toEqual({ kind: 'removed' })
    expect(await adapter.removeStored(call, 'never stored')).toEqual({ kind: 'removed' })
    expect(await adapter.askStored(call, token)).toEqual(NONE)
    expectDeclined(await row.charge(adapter), call)
  })

  test(named('charges once under a reference, at the same moment too, and reports the same when asked'), async () => {
    const { call, token, row, paid } = await rowOf()
    expect(await row.ask(adapter)).toEqual(NONE)
    const outcomes = await Promise.all([1, 2, 3].map(() => row.charge(adapter)))
    const made = outcomes.find(({ kind }) => kind === 'succeeded')
    expect(made).toMatchObject({ on: call.today, gatewayReference: row.name })
    // Of several at once only who keeps its name charges; the others know nothing.
    for (const other of outcomes) if (other.kind !== 'unknown') expect(other).toEqual(made)
    expect(await row.charge(adapter)).toEqual(made)
    const less = await adapter.charge(call, chargeToMake('7', token, { amountMinor: 99n, gatewayReference: row.name }))
    if (less.kind !== 'unknown') expect(less).toEqual(made)
    expect(await row.ask(adapter)).toEqual(made)
    expect(await row.ask(adapter, { ...call, today: addDays(call.today, 1) })).toEqual(made)
    expect(await paid()).toBe(1)
  })

  test(named('asked 25 hours later under a reference answers the same, and makes no second charge'), async () => {
    const { call, row, paid } = await rowOf()
    const made = await row.charge(adapter)
    const now = new Date(Date.parse(call.now) + 25 * 3_600_000).toISOString()
    const later = { ...call, now, today: now.slice(0, 10) }
    of.passHours?.(25)
    expect(await row.charge(adapter, later)).toEqual(made)
    expect(await row.ask(adapter, later)).toEqual(made)
    expect(await paid()).toBe(1)
  })

  test(
    named('knows nothing under another nonce or scope: another installation, or a copy, has drawn the same identifier'),
    async () => {
      const { call, token, paid } = await rowOf()
      const [one, other, old] = ['9.Qm3kz0aXw1Yb', '9.Qm3kz0aXw1Yc', '9'].map(
        (name) => new ChargeRow(call, token, name),
      )
      const made = await one!.charge(adapter)
      for (const row of [other!, old!]) expect(await row.ask(adapter)).toEqual(NONE)
      const theirs = { ...call, scope: 'of another' }
      if (of.hasSharedBook) {
        expect(await new ChargeRow(theirs, token, '9.Qm3kz0aXw1Yb').ask(adapter)).toEqual(NONE)
        // Not even by its name: that is a mismatch.
        const asked = { ...one!.asked, token }
        expect(await adapter.askCharge(theirs, asked)).toMatchObject({ outcome: { kind: 'unknown' } })
        expect((await adapter.cancelCharge(theirs, asked)).kind).toBe('unknown')
        expect(await new ChargeRow(theirs, token, '9.Qm3kz0aXw1Yb').charge(adapter)).toMatchObject({
          kind: 'succeeded',
        })
      }
      const second = await other!.charge(adapter)
      expect(second).toMatchObject({ kind: 'succeeded' })
      expect(nameOf(second)).not.toBe(nameOf(made))
      expect(await one!.ask(adapter)).toEqual(made)
      expect(await paid()).toBe(of.hasSharedBook ? 3 : 2)
    },
  )

  const deaths = Array.from({ length: of.requests?.count ?? 1 }, (_, n) => n + 1).flatMap((request) =>
    (['request', 'answer'] as const).map((diesWith) => [request, diesWith] as const),
  )
  const dying = (request: number, diesWith: DiesWith) =>
    (of.requests?.dying(request, diesWith) ?? dyingAdapter(adapter, diesWith)) as Dying<GatewayAdapter & Cards>

  test.each(deaths)(
    named('charges once where a process dies with its request %d, with the %s, and what it does late changes nothing'),
    async (request, diesWith) => {
      const { row, paid } = await rowOf()
      const dead = dying(request, diesWith)
      const late = row.charge(dead.adapter)
      await dead.died
      const outcome = await row.settle(adapter)
      expect(outcome).toMatchObject({ kind: 'succeeded', gatewayReference: row.name })
      expect(await paid()).toBe(1)
      dead.wake()
      await late
      expect(await row.ask(adapter)).toEqual(outcome)
      expect(await paid()).toBe(1)
    },
  )

  // Where the call is the request, nothing is kept before it that could stop one that is late.
  if (of.requests)
    test.each(deaths)(
      named('has charged nobody, and charges nobody, if it answers none after a death with request %d, with the %s'),
      async (request, diesWith) => {
        const { row, paid } = await rowOf()
        const dead = dying(request, diesWith)
        const late = row.charge(dead.adapter)
        await dead.died
        const found = await row.ask(adapter)
        expect(['none', 'succeeded']).toContain(found.kind)
        row.isClosed = true
        dead.wake()
        await late
        expect(await paid()).toBe(found.kind === 'none' ? 0 : 1)
        expect(await row.ask(adapter)).toEqual(found)
      },
    )

  test(named('sends nothing more once a name is not kept'), async () => {
    const { call, token, row, paid } = await rowOf()
    let isKeepAsked = false
    const keep = async () => {
      isKeepAsked = true
      return false
    }
    const outcome = await adapter.charge({ ...call, keep }, chargeToMake('7', token))
    expect(isKeepAsked).toBe(of.requests !== undefined)
    // An adapter of one request has nothing to keep before it.
    if (!isKeepAsked) return
    expect(OPEN).toContain(outcome.kind)
    expect(await row.ask(adapter)).toEqual(NONE)
    expect(await paid()).toBe(0)
  })

  test(named('gives a name that was lost back with a report, if it does not know the charge without'), async () => {
    const { call, row, paid } = await rowOf()
    const made = await row.charge(adapter)
    row.name = null
    const found = await row.ask(adapter)
    if (found.kind === 'none') {
      const listed = await adapter.listReports!(call, { cursor: null, since: LONG_AGO })
      const reports = listed.kind === 'listed' ? listed.reports : []
      const names = reports.filter(({ about, reference }) => about === 'charge' && reference === '7')
      expect(names.map(({ gatewayReference }) => gatewayReference)).toEqual([nameOf(made)])
      row.name = names[0]?.gatewayReference ?? null
    }
    expect(await row.ask(adapter)).toEqual(made)
    expect(await row.settle(adapter)).toEqual(made)
    expect(await paid()).toBe(1)
  })

  test(named('declines by a class of ours, and the same decline again when asked'), async () => {
    const { call, row, paid } = await rowOf(declined)
    const outcome = await row.charge(adapter)
    expectDeclined(outcome, call)
    expect(await row.ask(adapter)).toEqual(outcome)
    expectDeclined(await new ChargeRow(call, 'never stored', '8').charge(adapter), call)
    expect(await paid()).toBe(0)
  })

  test(named('ends no charge that is over, and knows none that was never made'), async () => {
    const { call, row } = await rowOf()
    expect(await adapter.cancelCharge(call, row.asked)).toEqual(NONE)
    const made = await row.charge(adapter)
    expect(await adapter.cancelCharge(call, row.asked)).toEqual(made)
  })

  test(named('keeps what gateways and accounts hold apart'), async () => {
    const { token, row } = await rowOf()
    const other = await of.newCall()
    await row.charge(adapter)
    expect(await adapter.askStored(other, token)).toEqual(NONE)
    const theirs = new ChargeRow(other, token)
    expect(await theirs.ask(adapter)).toEqual(NONE)
    expectDeclined(await theirs.charge(adapter), other)
  })

  test(named('answers a caller who waits no longer as open, and throws nothing'), async () => {
    const { call, token, row } = await rowOf()
    const gone = { ...call, signal: AbortSignal.abort() }
    row.name = 'pi_1'
    const answers = [
      await row.charge(adapter, gone),
      await row.ask(adapter, gone),
      await adapter.removeStored(gone, token),
    ]
    for (const { kind } of answers) expect(OPEN).toContain(kind)
  })
}

/** Before everything that happens in a test. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'

function testRefunds(of: ContractOf, adapter: GatewayAdapter & Cards & Refunds): void {
  const named = (what: string) => `${of.type} ${what}`
  /** A charge of 10.00, and its refunds as rows that keep the names of their answers. */
  const chargedRow = async () => {
    const call = await of.newCall()
    const row = new ChargeRow(call, await tokenOf(of, adapter, call, of.cards!.approved))
    expect(await row.charge(adapter)).toMatchObject({ kind: 'succeeded' })
    const refundOf = (reference: string, amountMinor = 1000n) => ({
      ...askedRefund(reference, amountMinor),
      charge: row.asked,
    })
    return { call, refundOf, row }
  }

  test(
    named('names a refund of its console as a change of the charge, always the same, and refunds what that left'),
    async () => {
      const { call, refundOf, row } = await chargedRow()
      await of.refundThere!(call, row.asked, 400n)
      const state = await adapter.askCharge(call, row.asked)
      expect(state).toMatchObject({
        outcome: { kind: 'succeeded' },
        changes: [{ kind: 'refunded', reference: expect.stringMatching(/./), amountMinor: 400n, on: call.today }],
      })
      expectDeclined(await adapter.refund(call, refundOf('1', 601n)), call)
      expect(await adapter.refund(call, refundOf('2', 600n))).toMatchObject({ kind: 'succeeded' })
      // Ours is no change of it.
      expect(await adapter.askCharge(call, row.asked)).toEqual(state)
    },
  )

  test(named('knows no refund under another nonce, and makes that one, too'), async () => {
    const { call, refundOf } = await chargedRow()
    const [one, other] = ['3.Qm3kz0aXw1Yb', '3.Qm3kz0aXw1Yc']
    expect(await adapter.refund(call, refundOf(one, 600n))).toMatchObject({ kind: 'succeeded' })
    for (const reference of [other, '3'])
      expect(await adapter.askRefund(call, refundOf(reference))).toEqual({ kind: 'none' })
    expect(await adapter.refund(call, refundOf(other, 400n))).toMatchObject({ kind: 'succeeded' })
  })

  test(named('refunds once under a reference, in parts, and never more than was charged'), async () => {
    const { call, refundOf } = await chargedRow()
    expect(await adapter.askRefund(call, refundOf('1'))).toEqual({ kind: 'none' })
    const [one, again] = await Promise.all([1, 2].map(() => adapter.refund(call, refundOf('1', 600n))))
    expect(one).toMatchObject({ kind: 'succeeded', on: call.today })
    // A gateway may refuse the second while the first is at work.
    if (again?.kind !== 'unknown') expect(again).toEqual(one)
    expect(await adapter.askRefund(call, refundOf('1', 600n))).toEqual(one)
    expectDeclined(await adapter.refund(call, refundOf('2', 401n)), call)
    expect(await adapter.refund(call, refundOf('3', 400n))).toMatchObject({ kind: 'succeeded' })
    expectDeclined(await adapter.refund(call, askedRefund('4', 1n, 'never charged')), call)
  })
}

function testReports(of: ContractOf, adapter: GatewayAdapter & Required<Pick<GatewayAdapter, 'readReport'>>): void {
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

  test(`${of.type} reads the reports of one request in their order, 250 of them if there are so many, and none of another scope`, async () => {
    const call = await of.newCall()
    const about = Array.from({ length: of.reportsARequest ?? 250 }, (_, n) => ({
      id: `r-${n}`,
      about: 'charge' as const,
      reference: `${n + 1}`,
    }))
    const read = (signed: ReturnType<NonNullable<ContractOf['signed']>>) =>
      adapter.readReport(call, signed.raw, signed.headers, call.now)
    expect(read(of.signed!(call, about))).toMatchObject({ kind: 'read', reports: about })
    expect(read(of.signed!({ ...call, scope: 'of somebody else' }, about))).toEqual({ kind: 'read', reports: [] })
  })

  if (of.happens)
    test(`${of.type} lists 250 reports in their order, and goes on behind them`, async () => {
      const call = await of.newCall()
      const listed = async (cursor: string | null) => {
        const found = await adapter.listReports!(call, { cursor, since: LONG_AGO })
        if (found.kind !== 'listed') throw new Error(found.kind)
        return found
      }
      const first = of.happens!(call, 250)
      const one = await listed(null)
      expect(one.reports.map(({ reference }) => reference)).toEqual(first)
      expect(new Set(one.reports.map(({ id }) => id)).size).toBe(250)
      of.passHours?.(1)
      const second = of.happens!(call, 3)
      const two = await listed(one.cursor)
      // What is found twice is one, by its identifier.
      const known = new Set(one.reports.map(({ id }) => id))
      expect(two.reports.filter(({ id }) => !known.has(id)).map(({ reference }) => reference)).toEqual(second)
      of.passHours?.(1)
      expect((await listed((await listed(two.cursor)).cursor)).reports).toEqual([])
    })
}
