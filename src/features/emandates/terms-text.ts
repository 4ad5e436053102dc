import { mandateReference } from '../payment-methods/emandate.ts'
import { decimal } from '../../kernel/decimal.ts'
import { assert } from '../../kernel/assert.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { COUNTRIES } from '../../kernel/countries.ts'
import { decimalToMinor } from '../../kernel/money.ts'
import { countryIn, type Formats, formatsOf, type Language } from '../../platform/locale/format.ts'
import { plainName } from '../../platform/page/html.ts'
import { actionDaysOf } from './rules.ts'
import { DE } from './terms-de.ts'
import { EN } from './terms-en.ts'
import type { Frequency, Mandate, Signee } from './types.ts'
import type { Wording } from './terms-wording.ts'

/** Words that a signee reads and signs, as data: the page and the PDF show the same. */

export interface Section {
  heading: string
  facts: readonly (readonly [name: string, value: string])[]
  paragraphs: readonly string[]
}

export interface MandateText {
  title: string
  sections: readonly Section[]
  /** The sentence that the signee agrees to. */
  consent: string
}

const WORDINGS: Record<Language, Wording> = { en: EN, de: DE }
export const wordingOf = (language: Language): Wording => WORDINGS[language]

/** Returns an address in the lines of a letter. */
export const addressOf = (signee: Signee, language: Language): string[] =>
  [
    signee.address1,
    signee.address2,
    [signee.postalCode, signee.city].filter((part) => part !== null).join(' '),
    signee.state,
    countryOf(signee.country, language),
  ].filter((line): line is string => line !== null && line !== '')

function countryOf(alpha3: string | null, language: Language): string | null {
  const country = COUNTRIES.find((one) => one.alpha3 === alpha3)
  return country ? countryIn(language, country.name) : null
}

/** Returns the lines of an address whose last may be a country, with that in the language. */
const countryLastIn = (lines: readonly string[], language: Language): string[] =>
  lines.map((line, place) => (place === lines.length - 1 ? countryIn(language, line) : line))

type Facts = [name: string, value: string | null][]

/** Leaves out what is not known, and signs in names that would turn round what is beside them: page and PDF are read as they were sent. */
const known = (facts: Facts) =>
  facts.map(([name, value]): [string, string] => [name, plainName(value ?? '')]).filter(([, value]) => value !== '')

function moneyOf({ money }: Formats, amount: string, currency: string): string {
  const minor = decimalToMinor(decimal(amount), digitsOf(currency))
  assert(minor !== undefined, 'an amount was checked against its currency')
  return money(minor, currency)
}

function dayText(words: Wording, frequency: Frequency, day: number): string | null {
  if (actionDaysOf(frequency) === null) return null
  if (frequency === 'Weekly') return words.weekdays[day - 1] ?? null
  return day === 31 ? words.lastDay : words.dayOfMonth(day)
}

/** Returns an IBAN as it is read: in groups of four. */
const inFours = (iban: string): string => iban.replace(/.{4}(?=.)/g, '$& ')

/** Returns the words of a mandate with its account number as it is to be shown: whole, or masked. */
export function mandateText(
  mandate: Pick<Mandate, 'id' | 'kind' | 'signee' | 'terms' | 'isCompanySignee'>,
  shownNumber: string,
  locale: string,
): MandateText {
  const formats = formatsOf(locale)
  const words = wordingOf(formats.language)
  const { kind, signee, terms, isCompanySignee } = mandate
  const { headings, labels } = words
  const { beneficiary, frequency } = terms
  const contact = [beneficiary.email, beneficiary.tel, beneficiary.webPage].find((way) => way !== null) ?? ''
  const named = {
    creditor: plainName(beneficiary.name),
    contact: plainName(contact),
    noticeDays: beneficiary.noticeDays,
    frequency,
  }
  const section = (heading: string, facts: Facts, paragraphs: string[] = []): Section => ({
    heading,
    facts: known(facts),
    paragraphs,
  })
  return {
    title: words.titles[kind],
    consent: words.consent(named),
    sections: [
      section(headings.creditor, [
        [labels.name, beneficiary.name],
        [labels.address, countryLastIn(beneficiary.address, formats.language).join(', ')],
        [labels.tel, beneficiary.tel],
        [labels.email, beneficiary.email],
        [labels.webPage, beneficiary.webPage],
        [labels.creditorIdentifier, kind === 'sepa' ? beneficiary.creditorIdentifier : null],
        [labels.reference, mandateReference(mandate)],
        [labels.contractRef, terms.contractRef],
        [labels.nameOnStatement, terms.nameOnStatement],
      ]),
      section(headings.payer, [
        [labels.name, `${signee.name} ${signee.lastName}`],
        [labels.company, isCompanySignee ? signee.company : null],
        [labels.tradingAs, isCompanySignee ? signee.tradingAs : null],
        [labels.address, addressOf(signee, formats.language).join(', ')],
        [labels.tel, signee.tel],
        [labels.email, signee.email],
      ]),
      section(headings.account, [
        [labels.accountHolder, terms.bank.accountHolder],
        [labels.bank, terms.bank.name],
        [words.numbers[kind].branch, terms.bank.branchCode],
        [words.numbers[kind].number, kind === 'sepa' ? inFours(shownNumber) : shownNumber],
        [labels.accountType, words.accountTypes[terms.bank.accountType] ?? terms.bank.accountType],
      ]),
      section(headings.debit, debitFacts(mandate, words, formats)),
      section(headings.authority, [], words.authority[kind](named)),
    ],
  }
}

function debitFacts({ kind, terms }: Pick<Mandate, 'kind' | 'terms'>, words: Wording, formats: Formats): Facts {
  const { labels, sepaTypes } = words
  const { frequency, currency, maxAmount, isVariable, endDate } = terms
  return [
    [labels.paymentType, kind === 'sepa' ? (frequency === 'Once' ? sepaTypes.once : sepaTypes.recurrent) : null],
    [labels.amount, moneyOf(formats, terms.amount, currency)],
    [labels.maxAmount, maxAmount === null ? null : moneyOf(formats, maxAmount, currency)],
    [labels.variable, isVariable === null ? null : isVariable ? words.yes : words.no],
    [labels.escalation, terms.escalation],
    [labels.frequency, words.frequencies[frequency]],
    [labels.actionDay, dayText(words, frequency, terms.actionDay)],
    [labels.startDate, formats.longDate(terms.startDate)],
    [labels.endDate, endDate === null ? null : formats.longDate(endDate)],
    [labels.notice, String(terms.beneficiary.noticeDays)],
  ]
}
