import { amountText } from '../../kernel/currencies.ts'
import type { CreditLine } from '../../engine/subscription/credits.ts'
import { taxShares } from '../../engine/money/credit-tax.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { decimalText, type Decimal } from '../../kernel/decimal.ts'
import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listCreditNoteTaxes } from './adjustment-queries.ts'
import { listTaxesOfInvoices, listTaxTaking } from './allocation-queries.ts'
import { listCreditLines } from './credit-note-queries.ts'
import type { NegativeRecord } from './records.ts'

/** Explains what a credit note gives back, and why: of one that the service made by its lines, of a caller's by where it is allocated. */

export interface ExplainedTax {
  name: string
  rate: Decimal
  amountMinor: bigint
  invoiceId: InvoiceId
}

export interface ExplainedNote {
  note: NegativeRecord
  netMinor: bigint
  taxes: ExplainedTax[]
  lines: CreditLine[]
  sentence: string
}

const NOT_ALLOCATED = 'nothing of it is allocated to an invoice with taxes'
const TAKEN_BACK = 'the taxes of the invoices that it is allocated to have been taken back already'
const MEANS = 'the service applied it when an invoice was made, as a means of payment'

/** Explains the amounts of a note: its net amount and its taxes come to its amount. */
export async function explainNote(db: Queryable, account: AccountId, note: NegativeRecord): Promise<ExplainedNote> {
  if (note.invoiceId === null) {
    const { taxes, whyNone } = await taxesOfCaller(db, account, note)
    return explained(note, taxes, [], whyNone)
  }
  const { invoiceId } = note
  const taxes = (await listCreditNoteTaxes(db, account, note.id)).map((tax) => ({ ...tax, invoiceId }))
  return explained(note, taxes, await listCreditLines(db, account, note.id))
}

/** Rule: shares go by allocation in the order made, over all callers' notes on the invoice, so that they add up to what it gave back. */
async function taxesOfCaller(
  db: Queryable,
  account: AccountId,
  note: NegativeRecord,
): Promise<{ taxes: ExplainedTax[]; whyNone: string }> {
  const isTaking = (a: AllocationState) => a.takesTax && a.owedKind === 'invoice'
  const { allocations } = note
  const own = allocations.filter(isTaking)
  const isMeans = allocations.some(({ isServiceMade, owedKind }) => isServiceMade && owedKind === 'invoice')
  const invoiceIds = [...new Set(own.map(({ owedId }) => owedId))]
  if (invoiceIds.length === 0) return { taxes: [], whyNone: isMeans ? MEANS : NOT_ALLOCATED }
  const all = await listTaxTaking(db, account, invoiceIds)
  const taxes = await listTaxesOfInvoices(db, account, invoiceIds)
  const given = invoiceIds.flatMap((invoiceId) => {
    const ofInvoice = taxes.filter((tax) => tax.invoiceId === invoiceId)
    const totalMinor = ofInvoice[0]?.totalMinor ?? 0n
    const crediting = all.filter(({ owedId }) => owedId === invoiceId)
    const shares = taxShares({ totalMinor, taxes: ofInvoice }, crediting)
    return added(
      own
        .filter(({ owedId }) => owedId === invoiceId)
        .flatMap(({ id }) => (shares.get(id) ?? []).map((share) => ({ ...share, invoiceId }))),
    )
  })
  return { taxes: given, whyNone: taxes.length > 0 ? TAKEN_BACK : NOT_ALLOCATED }
}

/** Adds up the shares of several allocations to one invoice, one sum for each of its taxes. */
function added(shares: readonly ExplainedTax[]): ExplainedTax[] {
  const sums = new Map<string, ExplainedTax>()
  for (const { name, rate, amountMinor, invoiceId } of shares) {
    const key = `${name} ${decimalText(rate)}`
    sums.set(key, { name, rate, invoiceId, amountMinor: (sums.get(key)?.amountMinor ?? 0n) + amountMinor })
  }
  return [...sums.values()]
}

function explained(
  note: NegativeRecord,
  taxes: ExplainedTax[],
  lines: CreditLine[],
  whyNone = NOT_ALLOCATED,
): ExplainedNote {
  const taxMinor = sumMinor(taxes)
  const text = (amountMinor: bigint) => amountText(amountMinor, note.currency)
  const netMinor = note.amountMinor - taxMinor
  const label = `Credit note ${note.ref} of ${text(note.amountMinor)}`
  const sentence =
    note.invoiceId !== null
      ? `${label} gives back ${text(netMinor)} of invoice ${note.invoiceId} and ${text(taxMinor)} of its taxes.`
      : taxes.length > 0
        ? `${label} takes back ${text(taxMinor)} of the taxes of the invoices that it is allocated to; ${text(netMinor)} is net.`
        : `${label} takes back no tax: ${whyNone}.`
  return { note, netMinor, taxes, lines, sentence }
}
