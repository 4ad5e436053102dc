import fc from 'fast-check'
import { expect } from 'vitest'
import { asPreview, day, invoicesOf, moveTo } from '../support/shop.ts'
import { addComponent, use } from '../../src/features/subscriptions/components.testing.ts'
import { addDays, type IsoDate } from '../../src/kernel/calendar.ts'
import { sql } from '../../src/platform/database/sql.ts'
import type { Reply, TestClient, TestService } from '../support/app.ts'

/** Random lives of a subscription over HTTP: what can happen to one, and what is known of it afterwards. */

export const START: IsoDate = '2027-01-31'

export const starts = fc.record({
  Term: fc.constantFrom(1, 3, 13),
  trialPeriod: fc.constantFrom(0, 0, 20),
  setupFee: fc.constantFrom(0, 5),
  startsIn: fc.constantFrom(0, 0, 0, 9, -40),
  endsAfter: fc.option(fc.integer({ min: 1, max: 200 }), { freq: 3 }),
  syncsAfter: fc.option(fc.integer({ min: 1, max: 40 }), { freq: 3 }),
  isProRata: fc.constantFrom(true, true, false),
  leadDays: fc.constantFrom(0, 0, 7, 40),
  seatTerm: fc.constantFrom(1, 3, 10),
  callTerm: fc.constantFrom(1, 10, 45),
})
export type Start = typeof starts extends fc.Arbitrary<infer S> ? S : never

const n = fc.integer({ min: 0, max: 45 })
const OFTEN = ['wait', 'wait', 'wait', 'use', 'late', 'seats', 'seatsNow', 'end'] as const
const SELDOM = ['packageNow', 'packageRenewal', 'termNow', 'termRenewal', 'drop', 'reactivate', 'leave'] as const
const RARELY = ['cancelRenewal', 'cancelNorefund', 'cancelProrata', 'cancelFullcredit', 'suspend', 'unsuspend'] as const
const actOf = <K extends string>(...kinds: readonly K[]) => fc.record({ kind: fc.constantFrom(...kinds), n })
export const histories = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: actOf(...OFTEN) },
    { weight: 4, arbitrary: actOf(...SELDOM) },
    { weight: 3, arbitrary: actOf(...RARELY) },
  ),
  { minLength: 4, maxLength: 14, size: 'max' },
)
export type Act = typeof histories extends fc.Arbitrary<(infer A)[]> ? A : never

/** A life as it goes, with what a checker must know and the database does not say. */
export interface Living {
  service: TestService
  client: TestClient
  customerID: number
  id: number
  path: string
  packages: number[]
  seats: number
  calls: number
  today: IsoDate
  isProRata: boolean
  /** Days on which what was charged before may be charged anew: a start again, or a change without pro rata. */
  anew: IsoDate[]
  /** Charges that a full credit gave back although their days were used. */
  forgiven: bigint[]
  gaps: { from: IsoDate; until: IsoDate | null }[]
  /** Days from and until which the seats were left out. */
  away: { from: IsoDate; until: IsoDate | null }[]
  /** Spans in which the subscription ran. */
  runs: { from: IsoDate; until: IsoDate | null }[]
  /** Calls reported that must be paid for; null once it cannot be told any more. */
  calledUnits: number | null
}

export async function addOffers(client: TestClient, start: Start) {
  const group = await client.post('/v1/packagegroups', { GroupName: 'Plans' })
  const packages: number[] = []
  for (const [code, prices] of Object.entries({ A: [310, 910, 133.33], B: [619.99, 1801, 250] })) {
    const PackageRateTerms = prices.map((ChargePrice, index) => ({
      ChargePrice,
      ChargeTerm: [1, 3, 13][index],
      ChargeTermType: index === 2 ? 'days' : 'months',
    }))
    const rate = {
      CurrencyCode: 'USD',
      SetupFee: start.setupFee,
      TrialFee: 3,
      TrialPeriod: start.trialPeriod,
      TrialPeriodType: 'days',
      PackageRateTerms,
    }
    const added = await client.post('/v1/packages', {
      packageGroupID: group.body.packageGroupID,
      packageCode: code,
      Name: code,
      Descrip: code,
      isActive: true,
      PackageVersion: { VersionName: '1', isActive: true, isDefault: true, packageVersionRates: [rate] },
    })
    packages.push(added.body.packageID)
  }
  const typeOf = (term: number) => (term >= 10 ? 'days' : 'months')
  const { seatTerm, callTerm } = start
  const seats = await addComponent(client, { term: seatTerm, termType: typeOf(seatTerm), brackets: [[31, null]] })
  const calls = await addComponent(client, {
    type: 'metered',
    term: callTerm,
    termType: typeOf(callTerm),
    brackets: [[1, null]],
  })
  return { packages, seats: seats.componentID as number, calls: calls.componentID as number }
}

