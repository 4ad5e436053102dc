import type { ChargeKind } from '../../engine/subscription/charges.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { Id } from '../../kernel/ids.ts'
import { formatsOf, type Language } from '../../platform/locale/format.ts'

/** Reason of a credit note that the service makes, in the words of its reader. */

interface ReasonWords {
  subscription: string
  span(from: string, to: string): string
  unused: string
  unusedDays(days: string): string
  usage(names: string, days: string | null): string
}

const WORDS: Record<Language, ReasonWords> = {
  en: {
    subscription: 'Subscription',
    span: (from, to) => `${from} to ${to}`,
    unused: 'unused',
    unusedDays: (days) => `unused ${days}`,
    usage: (names, days) => `usage of ${names}${days === null ? '' : ` ${days}`} corrected`,
  },
  de: {
    subscription: 'Abonnement',
    span: (from, to) => `${from} bis ${to}`,
    unused: 'nicht genutzt',
    unusedDays: (days) => `${days} nicht genutzt`,
    usage: (names, days) => `Nutzung von ${names}${days === null ? '' : ` ${days}`} berichtigt`,
  },
}

/** Line of a note: days are half-open. */
interface ReasonLine {
  kind: ChargeKind
  name: string
  from: IsoDate | null
  until: IsoDate | null
}

const isUsage = ({ kind }: ReasonLine): boolean => kind === 'metered' || kind === 'late_usage'

/**
 * Names the subscription, the days that are given back, and the cycles whose usage was corrected, first and last day covered: "Subscription 26:
 * unused 25 Dec 2025 to 14 Jan 2026".
 */
export function reasonOfNote(locale: string, subscriptionId: Id, lines: readonly ReasonLine[]): string {
  const formats = formatsOf(locale)
  const words = WORDS[formats.language]
  const spanOf = (from: IsoDate, until: IsoDate) => words.span(formats.date(from), formats.date(addDays(until, -1)))
  const unused = lines.filter((line) => !isUsage(line))
  const first = unused.flatMap(({ from }) => (from === null ? [] : [from])).toSorted()[0]
  const last = unused
    .flatMap(({ until }) => (until === null ? [] : [until]))
    .toSorted()
    .at(-1)
  const given = first && last ? words.unusedDays(spanOf(first, last)) : words.unused
  const cycles = groupBy(lines.filter(isUsage), ({ from, until }) => (from && until ? spanOf(from, until) : null))
  const corrected = [...cycles].map(([days, of]) =>
    words.usage(formats.list([...new Set(of.map(({ name }) => name))]), days),
  )
  const parts = [...(unused.length > 0 ? [given] : []), ...corrected]
  return `${words.subscription} ${subscriptionId}: ${parts.join('; ')}`
}

/** Returns whether a text was written by the service as the reason of a note about a subscription, in any language and by earlier versions, which put a comma behind the number. */
export const isReasonOfService = (text: string, subscriptionId: Id): boolean =>
  [
    `${WORDS.en.subscription} ${subscriptionId}, `,
    ...Object.values(WORDS).map((words) => `${words.subscription} ${subscriptionId}: `),
  ].some((beginning) => text.startsWith(beginning))
