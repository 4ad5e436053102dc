import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { midnightOf } from '../../kernel/zone.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import {
  actionsOf,
  afterBegun,
  afterFailed,
  afterLost,
  afterMethodChanged,
  type AfterOutcome,
  afterPaid,
  afterReturn,
  afterUntriedDay,
  type CustomerState,
  type DayFacts,
  type DebitDays,
  type DueTry,
  type Dunning,
  firstDunning,
  nextTryOn,
  type Step,
  tryOf,
} from './dunning.ts'
import { type CollectionRules, DEFAULT_RULES } from './rules.ts'

/** The answer to a try: null when it was paid. A bank's comes later than the day on which the batch debits. */
export interface Answer {
  declineClass: DeclineClass | null
  actionDate?: IsoDate
  knownOn?: IsoDate
}

export interface LogEntry {
  on: IsoDate
  what: string
  step: number | null
}

/** An invoice that lives day by day under the rules: what falls due happens, and everything is written down. */
export class DunnedLife {
  rules: CollectionRules = DEFAULT_RULES
  dunning: Dunning
  isPaid = false
  isHeld = false
  hasMethod = true
  /** Days of the gateway where it collects in batches; everything of a day happens at its first moment. */
  batches: Omit<DebitDays, 'now'> | null = null
  customer: CustomerState = 'active'
  readonly log: LogEntry[] = []
  open: { step: Step | null; isExtra: boolean; answer: Answer } | null = null
  today: IsoDate

  readonly dueDate: IsoDate
  /** Answers the tries in their order. */
  readonly answerOf: (life: DunnedLife) => Answer

  constructor(dueDate: IsoDate, issuedOn: IsoDate, answerOf: (life: DunnedLife) => Answer) {
    this.dueDate = dueDate
    this.answerOf = answerOf
    this.dunning = firstDunning({ dueDate, issuedOn })
    this.today = issuedOn
  }

  facts(): DayFacts {
    const { today, rules, dueDate, isHeld, customer, hasMethod } = this
    const hasOpenTry = this.open !== null
    const batches = this.batches && { ...this.batches, now: midnightOf(today, this.batches.timeZone) }
    const isOpen = !this.isPaid && !hasOpenTry
    return { today, rules, dueDate, isOpen, isHeld, customer, hasOpenTry, hasMethod, batches }
  }

  nextTryOn = (): IsoDate | null => nextTryOn(this.dunning, this.facts())

  /** Passes through what the day brings on its own, in its order: answers, tries, actions. */
  pass(): void {
    this.answer()
    const found = tryOf(this.dunning, this.facts())
    if (found === null) this.dunning = afterUntriedDay(this.dunning, this.facts())
    else this.begin(found)
    this.answer()
    this.act()
    // An action that is due goes before the line of the next step, on the same day.
    const next = this.batches === null ? null : tryOf(this.dunning, this.facts())
    if (next !== null) this.begin(next)
  }

  begin({ step, on }: DueTry): void {
    const isExtra = this.dunning.extra !== null && this.dunning.extra.on <= this.today
    const answer = this.answerOf(this)
    this.write(this.batches === null ? 'try' : `line@${on.slice(5)}`, step?.daysAfterDue ?? null)
    this.dunning = afterBegun(this.dunning)
    this.open = { step: step && { ...step, on: answer.actionDate ?? on }, isExtra, answer }
  }

  lose(declineClass: DeclineClass | null): void {
    this.isPaid = false
    this.take(afterLost(this.dunning, this.rules, declineClass, this.today))
  }

  changeMethod(): void {
    this.hasMethod = true
    this.dunning = afterMethodChanged(this.dunning, { dueDate: this.dueDate, rules: this.rules, on: this.today })
  }

  comeBack(): void {
    this.customer = 'active'
    this.dunning = afterReturn(this.dunning, { dueDate: this.dueDate, on: this.today })
  }

  nextDay(): void {
    this.today = addDays(this.today, 1)
  }

  private answer(): void {
    if (this.open === null || (this.open.answer.knownOn ?? this.today) > this.today) return
    const { answer, ...tried } = this.open
    this.open = null
    if (answer.declineClass !== null)
      return this.take(afterFailed(this.dunning, tried, answer.declineClass, this.today))
    this.isPaid = true
    this.write('paid', null)
    this.dunning = afterPaid(this.dunning, tried, this.today)
  }

  private act(): void {
    for (let found = actionsOf(this.dunning, this.facts()); found; found = actionsOf(this.dunning, this.facts())) {
      for (const action of found.actions) this.write(action, found.dunning.newest)
      if (found.actions.includes('suspend')) this.customer = 'suspended_by_rule'
      this.dunning = found.dunning
    }
  }

  private take({ dunning, isHeld }: AfterOutcome): void {
    this.dunning = dunning
    if (isHeld) this.isHeld = true
  }

  private write(what: string, step: number | null): void {
    this.log.push({ on: this.today, what, step })
  }
}
