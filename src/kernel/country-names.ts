import { COUNTRY_TABLE } from './country-table.ts'

/**
 * Names of countries in languages other than English. They come from the runtime, which has those of the Unicode CLDR, and few are typed here: names in
 * use that it lacks.
 */

/** Returns the names that a language has for a country, by its alpha-2 code; none where it has none. */
export type NamesOfLanguage = (code: string) => readonly string[]

/** Returns the names of countries in a language; undefined of a language that the runtime does not know. */
export type CountryLanguages = (language: string) => NamesOfLanguage | undefined

/** German stands before the others because papers are written in it. */
const GERMAN = 'de'

/** The other languages of the European Union, then Norwegian, Icelandic, Turkish, Ukrainian and Serbian, the last in both scripts. */
const OTHERS = [
  ...['bg', 'cs', 'da', 'el', 'es', 'et', 'fi', 'fr', 'ga', 'hr', 'hu', 'it', 'lt', 'lv', 'mt', 'nl', 'pl', 'pt', 'ro'],
  ...['sk', 'sl', 'sv', 'nb', 'nn', 'is', 'tr', 'uk', 'sr', 'sr-Latn'],
] as const

/** Names in use that the runtime lacks, by language and country. */
const IN_USE: readonly (readonly [language: string, code: string, ...names: string[]])[] = [
  ['de', 'GB', 'Großbritannien', 'Grossbritannien', 'England'],
  ['de', 'CZ', 'Tschechische Republik', 'Tschechei'],
  ['de', 'SK', 'Slowakische Republik'],
  ['de', 'US', 'Vereinigte Staaten von Amerika'],
  ['de', 'DE', 'Bundesrepublik Deutschland', 'BRD'],
  ['de', 'BY', 'Weißrussland'],
  ['de', 'MD', 'Moldawien', 'Moldau'],
  ['de', 'MK', 'Mazedonien'],
  ['de', 'MM', 'Birma'],
  ['de', 'VA', 'Vatikan'],
  ['de', 'RU', 'Russische Föderation'],
  ['de', 'CN', 'Volksrepublik China'],
  ['sq', 'AL', 'Shqipëria'],
  ['sq', 'XK', 'Kosova'],
  ['cs', 'CZ', 'Česká republika'],
  ['sk', 'SK', 'Slovenská republika'],
  ['el', 'GR', 'Ελλάς'],
  ['es', 'GB', 'Gran Bretaña'],
  ['es', 'US', 'Estados Unidos de América'],
  ['es', 'NL', 'Holanda'],
  ['es', 'CZ', 'República Checa'],
  ['fr', 'GB', 'Grande-Bretagne'],
  ['fr', 'US', "États-Unis d'Amérique"],
  ['fr', 'NL', 'Hollande'],
  ['fr', 'CZ', 'République tchèque'],
  ['it', 'GB', 'Gran Bretagna'],
  ['it', 'US', "Stati Uniti d'America"],
  ['it', 'NL', 'Olanda'],
  ['it', 'CZ', 'Repubblica Ceca'],
  ['nl', 'GB', 'Groot-Brittannië'],
  ['nl', 'US', 'Verenigde Staten van Amerika'],
  ['nl', 'CZ', 'Tsjechische Republiek'],
  ['pl', 'NL', 'Niderlandy'],
  ['pl', 'CZ', 'Republika Czeska'],
  ['pl', 'US', 'Stany Zjednoczone Ameryki'],
  ['pt', 'GB', 'Grã-Bretanha'],
  ['pt', 'NL', 'Holanda'],
  ['pt', 'US', 'Estados Unidos da América'],
  ['pt', 'CZ', 'República Checa', 'República Tcheca'],
  ['tr', 'GB', 'İngiltere', 'Büyük Britanya'],
  ['hr', 'GB', 'Velika Britanija'],
  ['sl', 'GB', 'Velika Britanija'],
  ['sr', 'GB', 'Велика Британија'],
  ['sr-Latn', 'GB', 'Velika Britanija'],
  ['uk', 'GB', 'Велика Британія'],
  ['bg', 'GB', 'Великобритания'],
  ['ro', 'GB', 'Marea Britanie'],
  ['hu', 'GB', 'Nagy-Britannia'],
  ['cs', 'GB', 'Velká Británie'],
  ['sk', 'GB', 'Veľká Británia'],
  ['el', 'GB', 'Μεγάλη Βρετανία'],
  ['da', 'US', 'Amerikas Forenede Stater'],
]

