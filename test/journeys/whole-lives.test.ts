import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addCustomer, addTax, differencesOf, invoicesOf } from '../support/shop.ts'
import { addDays, type IsoDate } from '../../src/kernel/calendar.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { startTestService } from '../support/app.ts'
import {
  addOffers,
  endOf,
  type Act,
  histories,
  type Living,
  perform,
  readIt,
  START,
  type Start,
  starts,
  wait,
} from './lives.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/** Whatever happens to a subscription with seats and usage, over HTTP and a real database, its days and its money add up. */

const service = await startTestService()

async function begin(start: Start): Promise<Living> {
  const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
  await addTax(client, 'VAT', { Perc: 0.15 })
  await addTax(client, 'Levy', { Perc: 0.0777 })
  const { packages, seats, calls } = await addOffers(client, start)
  const customerID = await addCustomer(client)
  const StartDate = addDays(START, start.startsIn)
  const first = addDays(StartDate, start.trialPeriod)
  const body = {
    customerID,
    packageID: packages[0],
    Term: start.Term,
    TermType: start.Term === 13 ? 'days' : 'months',
    StartDate,
    EndDate: start.endsAfter === null ? null : addDays(StartDate, start.endsAfter),
    firstProrataSyncDate: start.syncsAfter === null || !start.isProRata ? null : addDays(first, start.syncsAfter),
    isProRata: start.isProRata,
    numDaysBeforeToInv: start.leadDays,
    componentUsage: [{ componentID: seats, NumUnits: 3 }, { componentID: calls }],
  }
  const added = await client.post('/v1/subscriptions', body)
  expect(added.text).toContain('subscriptionID')
  const id: number = added.body.subscriptionID
  const rest = { gaps: [], away: [], anew: [], forgiven: [], calledUnits: 0, today: START }
  const runs = [{ from: first, until: null }]
  const { isProRata } = start
  return {
    service,
    client,
    customerID,
    id,
    path: `/v1/subscriptions/${id}`,
    packages,
    seats,
    calls,
    isProRata,
    runs,
    ...rest,
  }
}

interface ChargedRow {
  id: bigint
  kind: string
  item: bigint
  stretch: number
  part: number
  from: IsoDate
  until: IsoDate
  creditedFrom: IsoDate | null
  invoiceId: bigint | null
  netMinor: bigint
  creditedMinor: bigint
}

const listCharged = ({ client }: Living) =>
  service.db.reader(client.id).rows<ChargedRow>(sql`
    select charge_id as "id", kind, item_id as "item", stretch, part, period_from as "from", period_until as "until",
           credited_from as "creditedFrom", invoice_id as "invoiceId", net_minor as "netMinor", credited_minor as "creditedMinor"
      from charges where account_id = ${client.id} and period_from is not null order by period_from, charge_id`)

const PACKAGE = ['package', 'package_extension']
const SEATS = ['component', 'component_extension']

const netUntil = ({ until, creditedFrom }: ChargedRow): IsoDate =>
  creditedFrom !== null && creditedFrom < until ? creditedFrom : until

/** Of two charges that cover a day, one began where charging anew is a rule, and the other is of an earlier stretch. */
function noDayTwice(charged: readonly ChargedRow[], anew: readonly IsoDate[]): void {
  charged.forEach((later, index) => {
    for (const earlier of charged.slice(0, index)) {
      if (netUntil(earlier) <= later.from || netUntil(later) <= later.from) continue
      const isAnew = earlier.stretch !== later.stretch && anew.some((on) => on >= earlier.from && on <= later.from)
      expect({ isAnew, earlier, later }).toMatchObject({ isAnew: true })
    }
  })
}

const isWithin = (date: IsoDate, spans: readonly { from: IsoDate; until: IsoDate | null }[], grace = 0): boolean =>
  spans.some(({ from, until }) => from <= date && (until === null || date < addDays(until, grace)))

/** Every day of each run is charged, except for gaps (to the first renewal after them), and for seats while they were away. */
function noDayLeftOut(
  it: Living,
  charged: readonly ChargedRow[],
  until: IsoDate,
  mayMiss: (date: IsoDate) => boolean,
): void {
  const kept = charged.map((row) => ({
    from: row.from,
    until: it.forgiven.includes(row.id) ? row.until : netUntil(row),
  }))
  for (const run of it.runs) {
    const end = run.until !== null && run.until < until ? run.until : until
    for (let date = run.from; date < end; date = addDays(date, 1)) {
      if (isWithin(date, kept) || isWithin(date, it.gaps, 31) || mayMiss(date)) continue
      expect({ notCharged: date, runs: it.runs, kept }).toBe(date)
    }
  }
}

async function checkMoney(it: Living): Promise<void> {
  for (const { netMinor, creditedMinor } of await listCharged(it))
    if (creditedMinor !== 0n) expect(creditedMinor > 0n && creditedMinor <= netMinor).toBe(true)
  for (const { Total, TotalNegativeAdjs } of await invoicesOf(it.client)) {
    expect(Total).toBeGreaterThan(0)
    expect(TotalNegativeAdjs).toBeLessThanOrEqual(Total)
  }
}

async function checkDays(it: Living): Promise<void> {
  const charged = await listCharged(it)
  const packages = charged.filter(({ kind }) => PACKAGE.includes(kind))
  const seats = charged.filter(({ kind, item }) => SEATS.includes(kind) && Number(item) === it.seats)
  noDayTwice(packages, it.anew)
  noDayTwice(seats, it.anew)
}

async function checkWhole(it: Living): Promise<void> {
  const s = await readIt(it)
  const charged = await listCharged(it)
  const end = endOf(s)
  const until = end !== null && end < it.today ? end : it.today
  noDayLeftOut(
    it,
    charged.filter(({ kind }) => PACKAGE.includes(kind)),
    until,
    () => false,
  )
  const ofSeats = charged.filter(({ item, kind }) => Number(item) === it.seats && [...SEATS, 'rise'].includes(kind))
  noDayLeftOut(it, ofSeats, until, (date) => isWithin(date, it.away))
  if (it.calledUnits === null) return
  // A correction that became a credit is kept beside what it takes off; it counts once.
  const calls = charged.filter(
    ({ kind, invoiceId, netMinor }) =>
      (kind === 'metered' || kind === 'late_usage') && (invoiceId !== null || netMinor >= 0n),
  )
  const paidMinor = calls.reduce((sum, { netMinor, creditedMinor }) => sum + netMinor - creditedMinor, 0n)
  expect(paidMinor).toBe(BigInt(it.calledUnits * 100))
}

async function live(start: Start, acts: readonly Act[]): Promise<void> {
  const it = await begin(start)
  for (const act of acts) {
    await perform(it, act)
    await checkDays(it)
    await checkMoney(it)
  }
  // What is owed comes within 31 days, once the customer is billed again.
  await perform(it, { kind: 'unsuspend', n: 0 })
  await wait(it, 70)
  await checkDays(it)
  await checkMoney(it)
  await checkWhole(it)
  expect(await differencesOf(service, it.client)).toEqual([])
}

test('previews come true, no day is charged twice or left out, no credit exceeds its charge, running again makes nothing', async () => {
  await assertInTime(fc.asyncProperty(starts, histories, live), {
    numRuns: Number(process.env['LIVES'] ?? 12),
    limitMs: Number(process.env['LIVES_MS'] ?? 15_000),
  })
}, 900_000)
