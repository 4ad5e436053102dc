/**
 * Model of the money of a few customers, written independently in as few words as it takes: amounts in whole minor units, documents, and
 * allocations between them. It knows nothing of the service but the interface, so that the two can be held against each other.
 */

export interface Owed {
  kind: 'invoice' | 'refund' | 'interest' | 'opening_balance'
  id: number
  /** An invoice's; null while a draft, and of adjustments. */
  number: number | null
  customer: number
  currency: string
  amount: number
  /** Of an invoice: what of its amount is tax. */
  tax: number
  dated: string
  due: string
  state: 'open' | 'draft' | 'cancelled'
}

export interface Given {
  kind: 'payment' | 'credit_note' | 'bad_debt'
  id: number
  customer: number
  currency: string
  amount: number
  dated: string
  ref: string | null
  isFailed: boolean
  /** The invoice that a note of the service credits, and what of it is tax. */
  credits: { invoice: Owed; tax: number } | null
}

export interface Allocation {
  /** Null until the service has told it. */
  id: number | null
  given: Given
  owed: Owed
  amount: number
  isServiceMade: boolean
}

/** Amount of an invoice that a note corrects, and what of it is tax. */
export interface Settled {
  note: Given
  invoice: Owed
  amount: number
  tax: number
}

export interface Books {
  today: string
  lock: string | null
  takesUnallocated: boolean
  owed: Owed[]
  given: Given[]
  allocations: Allocation[]
  /** In the order made; of the service's notes too. */
  settled: Settled[]
}

/** Entry of a list: a new allocation, or a present one with its new amount and target. */
export interface Entry {
  present: Allocation | null
  owed: Owed
  amount: number
}

export type Ask = { entries: Entry[] } | 'auto' | 'keep'

const total = (some: readonly { amount: number }[]): number => some.reduce((sum, { amount }) => sum + amount, 0)

export const allocationsOf = (books: Books, given: Given) => books.allocations.filter((a) => a.given === given)
export const allocationsTo = (books: Books, owed: Owed) => books.allocations.filter((a) => a.owed === owed)
export const openOf = (books: Books, owed: Owed): number => owed.amount - total(allocationsTo(books, owed))
export const freeOf = (books: Books, given: Given): number => given.amount - total(allocationsOf(books, given))
export const isLocked = ({ lock }: Books, day: string): boolean => lock !== null && day <= lock

const byDay = (a: { dated: string }, b: { dated: string }): number =>
  a.dated < b.dated ? -1 : a.dated > b.dated ? 1 : 0
const rank = ({ kind }: Owed): number => (kind === 'invoice' ? 0 : 1)
const orderOf = ({ number, id }: Owed): number => number ?? id

/** Documents in the order in which AutoApply of a door pays them. */
function inOrder(some: readonly Owed[], door: Given['kind'], isCreditsDoor: boolean): Owed[] {
  return some
    .filter((owed) => !isCreditsDoor || owed.kind === 'invoice')
    .toSorted((a, b) =>
      door === 'payment'
        ? rank(a) - rank(b) || byDay(a, b) || orderOf(a) - orderOf(b)
        : byDay(a, b) || rank(a) - rank(b) || orderOf(a) - orderOf(b),
    )
}

/** The allocations that a record is to have: `before` are those it keeps unless asked otherwise. */
export function wantedOf(
  books: Books,
  given: Given,
  before: readonly Allocation[],
  ask: Ask,
  isCreditsDoor: boolean,
): Allocation[] {
  if (ask === 'keep') return [...before]
  if (ask !== 'auto') {
    return ask.entries.map(({ present, owed, amount }) => ({
      id: present?.id ?? null,
      given,
      owed,
      amount,
      isServiceMade: present !== null && present.isServiceMade && present.owed === owed && present.amount === amount,
    }))
  }
  const kept: Allocation[] = []
  let left = given.amount
  for (const allocation of before.toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0))) {
    const amount = Math.min(left, allocation.amount)
    left -= amount
    if (amount > 0) kept.push({ ...allocation, amount })
  }
  const same = books.owed.filter(
    (o) => o.customer === given.customer && o.currency === given.currency && o.state === 'open',
  )
  for (const owed of inOrder(same, given.kind, isCreditsDoor)) {
    // What gives way is not open to the same request again: nothing is left of the amount then.
    const amount = Math.min(left, openOf(books, owed))
    left -= Math.max(amount, 0)
    if (amount > 0) kept.push({ id: null, given, owed, amount, isServiceMade: false })
  }
  return kept
}

