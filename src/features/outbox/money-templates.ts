import { sumMinor } from '../../kernel/money.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { type Formats, formatsOf, type Language } from '../../platform/locale/format.ts'
import type { AttachmentMarks } from './links.ts'
import { type Rendered, render, type Writer } from './templates.ts'

/** The mails that credit notes, statements and receipts go out with. PDFs are made when they are sent. */

interface Greeted extends Writer {
  customerName: string
}

type Shown = readonly (readonly [name: string, value: string])[]

/** A mail of one sentence and some named values. */
interface MoneyWords {
  subject: string
  /** Paragraphs. */
  leads: readonly string[]
  values: Shown
  footer: string
}

/** Returns the lead of a mail with a PDF: that it is attached, and in its place that it is too large. */
const leadsOf = ({ attached, apart }: AttachmentMarks, here: string, tooLarge: string): string[] => [
  attached + here,
  apart + tooLarge,
]

const GREETING: Record<Language, (name: string) => string> = {
  en: (name) => `Hello ${name},`,
  de: (name) => `Guten Tag ${name},`,
}

function renderMoney(
  { accountName, colour, locale, customerName }: Greeted,
  words: Record<Language, MoneyWords>,
): Rendered {
  const { language } = formatsOf(locale)
  const { subject, leads, values, footer } = words[language]
  return render({
    language,
    accountName,
    colour,
    subject,
    parts: [GREETING[language](customerName), ...leads, values],
    footer,
  })
}

export interface CreditNoteFacts extends Greeted {
  attachment: AttachmentMarks
  number: string
  date: IsoDate
  currency: string
  totalMinor: bigint
}

export function creditNoteMail(facts: CreditNoteFacts): Rendered {
  const formats = formatsOf(facts.locale)
  const { accountName, attachment, number } = facts
  const values = (names: readonly [string, string, string]): Shown => [
    [names[0], number],
    [names[1], formats.longDate(facts.date)],
    [names[2], formats.money(facts.totalMinor, facts.currency)],
  ]
  return renderMoney(facts, {
    en: {
      subject: `Credit note ${number} from ${accountName}`,
      leads: leadsOf(
        attachment,
        `please find credit note ${number} attached to this mail.`,
        `we have issued credit note ${number}. Its PDF is too large for a mail; if you need it, please answer this one.`,
      ),
      values: values(['Credit note number', 'Date', 'Amount credited']),
      footer: 'If you have a question about this credit note, please answer this mail.',
    },
    de: {
      subject: `Gutschrift ${number} von ${accountName}`,
      leads: leadsOf(
        attachment,
        `im Anhang dieser Nachricht finden Sie die Gutschrift ${number}.`,
        `wir haben die Gutschrift ${number} ausgestellt. Ihr PDF ist für eine E-Mail zu groß; wenn Sie es brauchen, antworten Sie bitte auf diese Nachricht.`,
      ),
      values: values(['Gutschriftnummer', 'Datum', 'Gutgeschriebener Betrag']),
      footer: 'Bei Fragen zu dieser Gutschrift antworten Sie bitte auf diese Nachricht.',
    },
  })
}

export interface StatementFacts extends Greeted {
  attachment: AttachmentMarks
  from: IsoDate
  to: IsoDate
  /** Closing balance of each currency. */
  closing: readonly { currency: string; closingMinor: bigint }[]
}

export function statementMail(facts: StatementFacts): Rendered {
  const formats = formatsOf(facts.locale)
  const { accountName, attachment, closing } = facts
  const [from, to] = [formats.date(facts.from), formats.date(facts.to)]
  const values = (name: string): Shown =>
    closing.map(({ currency, closingMinor }) => [name, formats.money(closingMinor, currency)])
  return renderMoney(facts, {
    en: {
      subject: `Statement of account from ${accountName}: ${from} to ${to}`,
      leads: leadsOf(
        attachment,
        `please find your statement of account from ${from} to ${to} attached to this mail.`,
        `your statement of account from ${from} to ${to} is ready. Its PDF is too large for a mail; if you need it, please answer this one.`,
      ),
      values: values('Closing balance'),
      footer: 'If you have a question about this statement, please answer this mail.',
    },
    de: {
      subject: `Kontoauszug von ${accountName}: ${from} bis ${to}`,
      leads: leadsOf(
        attachment,
        `im Anhang dieser Nachricht finden Sie Ihren Kontoauszug vom ${from} bis ${to}.`,
        `Ihr Kontoauszug vom ${from} bis ${to} liegt vor. Sein PDF ist für eine E-Mail zu groß; wenn Sie es brauchen, antworten Sie bitte auf diese Nachricht.`,
      ),
      values: values('Schlusssaldo'),
      footer: 'Bei Fragen zu diesem Kontoauszug antworten Sie bitte auf diese Nachricht.',
    },
  })
}

export interface ReceiptFacts extends Greeted {
  date: IsoDate
  currency: string
  amountMinor: bigint
  reference: string | null
  /** Debts that the payment paid: invoices by their numbers; a document that is no invoice has none. */
  paid: readonly { number: bigint | null; amountMinor: bigint }[]
}

interface ReceiptNames {
  date: string
  amount: string
  reference: string
  invoice(number: bigint): string
  other: string
  rest: string
}

function receiptValues(facts: ReceiptFacts, formats: Formats, names: ReceiptNames): Shown {
  const money = (minor: bigint) => formats.money(minor, facts.currency)
  const restMinor = facts.amountMinor - sumMinor(facts.paid)
  return [
    [names.date, formats.longDate(facts.date)],
    [names.amount, money(facts.amountMinor)],
    ...(facts.reference === null ? [] : [[names.reference, facts.reference] as const]),
    ...facts.paid.map(
      ({ number, amountMinor }) => [number === null ? names.other : names.invoice(number), money(amountMinor)] as const,
    ),
    ...(restMinor === 0n ? [] : [[names.rest, money(restMinor)] as const]),
  ]
}

export function receiptMail(facts: ReceiptFacts): Rendered {
  const formats = formatsOf(facts.locale)
  const { accountName } = facts
  return renderMoney(facts, {
    en: {
      subject: `Receipt from ${accountName}`,
      leads: ['thank you: we have received your payment.'],
      values: receiptValues(facts, formats, {
        date: 'Date',
        amount: 'Amount received',
        reference: 'Reference',
        invoice: (number) => `Invoice ${number}`,
        other: 'Other charges',
        rest: 'Kept as credit',
      }),
      footer: 'If you have a question about this payment, please answer this mail.',
    },
    de: {
      subject: `Zahlungsbestätigung von ${accountName}`,
      leads: ['vielen Dank: Ihre Zahlung ist bei uns eingegangen.'],
      values: receiptValues(facts, formats, {
        date: 'Datum',
        amount: 'Eingegangener Betrag',
        reference: 'Referenz',
        invoice: (number) => `Rechnung ${number}`,
        other: 'Sonstige Forderungen',
        rest: 'Bleibt als Guthaben',
      }),
      footer: 'Bei Fragen zu dieser Zahlung antworten Sie bitte auf diese Nachricht.',
    },
  })
}
