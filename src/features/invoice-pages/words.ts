import type { DeclineClass } from '../../kernel/rails.ts'
import type { Language } from '../../platform/locale/format.ts'

/** The words of the invoice page beside those of the document that it shows. */

export interface Words {
  invoice(number: string): string
  paid: string
  paidText: string
  settled: string
  settledText: string
  cancelled: string
  pending: string
  pendingText: string
  unconfirmed: string
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
  pay(amount: string): string
  payByCard(amount: string): string
  payTitle(number: string): string
  payNow(amount: string): string
  withCard: string
  card: string
  back: string
  debit(day: string, lastFour: string): string
  insteadOfDebit: string
  toConfirm: string
  toConfirmText: string
  confirm: string
  toBank: string
  toBankText: string
  confirmed: string
  payByNewCard(amount: string): string
  otherCard: string
  keep: string
  keepText: string
  notKept: string
  nothingToPay: string
  nothingToConfirm: string
  /** From where no card can be entered. */
  otherWays: string
  tooMany: string
  unknown: string
  later: string
  declined: Partial<Record<DeclineClass, string>>
  declinedOther: string
}

const en: Words = {
  invoice: (number) => `Invoice ${number}`,
  paid: 'Paid',
  paidText: 'Thank you: nothing is left to pay.',
  settled: 'Settled',
  settledText: 'Nothing is left to pay.',
  cancelled: 'Cancelled',
  pending: 'Payment on its way',
  pendingText: 'A payment for this invoice is under way. There is nothing that you need to do.',
  unconfirmed: 'Not paid yet',
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
  pay: (amount) => `Pay ${amount}`,
  payByCard: (amount) => `Pay ${amount} by card instead`,
  payTitle: (number) => `Pay invoice ${number}`,
  payNow: (amount) => `Pay ${amount} now`,
  withCard: 'By the card on file:',
  card: 'Card',
  back: 'Back to the invoice',
  debit: (day, lastFour) => `It will be debited on ${day} from the bank account ending in ${lastFour}.`,
  insteadOfDebit:
    'This takes the place of the debit of your bank account. If the card is declined, the debit stays as it was.',
  toConfirm: 'Your bank asks you to confirm this payment',
  toConfirmText: 'Nothing has been charged yet. What is not confirmed within 30 minutes will not be charged.',
  confirm: 'Confirm the payment',
  toBank: 'Confirm at your bank',
  toBankText: 'Afterwards press here. If you press without having confirmed, the payment begins anew.',
  confirmed: 'I have confirmed it',
  payByNewCard: (amount) => `Pay ${amount} by card`,
  otherCard: 'Use another card',
  keep: 'Use it from now on',
  keepText: 'Unless you tick this, the card pays only this invoice and is not kept.',
  notKept: 'The card pays only this invoice and is not kept.',
  nothingToPay: 'There is nothing to pay by card here now.',
  nothingToConfirm: 'There is nothing to confirm here now.',
  otherWays: 'Back to the invoice, with its other ways to pay',
  tooMany: 'Too many cards were entered for this invoice today. Please try again tomorrow, or pay in another way.',
  unknown:
    'Your payment was sent, and its answer is not known yet. It is charged once at most: load this page again in a few minutes.',
  later: 'No payment by card is taken here at the moment. Please come back later.',
  declined: {
    insufficient_funds: 'The card was declined: there is not enough money on it. Nothing was charged.',
    method_expired: 'The card was declined: it has expired. Nothing was charged.',
    action_required: 'The payment was not confirmed, and nothing was charged.',
    not_sent: 'The payment could not be sent, and nothing was charged. Please try again.',
    unknown: 'No answer came to the payment, and nothing was charged. Please try again.',
  },
  declinedOther: 'The card was declined, and nothing was charged.',
}

