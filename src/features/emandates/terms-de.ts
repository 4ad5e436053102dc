import type { Wording } from './terms-text.ts'

/** German texts of mandates. HAVE THEM REVIEWED by somebody who knows the law of your country before you rely on them. */
export const DE: Wording = {
  titles: {
    debit_order: 'Ermächtigung und Mandat für Lastschriften (Südafrika)',
    sepa: 'SEPA-Lastschriftmandat',
    ach: 'Ermächtigung zu ACH-Lastschriften',
  },
  headings: {
    creditor: 'Zahlungsempfänger',
    payer: 'Zahlungspflichtiger',
    account: 'Konto',
    debit: 'Lastschriften',
    authority: 'Was Sie erlauben',
  },
  labels: {
    name: 'Name',
    company: 'Firma',
    tradingAs: 'Handelsname',
    tel: 'Telefon',
    email: 'E-Mail',
    address: 'Anschrift',
    webPage: 'Internetseite',
    creditorIdentifier: 'Gläubiger-Identifikationsnummer',
    reference: 'Mandatsreferenz',
    contractRef: 'Vertragsnummer',
    nameOnStatement: 'Name auf dem Kontoauszug',
    bank: 'Bank',
    accountHolder: 'Kontoinhaber',
    accountType: 'Art des Kontos',
    amount: 'Betrag',
    maxAmount: 'Höchster Betrag',
    escalation: 'Steigerung',
    variable: 'Beträge können wechseln',
    frequency: 'Wie oft',
    actionDay: 'Tag der Lastschrift',
    startDate: 'Ab',
    endDate: 'Bis',
    notice: 'Tage der Vorankündigung',
    paymentType: 'Zahlungsart',
  },
  numbers: {
    debit_order: { number: 'Kontonummer', branch: 'Bankleitzahl (Branch Code)' },
    sepa: { number: 'IBAN', branch: 'BIC' },
    ach: { number: 'Kontonummer', branch: 'Routing Number' },
  },
  frequencies: {
    Daily: 'Täglich',
    Weekly: 'Wöchentlich',
    Monthly: 'Monatlich',
    Quarterly: 'Vierteljährlich',
    Yearly: 'Jährlich',
    Once: 'Einmal',
  },
  weekdays: ['Montag', 'Dienstag', 'Mittwoch', 'Donnerstag', 'Freitag', 'Samstag', 'Sonntag'],
  lastDay: 'Letzter Tag des Monats',
  dayOfMonth: (day) => `${day}. Tag des Monats`,
  yes: 'Ja',
  no: 'Nein',
  sepaTypes: { once: 'Einmalige Zahlung', recurrent: 'Wiederkehrende Zahlung' },
  authority: {
    debit_order: ({ creditor, contact, noticeDays }) => [
      `Ich ermächtige ${creditor}, seiner Bank Zahlungsaufträge zum Einzug von meinem oben genannten Konto zu erteilen, auch wenn ich es zu einer anderen Bank verlege. Die Summe der Aufträge darf weder meine Pflichten aus dem oben bezeichneten Vertrag noch die oben genannten Beträge übersteigen.`,
      'Die Aufträge werden zu den oben genannten Tagen erteilt. Fällt ein Tag auf einen Sonntag oder Feiertag, darf am folgenden oder am vorhergehenden Geschäftstag eingezogen werden.',
      `Eine Änderung von Betrag oder Tag wird mir mindestens ${noticeDays} Tage vor der Lastschrift mitgeteilt.`,
      'Mir ist bekannt, dass die Abbuchungen durch das elektronische System der südafrikanischen Banken laufen, auf meinem Kontoauszug unter dem oben genannten Namen erscheinen, und dass ich zur Zahlung verpflichtet bleibe, wenn eine Lastschrift nicht eingelöst wird.',
      `Ich kann diese Ermächtigung schriftlich gegenüber ${creditor}${contact ? ` (${contact})` : ''} widerrufen. Der Widerruf beendet nicht den Vertrag, und was während der Geltung der Ermächtigung zu Recht eingezogen wurde, wird nicht erstattet.`,
      'Der Zahlungsempfänger darf seine Rechte nicht ohne vorherige schriftliche Zustimmung abtreten, und ich darf meine Pflichten aus dieser Ermächtigung nicht ohne solche Zustimmung auf Dritte übertragen.',
    ],
    sepa: ({ creditor, noticeDays }) => [
      `Ich ermächtige (A) ${creditor}, Zahlungen von meinem Konto mittels Lastschrift einzuziehen. Zugleich (B) weise ich mein Kreditinstitut an, die von ${creditor} auf mein Konto gezogenen Lastschriften einzulösen.`,
      'Hinweis: Ich kann innerhalb von acht Wochen, beginnend mit dem Belastungsdatum, die Erstattung des belasteten Betrages verlangen. Es gelten dabei die mit meinem Kreditinstitut vereinbarten Bedingungen.',
      'Meine Rechte sind in einem Merkblatt erläutert, das ich von meinem Kreditinstitut erhalten kann.',
      `Wir vereinbaren, dass jede Lastschrift mindestens ${noticeDays} Tage vor ihrer Fälligkeit angekündigt wird.`,
    ],
    ach: ({ creditor, contact, noticeDays, frequency }) => [
      frequency === 'Once'
        ? `Ich ermächtige ${creditor}, mein oben genanntes Konto ein einziges Mal mit dem oben genannten Betrag zum oben genannten Tag zu belasten.`
        : `Ich ermächtige ${creditor}, mein oben genanntes Konto durch wiederkehrende elektronische Lastschriften zu belasten, mit den Beträgen, so oft und ab dem Tag, wie oben genannt.`,
      `Weicht der Betrag einer Lastschrift von der vorhergehenden ab, teilt ${creditor} mir das mindestens ${noticeDays} Tage vor der Lastschrift mit.`,
      `Diese Ermächtigung gilt, bis ich sie widerrufe. Ich kann sie schriftlich gegenüber ${creditor}${contact ? ` (${contact})` : ''} mindestens drei Geschäftstage vor der nächsten Lastschrift widerrufen.`,
      'Ich bestätige, dass ich über dieses Konto verfügen darf und dass die Lastschriften dem Recht der Vereinigten Staaten und den Regeln der Nacha entsprechen. Ich kann einer Lastschrift bei meiner Bank widersprechen.',
      'Eine Kopie dieser Ermächtigung wird mir ausgehändigt und nach ihrem Ende zwei Jahre aufbewahrt.',
    ],
  },
  consent: ({ creditor }) =>
    `Ich habe die Bedingungen oben gelesen, bin berechtigt, für dieses Konto zu unterschreiben, und ermächtige ${creditor}, es entsprechend zu belasten. Ich stimme zu, elektronisch zu unterschreiben.`,
}
