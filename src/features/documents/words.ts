import type { Supply } from '../../engine/supply.ts'
import type { Id } from '../../kernel/ids.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import { type Formats, type Language, languageOf } from '../../platform/locale/format.ts'
import type { Age, MovementType } from '../../engine/money/statement.ts'
import type { PaymentMethodWord } from '../money/payment-queries.ts'
import type { Applied, DocumentTax, Drawable } from './document.ts'

/** The words of documents, in the languages that we have. */

interface Words {
  invoice: string
  taxInvoice: string
  creditNote: string
  /** Title of a credit note that corrects an invoice, and of one that corrects none. */
  correction: string
  accountCredit: string
  provisional: string
  correctsNone: string
  /** Sentence about the part of a note that corrects no invoice. */
  unsettled(amount: string): string
  /** Names, among the sums, the part that corrects no invoice. */
  withoutInvoice: string
  partOfInvoice(number: string, date: string): string
  invoiceOf(number: string, date: string): string
  reason: string
  /** Sentences about taxes of 0 % by category. */
  noTax: Partial<Record<TaxCategory, string>>
  statement: string
  draft: string
  draftNotice: string
  cancelled: string
  cancelledNotice: string
  from: string
  to: string
  creditedTo: string
  details: string
  invoiceNumber: string
  creditNumber: string
  customerReference: string
  invoiceDate: string
  dueDate: string
  supplyDate: string
  supplyPeriod: string
  date: string
  period: string
  reference: string
  poNumber: string
  currency: string
  forInvoice: string
  description: string
  /** Name of a line that has none of its own. */
  charge: string
  quantity: string
  unitPrice: string
  amountIn(currency: string): string
  subtotal: string
  taxLabel(name: string, rate: string): string
  taxOn(base: string): string
  taxNumber(number: string): string
  total: string
  paidSoFar: string
  kind: string
  applied: Record<Applied['kind'], string>
  /** Names the sum of payments and credits that are too many to be listed. */
  appliedAfter: string
  pending: string
  balanceDue: string
  /** Sentence about what is written off. */
  writtenOff(amount: string): string
  credited: string
  unallocated: string
  pendingDebits: string
  notes: string
  terms: string
  bankDetails: string
  vatNumber: string
  registrationNumber: string
  logoOf(name: string): string
  page(page: number, pages: number): string
  span(from: string, to: string): string
  partOf(days: number, wholeDays: number): string
  /** Number of units of a line whose quantity of 1 does not show it. */
  units(count: string): string
  /** Returns the text in place of the lines that are cut off. */
  moreLines(count: number): string
  late: string
  setup: string
  trial: string
  type: string
  number: string
  debit: string
  credit: string
  balance: string
  openingBalance: string
  closingBalance: string
  movements: Record<MovementType, string>
  methods: Record<PaymentMethodWord, string>
  ageing: string
  ages: Record<Age, string>
  nothingHappened: string
}

