import type { Language } from '../../platform/locale/format.ts'
import { wordingOf } from '../emandates/terms-text.ts'
import type { FormField, Wrong } from './form.ts'
import type { NotTaken } from './submit.ts'

/** The words of the frame. */

interface Words {
  card: string
  account: string
  toCard: string
  toAccount: string
  labels: Record<FormField, string>
  hints: Partial<Record<FormField, string>>
  accountTypes: Record<string, string>
  choose: string
  send: string
  /** Announced above a form of which something is wrong. */
  somethingWrong: string
  wrongs: Record<Wrong, string>
  refusals: Record<NotTaken, string>
  /** Of a form that pays: its amount, and its button. */
  toPay(amount: string): string
  pay(amount: string): string
  paid: string
  paidText(amount: string): string
  /** The card was kept, and its sale declined. */
  unpaidText: string
  /** Nobody knows yet whether it was charged. */
  waiting: string
  waitingText: string
  look: string
  /** The bank of whoever pays wants a confirmation. */
  confirm: string
  confirmText: string
  bankFrame: string
  /** Somebody went on, and their bank has confirmed nothing. */
  unconfirmed: string
  confirmed: string
  cancel: string
  /** Words of the bank that the sandbox plays. */
  bank: { title: string; text: string; confirm: string; refuse: string; done: string }
  /** Of fields of the gateway's own, and of a charge that is confirmed by its script. */
  fields: {
    loading: string
    /** The gateway's script did not come. */
    unloaded: string
    unloadedText: string
    unloadedStep: string
    again: string
    noScript: string
    sending: string
    confirming: string
    /** The bank was left without an answer. */
    unconfirmed: string
    toBank: string
  }
  captured: string
  /** Of a card its brand and last four digits; of an account its last four. */
  holds(brand: string | null, lastFour: string): string
  capturedText: string
  expired: string
  expiredText: string
  failed: string
  failedText: string
}

const en: Words = {
  card: 'Your card',
  account: 'Your bank account',
  toCard: 'Use a card instead',
  toAccount: 'Use a bank account instead',
  labels: {
    number: 'Card number',
    expiry: 'Valid until',
    givenName: 'First name on the card',
    familyName: 'Last name on the card',
    holder: 'Account holder',
    bank: 'Name of the bank',
    accountType: 'Kind of account',
    iban: 'IBAN',
    bic: 'BIC',
    accountNumber: 'Account number',
    branchCode: 'Branch code',
    routingNumber: 'Routing number',
  },
  hints: {
    expiry: 'Month and year, such as 12/29',
    branchCode: 'Six digits; may be left out',
    routingNumber: 'Nine digits',
  },
  accountTypes: wordingOf('en').accountTypes,
  choose: 'Choose',
  send: 'Save',
  somethingWrong: 'Please look at the marked fields.',
  wrongs: {
    required: 'Please fill this in.',
    mistyped: 'This is mistyped. Please check it.',
    expired: 'This card is no longer valid.',
    too_long: 'At most 70 characters, please.',
    not_text: 'This holds characters that no name has.',
    number_misplaced: 'Please enter a name here, and no number.',
    not_sepa: 'Accounts of this country cannot be debited by SEPA.',
  },
  refusals: {
    declined: 'The card was refused. Please check it, or use another one.',
    no_answer: 'Nobody answered, and nothing was saved. Please try again in a moment.',
    not_yet: 'Nobody has answered yet. Please try again in a moment.',
    busy: 'The last try is still being worked on. Please try again in a few minutes.',
    gateway_inactive: 'Nothing can be saved here at the moment. Please try again later.',
    gateway_held: 'No payment is taken here at the moment, and nothing was charged. Please come back later.',
  },
  toPay: (amount) => `To pay: ${amount}`,
  pay: (amount) => `Pay ${amount}`,
  paid: 'Paid',
  paidText: (amount) => `${amount} was paid. There is nothing more for you to do here.`,
  unpaidText: 'The card was saved, but the payment was declined.',
  waiting: 'Your payment is being checked',
  waitingText:
    'Nobody has answered yet whether it went through. Please do not pay again: this page shows what came of it.',
  look: 'Look again',
  confirm: 'Please confirm the payment',
  confirmText: 'Your bank wants to make sure that it is you. Confirm the payment there, then go on here.',
  bankFrame: 'Your bank',
  unconfirmed: 'No confirmation has arrived from your bank yet.',
  confirmed: 'I have confirmed it, go on',
  cancel: 'Do not pay',
  bank: {
    title: 'Bank of the sandbox',
    text: 'Here your bank would ask you to confirm the payment. No real money moves.',
    confirm: 'Confirm',
    refuse: 'Refuse',
    done: 'Your answer has arrived. Please go on below.',
  },
  fields: {
    loading: 'The card fields are being loaded.',
    unloaded: 'Card entry could not be loaded',
    unloadedText:
      'Nothing was entered, and nothing was charged. Please check your connection, switch off what blocks scripts on this page, and try again.',
    unloadedStep:
      'Nothing was charged yet. Please check your connection, switch off what blocks scripts on this page, and try again.',
    again: 'Try again',
    noScript:
      'This page needs JavaScript, which is switched off in your browser. Please switch it on and load the page again.',
    sending: 'Your card is being sent. Please wait.',
    confirming: 'Your bank is being asked. Please wait.',
    unconfirmed: 'Your bank was left without an answer. Please try again.',
    toBank: 'Confirm at my bank',
  },
  captured: 'Saved',
  holds: (brand, lastFour) => (brand === null ? `Account ending in ${lastFour}` : `${brand} ending in ${lastFour}`),
  capturedText: 'There is nothing more for you to do here.',
  expired: 'This form has expired',
  expiredText: 'Please go back to the page that showed it and begin again.',
  failed: 'Too many tries were refused',
  failedText: 'Nothing can be saved here any more. Please ask whoever sent you here.',
}