/** Why a record cannot have these allocations: any of these codes is a right answer, none is a success. */
export function refusalsOf(
  books: Books,
  given: Given,
  before: readonly Allocation[],
  wanted: readonly Allocation[],
): string[] {
  const codes: string[] = []
  const isKept = (w: Allocation) =>
    before.some((b) => b.id !== null && b.id === w.id && b.owed === w.owed && b.amount === w.amount)
  for (const { owed } of wanted.filter((w) => !isKept(w))) {
    if (owed.customer !== given.customer) codes.push('other_customer')
    if (owed.currency !== given.currency) codes.push('other_currency')
    if (owed.state !== 'open') codes.push(`invoice_${owed.state}`)
  }
  if (total(wanted) > given.amount) codes.push('over_allocated')
  for (const owed of new Set(wanted.map((w) => w.owed))) {
    const open = openOf(books, owed) + total(before.filter((b) => b.owed === owed))
    if (total(wanted.filter((w) => w.owed === owed)) > open) codes.push('too_little_open')
  }
  return codes
}

/** Puts these allocations in place of those that stood. */
export function replaceAllocations(books: Books, before: readonly Allocation[], wanted: readonly Allocation[]): void {
  books.allocations = [...books.allocations.filter((a) => !before.includes(a)), ...wanted]
}

/** Unallocated money in the order in which it is taken: for an invoice of the rules, or for a refund. */
function freeMoney(books: Books, owed: Owed): Given[] {
  const isCredit = ({ kind }: Given): number => (kind === 'credit_note' ? 1 : 0)
  return books.given
    .filter((g) => g.kind !== 'bad_debt' && !g.isFailed && g.customer === owed.customer && g.currency === owed.currency)
    .filter((g) => freeOf(books, g) > 0)
    .toSorted((a, b) =>
      owed.kind === 'refund'
        ? isCredit(a) - isCredit(b) || byDay(a, b) || a.id - b.id
        : byDay(a, b) || isCredit(b) - isCredit(a) || a.id - b.id,
    )
}

/** Allocates unallocated money to a document when it is made. */
export function takeUnallocated(books: Books, owed: Owed): void {
  if (!books.takesUnallocated) return
  for (const given of freeMoney(books, owed)) {
    const amount = Math.min(openOf(books, owed), freeOf(books, given))
    if (amount > 0) books.allocations.push({ id: null, given, owed, amount, isServiceMade: true })
  }
}

/** Allocates to the invoices of a lost payment what is unallocated of the notes that are settled for each, in the order in which it paid them. */
export function takePlaceOf(books: Books, lost: readonly Allocation[]): void {
  const invoices = lost.toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0)).map(({ owed }) => owed)
  for (const invoice of new Set(invoices.filter(({ kind }) => kind === 'invoice'))) {
    const notes = books.settled.filter((one) => one.invoice === invoice).map(({ note }) => note)
    for (const given of freeMoney(books, invoice).filter((one) => notes.includes(one))) {
      const amount = Math.min(openOf(books, invoice), freeOf(books, given))
      if (amount > 0) books.allocations.push({ id: null, given, owed: invoice, amount, isServiceMade: true })
    }
  }
}

/** Places credit notes of the service: each on its own invoice first, then on what was made with them, then on the oldest that is open. */
export function placeNotes(books: Books, notes: readonly Given[], made: readonly Owed[]): void {
  const put = (given: Given, owed: Owed): void => {
    const amount = Math.min(openOf(books, owed), freeOf(books, given))
    if (amount <= 0) return
    const found = books.allocations.find((a) => a.given === given && a.owed === owed)
    if (found) found.amount += amount
    else books.allocations.push({ id: null, given, owed, amount, isServiceMade: true })
  }
  for (const note of notes) if (note.credits) put(note, note.credits.invoice)
  const [first] = notes
  if (!books.takesUnallocated || !first) return
  const others = books.owed.filter(
    (o) => o.kind === 'invoice' && o.state === 'open' && o.customer === first.customer && o.currency === first.currency,
  )
  const byAge = (some: readonly Owed[]) => some.toSorted((a, b) => byDay(a, b) || a.id - b.id)
  const left = others.filter((owed) => !made.includes(owed))
  for (const owed of [...byAge(made), ...byAge(left)]) for (const note of notes) put(note, owed)
}

/** Returns the allocations of a positive adjustment that takes unallocated money on an edit: the present ones, and as much more as is free. */
export function wantedByOwed(books: Books, owed: Owed, before: readonly Allocation[]): Allocation[] {
  const kept: Allocation[] = []
  let left = owed.amount
  for (const allocation of before.toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0))) {
    const amount = Math.min(left, allocation.amount)
    left -= amount
    if (amount > 0) kept.push({ ...allocation, amount })
  }
  for (const given of freeMoney(books, { ...owed, kind: 'refund' })) {
    const amount = Math.min(left, freeOf(books, given))
    left -= amount
    if (amount > 0) kept.push({ id: null, given, owed, amount, isServiceMade: false })
  }
  return kept
}