const en: Words = {
  invoice: 'Invoice',
  taxInvoice: 'Tax invoice',
  creditNote: 'Credit note',
  correction: 'Credit note',
  accountCredit: 'Credit note',
  provisional: 'This credit note is provisional: until it is sent, its texts and what it corrects may still change.',
  correctsNone: 'This credit note corrects no invoice, and takes back no tax.',
  unsettled: (amount) => `${amount} of it corrects no invoice, and takes back no tax.`,
  withoutInvoice: 'Without an invoice',
  partOfInvoice: (number, date) => `Part of the total of invoice ${number} of ${date}`,
  invoiceOf: (number, date) => `${number} of ${date}`,
  reason: 'Reason',
  noTax: {
    AE: 'Reverse charge: the recipient of the supply owes the tax.',
    K: 'Intra-Community supply, exempt from tax.',
    G: 'Export, exempt from tax.',
    O: 'Not subject to tax.',
  },
  statement: 'Statement of account',
  draft: 'DRAFT',
  draftNotice: 'This is a draft and not an invoice: amounts and dates may still change, and nothing is due.',
  cancelled: 'CANCELLED',
  cancelledNotice: 'This invoice is cancelled: nothing is due.',
  from: 'From',
  to: 'Billed to',
  creditedTo: 'Credited to',
  details: 'Details',
  invoiceNumber: 'Invoice number',
  creditNumber: 'Credit note number',
  customerReference: 'Customer reference',
  invoiceDate: 'Invoice date',
  dueDate: 'Due date',
  supplyDate: 'Supply date',
  supplyPeriod: 'Supply period',
  date: 'Date',
  period: 'Period',
  reference: 'Reference',
  poNumber: 'Purchase order',
  currency: 'Currency',
  forInvoice: 'For invoice',
  description: 'Description',
  charge: 'Charge',
  quantity: 'Quantity',
  unitPrice: 'Unit price',
  amountIn: (currency) => `Amount (${currency})`,
  subtotal: 'Subtotal',
  taxLabel: (name, rate) => `${name} ${rate}`,
  taxOn: (base) => `on ${base}`,
  taxNumber: (number) => `Tax number ${number}`,
  total: 'Total',
  paidSoFar: 'Paid and credited so far',
  kind: 'Kind',
  applied: { payment: 'Payment', credit_note: 'Credit note', bad_debt: 'Written off' },
  appliedAfter: 'Further payments and credits',
  pending: 'pending',
  balanceDue: 'Balance due',
  writtenOff: (amount) => `${amount} of this invoice has been written off.`,
  credited: 'Amount credited',
  unallocated: 'Not yet used',
  pendingDebits: 'Debits pending',
  notes: 'Notes',
  terms: 'Terms',
  bankDetails: 'Bank details',
  vatNumber: 'VAT number',
  registrationNumber: 'Registration number',
  logoOf: (name) => `Logo of ${name}`,
  page: (page, pages) => `Page ${page} of ${pages}`,
  span: (from, to) => `${from} to ${to}`,
  partOf: (days, wholeDays) => `${days} of ${wholeDays} days`,
  units: (count) => (count === '1' ? '1 unit' : `${count} units`),
  moreLines: (count) => `… (${count} more lines)`,
  late: 'late',
  setup: 'Set-up fee',
  trial: 'Trial fee',
  type: 'Type',
  number: 'Number',
  debit: 'Debit',
  credit: 'Credit',
  balance: 'Balance',
  openingBalance: 'Opening balance',
  closingBalance: 'Closing balance',
  movements: {
    invoice: 'Invoice',
    payment: 'Payment',
    credit_note: 'Credit note',
    refund: 'Refund',
    bad_debt: 'Written off',
    bad_debt_recovered: 'Written off, since paid',
    interest: 'Interest',
    opening_balance: 'Opening balance',
    invoice_cancelled: 'Invoice cancelled',
    payment_failed: 'Payment failed',
  },
  methods: {
    cash: 'Cash',
    cheque: 'Cheque',
    credit_card: 'Credit card',
    bank_account: 'Bank account',
    eft: 'Bank transfer',
    debit_order: 'Debit order',
  },
  ageing: 'What is open, by days after the due date',
  ages: {
    Current: 'Not yet due',
    Days1To30: '1–30 days',
    Days31To60: '31–60 days',
    Days61To90: '61–90 days',
    Days91To120: '91–120 days',
    DaysOver120: 'Over 120 days',
  },
  nothingHappened: 'Nothing was invoiced, paid or credited in this period.',
}

