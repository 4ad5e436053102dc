import type { ReminderKind } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { formatsOf, type Language } from '../../platform/locale/format.ts'
import { type Rendered, render, type Writer } from './templates.ts'

/** The mails of collecting money: what is debited, what failed, is overdue or was suspended, and the reminders that a customer can stop. */

export const DUNNING_KINDS = [
  'payment_unsuccessful',
  'friendly_warning',
  'warning',
  'initial_warning',
  'final_warning',
  'account_suspended',
] as const
export type DunningKind = (typeof DUNNING_KINDS)[number]

/** Announces a debit to the payer of a sepa account. */
export const DEBIT_NOTICE = 'debit_notice'

/** Announces to the payer that a card is kept at its gateway no more. */
export const CARD_LOST = 'card_lost'

export type CollectionKind = DunningKind | ReminderKind | typeof DEBIT_NOTICE | typeof CARD_LOST

/** A line of such a mail: an open invoice, a card, a contract with the day that the mail is about, or a debit to come. */
export type CollectionItem =
  | {
      what: 'invoice'
      number: bigint
      currency: string
      openMinor: bigint
      dueDate: IsoDate
      reason: string | null
      /** The page on which it is paid; null where it has none. */
      link: string | null
    }
  | { what: 'card'; brand: string | null; lastFour: string; day: IsoDate }
  | { what: 'contract'; name: string; day: IsoDate }
  | AnnouncedDebit

/** A debit of a bank account, with what the payer finds on their statement; mandate and creditor are null where none is known. */
export interface AnnouncedDebit {
  what: 'debit'
  number: bigint
  currency: string
  amountMinor: bigint
  day: IsoDate
  lastFour: string
  mandate: string | null
  creditor: string | null
}

export interface CollectionFacts extends Writer {
  customerName: string
  kind: CollectionKind
  /** Everything that one mail of the kind is about; never empty. */
  items: readonly CollectionItem[]
  /** The page on which reminders of the kind are stopped; left out: it is no reminder. */
  stopLink?: string
}

interface Words {
  subject(accountName: string): string
  lead: string
  /** A sentence about what the receiver can do; null where nothing is asked of them. */
  wish: string | null
}

const EN: Record<CollectionKind, Words> = {
  payment_unsuccessful: {
    subject: (name) => `Your payment to ${name} did not go through`,
    lead: 'we tried to collect what is due, and it was not possible:',
    wish: 'Please see to it that the next try succeeds, or pay in another way.',
  },
  friendly_warning: {
    subject: (name) => `A friendly reminder from ${name}`,
    lead: 'perhaps it has escaped you that something is still to be paid:',
    wish: 'If you have paid in the meantime, please take no notice of this mail.',
  },
  warning: {
    subject: (name) => `Overdue payment to ${name}`,
    lead: 'what is listed here is past its due date and has not been paid:',
    wish: 'Please pay it now, so that your service goes on.',
  },
  initial_warning: {
    subject: (name) => `First warning from ${name}: overdue payment`,
    lead: 'although we have reminded you, this has not been paid:',
    wish: 'Please pay it now, so that your service goes on.',
  },
  final_warning: {
    subject: (name) => `Last warning from ${name} before your account is suspended`,
    lead: 'this is still not paid, and it is the last time that we write about it:',
    wish: 'If it is not paid soon, your account will be suspended.',
  },
  account_suspended: {
    subject: (name) => `Your account at ${name} is suspended`,
    lead: 'your account has been suspended because this has not been paid:',
    wish: 'It is opened again by itself once nothing is overdue.',
  },
  upcoming_renewal: {
    subject: (name) => `Your contract with ${name} renews soon`,
    lead: 'your contract renews on the day named here:',
    wish: null,
  },
  card_expiring: {
    subject: (name) => `Your card at ${name} expires soon`,
    lead: 'the card that you pay with expires at the end of the day named here:',
    wish: 'Please give us a new card in time.',
  },
  trial_expiring: {
    subject: (name) => `Your trial at ${name} ends soon`,
    lead: 'your trial ends on the day named here; from then on it is paid for:',
    wish: null,
  },
  end_near: {
    subject: (name) => `Your contract with ${name} ends soon`,
    lead: 'your contract ends on the day named here:',
    wish: 'If you would like to go on, please answer this mail.',
  },
  payment_due: {
    subject: (name) => `A payment to ${name} is due soon`,
    lead: 'this falls due soon:',
    wish: null,
  },
  debit_notice: {
    subject: (name) => `${name} will debit your bank account`,
    lead: 'we will collect what is listed here from your bank account, on the day named with it:',
    wish: 'Please see to it that the account holds enough money on that day.',
  },
  card_lost: {
    subject: (name) => `Your card at ${name} was removed`,
    lead: 'the card that you pay with was removed at our payment provider, so we cannot charge it any more. We learned of it on the day named here:',
    wish: 'Please give us a new card before your next payment.',
  },
}

