import { type DayFacts, nextTryOn, wakesOn } from '../../engine/collection/dunning.ts'
import type { CollectionRules } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Way } from '../invoices/collection.ts'
import { updateNextTry } from '../invoices/issue-queries.ts'
import { type DunnedInvoice, updateDunning } from './queries.ts'

/** Facts of a day about an invoice, and writing how far its dunning has come. */

export const dayFactsOf = (
  invoice: DunnedInvoice,
  { today, rules, way }: { today: IsoDate; rules: CollectionRules; way: Way | undefined },
): DayFacts => ({
  today,
  rules,
  dueDate: invoice.dueDate,
  isOpen: invoice.isOpen,
  isHeld: invoice.isHeld,
  customer: invoice.customer,
  hasOpenTry: invoice.hasOpenTry,
  hasMethod: way !== undefined,
  batches: null,
})

/**
 * Writes how far the dunning of an invoice has come, the day on which it is looked at next, and NextTryDate. Where a day that has come brought
 * nothing, the invoice waits for an event: a payment lost, a hold lifted, a customer back, a method changed.
 */
export async function saveDunning(
  tx: Transaction,
  invoice: DunnedInvoice,
  facts: DayFacts,
  isPassed: boolean,
): Promise<void> {
  const dueOn = wakesOn(invoice.dunning, facts, isPassed ? facts.today : null)
  updateDunning(tx, invoice.id, invoice.dunning, dueOn)
  updateNextTry(tx, invoice.id, nextTryOn(invoice.dunning, facts))
}
