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

/** Returns the texts of a locale. Rule: those of its tag, then of its language, then of the language that its papers are in, then the plain ones; text by text. */
export function paperTextsOf({ texts, ...plain }: HasTexts, locale: string): PaperTexts {
  const tags = [locale.toLowerCase(), locale.toLowerCase().split('-')[0], languageOf(locale)]
  const byTag = new Map(Object.entries(texts ?? {}).map(([tag, own]) => [tag.toLowerCase(), own]))
  const all = [...tags.flatMap((tag) => byTag.get(tag ?? '') ?? []), plain]
  const first = (name: keyof PaperTexts) => all.find((one) => one[name] !== null)?.[name] ?? null
  return { notes: first('notes'), terms: first('terms'), bankDetails: first('bankDetails') }
}