const DE: Record<CollectionKind, Words> = {
  payment_unsuccessful: {
    subject: (name) => `Ihre Zahlung an ${name} ist nicht gelungen`,
    lead: 'wir konnten einen fälligen Betrag nicht einziehen:',
    wish: 'Bitte sorgen Sie dafür, dass der nächste Versuch gelingt, oder zahlen Sie auf anderem Weg.',
  },
  friendly_warning: {
    subject: (name) => `Eine freundliche Erinnerung von ${name}`,
    lead: 'vielleicht ist Ihnen entgangen, dass noch etwas zu zahlen ist:',
    wish: 'Falls Sie inzwischen gezahlt haben, betrachten Sie diese Nachricht bitte als gegenstandslos.',
  },
  warning: {
    subject: (name) => `Überfällige Zahlung an ${name}`,
    lead: 'die folgenden Beträge sind überfällig und noch nicht bezahlt:',
    wish: 'Bitte zahlen Sie jetzt, damit Ihr Vertrag weiterläuft.',
  },
  initial_warning: {
    subject: (name) => `Erste Mahnung von ${name}`,
    lead: 'trotz unserer Erinnerung ist Folgendes noch nicht bezahlt:',
    wish: 'Bitte zahlen Sie jetzt, damit Ihr Vertrag weiterläuft.',
  },
  final_warning: {
    subject: (name) => `Letzte Mahnung von ${name} vor der Sperrung`,
    lead: 'Folgendes ist weiterhin nicht bezahlt; dies ist unsere letzte Nachricht dazu:',
    wish: 'Geht die Zahlung nicht bald ein, wird Ihr Konto gesperrt.',
  },
  account_suspended: {
    subject: (name) => `Ihr Konto bei ${name} ist gesperrt`,
    lead: 'Ihr Konto wurde gesperrt, weil Folgendes nicht bezahlt ist:',
    wish: 'Es wird von selbst wieder geöffnet, sobald nichts mehr überfällig ist.',
  },
  upcoming_renewal: {
    subject: (name) => `Ihr Vertrag mit ${name} verlängert sich bald`,
    lead: 'Ihr Vertrag verlängert sich am genannten Tag:',
    wish: null,
  },
  card_expiring: {
    subject: (name) => `Ihre Karte bei ${name} läuft bald ab`,
    lead: 'die Karte, mit der Sie zahlen, läuft mit dem genannten Tag ab:',
    wish: 'Bitte nennen Sie uns rechtzeitig eine neue Karte.',
  },
  trial_expiring: {
    subject: (name) => `Ihre Probezeit bei ${name} endet bald`,
    lead: 'Ihre Probezeit endet am genannten Tag; von da an ist der Vertrag kostenpflichtig:',
    wish: null,
  },
  end_near: {
    subject: (name) => `Ihr Vertrag mit ${name} endet bald`,
    lead: 'Ihr Vertrag endet am genannten Tag:',
    wish: 'Wenn Sie ihn fortsetzen möchten, antworten Sie bitte auf diese Nachricht.',
  },
  payment_due: {
    subject: (name) => `Eine Zahlung an ${name} wird bald fällig`,
    lead: 'Folgendes wird bald fällig:',
    wish: null,
  },
  debit_notice: {
    subject: (name) => `Ankündigung einer Lastschrift von ${name}`,
    lead: 'wir ziehen die folgenden Beträge am jeweils genannten Tag von Ihrem Konto ein:',
    wish: 'Bitte sorgen Sie an diesem Tag für ausreichende Deckung.',
  },
  card_lost: {
    subject: (name) => `Ihre Karte bei ${name} wurde entfernt`,
    lead: 'die Karte, mit der Sie zahlen, wurde bei unserem Zahlungsdienstleister entfernt; wir können sie nicht mehr belasten. Davon haben wir am genannten Tag erfahren:',
    wish: 'Bitte nennen Sie uns vor Ihrer nächsten Zahlung eine neue Karte.',
  },
}

