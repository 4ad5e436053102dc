import { groupBy } from '../../kernel/grouping.ts'
import { recomputeCredit } from '../../engine/subscription/credits.ts'
import { digitsOf, amountText } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { rateOf, sumMinor } from '../../kernel/money.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import {
  type CheckedNote,
  type CheckedNoteLine,
  type CheckedNoteTax,
  type CreditedCharge,
  listCreditedDifferences,
  listNoteLines,
  listNotePage,
  listCheckedNoteTaxes,
  listTaxesTakenTooFar,
  type TakenTax,
} from './credits-queries.ts'

/** Credit notes of the service follow from their lines, lines from the unused days of their charges; nothing is given back twice. */

export const creditNotes: Check = {
  name: 'credit notes',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listNotePage(tx, tx.account, after, limit),
      async (page) => {
        const ids = page.map(({ id }) => id)
        const lines = groupBy(await listNoteLines(tx, tx.account, ids), ({ noteId }) => noteId)
        const taxes = groupBy(await listCheckedNoteTaxes(tx, tx.account, ids), ({ noteId }) => noteId)
        for (const note of page) checkNote(note, lines.get(note.id) ?? [], taxes.get(note.id) ?? [], report)
      },
    ),
}

/** Reports everything of one credit note that does not follow from its own rows and what it credits. */
export function checkNote(
  note: CheckedNote,
  lines: readonly CheckedNoteLine[],
  taxes: readonly CheckedNoteTax[],
  report: Report,
): void {
  const { currency } = note
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId: note.customerId, recordType: note.kind, recordId: note.id, what, stored, expected })
  const amount = (what: string, storedMinor: bigint, expectedMinor: bigint) => {
    if (storedMinor !== expectedMinor)
      text(what, amountText(storedMinor, currency), amountText(expectedMinor, currency))
  }
  for (const line of lines) {
    amount(`line ${line.line}`, line.netMinor, recomputeCredit(line, digitsOf(currency)))
    if (!line.isOfItsInvoice)
      text(
        `line ${line.line}`,
        `charge ${line.chargeId}`,
        `a charge of ${note.invoiceId === null ? 'an invoice that it settles by lines' : `invoice ${note.invoiceId}`}`,
      )
  }
  const netMinor = sumMinor(lines, 'netMinor')
  for (const { name, rate, amountMinor, settledMinor, isGivenBack } of taxes) {
    const most = rateOf(netMinor, rate)
    if (settledMinor !== amountMinor)
      text(
        `settled tax ${name} at ${decimalText(rate)}`,
        settledMinor === null ? 'none' : amountText(settledMinor, currency),
        amountText(amountMinor, currency),
      )
    if (amountMinor < 0n || (isGivenBack && amountMinor > most))
      text(
        `tax ${name} at ${decimalText(rate)}`,
        amountText(amountMinor, currency),
        `at most ${amountText(most, currency)}`,
      )
  }
  if (note.invoiceId !== null) amount('total', note.amountMinor, netMinor + sumMinor(taxes))
  else {
    amount('lines', netMinor, note.linesMinor)
    if (taxes.length > 0) text('invoice', 'none', 'one, for it has taxes')
  }
  amount('what is allocated of it', note.appliedMinor, note.allocatedMinor)
  if (note.allocatedMinor > note.amountMinor)
    text(
      'allocations',
      amountText(note.allocatedMinor, currency),
      `at most its total, ${amountText(note.amountMinor, currency)}`,
    )
  checkCredited(note, text)
}

/** Rule: a credit note of the service is of its invoice's customer and currency, and all of an invoice give back no more than it was. */
function checkCredited(note: CheckedNote, text: (what: string, stored: string, expected: string) => void): void {
  const { currency, invoiceId, invoiceTotalMinor } = note
  if (invoiceId === null) return
  if (invoiceTotalMinor === null) return text('invoice', String(invoiceId), 'one that exists')
  if (note.invoiceCurrency !== currency) text('currency', currency, `that of its invoice, ${note.invoiceCurrency}`)
  if (note.invoiceCustomerId !== note.customerId)
    text('customer', String(note.customerId), `that of its invoice, ${note.invoiceCustomerId}`)
  if (note.creditedMinor > invoiceTotalMinor)
    text(
      'credit notes of its invoice',
      amountText(note.creditedMinor, currency),
      `at most the invoice, ${amountText(invoiceTotalMinor, currency)}`,
    )
}

/** Checks that the credited amount stored with a charge is the sum of its credit note lines, and never more than was charged. */
export const creditedCharges: Check = {
  name: 'credited charges',
  isAtOnce: true,
  async run(tx, report, reading) {
    const charges = await eachRecord(listCreditedDifferences, reportCredited)(tx, report, reading)
    return charges + (await eachRecord(listTaxesTakenTooFar, reportTaken)(tx, report, reading))
  },
}

function reportCredited(charge: CreditedCharge, report: Report): void {
  const { id, customerId, currency, netMinor, creditedMinor, givenMinor } = charge
  const about = { customerId, recordType: 'charge', recordId: id } as const
  if (creditedMinor !== givenMinor)
    report({
      ...about,
      what: 'what was given back of it',
      stored: amountText(creditedMinor, currency),
      expected: amountText(givenMinor, currency),
    })
  if (givenMinor > netMinor || creditedMinor > netMinor)
    report({
      ...about,
      what: 'credits of it',
      stored: amountText(givenMinor > creditedMinor ? givenMinor : creditedMinor, currency),
      expected: `at most its amount, ${amountText(netMinor, currency)}`,
    })
}

const reportTaken = (tax: TakenTax, report: Report): void =>
  report({
    customerId: tax.customerId,
    recordType: 'invoice',
    recordId: tax.id,
    what: `tax ${tax.name} taken back by credit notes`,
    stored: amountText(tax.takenMinor, tax.currency),
    expected: `at most what was charged, ${amountText(tax.amountMinor, tax.currency)}`,
  })
