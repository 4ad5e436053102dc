import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { objectOf, optional } from '../../platform/wire/read.ts'
import { flag } from '../../platform/wire/fields.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { lockedInvoiceRow } from '../invoices/manual.ts'
import type { Invoice } from '../invoices/queries.ts'
import { invoiceKind } from '../invoices/record.ts'
import {
  creditInvoice,
  type CreditFacts,
  type InvoiceCredit,
  type LineToCredit,
  readCreditFacts,
} from '../money/credit-invoice.ts'
import { invoiceCreditPreviewShape, invoiceCreditShape } from '../money/shapes.ts'
import { listLinesToCredit } from './queries.ts'
import { type InvoiceCreditBody, InvoiceCreditIn } from './wire.ts'

/** Crediting an invoice by a note that is made for it. */

const PreviewQuery = objectOf({
  preview: optional(flag(), 'With true nothing is changed, and the answer shows what would be.'),
})

/** Throws a conflict for an invoice that nothing can be credited of: a draft, a cancelled one, one of nothing. */
function checkCreditableState({ id, isDraft, isCancelled, totalMinor }: Invoice): void {
  if (isDraft) throw conflict('invoice_draft', `Invoice ${id} is a draft; nothing of it can be credited.`)
  if (isCancelled) throw conflict('invoice_cancelled', `Invoice ${id} is cancelled; nothing of it can be credited.`)
  if (totalMinor <= 0n)
    throw conflict('invoice_of_nothing', `Invoice ${id} is of nothing; nothing of it can be credited.`)
}

const isGiven = (value: unknown): boolean => value != null && value !== false

/** Adds problems of fields that do not go together. */
function checkTogether(body: Partial<InvoiceCreditBody>, problems: Problems): void {
  const given = (['Amount', 'Lines', 'isWhole'] as const).filter((name) => isGiven(body[name]))
  // A field that could not be read has a problem of its own.
  const isRefused = problems.found.some(({ field }) => /^(Amount|Lines|isWhole)\b/.test(field ?? ''))
  if (given.length > 1 || (given.length === 0 && !isRefused))
    problems.add(
      'one_needed',
      given[1] ?? 'Amount',
      `Exactly one of Amount, Lines and isWhole is needed; ${given.length === 0 ? 'none was' : `${given.join(' and ')} were`} sent.`,
    )
  const other = (['isFreePayments', 'AutoApply'] as const).find((name) => isGiven(body[name]))
  if (isGiven(body.Refund) && other !== undefined)
    problems.add('refund_elsewhere', 'Refund', `Refund does not go with ${other}: what is left is in one place.`)
}

/** Reads the lines of a body; undefined where something is wrong with them. A chargeID that is unknown or named twice is a problem. */
async function resolveLines(
  tx: Transaction,
  { id, currency }: Invoice,
  sent: NonNullable<InvoiceCreditBody['Lines']>,
  problems: Problems,
): Promise<LineToCredit[]> {
  const found = new Map(
    (
      await listLinesToCredit(
        tx,
        id,
        sent.map(({ chargeID }) => chargeID),
      )
    ).map((one) => [one.chargeId, one]),
  )
  const seen = new Set<bigint>()
  return sent.flatMap(({ chargeID, AmountEx }, place): LineToCredit[] => {
    const field = `Lines[${place}].chargeID`
    const charge = found.get(chargeID)
    // A line without one is named by the check of its form.
    if (!charge && isGiven(chargeID)) problems.add('charge_unknown', field, `Invoice ${id} has no line ${chargeID}.`)
    if (charge && seen.has(chargeID)) problems.add('duplicate', field, `Line ${chargeID} is named twice.`)
    seen.add(chargeID)
    const netMinor = amountIn(problems, `Lines[${place}].AmountEx`, AmountEx, currency)
    return charge && netMinor !== undefined ? [{ ...charge, netMinor }] : []
  })
}

interface ResolvedCredit {
  credit: InvoiceCredit
  facts: CreditFacts
}

async function resolveCredit(
  tx: Transaction,
  { moment: { today } }: RequestContext,
  body: Partial<InvoiceCreditBody>,
  invoice: Invoice,
  problems: Problems,
): Promise<ResolvedCredit> {
  checkTogether(body, problems)
  const dated = body.Date ?? today
  if (!invoice.isDraft && dated < invoice.invoiceDate)
    problems.add('before_invoice', 'Date', `Date ${dated} is before InvoiceDate ${invoice.invoiceDate}.`)
  if (dated > today) problems.add('date_in_future', 'Date', `Date ${dated} lies after today, ${today}.`)
  const refundedOn = body.Refund?.Date
  if (refundedOn && refundedOn > today)
    problems.add(
      'date_in_future',
      'Refund.Date',
      `Refund.Date ${refundedOn} lies after today, ${today}: a refund is money that was handed over already.`,
    )
  if (refundedOn && !invoice.isDraft && refundedOn < invoice.invoiceDate)
    problems.add(
      'before_invoice',
      'Refund.Date',
      `Refund.Date ${refundedOn} is before InvoiceDate ${invoice.invoiceDate}.`,
    )
  const [lines, facts] = await Promise.all([
    body.Lines == null ? [] : resolveLines(tx, invoice, body.Lines, problems),
    readCreditFacts(tx, invoice.id),
  ])
  const amountMinor = amountIn(problems, 'Amount', body.Amount ?? undefined, invoice.currency)
  const { Refund: refund } = body
  const credit: InvoiceCredit = {
    invoice,
    dated,
    number: body.CreditNumber ?? null,
    reason: body.Reason ?? '',
    memo: body.Memo ?? null,
    what: lines.length > 0 ? { lines } : amountMinor === undefined ? 'whole' : { amountMinor },
    isAuto: body.AutoApply === true,
    isFreePayments: body.isFreePayments === true,
    refund: refund == null ? null : { dated: refund.Date ?? dated, ref: refund.Ref, memo: refund.Memo ?? null },
  }
  return { credit, facts }
}

export const invoiceCreditOperations = (): Operation[] => [
  writeOperation<Invoice, InvoiceCreditBody, { preview?: boolean | null }, ResolvedCredit>({
    id: 'creditInvoice',
    method: 'POST',
    path: '/v1/invoices/{invoiceID}/credit',
    tag: 'Credit notes',
    summary: 'Credit an invoice, paid or not, by lines, by an amount or whole: a credit note that is made for it',
    body: InvoiceCreditIn,
    query: PreviewQuery,
    success: { status: 201, schema: invoiceCreditShape.schema },
    preview: invoiceCreditPreviewShape.schema,
    refusals: {
      409: 'The invoice is a draft, cancelled or of nothing, less of it can be credited, its money is pending, or the books are closed',
    },
    record: (tx, _context, { params }) => lockedInvoiceRow(tx, invoiceKind.pathId(params)),
    references: (tx, context, { body }, problems, invoice) => resolveCredit(tx, context, body, invoice, problems),
    write: async (tx, context, { query }, invoice, { credit, facts }) => {
      checkCreditableState(invoice)
      const made = await creditInvoice(tx, context, credit, facts)
      const writing = writingOf(context)
      if (!query.preview) return { status: 201, body: invoiceCreditShape.write(made, writing) }
      const previewed = invoiceCreditPreviewShape.write({ ...made, ref: credit.number }, writing)
      return { status: 200, body: previewed, isPreview: true }
    },
  }),
]
