import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays, daysBetween, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { decimal, type Decimal, ZERO } from '../../kernel/decimal.ts'
import { Fault } from '../../kernel/fault.ts'
import { keepCredits } from './book.testing.ts'
import { changeAtRenewal, changeEndDate, changeNow, type ChangePlan, dropPending } from './changes.ts'
import { type ComponentOffer, type ComponentType, leaveOut, reattachComponent, setQuantity } from './components.ts'
import { coveredDays, type InvoicedCharge, isInAdvance, isPackageKind } from './coverage.ts'
import { givenBackAtEnd } from './cancel.ts'
import { chargesBeyond, Life } from './life.testing.ts'
import { cancelSubscription, type OperationPlan, reactivateSubscription, withComponents } from './component-changes.ts'
import { cycleFrom } from './period.ts'
import { planNextInvoice, planSubscriptionDue } from './plan-due.ts'
import { firstCursor, firstPeriodFrom, type PlannedInvoice, resumeAfterGap } from './renewal.ts'
import { planDue } from './renewal.testing.ts'
import { planBeforeGap } from './gap.testing.ts'
import { planReturn } from './resume.ts'
import { endOf, hasEnded, type PackageOffer, type SubscriptionState, termsOf } from './subscription.ts'
import { cycleOfUsage, reportUsage } from './usage.ts'

/** Whole lives of subscriptions: anything may happen on any day, and the account must still add up. */

const price = fc.bigInt({ min: 1n, max: 10n ** 6n }).map((coefficient): Decimal => ({ coefficient, scale: 3 }))
const term = fc.constantFrom(
  { term: 1, termType: 'months' as const },
  { term: 3, termType: 'months' as const },
  { term: 10, termType: 'days' as const },
)
const packageOffer: fc.Arbitrary<PackageOffer> = fc
  .record({ packageId: fc.bigInt({ min: 1n, max: 3n }), price, shape: term })
  .map(({ packageId, price: exact, shape }) => ({ packageId, packageName: `P${packageId}`, price: exact, ...shape }))

const brackets = fc
  .record({ first: price, second: price, till: fc.integer({ min: 1, max: 9 }) })
  .map(({ first, second, till }) => [
    { from: ZERO, till: decimal(till), price: first },
    { from: decimal(till + 1), till: null, price: second },
  ])

const componentOffer = (componentId: bigint, type: ComponentType): fc.Arbitrary<ComponentOffer> =>
  fc
    .record({
      list: brackets,
      scheme: fc.constantFrom('unit' as const, 'volume' as const, 'stairstep' as const),
      shape: term,
      units: fc.integer({ min: 0, max: 20 }),
    })
    .map(({ list, scheme, shape, units }) => ({
      componentId,
      name: `C${componentId}`,
      type,
      ...shape,
      version: { versionId: componentId, scheme, list },
      quantity: decimal(type === 'metered' ? 0 : units),
    }))

interface Start {
  trialDays: number
  syncDays: number
  runDays: number | null
  isProRata: boolean
  leadDays: number
  offer: PackageOffer
  seats: ComponentOffer
  usage: ComponentOffer
}

const start: fc.Arbitrary<Start> = fc.record({
  trialDays: fc.constantFrom(0, 0, 14),
  syncDays: fc.constantFrom(0, 0, 17),
  runDays: fc.option(fc.integer({ min: 1, max: 200 }), { freq: 4 }),
  isProRata: fc.constantFrom(true, true, false),
  leadDays: fc.constantFrom(0, 0, 7, 40),
  offer: packageOffer,
  seats: componentOffer(21n, 'quantity'),
  usage: componentOffer(22n, 'metered'),
})

function livingFrom(given: Start): Life {
  const { trialDays, syncDays, runDays, isProRata, leadDays, offer } = given
  const startDate = '2027-01-31'
  const trialEndDate = trialDays === 0 ? null : addDays(startDate, trialDays)
  const syncDate = syncDays > 0 && isProRata ? addDays(trialEndDate ?? startDate, syncDays) : null
  const anchor = syncDate ?? trialEndDate ?? startDate
  const state: SubscriptionState = {
    startDate,
    trialEndDate,
    syncDate,
    endDate: runDays === null ? null : addDays(startDate, runDays),
    cancelledOn: null,
    pending: null,
    cycle: cycleFrom(anchor, offer.term, offer.termType),
    componentAnchor: anchor,
    isProRata,
    leadDays,
    cursor: { feesOn: null, nextFrom: startDate, lastFrom: null },
    stretch: 1,
    packageId: offer.packageId,
    packageName: offer.packageName,
    price: offer.price,
    setupFeeMinor: 500n,
    trialFeeMinor: 900n,
    digits: 2,
  }
  const life = new Life(
    { ...state, cursor: firstCursor(termsOf(state)) },
    [given.seats, given.usage],
    [decimal('0.15'), decimal('0.0777')],
  )
  life.today = startDate
  return life
}

