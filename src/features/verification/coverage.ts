import { groupBy } from '../../kernel/grouping.ts'
import { coveredDays, type InvoicedCharge, isInAdvance, isPackageKind } from '../../engine/subscription/coverage.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import { eachSpan, PAGE_SIZE } from '../../platform/checks/pages.ts'
import { type CoveringCharge, findSubscriptions, listCoveringCharges, listOverlapping } from './coverage-queries.ts'

/**
 * No day of a package or component is charged twice. Days that were given back may be charged again; a rise in quantity lies on top of the
 * charge of its cycle, where each rise is charged once, and late usage belongs to a cycle that was charged.
 */
export const coverage: Check = {
  name: 'days charged twice',
  run: (tx, report, reading) =>
    eachSpan(
      reading,
      (after, limit) => findSubscriptions(tx, tx.account, after, limit),
      async (span) => {
        const doubtful = await listOverlapping(tx, tx.account, span)
        for (let from = 0; from < doubtful.length; from += PAGE_SIZE)
          await checkCovering(tx, doubtful.slice(from, from + PAGE_SIZE), report)
        return doubtful.length
      },
      SUBSCRIPTIONS_AT_ONCE,
    ),
}

/** Subscriptions whose charges the database puts in order at once. */
const SUBSCRIPTIONS_AT_ONCE = 2000

/** Checks subscriptions of which charges may cover a day together. */
async function checkCovering(
  tx: Transaction,
  page: readonly { id: Id; customerId: Id }[],
  report: Report,
): Promise<void> {
  const ids = page.map(({ id }) => id)
  const charges = groupBy(await listCoveringCharges(tx, tx.account, ids), ({ subscriptionId }) => subscriptionId)
  for (const { id, customerId } of page) checkDays(id, customerId, charges.get(id) ?? [], report)
}

interface Span {
  chargeId: Id
  from: IsoDate
  until: IsoDate
  /** Of metered usage: the stretch of the subscription that it was counted in. */
  meteredIn?: number
}

/**
 * Returns whether usage of one day stands beside usage from that day on. Rule: a cancellation at once on the first day of a cycle cuts it to that day, whose
 * usage before its instant it takes; a subscription that comes back on the same day counts from then on.
 */
const cameBackThatDay = (cut: Span, next: Span): boolean =>
  cut.meteredIn !== undefined &&
  next.meteredIn !== undefined &&
  cut.meteredIn < next.meteredIn &&
  cut.from === next.from &&
  cut.until === addDays(cut.from, 1)

/** Reports every charge that begins before the one ahead of it, of the same package or component, has ended. */
export function checkDays(
  subscriptionId: Id,
  customerId: Id,
  charges: readonly CoveringCharge[],
  report: Report,
): void {
  for (const [item, spans] of spansOf(charges)) {
    let before: Span | undefined
    for (const span of spans.toSorted((a, b) =>
      a.from < b.from ? -1 : a.from > b.from ? 1 : (a.meteredIn ?? 0) - (b.meteredIn ?? 0),
    )) {
      if (before && span.from < before.until && !cameBackThatDay(before, span))
        report({
          customerId,
          recordType: 'subscription',
          recordId: subscriptionId,
          what: `days of ${item}`,
          stored: `charge ${before.chargeId} until ${before.until} and charge ${span.chargeId} from ${span.from}`,
          expected: 'every day in one charge',
        })
      if (!before || span.until > before.until) before = span
    }
  }
}

function spansOf(charges: readonly CoveringCharge[]): Map<string, Span[]> {
  const inAdvance = coveredDays(charges.filter(({ kind }) => isInAdvance(kind) && kind !== 'rise').map(asInvoiced))
  const metered = charges.filter(({ kind }) => kind === 'metered')
  const rises = charges.filter(({ kind }) => kind === 'rise')
  const spans = [
    ...inAdvance.map(({ charge, from, until }) => ({
      item: isPackageKind(charge.kind) ? 'the package' : `component ${charge.itemId}`,
      // Lines of several brackets cover the same days together; one that is there twice does not.
      line: `${charge.kind}/${charge.itemId}/${charge.stretch}/${charge.part}/${from}/${until}`,
      span: { chargeId: charge.chargeId, from, until },
    })),
    ...metered.map(({ id, itemId, stretch, part, from, until }) => ({
      item: `usage of component ${itemId}`,
      line: `metered/${itemId}/${stretch}/${part}/${from}/${until}`,
      span: { chargeId: id, from, until, meteredIn: stretch },
    })),
    // What makes a rise this one is in its name, so that others on the same days are no concern of it.
    ...rises.map(({ id, itemId, stretch, part, from, until }) => ({
      item: `rise ${part} of component ${itemId} from ${from} in stretch ${stretch}`,
      line: `rise/${itemId}/${stretch}/${part}/${from}/${until}`,
      span: { chargeId: id, from, until },
    })),
  ]
  const bracketOf = new Map(charges.map(({ id, bracketIndex }) => [id, bracketIndex]))
  const times = new Map<string, number>()
  const lines = new Map<string, (typeof spans)[number]>()
  for (const one of spans) {
    const ofBracket = `${one.line}/${bracketOf.get(one.span.chargeId)}`
    const time = times.get(ofBracket) ?? 0
    times.set(ofBracket, time + 1)
    lines.set(`${one.line}/${time}`, one)
  }
  return new Map(
    [...groupBy([...lines.values()], ({ item }) => item)].map(([item, group]) => [item, group.map(({ span }) => span)]),
  )
}

/** Returns a charge as the coverage of days takes it, without what it costs. */
const asInvoiced = (charge: CoveringCharge): InvoicedCharge => ({
  chargeId: charge.id,
  invoiceId: null,
  kind: charge.kind,
  itemId: charge.itemId,
  name: '',
  stretch: charge.stretch,
  part: charge.part,
  from: charge.from,
  until: charge.until,
  wholeFrom: charge.wholeFrom,
  wholeUntil: charge.wholeUntil,
  price: ZERO,
  netMinor: 0n,
  creditedMinor: 0n,
  creditedFrom: charge.creditedFrom,
  isInvoiceCancelled: false,
})
