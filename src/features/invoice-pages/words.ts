import type { Language } from '../../platform/locale/format.ts'

/** The words of the invoice page beside those of the document that it shows. */

interface Words {
  invoice(number: string): string
  paid: string
  paidText: string
  cancelled: string
  pending: string
  pendingText: string
  open: string
  toPay: string
  due(day: string): string
  overdue(day: string): string
  partly(amount: string): string
  lines: string
  payments: string
  details: string
  times(quantity: string, price: string): string
  pdf: string
  transfer: string
}

const en: Words = {
  invoice: (number) => `Invoice ${number}`,
  paid: 'Paid',
  paidText: 'Thank you: nothing is left to pay.',
  cancelled: 'Cancelled',
  pending: 'Payment on its way',
  pendingText: 'A payment for this invoice is under way. There is nothing that you need to do.',
  open: 'Open',
  toPay: 'To pay',
  due: (day) => `Due on ${day}`,
  overdue: (day) => `Was due on ${day}`,
  partly: (amount) => `${amount} of it is on its way already.`,
  lines: 'What it is for',
  payments: 'Paid and credited so far',
  details: 'Details',
  times: (quantity, price) => `${quantity} × ${price}`,
  pdf: 'Open as PDF',
  transfer: 'Pay by bank transfer',
}

const de: Words = {
  invoice: (number) => `Rechnung ${number}`,
  paid: 'Bezahlt',
  paidText: 'Vielen Dank: Es ist nichts mehr zu zahlen.',
  cancelled: 'Storniert',
  pending: 'Zahlung unterwegs',
  pendingText: 'Eine Zahlung für diese Rechnung ist unterwegs. Sie müssen nichts weiter tun.',
  open: 'Offen',
  toPay: 'Zu zahlen',
  due: (day) => `Fällig am ${day}`,
  overdue: (day) => `War fällig am ${day}`,
  partly: (amount) => `Davon sind ${amount} bereits unterwegs.`,
  lines: 'Worum es geht',
  payments: 'Bisher bezahlt und gutgeschrieben',
  details: 'Angaben',
  times: (quantity, price) => `${quantity} × ${price}`,
  pdf: 'Als PDF öffnen',
  transfer: 'Per Überweisung zahlen',
}

const WORDS: Record<Language, Words> = { en, de }

export const invoicePageWords = (language: Language): Words => WORDS[language]
