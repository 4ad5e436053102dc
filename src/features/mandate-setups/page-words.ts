import type { Language } from '../../platform/locale/format.ts'

/** Words of the page on which a payer begins to give a mandate, and to which they come back. */

interface SetupWords {
  open: {
    title(creditor: string): string
    text(creditor: string, gateway: string): string
    go(gateway: string): string
  }
  looking: { title: string; text: string; again: string }
  pending: { title: string; text: string }
  done: { title: string; text: string }
  failed: { title: string; text: string }
  expired: { title: string; text: string }
  away: { title: string; text: string; again: string }
  leave: { title: string; text: string }
  back(host: string): string
}

const en: SetupWords = {
  open: {
    title: (creditor) => `Direct debit for ${creditor}`,
    text: (creditor, gateway) =>
      `${creditor} would like to debit your bank account when an invoice is due. You allow that on a page of ${gateway}, which makes the debits. Your bank details are entered there, and ${creditor} does not see them.`,
    go: (gateway) => `Continue to ${gateway}`,
  },
  looking: {
    title: 'One moment, please',
    text: 'We are asking whether your mandate has arrived. Please look again in a moment.',
    again: 'Look again',
  },
  pending: {
    title: 'Your mandate is being confirmed',
    text: 'You have done everything. The confirmation usually takes a moment, and sometimes longer; you can close this page.',
  },
  done: { title: 'Your mandate is set up', text: 'Nothing more is needed here. You can close this page.' },
  failed: {
    title: 'There is no mandate',
    text: 'It was not given, or has ended. Ask whoever sent you this link for a new one.',
  },
  expired: {
    title: 'The time for this is over',
    text: 'This page was open for seven days. Ask whoever sent you this link for a new one.',
  },
  away: {
    title: 'That did not work just now',
    text: 'The page on which you give the mandate could not be reached. Nothing was changed; please try again in a minute.',
    again: 'Back',
  },
  leave: { title: 'Please go on', text: 'You give the mandate on the page behind this link.' },
  back: (host) => `Back to ${host}`,
}

const de: SetupWords = {
  open: {
    title: (creditor) => `Lastschrift für ${creditor}`,
    text: (creditor, gateway) =>
      `${creditor} möchte fällige Rechnungen von Ihrem Bankkonto einziehen. Das erlauben Sie auf einer Seite von ${gateway}; ${gateway} zieht die Beträge ein. Ihre Bankdaten geben Sie dort ein, ${creditor} sieht sie nicht.`,
    go: (gateway) => `Weiter zu ${gateway}`,
  },
  looking: {
    title: 'Einen Moment bitte',
    text: 'Wir fragen nach, ob Ihr Mandat angekommen ist. Bitte sehen Sie gleich noch einmal nach.',
    again: 'Noch einmal nachsehen',
  },
  pending: {
    title: 'Ihr Mandat wird bestätigt',
    text: 'Sie haben alles getan. Die Bestätigung dauert meist einen Moment, manchmal länger; Sie können diese Seite schließen.',
  },
  done: {
    title: 'Ihr Mandat ist eingerichtet',
    text: 'Hier ist nichts mehr zu tun. Sie können diese Seite schließen.',
  },
  failed: {
    title: 'Es gibt kein Mandat',
    text: 'Es wurde nicht erteilt oder ist beendet. Bitten Sie um einen neuen Link, wo Sie diesen bekommen haben.',
  },
  expired: {
    title: 'Die Zeit dafür ist vorbei',
    text: 'Diese Seite war sieben Tage lang offen. Bitten Sie um einen neuen Link, wo Sie diesen bekommen haben.',
  },
  away: {
    title: 'Das ging gerade nicht',
    text: 'Die Seite, auf der Sie das Mandat erteilen, war nicht zu erreichen. Es wurde nichts geändert; bitte versuchen Sie es in einer Minute noch einmal.',
    again: 'Zurück',
  },
  leave: { title: 'Bitte gehen Sie weiter', text: 'Das Mandat erteilen Sie auf der Seite hinter diesem Link.' },
  back: (host) => `Zurück zu ${host}`,
}

export const setupWords = (language: Language): SetupWords => (language === 'de' ? de : en)
