import { addDays, dayNumberOf, type IsoDate } from '../kernel/calendar.ts'
import type { Extra, Plan, Shop } from './catalogue.ts'
import type { DemoClient } from './client.ts'
import type { Draw } from './draw.ts'
import type { Prospect } from './people.ts'

/** Life of a customer of the demo, a step at a time, each on its day. */

export interface World {
  client: DemoClient
  shop: Shop
  /** The day that a step is lived on. */
  today: IsoDate
  /** Lets a request go on beside those that follow, until the day ends: for records that nothing else of the day is about. */
  beside(request: Promise<unknown>): void
}

/** Usage that is read off every week. */
export interface Meter {
  extra: Extra
  /** About as much a week. */
  weekly: number
  /** The first day that can have usage. */
  since: IsoDate
}

/** A customer as its steps have made it so far. */
export interface Customer {
  prospect: Prospect
  customerID: number
  subscriptionID: number
  /** Quantities of the extras of its subscription; metered ones have none. */
  extras: Map<Extra, number | null>
  meters: Meter[]
  /** Suspended or cancelled, so that nobody calls. */
  isAway: boolean
}

export interface Step {
  /** Days since the first day of the story. */
  day: number
  act: (world: World) => Promise<void>
}

/** Steps of one customer, which are put down in the order in which they are lived. */
export interface Life {
  draw: Draw
  self: Customer
  /** The day of the latest step. */
  day(): number
  /** The last day of the story; steps beyond it are not lived. */
  lastDay: number
  /** Puts a step down, some days after the one before; from a weekend it moves to Monday. */
  after(days: number, act: (world: World, self: Customer) => Promise<unknown>): void
}

/** Returns whether a day is a Saturday or Sunday; 1 January 1970 was a Thursday. */
const isWeekend = (date: IsoDate): boolean => [2, 3].includes(((dayNumberOf(date) % 7) + 7) % 7)
export const isFriday = (date: IsoDate): boolean => ((dayNumberOf(date) % 7) + 7) % 7 === 1

export function lifeOf(
  given: { prospect: Prospect; joins: number; firstDay: IsoDate; lastDay: number; draw: Draw },
  steps: Step[],
): Life {
  const self: Customer = {
    prospect: given.prospect,
    customerID: 0,
    subscriptionID: 0,
    extras: new Map(),
    meters: [],
    isAway: false,
  }
  let day = given.joins
  return {
    draw: given.draw,
    self,
    day: () => day,
    lastDay: given.lastDay,
    after: (days, act) => {
      day += days
      // Who joins on the very last day does so whatever day of the week it is.
      while (isWeekend(addDays(given.firstDay, day)) && day < given.lastDay) day += 1
      if (day <= given.lastDay) steps.push({ day, act: async (world) => void (await act(world, self)) })
    },
  }
}

interface Order {
  plan: Plan
  /** Every n of … */
  term: readonly [number, 'months' | 'days']
  extras?: Partial<Record<Extra, number | null>>
  more?: (today: IsoDate) => Record<string, unknown>
}

export const MONTHLY = [1, 'months'] as const
export const YEARLY = [12, 'months'] as const

const usageOf = (shop: Shop, extras: Customer['extras']) =>
  [...extras].map(([extra, units]) => ({
    componentID: shop.extras[extra],
    ...(units === null ? {} : { NumUnits: units }),
  }))

/** Becomes a customer, with the people one speaks to. */
export function join({ after, draw }: Life): void {
  const mayLogIn = draw.chance(6)
  after(0, async ({ client, beside }, self) => {
    const { customerID } = await client.post('/v1/customers', self.prospect.body)
    self.customerID = customerID
    for (const [index, { given, family, email, phone }] of self.prospect.people.entries())
      beside(
        client.post('/v1/customercontacts', {
          customerID,
          Name: given,
          LastName: family,
          Email: email,
          Cell: phone,
          isActive: mayLogIn && index === 0,
        }),
      )
  })
}

