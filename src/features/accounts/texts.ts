import { languageOf } from '../../platform/locale/format.ts'

/** Texts that papers of an account show, and those of them that it has for languages. */

export interface PaperTexts {
  notes: string | null
  terms: string | null
  bankDetails: string | null
}

/** By language tag, as it was sent. */
export type AccountTexts = Readonly<Record<string, PaperTexts>>

/** Texts of an account, as it is or as a paper froze it: what older papers froze has none by language. */
export interface HasTexts extends PaperTexts {
  texts?: AccountTexts | null
}

/** Names of the texts in requests and answers. */
const FIELDS = { notes: 'Notes', terms: 'Terms', bankDetails: 'BankDetails' } as const
const NAMES = Object.keys(FIELDS) as (keyof PaperTexts)[]

/**
 * Returns a text of a locale, with the field that it stands in: BankDetails, or Texts.de.BankDetails. Rule: that of its tag, then of its language,
 * then of the language that its papers are in, then the plain one.
 */
export function paperTextOf(
  { texts, ...plain }: HasTexts,
  locale: string,
  name: keyof PaperTexts,
): { field: string; text: string | null } {
  const tags = [locale.toLowerCase(), locale.toLowerCase().split('-')[0], languageOf(locale)]
  const own = Object.entries(texts ?? {})
  for (const tag of tags) {
    const found = own.find(([sent, { [name]: text }]) => sent.toLowerCase() === tag && text !== null)
    if (found) return { field: `Texts.${found[0]}.${FIELDS[name]}`, text: found[1][name] }
  }
  return { field: FIELDS[name], text: plain[name] }
}

/** Returns the texts of a locale, each chosen alone. */
export function paperTextsOf(has: HasTexts, locale: string): PaperTexts {
  const [notes, terms, bankDetails] = NAMES.map((name) => paperTextOf(has, locale, name).text)
  return { notes: notes ?? null, terms: terms ?? null, bankDetails: bankDetails ?? null }
}

/** Returns all texts of an account, the plain ones first, by their fields. */
export function textsByField({ texts, ...plain }: HasTexts): Record<string, string | null> {
  const fieldsOf = (some: PaperTexts, before = '') => NAMES.map((name) => [before + FIELDS[name], some[name]] as const)
  return Object.fromEntries([
    ...fieldsOf(plain),
    ...Object.entries(texts ?? {}).flatMap(([tag, own]) => fieldsOf(own, `Texts.${tag}.`)),
  ])
}
