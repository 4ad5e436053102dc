import { addDays, addMonths, firstOfNextMonth } from '../kernel/calendar.ts'
import type { Extra, Plan } from './catalogue.ts'
import { addBankAccount } from './debits.ts'
import { addCard, type Card, giveBack, isFailing, payByCard, replaceCard } from './cards.ts'
import {
  cancel,
  changePlan,
  changeTerm,
  join,
  type Life,
  MONTHLY,
  note,
  reactivate,
  setCustomer,
  setExtras,
  subscribe,
  YEARLY,
} from './life.ts'
import { draftWork, invoiceWork, mistakenWork, retain } from './work.ts'

/** The kinds of lives that customers of the demo lead. */

/** How many of a hundred customers lead which. */
const DECK = {
  steady: 30,
  growing: 15,
  leaving: 12,
  onlyTrying: 9,
  shrinking: 8,
  retained: 6,
  pausing: 5,
  temporary: 4,
  changingTerm: 3,
  returning: 3,
  inArrears: 3,
  gone: 2,
} as const
export type LifeKind = keyof typeof DECK | 'comingSoon'

const CARDS = (Object.entries(DECK) as [LifeKind, number][]).flatMap(([kind, count]) =>
  Array.from({ length: count }, () => kind),
)
/** Has no divisor in common with the size of the deck, so every card comes once before one comes again, and never in a row. */
const STRIDE = 37

/** Returns the kind of life that the n-th customer leads: the shares hold for every hundred, few customers show many kinds. */
export const kindOf = (number: number): LifeKind => CARDS[(number * STRIDE + 11) % CARDS.length] as LifeKind

/** Lives that a single person may lead too; all others are those of firms. */
const OF_ANYBODY: ReadonlySet<LifeKind> = new Set(['steady', 'onlyTrying', 'gone'])
export const isOfFirms = (kind: LifeKind): boolean => !OF_ANYBODY.has(kind)

const REASONS = [
  'Too dear for what we use of it',
  'Moved to the provider of our parent company',
  'Closing the branch office',
  'We call less than we thought',
  'Missed a link to our calendar',
] as const

/** Becomes a customer, with the card or the bank account that is charged. */
function signUp(life: Life, card: Card = 'sound'): void {
  join(life)
  addCard(life, 0, card)
  addBankAccount(life)
}

const seatsFor = (life: Life, plan: Plan): number =>
  plan === 'business' ? life.draw.between(9, 60) : life.draw.between(2, 14)

function extrasFor(life: Life, plan: Plan): Partial<Record<Extra, number | null>> {
  const { draw } = life
  const isBig = plan === 'business'
  return {
    messages: null,
    ...(plan === 'starter' ? {} : { seats: seatsFor(life, plan) }),
    ...(plan !== 'starter' && draw.chance(isBig ? 70 : 35) ? { storage: null } : {}),
    ...(draw.chance(isBig ? 45 : 8) ? { support: 1 } : {}),
    ...(isBig && draw.chance(40) ? { numbers: draw.between(2, 24) } : {}),
  }
}

function start(
  life: Life,
  plan: Plan,
  term: readonly [number, 'months' | 'days'] = MONTHLY,
  card: Card = 'sound',
): void {
  const { draw } = life
  signUp(life, card)
  const isYearly = term[0] === 12
  // Firms often want their bills on the first of a month; a trial has its own first day of paying.
  const isSynced = plan === 'business' && !isYearly && draw.chance(50)
  const hasOrderNumber = draw.chance(25)
  const orderNumber = `PO-${draw.between(10_000, 99_999)}`
  subscribe(life, {
    plan,
    term,
    extras: extrasFor(life, plan),
    more: (today) => ({
      ...(isSynced ? { firstProrataSyncDate: firstOfNextMonth(today) } : {}),
      ...(isYearly ? { numDaysBeforeToInv: 14 } : {}),
      ...(hasOrderNumber ? { poNumber: orderNumber } : {}),
    }),
  })
}

const anyPlan = ({ draw, self }: Life): Plan =>
  self.prospect.isCompany
    ? draw.weighted({ starter: 4, team: 6, business: 3, line: 1 })
    : draw.weighted({ starter: 6, line: 1 })
const anyTerm = ({ draw }: Life, plan: Plan) => (plan === 'line' ? LINE_TERM : draw.chance(22) ? YEARLY : MONTHLY)
const LINE_TERM = [30, 'days'] as const

function steady(life: Life): void {
  const { draw } = life
  const plan = anyPlan(life)
  const card = draw.weighted({ sound: 62, renewed: 8, poor: 18, expired: 5, disputed: 3, won: 4 })
  start(life, plan, anyTerm(life, plan), card)
  if (isFailing(life, card)) {
    if (draw.chance(75)) replaceCard(life, draw.between(35, 80))
    return
  }
  if (draw.chance(80)) giveBack(life, draw.between(20, 60))
  if (draw.chance(35)) invoiceWork(life, draw.between(1, 20))
  if (draw.chance(30))
    note(life, draw.between(3, 60), 'Phone Call', 'Called to ask how things go: content, wants nothing.')
  if (plan !== 'starter' && plan !== 'line' && draw.chance(60)) {
    setExtras(life, draw.between(30, 90), { seats: seatsFor(life, plan) }, draw.chance(30) ? 'now' : undefined)
    if (draw.chance(50)) setExtras(life, draw.between(20, 80), { seats: seatsFor(life, plan) })
  }
  if (draw.chance(12)) mistakenWork(life, draw.between(5, 60))
  if (life.lastDay - life.day() < 90 && draw.chance(15)) draftWork(life, Math.max(0, life.lastDay - life.day() - 2))
}