const METERED: Partial<Record<Extra, readonly [least: number, most: number]>> = {
  messages: [20, 1400],
  storage: [1, 18],
}

/** A person alone uses a sixth of what a firm does. */
const SINGLE_SHARE = 6

/** Subscribes, and has its usage read off from then on. */
export function subscribe({ after, draw, self: { prospect } }: Life, { plan, term, extras = {}, more }: Order): void {
  const share = prospect.isCompany ? 1 : SINGLE_SHARE
  const weekly = new Map(
    Object.entries(METERED).map(
      ([extra, [least, most]]) => [extra, Math.ceil(draw.between(least, most) / share)] as const,
    ),
  )
  after(0, async ({ client, shop, today }, self) => {
    self.extras = new Map(Object.entries(extras) as [Extra, number | null][])
    const { subscriptionID, StartDate } = await client.post('/v1/subscriptions', {
      customerID: self.customerID,
      packageID: shop.plans[plan],
      Term: term[0],
      TermType: term[1],
      componentUsage: usageOf(shop, self.extras),
      ...more?.(today),
    })
    self.subscriptionID = subscriptionID
    self.meters = [...self.extras]
      .filter(([, units]) => units === null)
      .map(([extra]) => ({ extra, weekly: weekly.get(extra) ?? 1, since: String(StartDate).slice(0, 10) }))
  })
}

/** Sets quantities of extras; those not named stay as they are, 0 leaves one out. */
export function setExtras(life: Life, days: number, changes: Partial<Record<Extra, number>>, when?: 'now'): void {
  life.after(days, async ({ client, shop }, self) => {
    for (const [extra, units] of Object.entries(changes) as [Extra, number][])
      if (units > 0) self.extras.set(extra, units)
      else self.extras.delete(extra)
    await client.put(`/v1/subscriptions/${self.subscriptionID}/components/modify`, {
      componentUsage: usageOf(shop, self.extras),
      ...(when ? { When: when } : {}),
    })
  })
}

export function changePlan(
  life: Life,
  days: number,
  { plan, term, when }: { plan: Plan; term: Order['term']; when: 'now' | 'renewal' },
): void {
  life.after(days, ({ client, shop }, { subscriptionID }) =>
    client.put(`/v1/subscriptions/${subscriptionID}/changepackage`, {
      packageID: shop.plans[plan],
      Term: term[0],
      TermType: term[1],
      When: when,
    }),
  )
}

export function changeTerm(life: Life, days: number, term: Order['term']): void {
  life.after(days, ({ client }, { subscriptionID }) =>
    client.put(`/v1/subscriptions/${subscriptionID}/changeterm`, {
      Term: term[0],
      TermType: term[1],
      When: 'renewal',
    }),
  )
}

export function cancel(
  life: Life,
  days: number,
  kind: 'renewal' | 'norefund' | 'prorata' | 'fullcredit',
  reason: string,
): void {
  life.after(days, async ({ client }, self) => {
    await client.put(`/v1/subscriptions/${self.subscriptionID}/cancel/${kind}`, { Reason: reason })
    self.isAway = true
  })
}

export function reactivate(life: Life, days: number): void {
  life.after(days, async ({ client, today }, self) => {
    await client.put(`/v1/subscriptions/${self.subscriptionID}/reactivate`, {})
    self.isAway = false
    self.meters = self.meters.map((meter) => ({ ...meter, since: today }))
  })
}

export function note(life: Life, days: number, kind: string, text: string): void {
  life.after(days, async ({ client, beside }, { customerID }) =>
    beside(client.post('/v1/customernotes', { customerID, Note: text, NoteType: kind })),
  )
}

/** Suspends, unsuspends or archives a customer. */
export function setCustomer(life: Life, days: number, verb: 'suspend' | 'unsuspend' | 'archive'): void {
  life.after(days, async ({ client }, self) => {
    await client.put(`/v1/customers/${self.customerID}/${verb}`)
    self.isAway = verb !== 'unsuspend'
  })
}