type Act =
  | { act: 'wait' | 'suspend' | 'use' | 'late' | 'quantity' | 'end' | 'restart'; n: number }
  | { act: 'leave' | 'drop' | 'attach'; n: number }
  | { act: 'now' | 'renewal'; offer: PackageOffer; n: number }
  | { act: 'cancel'; kind: 'renewal' | 'norefund' | 'prorata' | 'fullcredit'; n: number }

const small = fc.integer({ min: 0, max: 45 })
const KINDS = ['renewal', 'norefund', 'prorata', 'fullcredit'] as const
const often = fc.constantFrom('wait' as const, 'use' as const, 'late' as const, 'quantity' as const, 'end' as const)
const rarely = fc.constantFrom(
  'leave' as const,
  'attach' as const,
  'drop' as const,
  'suspend' as const,
  'restart' as const,
)
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: often, n: small }) },
  { weight: 4, arbitrary: fc.record({ act: rarely, n: small }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom('now' as const, 'renewal' as const),
      offer: packageOffer,
      n: small,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('cancel' as const), kind: fc.constantFrom(...KINDS), n: small }),
  },
)
const history = fc.array(act, { minLength: 3, maxLength: 14, size: 'max' })

/** Bills a day, with what the end of a pending cancellation gives back. */
function bill(life: Life, today: IsoDate): void {
  const wasPending = life.state.pending?.kind === 'cancellation'
  const plan = planSubscriptionDue(life.facts, today)
  life.today = today
  life.keep(plan)
  if (plan.ended !== 'cancelled' || !wasPending) return
  const endedOn = endOf(life.state)!
  keepCredits(life.book, givenBackAtEnd(life.state, chargesBeyond(life.book.charges, endedOn), endedOn))
}

function keepOperation(life: Life, plan: OperationPlan): void {
  keepCredits(life.book, plan.givenBack)
  life.keep(plan)
}

const keepChange = (life: Life, plan: ChangePlan): void => keepOperation(life, withComponents(plan, life.components))

function perform(life: Life, given: Act, from: Start): void {
  const { state, changes, today, components } = life
  const isOver = hasEnded(state, today)
  if (given.act === 'cancel') return keepOperation(life, cancelSubscription(life.facts, given.kind, changes, false))
  if (given.act === 'restart') {
    const startDate = addDays(today, given.n % 3)
    keepOperation(life, reactivateSubscription(life.facts, { startDate, endDate: null }, changes))
    if (isOver) life.anew.push(startDate)
    return
  }
  if (given.act === 'late' || given.act === 'use') return report(life, given.act === 'late' ? given.n : 0)
  if (isOver || today < state.startDate) return
  if (given.act === 'now') {
    keepChange(life, changeNow(state, given.offer, changes))
    if (!state.isProRata) life.anew.push(today)
    return
  }
  if (given.act === 'renewal') return keepChange(life, changeAtRenewal(state, 'package', given.offer, changes))
  if (given.act === 'drop') return keepChange(life, dropPending(state, changes))
  if (given.act === 'end')
    return keepChange(life, changeEndDate(state, given.n % 4 === 0 ? null : addDays(today, given.n), changes))
  if (given.act === 'quantity' && components[0]!.leftOutOn === null)
    return life.set(0, (component) => setQuantity(component, decimal(given.n), state, today))
  if (given.act === 'leave')
    return life.set(given.n % 2, (component) =>
      component.leftOutOn === null ? leaveOut(component, state, today) : component,
    )
  if (given.act === 'attach') {
    const index = given.n % 2
    const offer = index === 0 ? from.seats : from.usage
    return life.set(index, (component) =>
      component.leftOutOn === null ? component : reattachComponent(component, state, offer, today),
    )
  }
}