/** The shortest short form that counts: two letters stand for a country's code and for nothing else. */
const SHORT_FORM_MIN = 3
const MARKS_AND_SIGNS = /[\p{M}\p{P}\p{Z}]/gu

/** Returns the names that the runtime knows for countries in a language; undefined where it does not know the language. */
export const runtimeLanguages: CountryLanguages = (language) => {
  if (typeof Intl !== 'object' || Intl.DisplayNames.supportedLocalesOf([language]).length === 0) return undefined
  // Made where they are asked for: a start only asks which languages there are.
  let styles: Record<'long' | 'short', Intl.DisplayNames> | undefined
  const namesBy = (style: 'long' | 'short') =>
    new Intl.DisplayNames([language], { type: 'region', style, fallback: 'none' })
  return (code) => {
    styles ??= { long: namesBy('long'), short: namesBy('short') }
    const name = styles.long.of(code)
    const brief = styles.short.of(code)
    const isBrief = brief !== undefined && brief !== name && brief.replace(MARKS_AND_SIGNS, '').length >= SHORT_FORM_MIN
    return [...(name === undefined ? [] : [name]), ...(isBrief ? [brief] : [])]
  }
}

/** A name of a country, from the rank at which a text is looked for. */
export interface RankedName {
  code: string
  name: string
}

/**
 * Returns the names of all countries by rank: English, each country's own likely language, German, the other languages. A language that the runtime
 * lacks adds the names in use alone.
 */
export function rankedNames(languages: CountryLanguages): RankedName[][] {
  return [
    namesIn(['en'], languages),
    COUNTRY_TABLE.flatMap(([code]) => namesOf(code, likelyLanguage(code), languages)),
    namesIn([GERMAN], languages).flatMap(withTranscribed),
    namesIn(OTHERS, languages),
  ]
}

const namesIn = (wanted: readonly string[], languages: CountryLanguages): RankedName[] =>
  wanted.flatMap((language) => {
    const known = languages(language)
    return COUNTRY_TABLE.flatMap(([code]) => namesOf(code, language, () => known))
  })

function namesOf(code: string, language: string, languages: CountryLanguages): RankedName[] {
  const inUse = IN_USE.filter(([ofLanguage, ofCode]) => ofCode === code && isOf(language, ofLanguage))
  const names = [...(languages(language)?.(code) ?? []), ...inUse.flatMap(([, , ...some]) => some)]
  return names.map((name) => ({ code, name }))
}

/** Returns whether a tag is that of a language: 'sq-Latn-AL' is of 'sq'. */
const isOf = (tag: string, language: string): boolean => tag === language || tag.startsWith(`${language}-`)

/** Returns the language that is spoken most in a country, as a tag with its script. */
function likelyLanguage(code: string): string {
  return typeof Intl === 'object' ? new Intl.Locale(`und-${code}`).maximize().toString() : 'und'
}

const TRANSCRIBED: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue' }

/** Adds the form that German names have on keyboards without umlauts: Oesterreich. */
function withTranscribed(ranked: RankedName): RankedName[] {
  const name = ranked.name.normalize('NFC').replace(/[äöü]/gi, (letter) => TRANSCRIBED[letter] ?? letter)
  return name === ranked.name ? [ranked] : [ranked, { ...ranked, name }]
}

/** Lists the languages, of those in which names of countries are known, that the runtime lacks: none of one with all of its language data. */
export const missingLanguages = (languages: CountryLanguages = runtimeLanguages): string[] =>
  ['en', GERMAN, ...OTHERS].filter((language) => languages(language) === undefined)

/** Returns the sentence for the log of a start and for a checkup about a runtime that lacks languages; undefined of one that has them all. */
export function languagesMissing(languages: CountryLanguages = runtimeLanguages): string | undefined {
  const missing = missingLanguages(languages)
  if (missing.length === 0) return undefined
  return `this Node.js lacks the names of countries in ${missing.length} languages (${missing.join(', ')}): a customer's Country in one of them sets no countryID, and so no tax`
}
