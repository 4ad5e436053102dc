import type { IsoDate } from '../../kernel/calendar.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { localeOfAccount } from '../../platform/locale/format.ts'
import { invoiceMail } from './invoice-template.ts'
import { attachmentMarksOf, markOf } from './links.ts'
import { oneLine, type Rendered } from './templates.ts'

/**
 * Mails with invoices are composed late: their rows keep the facts of the moment at which they were queued, and whoever reads or sends one makes its texts of
 * these. A run that issues thousands of invoices writes no text.
 */

/** Facts of the mail with an invoice as its row keeps them, as JSON: whole numbers of any size are digits. */
export interface InvoiceMailFacts {
  /** Name, colour and country of the account. */
  accountName: string
  colour: string | null
  country: string | null
  /** The customer's language, else the account's. */
  locale: string
  isCompany: boolean
  name: string
  lastName: string | null
  invoiceId: string
  linkCounter: number
  number: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  currency: string
  totalMinor: string
  balanceMinor: string
}

/** Composes the mail with an invoice from its facts. What is known only when it leaves stands in it as marks under its Message-ID. */
export function composeInvoiceMail(facts: InvoiceMailFacts, messageId: string): Rendered {
  const { accountName, colour, country, linkCounter: counter, invoiceDate, dueDate, currency } = facts
  const mail = invoiceMail({
    accountName,
    colour,
    locale: localeOfAccount(facts.locale, country),
    link: markOf(messageId, { kind: 'i', record: BigInt(facts.invoiceId), counter }),
    attachment: attachmentMarksOf(messageId),
    customerName: customerNameOf(facts),
    number: BigInt(facts.number),
    invoiceDate,
    dueDate,
    currency,
    totalMinor: BigInt(facts.totalMinor),
    balanceMinor: BigInt(facts.balanceMinor),
  })
  return { ...mail, subject: oneLine(mail.subject) }
}

/** Texts of a mail as its row has them: either these, or the facts that they are composed from. */
interface StoredTexts {
  messageId: string
  subject: string | null
  text: string | null
  html: string | null
  /** JSON of InvoiceMailFacts. */
  facts: string | null
}

/** A row of the outbox as it is read, before its texts are composed. */
export type Stored<M extends Rendered> = Omit<M, keyof Rendered> & StoredTexts

/** Returns a mail with its texts. They are the same whenever it is read. */
export function withTexts<M extends Rendered & { messageId: string }>(row: Stored<M>): M & { facts: string | null } {
  const { facts, messageId } = row
  const texts = facts === null ? {} : composeInvoiceMail(JSON.parse(facts) as InvoiceMailFacts, messageId)
  return { ...row, ...texts } as unknown as M & { facts: string | null }
}
