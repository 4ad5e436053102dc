import { type DayFacts, type DebitDays, type Dunning, nextTryOn, wakesOn } from '../../engine/collection/dunning.ts'
import type { CollectionRules } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Moment } from '../../kernel/context.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isDebit, type Way, wayOf } from '../collection-terms/way.ts'
import { holdInvoice, updateNextTry } from '../invoices/state-queries.ts'
import { type DunnedInvoice, listDunned, updateDunning } from './queries.ts'
import { getCollectionRules } from './rules-queries.ts'

/** Facts of a day about an invoice, and writing how far its dunning has come. */

/** Facts beside the invoice. The days of a gateway stand in its Settings: where nobody has opened these they are left out. */
export interface AboutDay {
  today: IsoDate
  rules: CollectionRules
  way: Way | undefined
  batches?: DebitDays | null
}

export interface KnownDay extends DayFacts {
  /** It is debited by a gateway whose days nobody has looked up. */
  areDaysUnread: boolean
}

export const dayFactsOf = (invoice: DunnedInvoice, { today, rules, way, batches }: AboutDay): KnownDay => ({
  today,
  rules,
  dueDate: invoice.dueDate,
  isOpen: invoice.isOpen,
  isHeld: invoice.isHeld,
  customer: invoice.customer,
  hasOpenTry: invoice.hasOpenTry,
  hasMethod: way !== undefined,
  batches: batches ?? null,
  areDaysUnread: batches === undefined && way !== undefined && isDebit(way),
})

/** Dunning as it is to be. With `isHeld` the invoice is put on hold. */
export interface Plan {
  dunning: Dunning
  isHeld?: boolean
}

/**
 * Plans anew what comes to invoices of a locked customer, by what `planOf` makes of the dunning of each, and returns those that it puts on hold.
 * Rule: a try in `isPaid` is not repeated automatically, whatever method there is.
 */
export async function replan(
  tx: Transaction,
  { moment }: { moment: Moment },
  ids: readonly InvoiceId[],
  planOf: (invoice: DunnedInvoice, rules: CollectionRules) => Plan,
  { isPaid = false } = {},
): Promise<InvoiceId[]> {
  if (ids.length === 0) return []
  const { today, now } = moment
  const [invoices, rules] = await Promise.all([listDunned(tx, tx.account, ids), getCollectionRules(tx, tx.account)])
  const held: InvoiceId[] = []
  for (const invoice of invoices) {
    const { dunning, isHeld = false } = planOf(invoice, rules)
    if (isHeld) {
      await holdInvoice(tx, invoice.id, now)
      held.push(invoice.id)
    }
    const planned = { ...invoice, dunning, isHeld: invoice.isHeld || isHeld }
    const way = isPaid ? undefined : await wayOf(tx, invoice)
    await saveDunning(tx, planned, dayFactsOf(planned, { today, rules, way }), false)
  }
  return held
}

/**
 * Writes how far the dunning of an invoice has come, the day on which it is looked at next, and NextTryDate. Where a day that has come brought
 * nothing, the invoice waits for an event: a payment lost, a hold lifted, a customer back, a method changed. Where the days of its gateway are
 * not known here the next pass looks at it.
 */
export async function saveDunning(
  tx: Transaction,
  invoice: DunnedInvoice,
  facts: KnownDay,
  isPassed: boolean,
): Promise<void> {
  const dueOn = facts.areDaysUnread ? facts.today : wakesOn(invoice.dunning, facts, isPassed ? facts.today : null)
  updateDunning(tx, invoice.id, invoice.dunning, dueOn)
  // While a line waits it is the day of that, and while a gateway is asked there is none.
  if (facts.hasOpenTry) return
  const nextTryDate = nextTryOn(invoice.dunning, facts)
  if (invoice.hasLine || invoice.nextTryDate !== nextTryDate) updateNextTry(tx, invoice.id, nextTryDate)
}