const de: Words = {
  invoice: 'Rechnung',
  taxInvoice: 'Rechnung',
  creditNote: 'Gutschrift',
  correction: 'Rechnungskorrektur',
  accountCredit: 'Kontogutschrift',
  provisional:
    'Dieses Dokument ist vorläufig: Bis es versendet ist, können sich seine Texte und das, was es berichtigt, noch ändern.',
  correctsNone: 'Diese Gutschrift berichtigt keine Rechnung und keine Steuer.',
  unsettled: (amount) => `${amount} davon berichtigen keine Rechnung und keine Steuer.`,
  withoutInvoice: 'Ohne Rechnung',
  partOfInvoice: (number, date) => `Teil des Gesamtbetrags der Rechnung ${number} vom ${date}`,
  invoiceOf: (number, date) => `${number} vom ${date}`,
  reason: 'Grund',
  noTax: {
    AE: 'Steuerschuldnerschaft des Leistungsempfängers.',
    K: 'Steuerfreie innergemeinschaftliche Lieferung.',
    G: 'Steuerfreie Ausfuhrlieferung.',
    O: 'Nicht steuerbar.',
  },
  statement: 'Kontoauszug',
  draft: 'ENTWURF',
  draftNotice:
    'Dies ist ein Entwurf und keine Rechnung: Beträge und Daten können sich noch ändern, und nichts ist zu zahlen.',
  cancelled: 'STORNIERT',
  cancelledNotice: 'Diese Rechnung ist storniert: Es ist nichts zu zahlen.',
  from: 'Von',
  to: 'Rechnungsempfänger',
  creditedTo: 'Empfänger',
  details: 'Angaben',
  invoiceNumber: 'Rechnungsnummer',
  creditNumber: 'Belegnummer',
  customerReference: 'Kundennummer',
  invoiceDate: 'Rechnungsdatum',
  dueDate: 'Fällig am',
  supplyDate: 'Leistungsdatum',
  supplyPeriod: 'Leistungszeitraum',
  date: 'Datum',
  period: 'Zeitraum',
  reference: 'Referenz',
  poNumber: 'Bestellnummer',
  currency: 'Währung',
  forInvoice: 'Zu Rechnung',
  description: 'Bezeichnung',
  charge: 'Posten',
  quantity: 'Menge',
  unitPrice: 'Einzelpreis',
  amountIn: (currency) => `Betrag (${currency})`,
  subtotal: 'Nettobetrag',
  taxLabel: (name, rate) => `${name} ${rate}`,
  taxOn: (base) => `auf ${base}`,
  taxNumber: (number) => `Steuernummer ${number}`,
  total: 'Gesamtbetrag',
  paidSoFar: 'Bisher bezahlt und gutgeschrieben',
  kind: 'Art',
  applied: { payment: 'Zahlung', credit_note: 'Gutschrift', bad_debt: 'Abschreibung' },
  appliedAfter: 'Weitere Zahlungen und Gutschriften',
  pending: 'noch nicht eingegangen',
  balanceDue: 'Offener Betrag',
  writtenOff: (amount) => `Von dieser Rechnung sind ${amount} abgeschrieben.`,
  credited: 'Gutschriftbetrag',
  unallocated: 'Noch nicht verrechnet',
  pendingDebits: 'Offene Lastschriften',
  notes: 'Hinweise',
  terms: 'Zahlungsbedingungen',
  bankDetails: 'Bankverbindung',
  vatNumber: 'USt-IdNr.',
  registrationNumber: 'Registernummer',
  logoOf: (name) => `Logo von ${name}`,
  page: (page, pages) => `Seite ${page} von ${pages}`,
  span: (from, to) => `${from} bis ${to}`,
  partOf: (days, wholeDays) => `${days} von ${wholeDays} Tagen`,
  units: (count) => (count === '1' ? '1 Einheit' : `${count} Einheiten`),
  moreLines: (count) => `… (${count} weitere Zeilen)`,
  late: 'nachgemeldet',
  setup: 'Einrichtungsgebühr',
  trial: 'Gebühr für die Probezeit',
  type: 'Vorgang',
  number: 'Nummer',
  debit: 'Soll',
  credit: 'Haben',
  balance: 'Saldo',
  openingBalance: 'Anfangssaldo',
  closingBalance: 'Schlusssaldo',
  movements: {
    invoice: 'Rechnung',
    payment: 'Zahlung',
    credit_note: 'Gutschrift',
    refund: 'Erstattung',
    bad_debt: 'Abschreibung',
    bad_debt_recovered: 'Abschreibung, nun bezahlt',
    interest: 'Zinsen',
    opening_balance: 'Anfangssaldo',
    invoice_cancelled: 'Storno',
    payment_failed: 'Rückbuchung',
  },
  methods: {
    cash: 'Bar',
    cheque: 'Scheck',
    credit_card: 'Kreditkarte',
    bank_account: 'Bankkonto',
    eft: 'Überweisung',
    debit_order: 'Lastschrift',
  },
  ageing: 'Offene Posten nach Tagen seit Fälligkeit',
  ages: {
    Current: 'Nicht fällig',
    Days1To30: '1–30 Tage',
    Days31To60: '31–60 Tage',
    Days61To90: '61–90 Tage',
    Days91To120: '91–120 Tage',
    DaysOver120: 'Über 120 Tage',
  },
  nothingHappened: 'In diesem Zeitraum wurde nichts berechnet, gezahlt oder gutgeschrieben.',
}

const WORDS: Record<Language, Words> = { en, de }

export const wordsOf = (language: Language): Words => WORDS[language]
export type { Words }

/** Returns the name that a document's PDF is kept under, in its language: letters, digits and dashes alone, whatever its number is. */
export function fileNameOf({ kind, document }: Drawable, id: Id | null = null): string {
  const words = wordsOf(languageOf(document.locale))
  const name =
    kind === 'invoice'
      ? `${words.invoice}-${document.number ?? `${words.draft}-${id}`}`
      : kind === 'credit_note'
        ? `${words.creditNote}-${document.number}`
        : `${words.statement}-${document.from}-${document.to}`
  return `${name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')}.pdf`
}

/** Words and ways of writing of a document. */
export interface WordsAndFormats {
  words: Words
  formats: Formats
}

/** Returns when the supply was, as a fact of the document: a day, or the days from the first to the last. */
export function supplyFact(
  { words, formats }: WordsAndFormats,
  { on, from, to }: Supply,
): readonly [string, string | null] {
  const day = on ?? (from === to ? from : null)
  if (day !== null) return [words.supplyDate, formats.longDate(day)]
  // Its last day stands in a line of its own.
  return [words.supplyPeriod, from && to && words.span(formats.date(from), `\n${formats.date(to)}`)]
}

/** Returns why a tax is none, in the language of the document where there is such a sentence; null for one that is charged. */
export function reasonOfNoTax(
  { words, formats }: WordsAndFormats,
  { amountMinor, category, reason }: Pick<DocumentTax, 'amountMinor' | 'category' | 'reason'>,
): string | null {
  const own = reason === null ? null : (reason[formats.language] ?? Object.values(reason)[0] ?? null)
  return amountMinor === 0n && category !== null && category !== 'S' ? (words.noTax[category] ?? own) : null
}