/** Notes the start of a subscription. One that has not begun is replaced as if it had been added so: its first period follows the new package's trial. */
async function noteStart(it: Living): Promise<void> {
  const s = await readIt(it)
  if (s.comp_Status === 'Future') it.runs.at(-1)!.from = (day(s.TrialEndDate) ?? day(s.StartDate)) as IsoDate
}

/** Asks for the preview of a change, does it, and compares: a preview makes exactly what is then made. */
async function change(it: Living, path: string, body: object): Promise<Reply> {
  const shown = await it.client.put(`${path}?preview=true`, body)
  const [before, notes] = [await invoicesOf(it.client), await countNotes(it)]
  const reply = await it.client.put(path, body)
  if (reply.status !== 204) {
    expect([shown.status, shown.text]).toEqual([reply.status, reply.text])
    return reply
  }
  expect(shown.status).toBe(200)
  if (!path.endsWith('reactivate')) await noteStart(it)
  const made = (await invoicesOf(it.client)).slice(before.length)
  expect(shown.body.Invoices.map(withoutCredit)).toEqual(
    made.map((invoice, index) => withoutCredit(asPreview(invoice, shown.body.Invoices[index]))),
  )
  expect(shown.body.CreditNotes.map(({ invoiceID, Amount, Net }: any) => [invoiceID, Amount, Net])).toEqual(
    (await listNotes(it)).slice(notes).map(({ invoice, total, net }) => [Number(invoice), Number(total), Number(net)]),
  )
  return reply
}

/** A preview shows invoices with nothing applied. */
const withoutCredit = ({
  TotalNegativeAdjs: _credit,
  Balance: _b,
  ActualBalance: _a,
  NegativeAdjustmentsApplied: _n,
  ...rest
}: any) => rest

interface NoteRow {
  invoice: bigint
  total: string
  net: string
}

const listNotes = ({ service, client }: Living) =>
  service.db.reader(client.id).rows<NoteRow>(sql`
    select n.invoice_id as "invoice", (n.amount_minor / 100.0)::text as "total", (sum(l.net_minor) / 100.0)::text as "net"
      from negative_adjustments n
      join credit_note_lines l on l.account_id = n.account_id and l.credit_note_id = n.negative_adjustment_id
     where n.account_id = ${client.id} group by n.account_id, n.negative_adjustment_id order by n.negative_adjustment_id`)
const countNotes = async (it: Living): Promise<number> => (await listNotes(it)).length

const CANCELS: Record<string, string> = {
  cancelRenewal: 'renewal',
  cancelNorefund: 'norefund',
  cancelProrata: 'prorata',
  cancelFullcredit: 'fullcredit',
}

export const readIt = async ({ client, path }: Living) => (await client.get(path)).body
/** The first day not covered of a subscription that ended or will: one cancelled while future keeps its EndDate. */
export const endOf = (s: any): IsoDate | null => {
  const days = [day(s.EndDate), day(s.CancelledDate)].filter((date) => date !== null)
  return days.toSorted()[0] ?? null
}
const hasEnded = (s: any): boolean => s.comp_Status === 'Cancelled' || s.comp_Status === 'Expired'

/** Does one act. Whatever is refused changes nothing. */
export async function perform(it: Living, { kind, n: much }: Act): Promise<void> {
  const { client, path, today, packages } = it
  const term = [
    { Term: 1, TermType: 'months' },
    { Term: 3, TermType: 'months' },
    { Term: 13, TermType: 'days' },
  ][much % 3]!
  const offer = { packageID: packages[much % 2], ...term }
  switch (kind) {
    case 'wait':
      return wait(it, much + 1)
    case 'use':
      return reportCalls(it, much, today)
    case 'late':
      return reportCalls(it, much - 12, addDays(today, -much))
    case 'seats':
    case 'seatsNow':
    case 'leave':
      return changeSeats(it, kind === 'leave' ? 0 : 1 + (much % 9), kind === 'seatsNow')
    case 'end':
      return void (await change(it, `${path}/changeenddate`, { EndDate: much % 4 === 0 ? null : addDays(today, much) }))
    case 'packageNow':
      return changeNow(it, 'changepackage', offer)
    case 'termNow':
      return changeNow(it, 'changeterm', term)
    case 'packageRenewal':
      return void (await change(it, `${path}/changepackage`, offer))
    case 'termRenewal':
      return void (await change(it, `${path}/changeterm`, term))
    case 'drop':
      return void (await client.delete(`${path}/futurechanges`))
    case 'reactivate':
      return reactivate(it, much)
    case 'suspend':
    case 'unsuspend':
      await client.put(`/v1/customers/${it.customerID}/${kind}`)
      if (kind === 'unsuspend') endSpan(it.gaps, today)
      else if (it.gaps.at(-1)?.until !== null) it.gaps.push({ from: today, until: null })
      return
    default:
      return cancel(it, CANCELS[kind]!)
  }
}

