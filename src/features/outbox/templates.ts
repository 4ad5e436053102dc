import { type Language, languageOf } from '../../platform/locale/format.ts'

/** The mails, as text and as HTML, in the languages that we have. Values are written as they are in text and escaped in HTML. */

export interface Rendered {
  subject: string
  text: string
  html: string
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (value: string): string => value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)

/** Part of a letter: a paragraph, or a list of named values. */
type Part = string | readonly (readonly [name: string, value: string])[]

interface Letter {
  language: Language
  accountName: string
  subject: string
  parts: readonly Part[]
  /** Who answers when the receiver wonders about the mail. */
  footer: string
}

export function render({ language, accountName, subject, parts, footer }: Letter): Rendered {
  const plain = parts.map((part) =>
    typeof part === 'string' ? part : part.map(([name, value]) => `  ${name}: ${value}`).join('\n'),
  )
  const marked = parts.map((part) =>
    typeof part === 'string'
      ? `<p>${escapeHtml(part)}</p>`
      : `<table>${part
          .map(
            ([name, value]) =>
              `<tr><th align="left">${escapeHtml(name)}</th><td><code>${escapeHtml(value)}</code></td></tr>`,
          )
          .join('')}</table>`,
  )
  return {
    subject,
    text: `${plain.join('\n\n')}\n\n-- \n${accountName}\n${footer}\n`,
    html: [
      `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
      '<body style="font-family:sans-serif;max-width:36em;margin:2em auto;color:#222">',
      `<h1 style="font-size:1.3em">${escapeHtml(accountName)}</h1>`,
      ...marked,
      `<p style="color:#666;font-size:.9em">${escapeHtml(footer)}</p></body></html>`,
    ].join('\n'),
  }
}

export interface WelcomeFacts {
  accountName: string
  locale: string
  name: string
  lastName: string
  username: string
  /** Null: it stays the one that the receiver has. */
  password: string | null
  /** The contact had credentials before. */
  isChange: boolean
}

interface WelcomeWords {
  subject(facts: WelcomeFacts): string
  greeting(facts: WelcomeFacts): string
  lead(facts: WelcomeFacts): string
  username: string
  password: string
  unchanged: string
  keep: string
  footer: string
}

const WELCOME: Record<Language, WelcomeWords> = {
  en: {
    subject: ({ accountName, isChange }) =>
      isChange ? `Your sign-in at ${accountName} has changed` : `Welcome to ${accountName}: your sign-in`,
    greeting: ({ name, lastName }) => `Hello ${name} ${lastName},`,
    lead: ({ accountName, isChange }) =>
      isChange
        ? `what you sign in with to the customer portal of ${accountName} has changed:`
        : `${accountName} has opened its customer portal for you. You sign in with:`,
    username: 'Username',
    password: 'Password',
    unchanged: 'unchanged',
    keep: 'Please keep the password to yourself.',
    footer: 'If you did not expect this mail, please tell us by answering it.',
  },
  de: {
    subject: ({ accountName, isChange }) =>
      isChange
        ? `Ihre Zugangsdaten bei ${accountName} haben sich geändert`
        : `Willkommen bei ${accountName}: Ihr Zugang`,
    greeting: ({ name, lastName }) => `Guten Tag ${name} ${lastName},`,
    lead: ({ accountName, isChange }) =>
      isChange
        ? `Ihre Zugangsdaten zum Kundenportal von ${accountName} haben sich geändert:`
        : `${accountName} hat das Kundenportal für Sie freigeschaltet. Sie melden sich an mit:`,
    username: 'Benutzername',
    password: 'Passwort',
    unchanged: 'unverändert',
    keep: 'Bitte behalten Sie das Passwort für sich.',
    footer: 'Falls Sie diese Nachricht nicht erwartet haben, antworten Sie uns bitte kurz.',
  },
}

/** Writes the mail with the credentials of a customer's contact. */
export function welcomeMail(facts: WelcomeFacts): Rendered {
  const language = languageOf(facts.locale)
  const words = WELCOME[language]
  return render({
    language,
    accountName: facts.accountName,
    subject: words.subject(facts),
    parts: [
      words.greeting(facts),
      words.lead(facts),
      [
        [words.username, facts.username],
        [words.password, facts.password ?? words.unchanged],
      ],
      ...(facts.password === null ? [] : [words.keep]),
    ],
    footer: words.footer,
  })
}