const de: Words = {
  invoice: (number) => `Rechnung ${number}`,
  paid: 'Bezahlt',
  paidText: 'Vielen Dank: Es ist nichts mehr zu zahlen.',
  settled: 'Ausgeglichen',
  settledText: 'Es ist nichts mehr zu zahlen.',
  cancelled: 'Storniert',
  pending: 'Zahlung unterwegs',
  pendingText: 'Eine Zahlung für diese Rechnung ist unterwegs. Sie müssen nichts weiter tun.',
  unconfirmed: 'Noch nicht bezahlt',
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
  pay: (amount) => `${amount} zahlen`,
  payByCard: (amount) => `${amount} stattdessen per Karte zahlen`,
  payTitle: (number) => `Rechnung ${number} zahlen`,
  payNow: (amount) => `Jetzt ${amount} zahlen`,
  withCard: 'Mit der hinterlegten Karte:',
  card: 'Karte',
  back: 'Zurück zur Rechnung',
  debit: (day, lastFour) => `Der Betrag wird am ${day} von dem Bankkonto mit den Endziffern ${lastFour} eingezogen.`,
  insteadOfDebit:
    'Das tritt an die Stelle der Lastschrift von Ihrem Bankkonto. Wird die Karte abgelehnt, bleibt es bei der Lastschrift.',
  toConfirm: 'Ihre Bank bittet Sie, diese Zahlung zu bestätigen',
  toConfirmText: 'Noch ist nichts abgebucht. Was nicht innerhalb von 30 Minuten bestätigt wird, wird nicht abgebucht.',
  confirm: 'Zahlung bestätigen',
  toBank: 'Bei Ihrer Bank bestätigen',
  toBankText: 'Drücken Sie danach hier. Ohne Bestätigung bei der Bank beginnt die Zahlung von vorn.',
  confirmed: 'Ich habe bestätigt',
  payByNewCard: (amount) => `${amount} per Karte zahlen`,
  otherCard: 'Eine andere Karte verwenden',
  keep: 'Von jetzt an verwenden',
  keepText: 'Ohne Häkchen wird mit der Karte nur diese Rechnung bezahlt, und sie wird nicht gespeichert.',
  notKept: 'Mit der Karte wird nur diese Rechnung bezahlt, und sie wird nicht gespeichert.',
  nothingToPay: 'Hier ist gerade nichts per Karte zu zahlen.',
  nothingToConfirm: 'Hier ist gerade nichts zu bestätigen.',
  otherWays: 'Zurück zur Rechnung mit ihren anderen Zahlungswegen',
  tooMany:
    'Heute wurden zu viele Karten für diese Rechnung eingegeben. Bitte versuchen Sie es morgen noch einmal oder zahlen Sie auf anderem Weg.',
  unknown:
    'Ihre Zahlung wurde gesendet, die Antwort steht noch aus. Sie wird höchstens einmal abgebucht: Laden Sie diese Seite in ein paar Minuten neu.',
  later: 'Hier wird im Augenblick keine Zahlung mit Karte angenommen. Bitte kommen Sie später wieder.',
  declined: {
    insufficient_funds: 'Die Karte wurde abgelehnt: Das Guthaben reicht nicht. Es wurde nichts abgebucht.',
    method_expired: 'Die Karte wurde abgelehnt: Sie ist abgelaufen. Es wurde nichts abgebucht.',
    action_required: 'Die Zahlung wurde nicht bestätigt, und es wurde nichts abgebucht.',
    not_sent:
      'Die Zahlung konnte nicht gesendet werden, und es wurde nichts abgebucht. Bitte versuchen Sie es noch einmal.',
    unknown: 'Auf die Zahlung kam keine Antwort, und es wurde nichts abgebucht. Bitte versuchen Sie es noch einmal.',
  },
  declinedOther: 'Die Karte wurde abgelehnt, und es wurde nichts abgebucht.',
}

const WORDS: Record<Language, Words> = { en, de }

export const invoicePageWords = (language: Language): Words => WORDS[language]