const WORDS: Record<Language, Record<CollectionKind, Words>> = { en: EN, de: DE }

interface Names {
  greeting(name: string): string
  invoice(number: bigint): string
  pay(number: bigint): string
  open(money: string, due: string): string
  /** The brand is null where it is not known. */
  card(brand: string | null, lastFour: string): string
  debit(money: string, day: string, lastFour: string): string
  mandate(reference: string): string
  creditor(identifier: string): string
  footer: string
  stop: string
}

const NAMES: Record<Language, Names> = {
  en: {
    greeting: (name) => `Hello ${name},`,
    invoice: (number) => `Invoice ${number}`,
    pay: (number) => `See and pay invoice ${number}`,
    open: (money, due) => `${money}, due on ${due}`,
    card: (brand, lastFour) => `${brand ?? 'Card'} ending in ${lastFour}`,
    debit: (money, day, lastFour) => `${money} on ${day}, from the account ending in ${lastFour}`,
    mandate: (reference) => `mandate ${reference}`,
    creditor: (identifier) => `creditor identifier ${identifier}`,
    footer: 'If you have a question about this, please answer this mail.',
    stop: 'Stop reminders of this kind',
  },
  de: {
    greeting: (name) => `Guten Tag ${name},`,
    invoice: (number) => `Rechnung ${number}`,
    pay: (number) => `Rechnung ${number} ansehen und bezahlen`,
    open: (money, due) => `${money}, fällig am ${due}`,
    card: (brand, lastFour) => `${brand ?? 'Karte'} mit den Endziffern ${lastFour}`,
    debit: (money, day, lastFour) => `${money} am ${day}, vom Konto mit den Endziffern ${lastFour}`,
    mandate: (reference) => `Mandat ${reference}`,
    creditor: (identifier) => `Gläubiger-Identifikationsnummer ${identifier}`,
    footer: 'Bei Fragen dazu antworten Sie bitte auf diese Nachricht.',
    stop: 'Erinnerungen dieser Art abbestellen',
  },
}

/** Renders a mail of collection in the language of its locale. */
export function collectionMail({
  accountName,
  colour,
  locale,
  customerName,
  kind,
  items,
  stopLink,
}: CollectionFacts): Rendered {
  const formats = formatsOf(locale)
  const { subject, lead, wish } = WORDS[formats.language][kind]
  const names = NAMES[formats.language]
  const shown = items.map((item) => {
    switch (item.what) {
      case 'invoice': {
        const open = names.open(formats.money(item.openMinor, item.currency), formats.longDate(item.dueDate))
        return [names.invoice(item.number), item.reason === null ? open : `${open} (${item.reason})`] as const
      }
      case 'card':
        return [names.card(item.brand, item.lastFour), formats.longDate(item.day)] as const
      case 'contract':
        return [item.name, formats.longDate(item.day)] as const
      case 'debit': {
        const { mandate, creditor } = item
        const money = formats.money(item.amountMinor, item.currency)
        const facts = [
          names.debit(money, formats.longDate(item.day), item.lastFour),
          ...(mandate === null ? [] : [names.mandate(mandate)]),
          ...(creditor === null ? [] : [names.creditor(creditor)]),
        ]
        return [names.invoice(item.number), facts.join(', ')] as const
      }
    }
  })
  const buttons = items.flatMap((item) =>
    item.what === 'invoice' && item.link !== null ? [{ label: names.pay(item.number), link: item.link }] : [],
  )
  return render({
    language: formats.language,
    accountName,
    colour,
    subject: subject(accountName),
    parts: [names.greeting(customerName), lead, shown, ...(wish === null ? [] : [wish]), ...buttons],
    footer: names.footer,
    stop: stopLink === undefined ? undefined : { label: names.stop, link: stopLink },
  })
}
