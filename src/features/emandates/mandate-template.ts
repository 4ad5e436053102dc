import type { IsoDate } from '../../kernel/calendar.ts'
import { formatsOf, type Language } from '../../platform/locale/format.ts'
import { type Rendered, render, type Writer } from '../outbox/templates.ts'

/** The mail to somebody who has signed a mandate, with a link of their own to the signed copy. */

export interface SignedMandateFacts extends Writer {
  signeeName: string
  reference: string
  bank: string
  /** Masked. */
  account: string
  signedOn: IsoDate
  link: string
}

interface MandateWords {
  subject(accountName: string): string
  greeting(name: string): string
  lead(accountName: string): string
  reference: string
  bank: string
  account: string
  signedOn: string
  copy: string
  footer: string
}

const WORDS: Record<Language, MandateWords> = {
  en: {
    subject: (name) => `Your mandate for ${name}`,
    greeting: (name) => `Hello ${name},`,
    lead: (name) => `you have signed a mandate by which ${name} may debit your bank account:`,
    reference: 'Reference',
    bank: 'Bank',
    account: 'Account',
    signedOn: 'Signed on',
    copy: 'Your signed copy, for 90 days',
    footer: 'If you did not sign this, please answer this mail at once.',
  },
  de: {
    subject: (name) => `Ihr Mandat für ${name}`,
    greeting: (name) => `Guten Tag ${name},`,
    lead: (name) => `Sie haben ein Mandat unterschrieben, nach dem ${name} Ihr Bankkonto belasten darf:`,
    reference: 'Referenz',
    bank: 'Bank',
    account: 'Konto',
    signedOn: 'Unterschrieben am',
    copy: 'Ihre unterschriebene Ausfertigung, 90 Tage lang',
    footer: 'Falls Sie das nicht unterschrieben haben, antworten Sie bitte sofort auf diese Nachricht.',
  },
}

/** Renders the mail in the language in which the mandate was signed. */
export function signedMandateMail(facts: SignedMandateFacts): Rendered {
  const { language, longDate } = formatsOf(facts.locale)
  const words = WORDS[language]
  return render({
    language,
    accountName: facts.accountName,
    colour: facts.colour,
    subject: words.subject(facts.accountName),
    parts: [
      words.greeting(facts.signeeName),
      words.lead(facts.accountName),
      [
        [words.reference, facts.reference],
        [words.bank, facts.bank],
        [words.account, facts.account],
        [words.signedOn, longDate(facts.signedOn)],
      ],
      { label: words.copy, link: facts.link },
    ],
    footer: words.footer,
  })
}
