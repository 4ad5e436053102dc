import type { Transaction } from '../../platform/database/database.ts'
import { glyphWarnings, type ShownTexts } from '../../platform/pdf/glyph-warnings.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { frozenOfAccount } from '../accounts/rules.ts'
import { glyphWarningsOfSender } from '../accounts/warnings.ts'
import { type FrozenCustomer, frozenOf, receiverTexts } from '../customers/fields.ts'
import type { InvoiceParts } from '../invoices/wire.ts'
import type { Drawable, DocumentTax } from './document.ts'
import { localeOf } from './parties.ts'
import { type FrozenAccount, getFrozenParties } from './queries.ts'

/** Warnings of the fields on a paper that have a character which no font has (glyphs_missing). */

/** Returns the warnings of sender and receiver, as a paper in a locale shows them. */
export const glyphWarningsOfParties = (account: FrozenAccount, customer: FrozenCustomer, locale: string): string[] => [
  ...glyphWarningsOfReceiver(customer),
  ...glyphWarningsOfSender(account, locale),
]

/** The texts of an invoice that somebody wrote. */
interface InvoiceTexts {
  reference: string
  poNumber?: string | null
  notes?: string | null
  terms?: string | null
  lines: readonly { name: string | null; description: string | null }[]
  taxes: readonly Pick<DocumentTax, 'name' | 'reason'>[]
}

const ofTaxes = (taxes: InvoiceTexts['taxes']): ShownTexts =>
  Object.fromEntries(
    taxes.flatMap(({ name, reason }, index) => [
      [`Taxes[${index}].Name`, name],
      [`Taxes[${index}].Reason`, reason === null ? null : Object.values(reason).join(' ')],
    ]),
  )

const ofInvoice = ({ reference, poNumber, notes, terms, lines, taxes }: InvoiceTexts): string[] =>
  glyphWarnings('Invoice', {
    ...{ Reference: reference, poNumber, Notes: notes, Terms: terms },
    ...Object.fromEntries(
      lines.flatMap(({ name, description }, index) => [
        [`Charges[${index}].Line`, name],
        [`Charges[${index}].Descrip`, description],
      ]),
    ),
    ...ofTaxes(taxes),
  })

/** Returns the warnings of an invoice that was added, edited, issued or sent by hand: a draft has the parties as they are, any other as they were at its issue. */
export async function glyphWarningsOfInvoice(tx: Transaction, parts: InvoiceParts): Promise<string[]> {
  const { invoice, customer, charges, taxes } = parts
  const [settings, frozen] = await Promise.all([
    getAccountSettings(tx, tx.account),
    invoice.isDraft ? null : getFrozenParties(tx, tx.account, invoice.id),
  ])
  const sender = frozen?.account ?? frozenOfAccount(settings)
  const receiver = frozen?.customer ?? frozenOf(customer)
  return [
    ...glyphWarningsOfParties(sender, receiver, localeOf(sender, receiver)),
    ...ofInvoice({ ...invoice, lines: charges, taxes }),
  ]
}

/** Returns the warnings of a document that is about to be drawn. */
export function glyphWarningsOfDrawable({ kind, document }: Drawable): string[] {
  const ofParties = document.glyphsMissing ?? []
  if (kind === 'invoice') return [...ofParties, ...ofInvoice(document)]
  if (kind === 'statement') return [...ofParties]
  const { lines, taxes, reason } = document
  const ofLines = lines.flatMap(({ name, description }, index) => [
    [`Lines[${index}].Name`, name],
    [`Lines[${index}].Descrip`, description],
  ])
  const shown = { Reason: reason, ...Object.fromEntries(ofLines), ...ofTaxes(taxes) }
  return [...ofParties, ...glyphWarnings('CreditNote', shown)]
}

/** Returns the warnings of those fields of a customer that papers show; of one that was made anonymous few are left. */
const glyphWarningsOfReceiver = (c: FrozenCustomer): string[] => glyphWarnings('Customer', receiverTexts(c))