/** The same as `refusalsOf`, for the list of a positive adjustment. */
export function refusalsOfOwed(
  books: Books,
  owed: Owed,
  before: readonly Allocation[],
  wanted: readonly Allocation[],
): string[] {
  const codes: string[] = []
  const isKept = (w: Allocation) =>
    before.some((b) => b.id !== null && b.id === w.id && b.given === w.given && b.amount === w.amount)
  for (const { given } of wanted.filter((w) => !isKept(w))) {
    if (given.customer !== owed.customer) codes.push('other_customer')
    if (given.currency !== owed.currency) codes.push('other_currency')
    if (given.isFailed) codes.push('payment_failed')
  }
  if (total(wanted) > owed.amount) codes.push('over_allocated')
  for (const given of new Set(wanted.map((w) => w.given))) {
    const free = freeOf(books, given) + total(before.filter((b) => b.given === given))
    if (total(wanted.filter((w) => w.given === given)) > free) codes.push('too_little_unallocated')
  }
  return codes
}

/** Returns what of an invoice can still be credited: what no note has settled, and no bad debt has taken. */
export const creditableOf = (books: Books, invoice: Owed): number =>
  invoice.amount -
  total(books.settled.filter((one) => one.invoice === invoice)) -
  total(allocationsTo(books, invoice).filter(({ given }) => given.kind === 'bad_debt'))

/** Settles an amount of an invoice for a note: the tax is what the amount adds to the tax of all that is settled. */
function correct(books: Books, note: Given, invoice: Owed, amount: number): void {
  const before = books.settled.filter((one) => one.invoice === invoice)
  const taken = before.reduce((sum, { tax }) => sum + tax, 0)
  const left = invoice.tax - taken
  const exact = 2 * (total(before) + amount) * invoice.tax
  const share = Math.floor((exact + invoice.amount) / (2 * invoice.amount)) - taken
  const least = left - (invoice.amount - total(before) - amount)
  const tax = Math.min(Math.max(share, 0, least), left, amount)
  books.settled.push({ note, invoice, amount, tax })
}

/** Settles what a request makes of a caller's note: `wanted` are its allocations after it, `before` those that it had. */
export function settle(
  books: Books,
  note: Given,
  before: readonly Allocation[],
  wanted: readonly Allocation[],
  isOtherCurrency = false,
): void {
  if (note.kind !== 'credit_note' || note.credits) return
  const byCallers = (some: readonly Allocation[]) =>
    some.filter(({ owed, isServiceMade }) => owed.kind === 'invoice' && !isServiceMade)
  const own = () => books.settled.filter((one) => one.note === note)
  if (isOtherCurrency) books.settled = books.settled.filter((one) => one.note !== note)
  let last: Settled | undefined
  while (total(own()) > note.amount) {
    last = own().at(-1)
    books.settled = books.settled.filter((one) => one !== last)
  }
  if (last && note.amount > total(own())) correct(books, note, last.invoice, note.amount - total(own()))
  const after = byCallers(wanted).toSorted((a, b) => (a.id ?? Infinity) - (b.id ?? Infinity) || 0)
  let raised = total(after) - Math.max(total(byCallers(before)), total(own()))
  for (const invoice of new Set(after.map(({ owed }) => owed))) {
    const here = total(after.filter(({ owed }) => owed === invoice))
    const settled = total(own().filter((one) => one.invoice === invoice))
    const amount = Math.min(raised, here - settled, creditableOf(books, invoice))
    if (amount <= 0) continue
    raised -= amount
    correct(books, note, invoice, amount)
  }
}

/** Balances of the ledger's accounts of a currency, debit less credit. */
export function ledgerOf(books: Books, currency: string): Record<string, number> {
  const owed = books.owed.filter((o) => o.currency === currency && o.state === 'open')
  const given = books.given.filter((g) => g.currency === currency && !g.isFailed)
  const invoices = owed.filter(({ kind }) => kind === 'invoice')
  const settled = books.settled.filter(({ note }) => note.currency === currency)
  const back = settled.reduce((sum, one) => sum + one.tax, 0)
  const tax = invoices.reduce((sum, invoice) => sum + invoice.tax, 0) - back
  const credited = total(given.filter(({ kind }) => kind === 'credit_note'))
  const kind = (some: readonly (Owed | Given)[], name: string) => total(some.filter((one) => one.kind === name))
  return {
    receivable: owed.reduce((sum, o) => sum + openOf(books, o), 0),
    unapplied: 0 - given.reduce((sum, g) => sum + freeOf(books, g), 0),
    cash: kind(given, 'payment') - kind(owed, 'refund'),
    revenue: credited - total(invoices) + tax,
    tax: 0 - tax,
    bad_debt: kind(given, 'bad_debt'),
    interest: 0 - kind(owed, 'interest'),
    opening_balance: 0 - kind(owed, 'opening_balance'),
  }
}

/** Returns the amount a customer owes less the amount it has given, in one currency. */
export function balanceOf(books: Books, customer: number, currency: string): number {
  const mine = <T extends Owed | Given>(some: readonly T[]) =>
    some.filter((one) => one.customer === customer && one.currency === currency)
  return (
    total(mine(books.owed).filter(({ state }) => state === 'open')) -
    total(mine(books.given).filter(({ isFailed }) => !isFailed))
  )
}
