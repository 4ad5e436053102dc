import type { TaxAmount } from '../../engine/money/postings.ts'
import type { CreditLine } from '../../engine/subscription/credits.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listCreditLines } from './credit-note-queries.ts'
import { isReasonOfService, reasonOfNote } from './note-reason.ts'
import type { Settlement } from './settlement-queries.ts'
import type { Corrected, NegativeRecord } from './types.ts'

/** Statements of a credit note, on paper and in answers: its lines, the taxes that it takes back, its reason in the language of its reader. */

/** Reads the lines of a note; one of a caller has none. */
export const linesOfNote = async (
  db: Queryable,
  account: AccountId,
  note: Pick<NegativeRecord, 'id' | 'lines'>,
): Promise<CreditLine[]> => (note.lines.length === 0 ? [] : listCreditLines(db, account, note.id))

/** Returns why a note was made, null where nobody wrote it: text of the service is written anew, in the language of the paper. */
export function paperReason(
  { reason, memo, subscriptionId }: Pick<NegativeRecord, 'reason' | 'memo' | 'subscriptionId'>,
  lines: readonly CreditLine[],
  locale: string,
): string | null {
  if (reason !== null || memo === null || subscriptionId === null) return reason ?? memo
  return isReasonOfService(memo, subscriptionId) ? reasonOfNote(locale, subscriptionId, lines) : memo
}

/** Tax that a note takes back of an invoice, and the net amount that it was charged on. */
export interface TaxOfNote extends TaxAmount {
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
  baseMinor: bigint
  category: TaxCategory | null
}

/** Adds up the taxes of settlements: one sum for each tax of each invoice, in the order of the settlements. */
export function takenTaxes(settlements: readonly Settlement[]): TaxOfNote[] {
  const sums = new Map<string, TaxOfNote>()
  for (const { invoiceId, invoiceNumber, amountMinor: grossMinor, taxes } of settlements) {
    const invoice = { invoiceId, invoiceNumber }
    const baseMinor = grossMinor - sumMinor(taxes)
    const places = new Map<string, number>()
    for (const { name, rate, taxNumber, category, amountMinor } of taxes) {
      const label = JSON.stringify([name, decimalText(rate), taxNumber])
      // An invoice may have two taxes that are alike.
      const place = (places.get(label) ?? 0) + 1
      places.set(label, place)
      const key = `${invoiceId} ${place} ${label}`
      const sum = sums.get(key) ?? { ...invoice, name, rate, taxNumber, category, baseMinor: 0n, amountMinor: 0n }
      sums.set(key, {
        ...sum,
        baseMinor: sum.baseMinor + baseMinor,
        amountMinor: sum.amountMinor + amountMinor,
      })
    }
  }
  return [...sums.values()]
}

/** Returns what of a note corrects no invoice, in minor units. */
export const unsettledMinor = ({ amountMinor, settlements }: { amountMinor: bigint } & Corrected): bigint =>
  amountMinor - sumMinor(settlements)