function report(life: Life, daysAgo: number): void {
  const day = addDays(life.today, -daysAgo)
  const end = endOf(life.state)
  const component = life.components[1]!
  if (day < life.state.startDate || component.leftOutOn !== null || (end !== null && day >= end)) return
  const cycle = cycleOfUsage(component, life.state, day)
  if (cycle !== null) life.set(1, (metered) => reportUsage(metered, cycle, { units: decimal(7), isSet: false }))
}

/** Time passes until the act, billed every `step` days; a suspension is not billed at all. */
function pass(life: Life, given: Act, step: number): void {
  const until = addDays(life.today, given.n)
  if (given.act === 'suspend') {
    const gapFrom = life.today
    const plan = planReturn(life.facts, gapFrom, until)
    life.today = until
    life.keep(plan)
    return
  }
  for (let day = life.today; day < until; day = addDays(day, step)) bill(life, day)
  bill(life, until)
}

/** Lives one history; refusals change nothing. */
function live(from: Start, acts: readonly Act[], step: number, check: (life: Life) => void): Life {
  const life = livingFrom(from)
  bill(life, life.today)
  for (const given of acts) {
    pass(life, given, step)
    try {
      perform(life, given, from)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
    }
    check(life)
    bill(life, life.today)
    expect(planSubscriptionDue(life.facts, life.today).invoices, 'planning again makes nothing').toEqual([])
  }
  pass(life, { act: 'wait', n: 60 }, step)
  check(life)
  return life
}

function creditsAreInside({ book }: Life): void {
  for (const { creditedMinor, netMinor } of book.charges)
    if (creditedMinor !== 0n) expect(creditedMinor > 0n && creditedMinor <= netMinor).toBe(true)
  for (const { leftMinor, taxes } of book.invoices)
    if (leftMinor < 0n || taxes.some((tax) => tax.settledMinor > tax.amountMinor))
      expect(book.notes).toEqual('inside their invoices')
}

/** Days of the periods themselves, by package or component; rises lie on top of them. */
function coveredBy({ book }: Life): Map<string, { from: IsoDate; until: IsoDate }[]> {
  const days = new Map<string, { from: IsoDate; until: IsoDate }[]>()
  const seen = new Set<string>()
  for (const { charge, from, until } of coveredDays(book.charges)) {
    if (charge.kind === 'rise') continue
    // The lines of several brackets cover the same days together.
    const lines = `${charge.kind}/${charge.itemId}/${charge.stretch}/${charge.part}/${from}`
    if (charge.kind === 'component' && seen.has(lines)) continue
    seen.add(lines)
    const key = isPackageKind(charge.kind) ? 'package' : String(charge.itemId)
    days.set(key, [...(days.get(key) ?? []), { from, until }])
  }
  for (const spans of days.values()) spans.sort((a, b) => (a.from < b.from ? -1 : 1))
  return days
}

/** Of two charges for a day, the later one is of a later stretch that began where charging anew is a rule. */
function noDayTwice({ book, anew }: Life): void {
  const seen = new Map<string, { charge: InvoicedCharge; until: IsoDate }[]>()
  const lines = new Set<string>()
  for (const charge of book.charges) {
    const { kind, itemId, stretch, part, from, until, creditedFrom } = charge
    if (!isInAdvance(kind) || kind === 'rise' || from === null || until === null) continue
    // The lines of several brackets cover the same days together.
    const line = [kind, itemId, stretch, part, from].join('/')
    if (lines.has(line)) continue
    lines.add(line)
    const item = isPackageKind(kind) ? 'package' : String(itemId)
    const others = seen.get(item) ?? []
    const own = { charge, until: earlier(creditedFrom ?? until, until) }
    for (const other of others) if (overlap(own, other)) checkAnew(item, own.charge, other.charge, anew)
    seen.set(item, [...others, own])
  }
}

type Counted = { charge: InvoicedCharge; until: IsoDate }
const overlap = (a: Counted, b: Counted): boolean => later(a.charge.from!, b.charge.from!) < earlier(a.until, b.until)

function checkAnew(item: string, a: InvoicedCharge, b: InvoicedCharge, anew: readonly IsoDate[]): void {
  const [first, second] = a.stretch < b.stretch ? [a, b] : [b, a]
  const isAnew = first.stretch < second.stretch && anew.some((on) => on >= first.from! && on <= second.from!)
  expect(isAnew, `${item} is charged once on ${second.from}`).toBe(true)
}