/** Another number of seats, or none. */
async function changeSeats(it: Living, NumUnits: number, isNow: boolean): Promise<void> {
  const seats = NumUnits === 0 ? [] : [{ componentID: it.seats, NumUnits }]
  const body = { componentUsage: [...seats, { componentID: it.calls }], ...(isNow ? { When: 'now' } : {}) }
  const reply = await change(it, `${it.path}/components/modify`, body)
  if (reply.status !== 204) return
  if (NumUnits > 0) endSpan(it.away, it.today)
  else if (it.away.at(-1)?.until !== null) it.away.push({ from: it.today, until: null })
}

/** Without pro rata a change now charges a full new period beside what is left of the old one. */
async function changeNow(it: Living, what: string, wish: object): Promise<void> {
  const reply = await change(it, `${it.path}/${what}`, { ...wish, When: 'now' })
  if (reply.status === 204 && !it.isProRata) it.anew.push(it.today)
}

function endSpan(spans: { until: IsoDate | null }[], on: IsoDate): void {
  const last = spans.at(-1)
  if (last && last.until === null) last.until = on
}

async function reactivate(it: Living, much: number): Promise<void> {
  const s = await readIt(it)
  const StartDate = addDays(it.today, (much % 5) - 2)
  const reply = await change(it, `${it.path}/reactivate`, { StartDate })
  if (reply.status !== 204 || !hasEnded(s)) return
  it.anew.push(StartDate)
  it.runs.at(-1)!.until = endOf(s)
  it.runs.push({ from: StartDate, until: null })
}

async function cancel(it: Living, kind: string): Promise<void> {
  const before = await creditedFrom(it)
  const reply = await change(it, `${it.path}/cancel/${kind}`, {})
  if (reply.status !== 204 || kind !== 'fullcredit') return
  // A charge that an end had credited in part before is given back whole all the same.
  for (const [id, from] of await creditedFrom(it)) if (before.get(id) !== from) it.forgiven.push(id)
  it.calledUnits = null
}

/** Returns the day from which each credited charge is credited. */
const creditedFrom = async ({ service, client }: Living): Promise<Map<bigint, IsoDate>> =>
  new Map(
    (
      await service.db.reader(client.id).rows<{ id: bigint; from: IsoDate }>(sql`
        select charge_id as "id", credited_from as "from"
          from charges where account_id = ${client.id} and credited_from is not null`)
    ).map(({ id, from }) => [id, from]),
  )

async function reportCalls(it: Living, units: number, Date: IsoDate): Promise<void> {
  const s = await readIt(it)
  const reply = await use(it.client, it.id, { componentID: it.calls, NumUnits: units, Date: `${Date}T12:00:00Z` })
  const isInTrial = s.TrialEndDate !== null && Date < (day(s.TrialEndDate) as string)
  if (reply.status === 204 && it.calledUnits !== null && !isInTrial) it.calledUnits += units
}

/** Time passes. The next invoice that was shown is the one that is made first, if that day is reached. */
export async function wait(it: Living, days: number): Promise<void> {
  const { client, path } = it
  const preview = (await client.get(`${path}/preview`)).body
  const before = (await invoicesOf(client)).length
  it.today = addDays(it.today, days)
  expect(await moveTo(client, it.today)).toMatchObject({ Failed: [] })
  const made = (await invoicesOf(client)).slice(before)
  const on = day(preview.InvoiceDate)
  if (on === null || on > it.today) expect(made).toEqual([])
  else expect(withoutCredit(asPreview(made[0], preview))).toEqual(withoutCredit(preview))
  expect(await moveTo(client, it.today)).toMatchObject({ Invoices: 0, Failed: [] })
}
