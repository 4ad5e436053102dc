import { recomputeCredit } from '../../engine/credits.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { rateOf } from '../../kernel/money.ts'
import { amountText, type Check, type Tell } from './difference.ts'
import { eachPage, groupBy } from './pages.ts'
import {
  type CheckedNote,
  type CheckedNoteLine,
  type CheckedNoteTax,
  listCreditedDifferences,
  listNoteLines,
  listNotePage,
  listNoteTaxes,
  listTaxesTakenTooFar,
} from './queries.ts'

/** Credit notes follow from their lines, lines from the unused days of their charges; nothing is given back twice. */

export const creditNotes: Check = {
  name: 'credit notes',
  run: (tx, tell, goOn) =>
    eachPage(
      goOn,
      (after, limit) => listNotePage(tx, tx.account, after, limit),
      async (page) => {
        const ids = page.map(({ id }) => id)
        const lines = groupBy(await listNoteLines(tx, tx.account, ids), ({ noteId }) => noteId)
        const taxes = groupBy(await listNoteTaxes(tx, tx.account, ids), ({ noteId }) => noteId)
        for (const note of page) checkNote(note, lines.get(note.id) ?? [], taxes.get(note.id) ?? [], tell)
      },
    ),
}

/** Tells everything of one credit note that does not follow from its own rows and what it credits. */
export function checkNote(
  note: CheckedNote,
  lines: readonly CheckedNoteLine[],
  taxes: readonly CheckedNoteTax[],
  tell: Tell,
): void {
  const { currency } = note
  const text = (what: string, says: string, should: string) =>
    tell({ customerId: note.customerId, recordType: 'credit_note', recordId: note.id, what, says, should })
  const amount = (what: string, saysMinor: bigint, shouldMinor: bigint) => {
    if (saysMinor !== shouldMinor) text(what, amountText(saysMinor, currency), amountText(shouldMinor, currency))
  }
  for (const line of lines) {
    amount(`line ${line.line}`, line.netMinor, recomputeCredit(line, digitsOf(currency)))
    if (!line.isOfItsInvoice)
      text(`line ${line.line}`, `charge ${line.chargeId}`, `a charge of invoice ${note.invoiceId}`)
  }
  // Only the service's own notes have lines; what a caller gives has an amount.
  if (lines.length > 0)
    amount(
      'amount without tax',
      note.netMinor,
      lines.reduce((sum, { netMinor }) => sum + netMinor, 0n),
    )
  for (const { name, rate, amountMinor } of taxes) {
    const most = rateOf(note.netMinor, rate)
    if (amountMinor < 0n || amountMinor > most)
      text(
        `tax ${name} at ${decimalText(rate)}`,
        amountText(amountMinor, currency),
        `at most ${amountText(most, currency)}`,
      )
  }
  amount(
    'total',
    note.totalMinor,
    taxes.reduce((sum, tax) => sum + tax.amountMinor, note.netMinor),
  )
  amount('what is allocated of it', note.appliedMinor, note.allocatedMinor)
  if (note.allocatedMinor > note.totalMinor)
    text(
      'allocations',
      amountText(note.allocatedMinor, currency),
      `at most its total, ${amountText(note.totalMinor, currency)}`,
    )
  if (note.invoiceCurrency !== currency) text('currency', currency, `that of its invoice, ${note.invoiceCurrency}`)
  if (note.invoiceCustomerId !== note.customerId)
    text('customer', String(note.customerId), `that of its invoice, ${note.invoiceCustomerId}`)
  if (note.creditedMinor > note.invoiceTotalMinor)
    text(
      'credit notes of its invoice',
      amountText(note.creditedMinor, currency),
      `at most the invoice, ${amountText(note.invoiceTotalMinor, currency)}`,
    )
}

/** What charges say was given back of them is what the lines of credit notes gave, and never more than was charged. */
export const creditedCharges: Check = {
  name: 'credited charges',
  async run(tx, tell, goOn) {
    const charges = await eachPage(
      goOn,
      (after, limit) => listCreditedDifferences(tx, tx.account, after, limit),
      (rows) => {
        for (const { id, customerId, currency, netMinor, creditedMinor, givenMinor } of rows) {
          const about = { customerId, recordType: 'charge', recordId: id } as const
          if (creditedMinor !== givenMinor)
            tell({
              ...about,
              what: 'what was given back of it',
              says: amountText(creditedMinor, currency),
              should: amountText(givenMinor, currency),
            })
          if (givenMinor > netMinor || creditedMinor > netMinor)
            tell({
              ...about,
              what: 'credits of it',
              says: amountText(givenMinor > creditedMinor ? givenMinor : creditedMinor, currency),
              should: `at most its amount, ${amountText(netMinor, currency)}`,
            })
        }
      },
    )
    const taxes = await eachPage(
      goOn,
      (after, limit) => listTaxesTakenTooFar(tx, tx.account, after, limit),
      (rows) => {
        for (const { id, customerId, currency, name, amountMinor, takenMinor } of rows)
          tell({
            customerId,
            recordType: 'invoice',
            recordId: id,
            what: `tax ${name} taken back by credit notes`,
            says: amountText(takenMinor, currency),
            should: `at most what was charged, ${amountText(amountMinor, currency)}`,
          })
      },
    )
    return charges + taxes
  },
}
