import type { IsoDate } from '../../kernel/calendar.ts'
import { type Decimal, decimal, ZERO } from '../../kernel/decimal.ts'
import { type Book, creditsText, emptyBook, invoiceRows, keepCredits, keepInvoices } from './book.testing.ts'
import {
  componentAtStart,
  type ComponentOffer,
  type ComponentState,
  setQuantity,
  type SubscriptionFacts,
} from './components.ts'
import { type InvoicedCharge, isPackageKind } from './coverage.ts'
import type { PlanOptions } from './deferred.ts'
import type { OperationPlan } from './component-changes.ts'
import { cycleFrom } from './period.ts'
import { planSubscriptionDue, type SubscriptionPlan } from './plan-due.ts'
import { type Cursor, firstCursor, type PlannedInvoice, type SubscriptionTerms } from './renewal.ts'
import { type SubscriptionState, termsOf } from './subscription.ts'
import { cycleOfUsage, reportUsage } from './usage.ts'

/** A free package from 1 January 2027, so that only components show. */
export function freeSubscription(over: Partial<SubscriptionState> = {}): SubscriptionState {
  const state: SubscriptionState = {
    startDate: '2027-01-01',
    trialEndDate: null,
    syncDate: null,
    endDate: null,
    cancelledOn: null,
    pending: null,
    cycle: cycleFrom('2027-01-01', 1, 'months'),
    componentAnchor: '2027-01-01',
    isProRata: true,
    leadDays: 0,
    cursor: { feesOn: null, nextFrom: '2027-01-01', lastFrom: null },
    stretch: 1,
    packageId: 7n,
    packageName: 'Basic',
    price: ZERO,
    setupFeeMinor: 0n,
    trialFeeMinor: 0n,
    digits: 2,
    ...over,
  }
  return { ...state, cursor: firstCursor(termsOf(state)) }
}

/** A subscription without components, of these terms. */
export const factsOf = (terms: SubscriptionTerms, cursor: Cursor): SubscriptionFacts => ({
  state: { ...freeSubscription(), ...terms, cursor },
  components: [],
})

/** A subscription that lives: what was invoiced and credited is kept, and nothing may be charged twice. */
export class Life {
  state: SubscriptionState
  components: readonly ComponentState[]
  book: Book = emptyBook()
  today = '2027-01-01'
  /** Days from which what was charged before may be charged anew: a start again, or a change without pro rata. */
  anew: IsoDate[] = []

  rates: readonly Decimal[]

  constructor(state: SubscriptionState, offers: readonly ComponentOffer[], rates: readonly Decimal[] = []) {
    this.rates = rates
    this.state = state
    this.components = offers.map((offer) => componentAtStart(state, offer))
  }

  get facts() {
    return { state: this.state, components: this.components }
  }

  get changes() {
    return { charges: chargesBeyond(this.book.charges, this.today), today: this.today }
  }

  /** Bills everything due on a day, and returns the invoices that are made as text. */
  on(today: string, options?: PlanOptions): string[] {
    this.today = today
    return this.keep(planSubscriptionDue(this.facts, today, options))
  }

  keep(plan: SubscriptionPlan | OperationPlan): string[] {
    this.state = plan.state
    this.components = plan.components
    keepInvoices(this.book, plan.invoices, this.rates, this.state.digits)
    return madeRows(plan.invoices)
  }

  credits(plan: OperationPlan): string {
    return creditsText(keepCredits(this.book, plan.givenBack))
  }

  set(index: number, change: (component: ComponentState) => ComponentState): void {
    this.components = this.components.map((component, at) => (at === index ? change(component) : component))
  }

  quantity(index: number, units: string): void {
    this.set(index, (component) => setQuantity(component, decimal(units), this.state, this.today))
  }

  use(index: number, units: string, day: string = this.today): void {
    this.set(index, (component) =>
      reportUsage(component, cycleOfUsage(component, this.state, day)!, { units: decimal(units), isSet: false }),
    )
  }
}

/** Returns the charges that a database reads for a change: those that reach beyond a day, fees, and every later package or term than those. */
export function chargesBeyond(charges: readonly InvoicedCharge[], day: IsoDate): InvoicedCharge[] {
  const isBeyond = ({ wholeUntil }: InvoicedCharge): boolean => wholeUntil !== null && wholeUntil > day
  const stretches = charges.filter((charge) => isBeyond(charge) && isPackageKind(charge.kind))
  const first = Math.min(...stretches.map(({ stretch }) => stretch))
  return charges.filter(
    (charge) => isBeyond(charge) || charge.from === null || (isPackageKind(charge.kind) && charge.stretch > first),
  )
}

/** Invoices as made: lines of 0 are not written, and an invoice without a line is not made. */
export const madeRows = (invoices: readonly PlannedInvoice[]): string[] =>
  invoiceRows(
    invoices
      .map((invoice) => ({ ...invoice, charges: invoice.charges.filter(({ netMinor }) => netMinor !== 0n) }))
      .filter(({ charges }) => charges.length > 0),
  )
