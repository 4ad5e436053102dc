import { straight } from '../../kernel/text.ts'
import { type Language, languageOf } from '../../platform/locale/format.ts'
import { readableColour } from '../../platform/page/colour.ts'
import { Html, html } from '../../platform/page/html.ts'

/** The mails, as text and as HTML, in the languages that we have. Values are written as they are in text and escaped in HTML. */

export interface Rendered {
  subject: string
  text: string
  html: string
}

/** Stays one line: a name with a line break must not become a header. */
export const oneLine = (subject: string): string => subject.replace(/\s+/g, ' ').trim()

/** Who writes, in which language, and the colour that the account has for white letters. */
export interface Writer {
  accountName: string
  locale: string
  colour: string | null
}

/** Part of a letter: a paragraph, a list of named values, or a button, which stands in a line of its own. */
type Part = string | readonly (readonly [name: string, value: string])[] | { label: string; link: string }

interface Letter extends Pick<Writer, 'accountName' | 'colour'> {
  language: Language
  subject: string
  parts: readonly Part[]
  /** Who answers when the receiver wonders about the mail. */
  footer: string
  /** Of a reminder: how its kind is stopped. */
  stop?: { label: string; link: string } | undefined
}

const isButton = (part: Part): part is { label: string; link: string } => typeof part === 'object' && 'link' in part

function plainOf(part: Part): string {
  if (typeof part === 'string') return part
  if (isButton(part)) return `${part.label}: ${part.link}`
  return part.map(([name, value]) => `  ${name}: ${value}`).join('\n')
}

/**
 * Dark letters on light ground, and the other way round where the reader's program asks for it; on a narrow screen a value stands below its name.
 * Everything is readable without it.
 */
const STYLE = new Html(
  `<style>:root{color-scheme:light dark;supported-color-schemes:light dark}@media (max-width:480px){.name,.value{display:block!important;padding-right:0!important;text-align:left!important}.name{padding-bottom:0!important;border-bottom:0!important}.value{padding-top:0!important}.button{display:block!important;text-align:center!important}}@media (prefers-color-scheme:dark){.ground{background:#12161a!important}.sheet{background:#1b2126!important}.text,.text td,.text th{color:#edf1f4!important}.soft{color:#aeb8c1!important}.row{border-color:#3a444d!important}}</style>`,
)

/** Letters that every mail program has. */
export const LETTERS = 'system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'

function markedOf(part: Part, colour: string): Html {
  if (typeof part === 'string') return html`<p style="margin:0 0 16px">${part}</p>`
  if (isButton(part))
    return html`<p style="margin:0 0 16px"><a href="${part.link}" class="button" style="display:inline-block;padding:12px 24px;border-radius:6px;background:${colour};color:#ffffff;font-weight:600;text-decoration:none">${part.label}</a></p>`
  const row = ([name, value]: readonly [string, string]) =>
    html`<tr><th scope="row" align="left" valign="top" class="row name" style="min-width:96px;padding:8px 16px 8px 0;border-bottom:1px solid #d5dbe0;font-weight:400">${name}</th><td align="right" valign="top" class="row value" style="padding:8px 0;border-bottom:1px solid #d5dbe0;font-weight:600;overflow-wrap:anywhere">${value}</td></tr>`
  return html`<table width="100%" cellpadding="0" cellspacing="0" class="text" style="margin:0 0 24px;border-collapse:collapse;font-size:16px;line-height:24px;color:#1b2126">${part.map(row)}</table>`
}

const stopLine = ({ label, link }: { label: string; link: string }): Html =>
  html`\n<p class="soft" style="margin:8px 0 0;font-size:14px;line-height:20px;color:#525c65"><a href="${link}" style="color:inherit">${label}</a></p>`

function straightPart(part: Part): Part {
  if (typeof part === 'string') return straight(part)
  return isButton(part) ? part : part.map(([name, value]) => [straight(name), straight(value)] as const)
}

/** Renders a mail: one column, which fits 320 pixels, without anything that is fetched. No name in it turns the text around it. */
export function render({ language, colour, footer, stop, ...letter }: Letter): Rendered {
  const [accountName, subject] = [straight(letter.accountName), straight(letter.subject)]
  const parts = letter.parts.map(straightPart)
  const brand = readableColour(colour)
  const body = parts.map((part) => html`\n${markedOf(part, brand)}`)
  return {
    subject,
    text: `${parts.map(plainOf).join('\n\n')}\n\n-- \n${accountName}\n${footer}\n${stop ? `${plainOf(stop)}\n` : ''}`,
    html: html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${subject}</title>${STYLE}</head>
<body class="ground" style="margin:0;padding:0;background:#f2f4f6">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="ground" style="background:#f2f4f6"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="sheet" style="max-width:600px;background:#ffffff;border-top:6px solid ${brand};border-radius:6px;text-align:left"><tr><td class="text" style="padding:24px;font-family:${LETTERS};font-size:16px;line-height:24px;color:#1b2126;overflow-wrap:anywhere">
<main><h1 style="margin:0 0 24px;font-size:20px;line-height:28px">${accountName}</h1>${body}
<p class="soft" style="margin:24px 0 0;font-size:14px;line-height:20px;color:#525c65">${footer}</p>${stop && stopLine(stop)}
</main></td></tr></table></td></tr></table>
</body></html>`.markup,
  }
}

export interface WelcomeFacts extends Writer {
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
    colour: facts.colour,
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
