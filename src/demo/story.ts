import { addDays, daysBetween, type Instant, type IsoDate } from '../kernel/calendar.ts'
import { openShop, raiseTeamPrice } from './catalogue.ts'
import type { DemoClient } from './client.ts'
import { type Draw, drawOf } from './draw.ts'
import { addDebitGateway, weekOfDebits } from './debits.ts'
import { type Customer, isFriday, lifeOf, type Step, type World } from './life.ts'
import { isOfFirms, kindOf, LIVES } from './lives.ts'
import { isPayday, receivePayments } from './payments.ts'
import { prospectOf } from './people.ts'

/** A year of a firm and its customers, lived through day by day on the clock of a test account. */

export interface StoryWish {
  /** How many customers there are in the end. */
  customers: number
  /** Story of a seed: the same seed on the same days gives the same story, another seed another one. */
  seed: number
  /** The day that the clock stands at now. */
  firstDay: IsoDate
  /** The day on which the story ends, and the moment of it. */
  lastDay: IsoDate
  now: Instant
}

export interface StoryProgress {
  day: IsoDate
  /** Days lived so far, and in all. */
  done: number
  total: number
}

export interface StoryEvents {
  lived(progress: StoryProgress): void
  lastDayComes(): void
}

/** Renewals that failed on the way; there should be none. */
export interface StoryOutcome {
  failed: unknown[]
}

const SALTS = { joining: 1, days: 2, usage: 3, payments: 4, customers: 1000 }
/** Customers who come with the opening, out of a hundred; the others find the firm over the year. */
const OPENING_PERCENT = 15
const OPENING_DAYS = 9
const COMING_SOON_PERCENT = 2
/** They sign in the last days. */
const COMING_SOON_DAYS = 3

/** Lives the story through. Throws DemoRefused when the service refuses a step. */
export async function liveStory(client: DemoClient, wish: StoryWish, events: StoryEvents): Promise<StoryOutcome> {
  const total = daysBetween(wish.firstDay, wish.lastDay)
  const shop = await openShop(client)
  const handleDebits = weekOfDebits(await addDebitGateway(client))
  const { steps, customers } = plot(wish, total)
  const byDay = stepsByDay(steps)
  const usage = drawOf(wish.seed, SALTS.usage)
  const hours = drawOf(wish.seed, SALTS.days)
  const payments = drawOf(wish.seed, SALTS.payments)
  const failed: unknown[] = []
  for (let day = 0; day <= total; day += 1) {
    const today = addDays(wish.firstDay, day)
    const dayToRead = isFriday(today)
    if (!byDay.has(day) && !dayToRead && day < total) continue
    if (day === total) events.lastDayComes()
    const Now = day === total ? wish.now : `${today}T${clockTime(hours)}`
    const move = await client.put('/v1/clock', { Now })
    failed.push(...move.Failed)
    const { beside, ended } = dayOfRequests()
    const world: World = { client, shop, today, beside }
    for (const { act } of byDay.get(day) ?? []) await act(world)
    if (dayToRead) await readMeters(world, customers, usage)
    if (dayToRead) await handleDebits(world)
    if (dayToRead && isPayday(today)) await receivePayments(world, payments)
    await ended()
    events.lived({ day: today, done: day, total })
  }
  return { failed }
}

/** Requests that go on beside others; the day ends when all have been answered. */
function dayOfRequests(): { beside(request: Promise<unknown>): void; ended(): Promise<unknown> } {
  const running: Promise<unknown>[] = []
  return {
    beside: (request) => {
      // A refusal is thrown when the day ends, not as a rejection that nobody waited for.
      request.catch(() => {})
      running.push(request)
    },
    ended: () => Promise.all(running),
  }
}

/** Returns some time in the morning, by the clock of the account's zone. */
const clockTime = (draw: Draw): string => `0${draw.between(8, 9)}:${String(draw.between(10, 59))}:00`

/** Returns all steps of all lives in the order in which they are lived. */
function plot(wish: StoryWish, total: number): { steps: Step[]; customers: Customer[] } {
  const steps: Step[] = []
  const customers: Customer[] = []
  const taken = new Set<unknown>()
  for (const [number, joins] of joiningDays(wish, total).entries()) {
    const draw = drawOf(wish.seed, SALTS.customers + number)
    const kind = number >= wish.customers - comingSoon(wish) ? 'comingSoon' : kindOf(number)
    const prospect = prospectOf(draw, number, { isFirm: isOfFirms(kind), taken })
    const life = lifeOf({ prospect, joins, firstDay: wish.firstDay, lastDay: total, draw }, steps)
    LIVES[kind](life)
    customers.push(life.self)
  }
  steps.push({ day: Math.round(total * 0.55), act: ({ client, shop }) => raiseTeamPrice(client, shop) })
  // A stable sort: on one day customers keep their order, and each the order of its own steps.
  steps.sort((a, b) => a.day - b.day)
  return { steps, customers }
}

function stepsByDay(steps: readonly Step[]): Map<number, Step[]> {
  const byDay = new Map<number, Step[]>()
  for (const step of steps) {
    const ofDay = byDay.get(step.day)
    if (ofDay) ofDay.push(step)
    else byDay.set(step.day, [step])
  }
  return byDay
}

/** Returns how many have signed and start only after the story. A single customer had better be one with a past. */
const comingSoon = ({ customers }: StoryWish): number => Math.ceil(((customers - 1) * COMING_SOON_PERCENT) / 100)

/** Returns the days on which customers join, in order: some with the opening, then ever more, the last ones in the last days. */
function joiningDays(wish: StoryWish, total: number): number[] {
  const draw = drawOf(wish.seed, SALTS.joining)
  const opening = Math.ceil((wish.customers * OPENING_PERCENT) / 100)
  const days = Array.from({ length: wish.customers }, (_, number) => {
    if (number < opening) return draw.between(0, Math.min(OPENING_DAYS, total))
    if (number >= wish.customers - comingSoon(wish)) return Math.max(0, total - draw.between(0, COMING_SOON_DAYS))
    const share = (number - opening + draw.between(0, 99) / 100) / (wish.customers - opening)
    return Math.min(total, Math.floor(total * share ** 0.85))
  })
  return days.toSorted((a, b) => a - b)
}

const USAGE_AT_ONCE = 5_000

/** Reports all usage at once, once a week; now and then a reading is late, and is about the week before. */
async function readMeters({ client, shop, today }: World, customers: Customer[], draw: Draw): Promise<void> {
  const entries = customers
    .filter(({ isAway }) => !isAway)
    .flatMap(({ subscriptionID, meters }) =>
      meters
        .filter(({ since }) => since <= today)
        .map(({ extra, weekly, since }) => {
          const lateDay = addDays(today, -8)
          const isLate = draw.chance(2) && lateDay >= since
          const componentID = shop.extras[extra]
          return {
            subscriptionID,
            componentID,
            NumUnits: Math.max(1, Math.round((weekly * draw.between(60, 140)) / 100)),
            Date: isLate ? lateDay : today,
            UsageKey: `${extra}-${today}`,
          }
        }),
    )
  for (let from = 0; from < entries.length; from += USAGE_AT_ONCE)
    await client.post('/v1/usage', { Usage: entries.slice(from, from + USAGE_AT_ONCE) })
}
