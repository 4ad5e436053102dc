import type { Language } from '../locale/format.ts'

/** The words of every page: what stands around its content, and the texts of refusals. */

/** Statuses of pages that are none of those that they were to be, each with its own sentence. */
export const REFUSED_STATUSES = [400, 403, 404, 405, 409, 410, 413, 415, 429, 500, 503] as const
export type RefusedStatus = (typeof REFUSED_STATUSES)[number]

interface Words {
  /** For people who hear the page: the name of its upper edge. */
  from: string
  logoOf(name: string): string
  test: string
  /** Leads from a refusal to the page itself. */
  again: string
  refusals: Record<RefusedStatus, Refusal>
  /** In place of the text of a status, by the code of the problem. */
  ofCodes: Readonly<Record<string, Refusal>>
}

interface Refusal {
  title: string
  text: string
}

const en: Words = {
  from: 'Sender of this page',
  logoOf: (name) => `Logo of ${name}`,
  test: 'This is a test: no real money moves.',
  again: 'See how it stands',
  refusals: {
    400: {
      title: 'That could not be read',
      text: 'The form was not sent as this page made it. Go back, load the page again and send it once more.',
    },
    403: {
      title: 'That did not come from this page',
      text: 'For your safety a form is taken only from this page itself. Open the link from your mail again and try once more.',
    },
    404: {
      title: 'This link does not work',
      text: 'It may be cut off or may have been replaced by a newer one. Open it from your mail once more, or ask whoever sent it to you.',
    },
    405: {
      title: 'That is not possible here',
      text: 'This address only shows a page. Open the link from your mail in a browser.',
    },
    409: {
      title: 'That is not possible now',
      text: 'Something has changed in the meantime. Load the page again to see how it stands.',
    },
    410: {
      title: 'This page is no longer shown',
      text: 'Everything here was settled some time ago. If you need a copy, ask whoever sent you the link.',
    },
    413: { title: 'That is too much', text: 'More was sent than this form can hold. Go back and try again.' },
    415: {
      title: 'That could not be read',
      text: 'The form was not sent as this page made it. Go back, load the page again and send it once more.',
    },
    429: {
      title: 'Too many visits at once',
      text: 'Your network has opened very many pages in a short time. Wait a minute and try again.',
    },
    500: {
      title: 'Something went wrong',
      text: 'The mistake is ours, and it was noted. Nothing has been paid unless this page shows so: load it again to see.',
    },
    503: {
      title: 'Please try again shortly',
      text: 'The service cannot answer at the moment. Nothing has been lost; try again in a minute.',
    },
  },
  ofCodes: {
    gateway_held: {
      title: 'Please come back later',
      text: 'No payment is taken here at the moment, and nothing was charged.',
    },
    maintenance: {
      title: 'We are at work on this service',
      text: 'For a short time no pages are shown here. If you have just sent something, it was not taken: send it again in a few minutes. What was confirmed before is not lost.',
    },
  },
}

const de: Words = {
  from: 'Absender dieser Seite',
  logoOf: (name) => `Logo von ${name}`,
  test: 'Dies ist ein Test: Es fließt kein echtes Geld.',
  again: 'Stand ansehen',
  refusals: {
    400: {
      title: 'Das war nicht zu lesen',
      text: 'Das Formular kam nicht so an, wie diese Seite es gemacht hat. Gehen Sie zurück, laden Sie die Seite neu und senden Sie es noch einmal.',
    },
    403: {
      title: 'Das kam nicht von dieser Seite',
      text: 'Zu Ihrer Sicherheit wird ein Formular nur von dieser Seite selbst angenommen. Öffnen Sie den Link aus Ihrer E-Mail noch einmal.',
    },
    404: {
      title: 'Dieser Link führt nirgendwohin',
      text: 'Er ist vielleicht abgeschnitten oder durch einen neueren ersetzt. Öffnen Sie ihn noch einmal aus Ihrer E-Mail oder fragen Sie den Absender.',
    },
    405: {
      title: 'Das geht hier nicht',
      text: 'Unter dieser Adresse wird nur eine Seite gezeigt. Öffnen Sie den Link aus Ihrer E-Mail in einem Browser.',
    },
    409: {
      title: 'Das geht gerade nicht',
      text: 'Inzwischen hat sich etwas geändert. Laden Sie die Seite neu, um den Stand zu sehen.',
    },
    410: {
      title: 'Diese Seite wird nicht mehr gezeigt',
      text: 'Hier ist schon länger alles erledigt. Wenn Sie eine Kopie brauchen, fragen Sie den Absender des Links.',
    },
    413: {
      title: 'Das ist zu viel',
      text: 'Es kam mehr an, als dieses Formular fasst. Gehen Sie zurück und versuchen Sie es noch einmal.',
    },
    415: {
      title: 'Das war nicht zu lesen',
      text: 'Das Formular kam nicht so an, wie diese Seite es gemacht hat. Gehen Sie zurück, laden Sie die Seite neu und senden Sie es noch einmal.',
    },
    429: {
      title: 'Zu viele Aufrufe auf einmal',
      text: 'Aus Ihrem Netz wurden in kurzer Zeit sehr viele Seiten geöffnet. Warten Sie eine Minute und versuchen Sie es noch einmal.',
    },
    500: {
      title: 'Etwas ist schiefgegangen',
      text: 'Der Fehler liegt bei uns und wurde vermerkt. Bezahlt ist nur, was diese Seite als bezahlt zeigt: Laden Sie sie neu, um nachzusehen.',
    },
    503: {
      title: 'Bitte gleich noch einmal',
      text: 'Der Dienst kann im Augenblick nicht antworten. Es ist nichts verloren; versuchen Sie es in einer Minute wieder.',
    },
  },
  ofCodes: {
    gateway_held: {
      title: 'Bitte kommen Sie später wieder',
      text: 'Hier wird im Augenblick keine Zahlung angenommen, und es wurde nichts abgebucht.',
    },
    maintenance: {
      title: 'Dieser Dienst wird gerade gewartet',
      text: 'Für kurze Zeit werden hier keine Seiten gezeigt. Wenn Sie gerade etwas abgesendet haben, wurde es nicht angenommen: Senden Sie es in einigen Minuten noch einmal. Was vorher bestätigt wurde, ist nicht verloren.',
    },
  },
}

const WORDS: Record<Language, Words> = { en, de }

export const pageWords = (language: Language): Words => WORDS[language]
