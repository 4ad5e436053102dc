import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays } from '../../kernel/calendar.ts'
import { DECLINE_CLASSES, type DeclineClass } from '../../kernel/rails.ts'
import { consequenceOf } from './classes.ts'
import { DunnedLife } from './dunned-life.testing.ts'
import { tryOf, wakesOn } from './dunning.ts'
import { ACTIONS, attemptAfter, type CollectionRules, DEFAULT_RULES, problemOfAttempts } from './rules.ts'

const DUE = '2027-01-10'
const DAYS = 60

const attempts = fc
  .tuple(
    fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
    fc.array(fc.constantFrom(...ACTIONS), { minLength: 7, maxLength: 7 }),
  )
  .map(([days, actions]) =>
    [0, ...days.sort((a, b) => a - b)].map((daysAfterDue, place) => ({ daysAfterDue, action: actions[place]! })),
  )

type Happening = (life: DunnedLife) => void

const HAPPENINGS: Record<string, Happening> = {
  method: (life) => life.changeMethod(),
  gone: (life) => (life.hasMethod = false),
  suspend: (life) => {
    if (life.customer === 'active') life.customer = 'suspended_by_hand'
  },
  archive: (life) => (life.customer = 'archived'),
  back: (life) => life.comeBack(),
  hold: (life) => (life.isHeld = true),
  unhold: (life) => (life.isHeld = false),
  lose: (life) => {
    if (life.isPaid) life.lose(null)
  },
  loseForGood: (life) => {
    if (life.isPaid) life.lose('refunded_late')
  },
  pay: (life) => {
    if (life.open === null) life.isPaid = true
  },
  untried: (life) => (life.rules = { ...life.rules, untriedSince: life.today }),
}

const answers = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<DeclineClass>('insufficient_funds', 'declined') },
  { weight: 3, arbitrary: fc.constantFrom<DeclineClass | null>(...DECLINE_CLASSES, null) },
)

const story = fc.record({
  attempts,
  issuedBefore: fc.integer({ min: -5, max: 5 }),
  answers: fc.array(fc.tuple(answers, fc.integer({ min: 0, max: 4 })), { minLength: 12, maxLength: 12 }),
  events: fc.array(fc.tuple(fc.integer({ min: 0, max: DAYS }), fc.constantFrom(...Object.keys(HAPPENINGS))), {
    maxLength: 8,
  }),
})

type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never

function lifeOf({ attempts: list, issuedBefore, answers: all }: Story): DunnedLife {
  let asked = 0
  const life = new DunnedLife(DUE, addDays(DUE, -issuedBefore), ({ today }) => {
    const [declineClass, wait] = all[asked++ % all.length]!
    return { declineClass, knownOn: addDays(today, wait) }
  })
  life.rules = { ...DEFAULT_RULES, attempts: list }
  return life
}

/** Lets the days of a story pass, and looks at each before and after its own work. */
function live(told: Story, look: { before?: (life: DunnedLife) => void; after?: (life: DunnedLife) => void } = {}) {
  const life = lifeOf(told)
  for (let day = 0; day <= DAYS; day += 1, life.nextDay()) {
    look.before?.(life)
    life.pass()
    look.after?.(life)
    for (const [on, name] of told.events) if (on === day) HAPPENINGS[name]!(life)
  }
  return life
}

const triesOn = (life: DunnedLife, day: string) => life.log.filter(({ what, on }) => what === 'try' && on === day)

test('is tried at most once a day, and only while it is open, not held and not stopped', () => {
  fc.assert(
    fc.property(story, (told) => {
      let before = { open: false, isHeld: false, isPaid: false, isStopped: false }
      live(told, {
        before: (life) => {
          const answersToday = life.open !== null && (life.open.answer.knownOn ?? '') <= life.today
          const { isHeld, isPaid, dunning } = life
          before = { open: life.open !== null && !answersToday, isHeld, isPaid, isStopped: dunning.isStopped }
        },
        after: (life) => {
          const tries = triesOn(life, life.today).length
          expect(tries).toBeLessThanOrEqual(1)
          if (Object.values(before).includes(true)) expect(tries).toBe(0)
        },
      })
    }),
    { numRuns: 500 },
  )
})

