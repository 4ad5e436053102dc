import { addDays, daysBetween, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { BatchDays } from '../../kernel/batch-days.ts'
import { actionDateOf, type CountedAt, entryDayOf, type WantedDebit } from './batch-days.ts'
import { consequenceOf } from './classes.ts'
import { type Action, attemptAfter, type CollectionRules, daysOfRules } from './rules.ts'

/**
 * The dunning of one invoice: how far it has come, what happens to it, and what a day does to it. An invoice has one next step; whatever
 * happens moves `Dunning`, and a day compares it with the facts of that day. Nothing here knows gateways, batches or mail.
 */

/** A step on its day: a try and, when that fails, an action. */
export interface Step {
  daysAfterDue: number
  action: Action
  /** The day on which it came; of a line in a batch the day on which the batch debits. */
  on: IsoDate
}

export interface Dunning {
  /** DaysAfterDue of the newest step whose outcome is known; null before the first. */
  newest: number | null
  /** The day from which the next step is counted; before the first step the day on which that is wanted. */
  countedFrom: IsoDate
  /** No step comes before this day: its try was never sent, or the customer has only come back. */
  notBefore: IsoDate | null
  /** A try beside the steps: after the method changed, or the customer came back. */
  extra: { on: IsoDate; isForMethod: boolean } | null
  /** The actions that are still to run for the newest step, and their day. */
  pending: { actions: readonly Action[]; on: IsoDate } | null
  /** A try has been answered. */
  wasTried: boolean
  /** The newest answer was of class unknown. */
  wasUnknown: boolean
  /** The newest answer stopped the tries until the method changes. */
  isStopped: boolean
  /** A step was wanted and there was no usable method: only a method that fits in time brings a try. */
  isUntried: boolean
  /** A try has paid the invoice, and no received money was lost since: what a caller opens again is not collected automatically. */
  isSettled: boolean
}

export type CustomerState = 'active' | 'suspended_by_rule' | 'suspended_by_hand' | 'archived'

/** The facts of a day beside the dunning itself. */
export interface DayFacts {
  today: IsoDate
  rules: CollectionRules
  dueDate: IsoDate
  /** Issued, not cancelled, and something of it is neither paid nor pending. */
  isOpen: boolean
  /** Invoice or customer are kept out of collection. */
  isHeld: boolean
  customer: CustomerState
  /** A try has no outcome yet. */
  hasOpenTry: boolean
  /** The invoice is collected by a method that is usable today. */
  hasMethod: boolean
  /** Days of the gateway where that collects in batches; null where it charges at once. */
  batches: DebitDays | null
}

/** Days by which invoices enter batches: those of the gateway, and the notice that the payer is owed. */
export interface DebitDays extends BatchDays, Omit<CountedAt, 'today'> {
  /** Calendar days of the notice before a first debit and before those after it; null where none is owed. */
  notice: { first: number; retry: number } | null
}

const EXTRA_TRY_DAYS_MAX = 90

/** Returns the dunning of an invoice at its issue. Rule: the first step is wanted on DueDate, or on the day of issue when that is later. */
export const firstDunning = (invoice: { dueDate: IsoDate; issuedOn: IsoDate }): Dunning => ({
  newest: null,
  countedFrom: later(invoice.dueDate, invoice.issuedOn),
  notBefore: null,
  extra: null,
  pending: null,
  wasTried: false,
  wasUnknown: false,
  isStopped: false,
  isUntried: false,
  isSettled: false,
})

/** Returns the next step of the present rules and the day it is wanted; null when the last has come, or a try has paid the invoice. */
export function nextStep(dunning: Dunning, rules: CollectionRules): Step | null {
  const { newest, countedFrom, notBefore } = dunning
  const attempt = attemptAfter(rules, newest)
  if (attempt === undefined || dunning.isSettled) return null
  const wantedOn = addDays(countedFrom, newest === null ? 0 : attempt.daysAfterDue - newest)
  return { ...attempt, on: later(wantedOn, notBefore ?? wantedOn) }
}

/** Returns the first day, after another where one is given, on which something may come without anything else happening; null when nothing will. */
export function wakesOn(
  dunning: Dunning,
  { rules, batches }: Pick<DayFacts, 'rules' | 'batches'>,
  after: IsoDate | null = null,
): IsoDate | null {
  const step = nextStep(dunning, rules)
  const entersOn = step !== null && batches !== null ? entryOf(dunning, step, batches) : null
  const days = [dunning.extra?.on ?? null, dunning.pending?.on ?? null, entersOn, step?.on ?? null]
  return earliest(...days.filter((day) => day !== null && (after === null || day > after)))
}

/** Returns a debit as it is wanted. Rule: what was tried before is announced by the days of retries. */
const debitOn = (dunning: Dunning, wantedOn: IsoDate, { notice }: DebitDays): WantedDebit => {
  const isRetry = dunning.wasTried || dunning.newest !== null
  return { wantedOn, noticeDays: notice === null ? null : isRetry ? notice.retry : notice.first }
}

/** Returns the day on which a step enters a batch. Rule: not before the action of the step before it, nor before what keeps the step back. */
function entryOf(dunning: Dunning, step: Step, batches: DebitDays): IsoDate {
  const day = entryDayOf(batches, debitOn(dunning, step.on, batches))
  return [dunning.notBefore, dunning.pending?.on ?? null].reduce<IsoDate>(
    (latest, one) => later(latest, one ?? latest),
    day,
  )
}

/** Returns whether tries are stopped for good: by an answer, or because an invoice that was tried has no method left. */
const isStopped = (dunning: Dunning, { hasMethod }: DayFacts): boolean =>
  dunning.isStopped || (dunning.wasTried && !hasMethod)

const canBeTried = (facts: DayFacts): boolean =>
  facts.isOpen && !facts.isHeld && facts.hasMethod && !facts.hasOpenTry && facts.customer !== 'archived'

/** Returns the step that is wanted by today where steps come at all. */
function stepToday(dunning: Dunning, { rules, today, customer }: DayFacts): Step | null {
  const step = customer === 'active' ? nextStep(dunning, rules) : null
  return step !== null && step.on <= today ? { ...step, on: today } : null
}

/** Returns the step whose try the day brings where tries come at all: the one that is wanted by today, or that enters a batch by today. */
function stepToTry(dunning: Dunning, facts: DayFacts): Step | null {
  const { rules, today, customer, batches } = facts
  if (batches === null) return stepToday(dunning, facts)
  const step = customer === 'active' ? nextStep(dunning, rules) : null
  if (step === null || entryOf(dunning, step, batches) > today) return null
  return { ...step, on: actionDateOf(batches, debitOn(dunning, step.on, batches), { ...batches, today }) }
}

/** Returns whether a line would hide that the last try has failed: its action, which is due, runs first. */
const isBehindAction = ({ pending }: Dunning, { batches, today }: DayFacts): boolean =>
  batches !== null && pending !== null && pending.on <= today

/** A try that a day brings: its step, null if it is beside the steps, and the day on which the money is to move. */
export interface DueTry {
  step: Step | null
  on: IsoDate
}

/**
 * Returns the try that the day brings, as a step or beside them; null when it brings none. Rule: a step comes with a try unless tries are
 * stopped; a try beside the steps counts as the step that is wanted by then; a suspended customer's only after their method changed.
 */
export function tryOf(dunning: Dunning, facts: DayFacts): DueTry | null {
  if (!canBeTried(facts) || dunning.isSettled || dunning.isStopped || isBehindAction(dunning, facts)) return null
  const { today, batches } = facts
  const step = stepToTry(dunning, facts)
  const { extra } = dunning
  if (extra !== null && extra.on <= today) {
    const isAllowed = facts.customer === 'active' || (facts.customer === 'suspended_by_rule' && extra.isForMethod)
    return isAllowed ? { step, on: step?.on ?? debitDayOf(dunning, extra.on, today, batches) } : null
  }
  return step === null || dunning.isUntried ? null : { step, on: step.on }
}

/** Returns the day on which money moves that is wanted from a day on: today, or the day of the batch. */
export const debitDayOf = (dunning: Dunning, wantedOn: IsoDate, today: IsoDate, batches: DebitDays | null): IsoDate =>
  batches === null ? today : actionDateOf(batches, debitOn(dunning, wantedOn, batches), { ...batches, today })

/**
 * Returns the dunning after the tries of a day for an invoice that was not tried. A step that found no usable method waits for one; a try
 * beside the steps that could not be made on its day is not made up for, unless an open try or an action stands in its way.
 */
export function afterUntriedDay(dunning: Dunning, facts: DayFacts): Dunning {
  const isKept = facts.hasOpenTry || isBehindAction(dunning, facts)
  const isMissed = dunning.extra !== null && dunning.extra.on <= facts.today && !isKept
  const isWithout =
    !dunning.wasTried && !facts.hasMethod && facts.isOpen && !facts.isHeld && stepToday(dunning, facts) !== null
  return { ...dunning, extra: isMissed ? null : dunning.extra, isUntried: dunning.isUntried || isWithout }
}

/** Returns the dunning once a try has begun. */
export const afterBegun = (dunning: Dunning): Dunning => ({ ...dunning, extra: null, isUntried: false })

/**
 * Returns the actions that the day brings, and the dunning once they have run; null when it brings none. Rules: the actions of a failed try
 * run from its step's day on; those of later steps run by day where tries are stopped, and for untried invoices where the rules want that
 * since before they fell due; none while the invoice is paid, pending or held.
 */
export function actionsOf(dunning: Dunning, facts: DayFacts): { actions: readonly Action[]; dunning: Dunning } | null {
  const { today, rules, dueDate } = facts
  if (!facts.isOpen || facts.isHeld || facts.customer === 'archived' || dunning.isSettled) return null
  const isUntried = !dunning.wasTried && (dunning.isUntried || !facts.hasMethod)
  const worded = (actions: readonly Action[]) => (isUntried ? actions.map(asUntried) : actions)
  if (dunning.pending !== null && dunning.pending.on <= today)
    return { actions: worded(dunning.pending.actions), dunning: { ...dunning, pending: null } }
  const step = facts.hasOpenTry ? null : stepToday(dunning, facts)
  const runsByDay = isUntried
    ? rules.untriedSince !== null && dueDate >= rules.untriedSince
    : isStopped(dunning, facts) && dunning.extra === null
  if (step === null || !runsByDay) return null
  return { actions: worded([step.action]), dunning: reached(dunning, step, today) }
}

/** Returns an action as it runs for an invoice that nobody tried to collect. */
const asUntried = (action: Action): Action => (action === 'payment_unsuccessful' ? 'friendly_warning' : action)

/** Returns the dunning with a step behind it that was known on a day. Rule: the next is counted from the later of the step's day and that day. */
const reached = (dunning: Dunning, step: Step, knownOn: IsoDate): Dunning => ({
  ...dunning,
  newest: step.daysAfterDue,
  countedFrom: later(step.on, knownOn),
  notBefore: null,
})

/** A try that has an outcome: the step for which it was made, and whether it was beside the steps. */
export interface Tried {
  step: Step | null
  /** It was to come on its own beside the steps, and would be made up for if it was never sent. */
  isExtra: boolean
}

export interface AfterOutcome {
  dunning: Dunning
  /** The invoice is to be put on hold, because a person has to look. */
  isHeld: boolean
}

/** Returns the dunning after a try was paid. */
export const afterPaid = (dunning: Dunning, { step }: Tried, on: IsoDate): Dunning => ({
  ...(step === null ? dunning : reached(dunning, step, on)),
  pending: null,
  wasTried: true,
  wasUnknown: false,
  isStopped: false,
  isSettled: true,
})

/** Returns the dunning after a try failed, by the class of its answer. `on` is the day on which that became known. */
export function afterFailed(dunning: Dunning, tried: Tried, declineClass: DeclineClass, on: IsoDate): AfterOutcome {
  const consequence = consequenceOf(declineClass)
  if (consequence === 'again') return { dunning: afterNotSent(dunning, tried, on), isHeld: false }
  const { step } = tried
  const isHeld = consequence === 'holds'
  const answered = answer(step === null ? dunning : reached(dunning, step, on), declineClass)
  const actions = isHeld ? [] : actionsAfter(step, declineClass)
  const pending = actions.length === 0 ? null : { actions, on: later(step?.on ?? on, on) }
  return { dunning: { ...answered, pending: pending ?? (step === null ? dunning.pending : null) }, isHeld }
}

const answer = (dunning: Dunning, declineClass: DeclineClass): Dunning => {
  const consequence = consequenceOf(declineClass)
  const isAgain = consequence === 'once_more' && dunning.wasUnknown
  return {
    ...dunning,
    wasTried: true,
    wasUnknown: consequence === 'once_more',
    isStopped: dunning.isStopped || isAgain || consequence === 'stops',
  }
}

/** Returns the actions of a failed try. Rule: where the customer has to act, the mail payment_unsuccessful asks them to, whatever step it was. */
function actionsAfter(step: Step | null, declineClass: DeclineClass): readonly Action[] {
  const actions = step === null || step.action === 'none' ? [] : [step.action]
  if (declineClass !== 'action_required') return actions
  return actions[0] === 'suspend' ? ['payment_unsuccessful', 'suspend'] : ['payment_unsuccessful']
}

/** Rule: what never went out uses up no step and no try; the step is planned anew, from the next day on. */
const afterNotSent = (dunning: Dunning, { isExtra }: Tried, on: IsoDate): Dunning => ({
  ...dunning,
  notBefore: addDays(on, 1),
  extra: isExtra ? { on: addDays(on, 1), isForMethod: true } : dunning.extra,
})

/**
 * Returns the dunning after a line left its batch before that was submitted. Rule: nothing was tried, so the step is planned anew, from
 * `from` on where it is to wait.
 */
export const afterLeft = (dunning: Dunning, { isExtra }: Pick<Tried, 'isExtra'>, from: IsoDate): Dunning => ({
  ...dunning,
  notBefore: later(from, dunning.notBefore ?? from),
  extra: isExtra ? { on: from, isForMethod: true } : dunning.extra,
})

/**
 * Returns the dunning after received money was lost again: bounced, returned or disputed. Rule: the newest step (the first, if it was the last) is
 * the one that failed that day, with the mail payment_unsuccessful in place of its action. `declineClass` is null where nobody gave one.
 */
export function afterLost(
  dunning: Dunning,
  rules: CollectionRules,
  declineClass: DeclineClass | null,
  on: IsoDate,
): AfterOutcome {
  const open = { ...dunning, isSettled: false }
  if (declineClass === 'not_sent') return { dunning: withoutNewest(open, rules, on), isHeld: false }
  const answered = declineClass === null ? open : answer(open, declineClass)
  const isHeld = declineClass !== null && consequenceOf(declineClass) === 'holds'
  if (answered.newest === null) return { dunning: answered, isHeld }
  const isLast = attemptAfter(rules, answered.newest) === undefined
  const pending = isHeld ? null : { actions: ['payment_unsuccessful'] as const, on }
  const newest = isLast ? (rules.attempts[0]?.daysAfterDue ?? 0) : answered.newest
  return { dunning: { ...answered, newest, countedFrom: on, notBefore: null, pending }, isHeld }
}

/** Takes back the newest step: it is wanted again on the next day. */
function withoutNewest(dunning: Dunning, { attempts }: CollectionRules, on: IsoDate): Dunning {
  const { newest } = dunning
  if (newest === null) return { ...dunning, notBefore: addDays(on, 1) }
  const before = attempts.findLast(({ daysAfterDue }) => daysAfterDue < newest)?.daysAfterDue ?? null
  const countedFrom = addDays(on, 1 - (before === null ? 0 : newest - before))
  return { ...dunning, newest: before, countedFrom, notBefore: null, pending: null }
}

/**
 * Returns the dunning after a method that fits came or changed. Rules: an invoice that could not be tried is tried on the next day, if that is
 * within the days of the rules; one that was tried is tried once more on the next day, its DueDate at most 90 days back.
 */
export function afterMethodChanged(
  dunning: Dunning,
  { dueDate, rules, on }: { dueDate: IsoDate; rules: CollectionRules; on: IsoDate },
): Dunning {
  const tomorrow = addDays(on, 1)
  const extra = { on: tomorrow, isForMethod: true }
  if (!dunning.wasTried) {
    const isInTime = dunning.isUntried && daysBetween(dueDate, tomorrow) <= daysOfRules(rules)
    return isInTime ? { ...dunning, extra } : dunning
  }
  const age = daysBetween(dueDate, tomorrow)
  const isRecent = age >= 0 && age <= EXTRA_TRY_DAYS_MAX
  return { ...dunning, isStopped: false, wasUnknown: false, extra: isRecent ? extra : dunning.extra }
}

/**
 * Returns the dunning after the customer came back. Rule: on the day after, what is due and whose method is not stopped is tried, as the step
 * that is wanted by then or as none; no step comes before.
 */
export function afterReturn(dunning: Dunning, { dueDate, on }: { dueDate: IsoDate; on: IsoDate }): Dunning {
  const tomorrow = addDays(on, 1)
  const isTried = dueDate <= tomorrow && !dunning.isStopped && !dunning.isUntried && !dunning.isSettled
  const extra = dunning.extra ?? (isTried ? { on: tomorrow, isForMethod: false } : null)
  return { ...dunning, notBefore: later(tomorrow, dunning.notBefore ?? tomorrow), extra }
}

/**
 * Returns NextTryDate: the day for which the next try is planned, today where that has passed; null while held, suspended or archived,
 * while a try is open, and when no try will come.
 */
export function nextTryOn(dunning: Dunning, facts: DayFacts): IsoDate | null {
  if (!canBeTried(facts) || facts.customer !== 'active' || dunning.isSettled || dunning.isStopped) return null
  const step = dunning.isUntried ? null : nextStep(dunning, facts.rules)
  const planned = earliest(dunning.extra?.on ?? null, step?.on ?? null)
  return planned === null ? null : later(planned, facts.today)
}
