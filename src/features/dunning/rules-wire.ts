import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import {
  ACTIONS,
  ATTEMPTS_MAX,
  type CollectionRules,
  DAYS_AFTER_DUE_MAX,
  DAYS_BEFORE_MAX,
  DEFAULT_RULES,
  problemOfAttempts,
  REMINDER_KINDS,
} from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Problems } from '../../kernel/fault.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { flag, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { outFlag, outInteger, outList, outObject, outWord, type ShapeOf } from '../../platform/wire/write.ts'

export const CollectionRulesOut = outObject(
  {
    Attempts: outList(
      outObject({
        DaysAfterDue: outInteger('How many days after the due date it happens.'),
        Action: outWord(ACTIONS, 'The mail that goes out when the attempt fails, or `suspend`; `none` sends nothing.'),
      }),
      'The attempts to collect, in order.',
    ),
    Reminders: outList(
      outObject({
        Kind: outWord(REMINDER_KINDS, 'The kind of reminder.'),
        DaysBefore: outInteger('How many days before it the reminder is sent.'),
        isActive: outFlag('Whether reminders of this kind are sent.'),
      }),
      'The reminders, each with its day.',
    ),
    isForUntried: outFlag(
      'Whether invoices that nobody tries to collect, as those paid by transfer, are warned about on the days of the attempts too; those that fell due before it was switched on never are.',
    ),
  },
  'CollectionRules',
)

export const collectionRulesToWire = (rules: CollectionRules): ShapeOf<typeof CollectionRulesOut> => ({
  Attempts: rules.attempts.map(({ daysAfterDue, action }) => ({ DaysAfterDue: daysAfterDue, Action: action })),
  Reminders: rules.reminders.map(({ kind, daysBefore, isActive }) => ({
    Kind: kind,
    DaysBefore: daysBefore,
    isActive,
  })),
  isForUntried: rules.untriedSince !== null,
})

export const collectionRulesEtag = (rules: CollectionRules): string => etagOf(collectionRulesToWire(rules))

const inputs = {
  Attempts: optional(
    listOf(
      objectOf(
        {
          DaysAfterDue: required(whole(0, DAYS_AFTER_DUE_MAX), 'How many days after the due date it happens.'),
          Action: required(
            word(ACTIONS),
            'The mail that goes out when the attempt fails, or `suspend`; `none` sends nothing.',
          ),
        },
        { name: 'CollectionAttemptInput' },
      ),
      { min: 1, max: ATTEMPTS_MAX, what: 'attempts' },
    ),
    'The attempts to collect, in order.',
    'Left out, they stay as they are; null brings those of the service back.',
  ),
  Reminders: optional(
    listOf(
      objectOf(
        {
          Kind: required(word(REMINDER_KINDS), 'The kind of reminder; one that is not in the list stays as it is.'),
          DaysBefore: optional(
            whole(0, DAYS_BEFORE_MAX),
            'How many days before it the reminder is sent.',
            LEFT_OUT.kept,
          ),
          isActive: optional(flag(), 'Whether reminders of this kind are sent.', LEFT_OUT.kept),
        },
        { name: 'ReminderInput' },
      ),
      { max: REMINDER_KINDS.length, what: 'reminders' },
    ),
    'The reminders, each with its day.',
    'Left out, they stay as they are; null brings those of the service back.',
  ),
  isForUntried: optional(
    flag(),
    'Whether invoices that nobody tries to collect, as those paid by transfer, are warned about on the days of the attempts too; those that fell due before it was switched on never are.',
    'Left out, it stays as it is; null makes it false.',
  ),
} satisfies Properties

export const CollectionRulesIn = objectOf(inputs, { name: 'CollectionRulesInput' })
export type CollectionRulesBody = BodyOf<typeof inputs>

/** Adds to `problems` what entries that are right on their own do wrong together. */
export function checkCollectionRulesBody(body: Partial<CollectionRulesBody>, problems: Problems): void {
  const isWhole = body.Attempts?.every(({ DaysAfterDue, Action }) => DaysAfterDue !== undefined && Action !== undefined)
  const wrong = body.Attempts && isWhole ? problemOfAttempts(attemptsOf(body.Attempts)) : null
  if (wrong) problems.add('wrong_attempts', `Attempts[${wrong.index ?? 0}].DaysAfterDue`, wrong.message)
  const seen = new Set<string>()
  for (const [index, { Kind }] of (body.Reminders ?? []).entries()) {
    if (Kind !== undefined && seen.has(Kind))
      problems.add('repeated', `Reminders[${index}].Kind`, `The reminder ${Kind} is in the list twice.`)
    seen.add(Kind)
  }
}

const attemptsOf = (sent: NonNullable<CollectionRulesBody['Attempts']>): CollectionRules['attempts'] =>
  sent.map(({ DaysAfterDue, Action }) => ({ daysAfterDue: DaysAfterDue, action: Action }))

/** Returns the rules that a body asks for. Absent keeps, null goes back to the start; a reminder that is not named stays as it is. */
export function collectionRulesFromWire(
  body: CollectionRulesBody,
  present: CollectionRules,
  today: IsoDate,
): CollectionRules {
  const { Attempts, Reminders } = body
  const named = new Map((Reminders ?? []).map((entry) => [entry.Kind, entry]))
  const before = Reminders === null ? DEFAULT_RULES.reminders : present.reminders
  const isForUntried = body.isForUntried === undefined ? present.untriedSince !== null : (body.isForUntried ?? false)
  return {
    attempts: Attempts === undefined ? present.attempts : Attempts ? attemptsOf(Attempts) : DEFAULT_RULES.attempts,
    reminders: before.map((reminder) => ({
      ...reminder,
      daysBefore: named.get(reminder.kind)?.DaysBefore ?? reminder.daysBefore,
      isActive: named.get(reminder.kind)?.isActive ?? reminder.isActive,
    })),
    untriedSince: isForUntried ? (present.untriedSince ?? today) : null,
  }
}