test('its steps ascend, and none comes twice, unless money was lost again', () => {
  fc.assert(
    fc.property(story, (told) => {
      const { log } = live({ ...told, events: told.events.filter(([, name]) => !name.startsWith('lose')) })
      const failed = log.filter(({ what }) => what !== 'try' && what !== 'paid')
      const days = failed.map(({ step }) => step ?? -1)
      // A customer who has to act may be asked to by a try that is no step.
      expect(days).toEqual([...days].sort((a, b) => a - b))
      const suspended = failed.filter(({ what }) => what === 'suspend').map(({ step }) => step)
      expect(new Set(suspended).size).toBe(suspended.length)
    }),
    { numRuns: 500 },
  )
})

test('nothing comes of itself before the day on which it wakes', () => {
  fc.assert(
    fc.property(story, (told) => {
      let wake: string | null = null
      let count = 0
      live(told, {
        before: (life) => {
          wake = life.open === null ? wakesOn(life.dunning, life.facts()) : life.today
          count = life.log.length
        },
        after: (life) => {
          if (wake === null || wake > life.today) expect(life.log.length).toBe(count)
        },
      })
    }),
    { numRuns: 300 },
  )
})

test('NextTryDate is the day of the next try, if nothing else happens', () => {
  fc.assert(
    fc.property(story, fc.integer({ min: 0, max: 30 }), (told, at) => {
      let said: string | null | undefined
      const life = live(
        { ...told, events: told.events.filter(([on]) => on < at) },
        {
          before: (lived) => {
            if (lived.today === addDays(DUE, at - told.issuedBefore)) {
              // While suspended it is null, though a new method may bring a try.
              said = lived.open === null && lived.customer !== 'suspended_by_rule' ? lived.nextTryOn() : undefined
              lived.log.length = 0
            }
          },
        },
      )
      const first = life.log.find(({ what }) => what === 'try')?.on ?? null
      if (said !== undefined && (said === null || said <= addDays(life.today, -1))) expect(first).toBe(said)
    }),
    { numRuns: 500 },
  )
})

test('an invoice that a try has paid is not tried again, whatever a caller opens, until received money is lost', () => {
  fc.assert(
    fc.property(story, (told) => {
      const life = live({ ...told, events: told.events.filter(([, name]) => !name.startsWith('lose')) })
      if (!life.log.some(({ what }) => what === 'paid')) return
      life.isPaid = false
      const facts = { ...life.facts(), isHeld: false, customer: 'active' as const, hasMethod: true }
      expect(tryOf(life.dunning, facts)).toBeNull()
    }),
  )
})

test('every class has one consequence, and only never sent is no try', () => {
  expect(Object.fromEntries(DECLINE_CLASSES.map((name) => [name, consequenceOf(name)]))).toEqual({
    insufficient_funds: 'goes_on',
    declined: 'goes_on',
    account_closed: 'stops',
    invalid_account: 'stops',
    blocked: 'stops',
    no_mandate: 'stops',
    stopped: 'stops',
    refunded_late: 'stops',
    deceased: 'holds',
    duplicate: 'holds',
    format: 'holds',
    action_required: 'stops',
    method_expired: 'stops',
    unknown: 'once_more',
    not_sent: 'again',
  })
})

test('rules that are taken lead from attempt to attempt, each once', () => {
  fc.assert(
    fc.property(attempts, (list) => {
      expect(problemOfAttempts(list)).toBeNull()
      const rules: CollectionRules = { ...DEFAULT_RULES, attempts: list }
      const seen: number[] = []
      for (let next = attemptAfter(rules, null); next; next = attemptAfter(rules, next.daysAfterDue))
        seen.push(next.daysAfterDue)
      expect(seen).toEqual(list.map(({ daysAfterDue }) => daysAfterDue))
    }),
  )
})
