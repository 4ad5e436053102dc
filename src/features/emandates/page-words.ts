import type { Language } from '../../platform/locale/format.ts'
import type { Complaint } from './sign.ts'

/** Words of the signing page beside those of the mandate itself. */

interface PageWords {
  intro(creditor: string): string
  basics: string
  basicsHint: string
  names: Record<'name' | 'lastName' | 'company' | 'tradingAs' | 'tel' | 'email', string>
  address: Record<'address1' | 'address2' | 'postalCode' | 'city' | 'state' | 'country', string>
  signature: string
  typed: string
  typedHint: string
  drawn: string
  drawnHint: string
  clear: string
  sign: string
  decline: string
  problems: string
  complaints: Record<Complaint, string>
  signed: { title: string; text: string }
  declined: { title: string; text: string; again: string }
  expired: { title: string; text: string }
  changed: string
  back(host: string): string
}

const field = (name: string): string => `Please check “${name}”.`
const feld = (name: string): string => `Bitte prüfen Sie „${name}“.`

const en: PageWords = {
  intro: (creditor) => `${creditor} asks you to sign the following. Read it in full before you do.`,
  basics: 'Your details',
  basicsHint: 'Correct what is not right. Bank and debits cannot be changed here.',
  names: {
    name: 'First name',
    lastName: 'Last name',
    company: 'Company',
    tradingAs: 'Trading as',
    tel: 'Telephone',
    email: 'E-mail',
  },
  address: {
    address1: 'Address',
    address2: 'Address, second line',
    postalCode: 'Postal code',
    city: 'City',
    state: 'Province',
    country: 'Country (three letters)',
  },
  signature: 'Your signature',
  typed: 'Type your full name',
  typedHint: 'It counts as your signature.',
  drawn: 'Or draw your signature',
  drawnHint: 'With mouse, finger or pen in the box below.',
  clear: 'Clear the drawing',
  sign: 'Sign',
  decline: 'I will not sign',
  problems: 'This is not signed yet',
  complaints: {
    consent: 'Please tick that you agree.',
    signature: 'Please type your name, or draw your signature.',
    drawing: 'The drawing could not be read: clear it and draw it again, or type your name.',
    name: field('First name'),
    lastName: field('Last name'),
    company: field('Company'),
    tradingAs: field('Trading as'),
    tel: field('Telephone'),
    email: field('E-mail'),
    address1: field('Address'),
    address2: field('Address, second line'),
    postalCode: field('Postal code'),
    city: field('City'),
    state: field('Province'),
    country: field('Country (three letters)'),
  },
  signed: { title: 'This is signed', text: 'Nothing more is needed here. You can close this page.' },
  declined: {
    title: 'You did not sign',
    text: 'Nothing was authorised. You can come back to this page and sign for as long as it is open.',
    again: 'Read it again',
  },
  expired: {
    title: 'The time to sign is over',
    text: 'This page was open for 24 hours, or a newer one took its place. Ask whoever sent it to you for a new one.',
  },
  changed: 'Something here has changed since you opened the page. Read it again before you sign.',
  back: (host) => `Go on to ${host}`,
}

const de: PageWords = {
  intro: (creditor) => `${creditor} bittet Sie, Folgendes zu unterschreiben. Lesen Sie es vorher ganz.`,
  basics: 'Ihre Angaben',
  basicsHint: 'Berichtigen Sie, was nicht stimmt. Bank und Lastschriften lassen sich hier nicht ändern.',
  names: {
    name: 'Vorname',
    lastName: 'Nachname',
    company: 'Firma',
    tradingAs: 'Handelsname',
    tel: 'Telefon',
    email: 'E-Mail',
  },
  address: {
    address1: 'Anschrift',
    address2: 'Anschrift, zweite Zeile',
    postalCode: 'Postleitzahl',
    city: 'Ort',
    state: 'Provinz',
    country: 'Land (drei Buchstaben)',
  },
  signature: 'Ihre Unterschrift',
  typed: 'Geben Sie Ihren vollen Namen ein',
  typedHint: 'Er gilt als Ihre Unterschrift.',
  drawn: 'Oder zeichnen Sie Ihre Unterschrift',
  drawnHint: 'Mit Maus, Finger oder Stift in das Feld darunter.',
  clear: 'Zeichnung löschen',
  sign: 'Unterschreiben',
  decline: 'Ich unterschreibe nicht',
  problems: 'Das ist noch nicht unterschrieben',
  complaints: {
    consent: 'Bitte kreuzen Sie an, dass Sie zustimmen.',
    signature: 'Bitte geben Sie Ihren Namen ein oder zeichnen Sie Ihre Unterschrift.',
    drawing: 'Die Zeichnung war nicht zu lesen: Löschen Sie sie und zeichnen Sie neu, oder geben Sie Ihren Namen ein.',
    name: feld('Vorname'),
    lastName: feld('Nachname'),
    company: feld('Firma'),
    tradingAs: feld('Handelsname'),
    tel: feld('Telefon'),
    email: feld('E-Mail'),
    address1: feld('Anschrift'),
    address2: feld('Anschrift, zweite Zeile'),
    postalCode: feld('Postleitzahl'),
    city: feld('Ort'),
    state: feld('Provinz'),
    country: feld('Land (drei Buchstaben)'),
  },
  signed: { title: 'Das ist unterschrieben', text: 'Hier ist nichts mehr zu tun. Sie können diese Seite schließen.' },
  declined: {
    title: 'Sie haben nicht unterschrieben',
    text: 'Nichts wurde erlaubt. Solange diese Seite offen ist, können Sie zurückkommen und unterschreiben.',
    again: 'Noch einmal lesen',
  },
  expired: {
    title: 'Die Zeit zu unterschreiben ist vorbei',
    text: 'Diese Seite war 24 Stunden offen, oder eine neuere hat sie ersetzt. Bitten Sie den Absender um eine neue.',
  },
  changed:
    'Hier hat sich etwas geändert, seit Sie die Seite geöffnet haben. Lesen Sie es noch einmal, bevor Sie unterschreiben.',
  back: (host) => `Weiter zu ${host}`,
}

const WORDS: Record<Language, PageWords> = { en, de }

export const signingWords = (language: Language): PageWords => WORDS[language]