function growing(life: Life): void {
  const { draw } = life
  start(life, 'starter')
  note(life, draw.between(20, 50), 'Request', 'Asks what Team would cost from next month on.')
  changePlan(life, draw.between(1, 6), { plan: 'team', term: MONTHLY, when: 'now' })
  setExtras(life, draw.between(0, 3), { seats: draw.between(3, 6) })
  setExtras(life, draw.between(25, 60), { seats: draw.between(7, 14) })
  if (draw.chance(50)) giveBack(life, draw.between(5, 20))
  if (draw.chance(60)) {
    changePlan(life, draw.between(40, 90), { plan: 'business', term: MONTHLY, when: 'now' })
    setExtras(life, draw.between(0, 10), { seats: draw.between(15, 60), numbers: draw.between(2, 12), support: 1 })
    invoiceWork(life, draw.between(2, 8))
  }
}

function shrinking(life: Life): void {
  const { draw } = life
  start(life, 'business')
  setExtras(life, draw.between(50, 100), { seats: draw.between(4, 8), numbers: 0 })
  note(life, draw.between(5, 20), 'Meeting', 'Half of the office works from home now; we spoke about Team.')
  changePlan(life, draw.between(1, 10), { plan: 'team', term: MONTHLY, when: 'renewal' })
  if (draw.chance(40)) setExtras(life, draw.between(40, 80), { seats: draw.between(2, 4) })
}

function onlyTrying(life: Life): void {
  start(life, life.self.prospect.isCompany ? 'team' : 'starter')
  cancel(life, life.draw.between(4, 12), 'norefund', life.draw.pick(['Only wanted to try it', ...REASONS]))
}

function leaving(life: Life): void {
  const { draw } = life
  const plan = draw.pick(['starter', 'team', 'business'] as const)
  if (plan === 'business' && draw.chance(30)) {
    start(life, plan)
    cancel(life, draw.between(1, 9), 'fullcredit', 'Ordered in the name of the wrong firm')
    return
  }
  start(life, plan, anyTerm(life, plan))
  if (draw.chance(50))
    note(life, draw.between(20, 60), 'Issue', 'Calls break off in the evening; handed to the technicians.')
  cancel(life, draw.between(30, 120), draw.weighted({ prorata: 5, renewal: 4, norefund: 1 }), draw.pick(REASONS))
}

function returning(life: Life): void {
  const { draw } = life
  start(life, 'team')
  cancel(life, draw.between(40, 80), 'prorata', 'Closed over the season')
  reactivate(life, draw.between(35, 80))
  note(life, 0, 'General', 'Back again, with the same seats as before.')
}

function pausing(life: Life): void {
  const { draw } = life
  const plan = draw.pick(['starter', 'team'] as const)
  start(life, plan)
  note(life, draw.between(35, 90), 'Request', 'Rebuilding: please stop everything for about two months.')
  setCustomer(life, 1, 'suspend')
  setCustomer(life, draw.between(45, 75), 'unsuspend')
}

function inArrears(life: Life): void {
  const { draw } = life
  payByCard(life)
  start(life, 'team', MONTHLY, 'poor')
  const days = Math.max(25, life.lastDay - life.day() - draw.between(8, 45))
  note(life, days, 'Dispute', 'Three invoices open, no answer to two letters.')
  setCustomer(life, 1, 'suspend')
}

function gone(life: Life): void {
  const { draw } = life
  start(life, 'starter')
  cancel(life, draw.between(50, 120), 'renewal', 'Giving up the business')
  setCustomer(life, draw.between(40, 60), 'archive')
}

const PASSING = [
  'A building site: ends with the contract, no need to ask.',
  'For a festival only; the end is agreed.',
  'Bridges the time until their new office is ready.',
] as const

function temporary(life: Life): void {
  const { draw } = life
  const months = draw.between(2, 5)
  const odd = draw.between(0, 20)
  signUp(life)
  subscribe(life, {
    plan: 'business',
    term: MONTHLY,
    extras: { seats: draw.between(5, 25) },
    more: (today) => ({ EndDate: addDays(addMonths(today, months), odd) }),
  })
  note(life, 0, 'General', draw.pick(PASSING))
  invoiceWork(life, draw.between(1, 5))
}

function changingTerm(life: Life): void {
  const { draw } = life
  start(life, draw.pick(['starter', 'team'] as const))
  note(life, draw.between(60, 120), 'Email', 'Wants to pay by the year from now on.')
  changeTerm(life, 1, YEARLY)
}

function retained(life: Life): void {
  signUp(life)
  retain(life)
}

function comingSoon(life: Life): void {
  const { draw } = life
  const days = draw.between(6, 40)
  signUp(life)
  subscribe(life, {
    plan: 'business',
    term: MONTHLY,
    extras: { seats: draw.between(10, 30) },
    more: (today) => ({ StartDate: addDays(today, days) }),
  })
}

/** Puts down the steps of a life. */
export const LIVES: Record<LifeKind, (life: Life) => void> = {
  steady,
  growing,
  leaving,
  onlyTrying,
  shrinking,
  retained,
  pausing,
  temporary,
  changingTerm,
  returning,
  inArrears,
  gone,
  comingSoon,
}