/** Every day of the present life of the subscription up to the cursor is charged, where no rule drops days. */
function noDayLeftOut(life: Life): void {
  const { state } = life
  if (hasEnded(state, life.today)) return
  const covered = coveredBy(life)
  isCovered(life, covered.get('package') ?? [], state.cursor.nextFrom)
  const seats = life.components[0]!
  if (seats.quantity.coefficient > 0n) isCovered(life, covered.get(String(seats.componentId)) ?? [], seats.nextFrom)
}

function isCovered(life: Life, spans: readonly { from: IsoDate; until: IsoDate }[], cursor: IsoDate): void {
  const end = endOf(life.state)
  const from = firstPeriodFrom(life.state)
  const until = end !== null && end < cursor ? end : cursor
  let reached = from
  for (const span of spans) if (span.from <= reached && span.until > reached) reached = span.until
  if (until > from) expect(reached >= until, `charged from ${from} to ${until}, and not only to ${reached}`).toBe(true)
}

test('whatever happens, credits stay inside charges, no day is charged twice, and planning again makes nothing', () => {
  fc.assert(
    fc.property(start, history, (from, acts) => {
      live(from, acts, 90, (life) => {
        creditsAreInside(life)
        noDayTwice(life)
      })
    }),
    { numRuns: 400 },
  )
})

test('no day of package or component is left out where nothing is suspended, left out or free', () => {
  fc.assert(
    fc.property(start, history, (from, acts) => {
      const steady = acts
        .filter((given) => given.act !== 'suspend' && given.act !== 'leave')
        .map((given) => (given.act === 'quantity' ? { ...given, n: given.n + 1 } : given))
      const seats = { ...from.seats, quantity: decimal('3') }
      live({ ...from, seats }, steady, 90, noDayLeftOut)
    }),
    { numRuns: 200 },
  )
})

test('a run that is late charges what daily runs charge', () => {
  const told = ({ book }: Life) =>
    book.planned
      .map(({ kind, itemId, stretch, part, from, until, netMinor }) =>
        [kind, itemId, stretch, part, from, until, netMinor].join(' '),
      )
      .toSorted()
  fc.assert(
    fc.property(start, history, (from, acts) => {
      const nothing = (): void => {}
      expect(told(live(from, acts, 400, nothing))).toEqual(told(live(from, acts, 1, nothing)))
    }),
    { numRuns: 50 },
  )
})

test('the preview is the next invoice that is made', () => {
  fc.assert(
    fc.property(start, history, (from, acts) => {
      const life = live(from, acts, 90, () => {})
      const next = planNextInvoice(life.facts, life.today)
      if (next === undefined || daysBetween(life.today, next.invoiceDate) > 400) return
      for (let day = life.today; day < next.invoiceDate; day = addDays(day, 1)) expect(life.on(day)).toEqual([])
      const { charges } = planSubscriptionDue(life.facts, next.invoiceDate).invoices.find((made) =>
        made.charges.some(({ netMinor }) => netMinor !== 0n),
      )!
      expect(charges).toEqual(next.charges)
    }),
    { numRuns: 50 },
  )
})

test('without components it is the package alone, with and without a suspension', () => {
  const rows = (invoices: readonly PlannedInvoice[]) =>
    invoices.map(({ scheduledOn, charges }) => ({ scheduledOn, charges }))
  fc.assert(
    fc.property(start, fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 200 }), (from, after, days) => {
      const { state } = livingFrom(from)
      const terms = termsOf(state)
      const today = addDays(state.startDate, after)
      const alone = planDue(terms, state.cursor, today)
      expect(planSubscriptionDue({ state, components: [] }, today).invoices).toEqual(alone.invoices)

      const returnsOn = addDays(today, days)
      const owed = planBeforeGap(terms, state.cursor, today, returnsOn)
      const resumed = planDue(terms, resumeAfterGap(terms, owed.cursor, today, returnsOn), returnsOn)
      const plan = planReturn({ state, components: [] }, today, returnsOn)
      expect(rows(plan.invoices)).toEqual(rows([...owed.invoices, ...resumed.invoices]))
      expect(plan.state.cursor).toEqual(resumed.cursor)
    }),
  )
})
