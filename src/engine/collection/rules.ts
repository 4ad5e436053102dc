import type { IsoDate } from '../../kernel/calendar.ts'

/** The rules of an account by which unpaid invoices are collected: steps after DueDate with their actions, and reminders before a date. */

export const ACTIONS = [
  'none',
  'friendly_warning',
  'warning',
  'initial_warning',
  'final_warning',
  'payment_unsuccessful',
  'suspend',
] as const
export type Action = (typeof ACTIONS)[number]

export const REMINDER_KINDS = [
  'upcoming_renewal',
  'card_expiring',
  'trial_expiring',
  'end_near',
  'payment_due',
] as const
export type ReminderKind = (typeof REMINDER_KINDS)[number]

export interface Attempt {
  daysAfterDue: number
  action: Action
}

export interface Reminder {
  kind: ReminderKind
  daysBefore: number
  isActive: boolean
}

export interface CollectionRules {
  /** Ascending by day, the first on day 0. */
  attempts: readonly Attempt[]
  /** Each kind once. */
  reminders: readonly Reminder[]
  /** The day from which actions run for untried invoices too; null while they do not. */
  untriedSince: IsoDate | null
}

export const DEFAULT_RULES: CollectionRules = {
  attempts: [
    { daysAfterDue: 0, action: 'payment_unsuccessful' },
    { daysAfterDue: 3, action: 'warning' },
    { daysAfterDue: 7, action: 'final_warning' },
    { daysAfterDue: 14, action: 'suspend' },
  ],
  reminders: [
    { kind: 'upcoming_renewal', daysBefore: 7, isActive: false },
    { kind: 'card_expiring', daysBefore: 30, isActive: false },
    { kind: 'trial_expiring', daysBefore: 3, isActive: false },
    { kind: 'end_near', daysBefore: 7, isActive: false },
    { kind: 'payment_due', daysBefore: 3, isActive: false },
  ],
  untriedSince: null,
}

export const ATTEMPTS_MAX = 20
export const DAYS_AFTER_DUE_MAX = 365
export const DAYS_BEFORE_MAX = 90

/** Returns why a list of attempts cannot be, naming the entry where it is one; null when it can. */
export function problemOfAttempts(attempts: readonly Attempt[]): { index: number | null; message: string } | null {
  if (attempts.length < 1 || attempts.length > ATTEMPTS_MAX)
    return { index: null, message: `The rules have 1 to ${ATTEMPTS_MAX} attempts, not ${attempts.length}.` }
  if (attempts[0]?.daysAfterDue !== 0)
    return { index: 0, message: 'The first attempt is made on the due date: its DaysAfterDue is 0.' }
  const index = attempts.findIndex(
    ({ daysAfterDue }, place) => place > 0 && daysAfterDue <= (attempts[place - 1] as Attempt).daysAfterDue,
  )
  if (index < 0) return null
  return { index, message: 'DaysAfterDue ascend from attempt to attempt, and none comes twice.' }
}

/** Returns the days that an invoice without a usable method can wait for one: those of the last attempt. */
export const daysOfRules = ({ attempts }: CollectionRules): number => attempts.at(-1)?.daysAfterDue ?? 0

/** Returns the first attempt that comes after another; undefined when that was the last. `newest` is null before the first. */
export const attemptAfter = ({ attempts }: CollectionRules, newest: number | null): Attempt | undefined =>
  attempts.find(({ daysAfterDue }) => newest === null || daysAfterDue > newest)
