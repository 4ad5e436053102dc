import type { IsoDate } from '../../kernel/calendar.ts'
import { formatsOf, type Language } from '../../platform/locale/format.ts'
import type { AttachmentMarks } from './links.ts'
import { type Rendered, render, type Writer } from './templates.ts'

/** The mail that an invoice goes out with; the PDF is made when it is sent. */

export interface InvoiceFacts extends Writer {
  /** The page of the invoice. */
  link: string
  attachment: AttachmentMarks
  customerName: string
  number: bigint
  invoiceDate: IsoDate
  dueDate: IsoDate
  currency: string
  totalMinor: bigint
  balanceMinor: bigint
}

interface InvoiceWords {
  subject(facts: InvoiceFacts): string
  greeting(facts: InvoiceFacts): string
  lead(facts: InvoiceFacts): string
  /** In place of the lead where the PDF is too large. */
  apart(facts: InvoiceFacts): string
  number: string
  date: string
  total: string
  balance: string
  due: string
  settled: string
  pay: string
  see: string
  footer: string
}

const WORDS: Record<Language, InvoiceWords> = {
  en: {
    subject: ({ accountName, number }) => `Invoice ${number} from ${accountName}`,
    greeting: ({ customerName }) => `Hello ${customerName},`,
    lead: ({ number }) => `please find invoice ${number} attached to this mail.`,
    apart: ({ number }) =>
      `we have issued invoice ${number}. Its PDF is too large for a mail; if you need it in another way, please answer this one.`,
    number: 'Invoice number',
    date: 'Invoice date',
    total: 'Total',
    balance: 'Balance due',
    due: 'Due date',
    settled: 'Nothing is left to pay.',
    pay: 'See and pay the invoice',
    see: 'See the invoice',
    footer: 'If you have a question about this invoice, please answer this mail.',
  },
  de: {
    subject: ({ accountName, number }) => `Rechnung ${number} von ${accountName}`,
    greeting: ({ customerName }) => `Guten Tag ${customerName},`,
    lead: ({ number }) => `im Anhang dieser Nachricht finden Sie die Rechnung ${number}.`,
    apart: ({ number }) =>
      `wir haben die Rechnung ${number} ausgestellt. Ihr PDF ist für eine E-Mail zu groß; wenn Sie es auf anderem Weg brauchen, antworten Sie bitte auf diese Nachricht.`,
    number: 'Rechnungsnummer',
    date: 'Rechnungsdatum',
    total: 'Gesamtbetrag',
    balance: 'Offener Betrag',
    due: 'Fällig am',
    settled: 'Es ist nichts mehr zu zahlen.',
    pay: 'Rechnung ansehen und bezahlen',
    see: 'Rechnung ansehen',
    footer: 'Bei Fragen zu dieser Rechnung antworten Sie bitte auf diese Nachricht.',
  },
}

export function invoiceMail(facts: InvoiceFacts): Rendered {
  const formats = formatsOf(facts.locale)
  const words = WORDS[formats.language]
  const isOpen = facts.balanceMinor > 0n
  return render({
    language: formats.language,
    accountName: facts.accountName,
    colour: facts.colour,
    subject: words.subject(facts),
    parts: [
      words.greeting(facts),
      facts.attachment.attached + words.lead(facts),
      facts.attachment.apart + words.apart(facts),
      [
        [words.number, String(facts.number)],
        [words.date, formats.longDate(facts.invoiceDate)],
        [words.total, formats.money(facts.totalMinor, facts.currency)],
        ...(isOpen
          ? ([
              [words.balance, formats.money(facts.balanceMinor, facts.currency)],
              [words.due, formats.longDate(facts.dueDate)],
            ] as const)
          : []),
      ],
      ...(isOpen ? [] : [words.settled]),
      { label: isOpen ? words.pay : words.see, link: facts.link },
    ],
    footer: words.footer,
  })
}