const de: Words = {
  card: 'Ihre Karte',
  account: 'Ihr Bankkonto',
  toCard: 'Lieber eine Karte verwenden',
  toAccount: 'Lieber ein Bankkonto verwenden',
  labels: {
    number: 'Kartennummer',
    expiry: 'Gültig bis',
    givenName: 'Vorname auf der Karte',
    familyName: 'Nachname auf der Karte',
    holder: 'Kontoinhaber',
    bank: 'Name der Bank',
    accountType: 'Art des Kontos',
    iban: 'IBAN',
    bic: 'BIC',
    accountNumber: 'Kontonummer',
    branchCode: 'Filialnummer',
    routingNumber: 'Bankleitzahl (Routing Number)',
  },
  hints: {
    expiry: 'Monat und Jahr, zum Beispiel 12/29',
    branchCode: 'Sechs Ziffern; kann leer bleiben',
    routingNumber: 'Neun Ziffern',
  },
  accountTypes: wordingOf('de').accountTypes,
  choose: 'Bitte wählen',
  send: 'Speichern',
  somethingWrong: 'Bitte sehen Sie die markierten Felder an.',
  wrongs: {
    required: 'Bitte füllen Sie dies aus.',
    mistyped: 'Hier ist etwas vertippt. Bitte prüfen Sie es.',
    expired: 'Diese Karte gilt nicht mehr.',
    too_long: 'Bitte höchstens 70 Zeichen.',
    not_text: 'Hier stehen Zeichen, die in keinem Namen vorkommen.',
    number_misplaced: 'Bitte geben Sie hier einen Namen ein und keine Nummer.',
    not_sepa: 'Konten dieses Landes können nicht per SEPA belastet werden.',
  },
  refusals: {
    declined: 'Die Karte wurde abgelehnt. Bitte prüfen Sie sie oder nehmen Sie eine andere.',
    no_answer: 'Niemand hat geantwortet, und nichts wurde gespeichert. Bitte versuchen Sie es gleich noch einmal.',
    not_yet: 'Es hat noch niemand geantwortet. Bitte versuchen Sie es gleich noch einmal.',
    busy: 'Der letzte Versuch läuft noch. Bitte versuchen Sie es in einigen Minuten noch einmal.',
    gateway_inactive: 'Hier kann im Augenblick nichts gespeichert werden. Bitte versuchen Sie es später.',
    gateway_held:
      'Hier wird im Augenblick keine Zahlung angenommen, und es wurde nichts abgebucht. Bitte kommen Sie später wieder.',
  },
  toPay: (amount) => `Zu zahlen: ${amount}`,
  pay: (amount) => `${amount} zahlen`,
  paid: 'Bezahlt',
  paidText: (amount) => `${amount} wurden bezahlt. Sie brauchen hier nichts weiter zu tun.`,
  unpaidText: 'Die Karte wurde gespeichert, die Zahlung aber abgelehnt.',
  waiting: 'Ihre Zahlung wird geprüft',
  waitingText:
    'Es steht noch nicht fest, ob sie gelungen ist. Bitte zahlen Sie nicht noch einmal: Diese Seite zeigt, was daraus wird.',
  look: 'Noch einmal nachsehen',
  confirm: 'Bitte bestätigen Sie die Zahlung',
  confirmText:
    'Ihre Bank möchte sichergehen, dass Sie es sind. Bestätigen Sie die Zahlung dort und machen Sie dann hier weiter.',
  bankFrame: 'Ihre Bank',
  unconfirmed: 'Von Ihrer Bank ist noch keine Bestätigung eingegangen.',
  confirmed: 'Ich habe bestätigt, weiter',
  cancel: 'Nicht zahlen',
  bank: {
    title: 'Bank der Sandbox',
    text: 'Hier würde Ihre Bank Sie bitten, die Zahlung zu bestätigen. Es fließt kein echtes Geld.',
    confirm: 'Bestätigen',
    refuse: 'Ablehnen',
    done: 'Ihre Antwort ist angekommen. Bitte machen Sie unten weiter.',
  },
  fields: {
    loading: 'Die Kartenfelder werden geladen.',
    unloaded: 'Die Karteneingabe konnte nicht geladen werden',
    unloadedText:
      'Es wurde nichts eingegeben und nichts abgebucht. Bitte prüfen Sie Ihre Verbindung, schalten Sie ab, was auf dieser Seite Skripte sperrt, und versuchen Sie es noch einmal.',
    unloadedStep:
      'Es wurde noch nichts abgebucht. Bitte prüfen Sie Ihre Verbindung, schalten Sie ab, was auf dieser Seite Skripte sperrt, und versuchen Sie es noch einmal.',
    again: 'Noch einmal versuchen',
    noScript:
      'Diese Seite braucht JavaScript, das in Ihrem Browser abgeschaltet ist. Bitte schalten Sie es ein und laden Sie die Seite neu.',
    sending: 'Ihre Karte wird übertragen. Bitte warten Sie.',
    confirming: 'Ihre Bank wird gefragt. Bitte warten Sie.',
    unconfirmed: 'Ihre Bank hat keine Antwort bekommen. Bitte versuchen Sie es noch einmal.',
    toBank: 'Bei meiner Bank bestätigen',
  },
  captured: 'Gespeichert',
  holds: (brand, lastFour) =>
    brand === null ? `Konto mit den letzten Ziffern ${lastFour}` : `${brand} mit den letzten Ziffern ${lastFour}`,
  capturedText: 'Sie brauchen hier nichts weiter zu tun.',
  expired: 'Dieses Formular ist abgelaufen',
  expiredText: 'Bitte gehen Sie zurück zu der Seite, die es gezeigt hat, und beginnen Sie neu.',
  failed: 'Zu viele Versuche wurden abgelehnt',
  failedText: 'Hier kann nichts mehr gespeichert werden. Bitte fragen Sie, wer Sie hierher geschickt hat.',
}

export const frameWords = (language: Language): Words => ({ en, de })[language]
