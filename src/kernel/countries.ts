import { assert } from './assert.ts'
import { type CountryLanguages, rankedNames, type RankedName, runtimeLanguages } from './country-names.ts'
import { COUNTRY_TABLE } from './country-table.ts'
import { SUBDIVISION_TABLE } from './subdivision-table.ts'

export interface Country {
  /** ISO 3166-1 numeric code: 710 is South Africa. */
  countryId: number
  name: string
  /** ISO 3166-1 alpha-2. */
  code: string
  alpha3: string
}

export interface CountryState {
  countryStateId: number
  name: string
  /** ISO 3166-2 without the country: 'GP' of ZA-GP. */
  code: string
}

export const COUNTRIES: readonly Country[] = COUNTRY_TABLE.map(([code, alpha3, countryId, name]) => ({
  countryId,
  name,
  code,
  alpha3,
}))

/** Letters that Unicode does not take apart into a base letter and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ə: 'a',
}

/** Reduces a name to what people agree on: no case, accents, dots, apostrophes, 'the', and one spelling of and/Saint. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{M}\p{Cf}.'’‘ʻʼ`]/gu, '')
    .replace(/[æœßøłđðþħıə]/g, (letter) => PLAIN[letter] ?? letter)
    .replaceAll('&', ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/^the /, '')
    .replace(/ the$/, '')
    .replace(/\bst (?=\S)/g, 'saint ')
}

/** Countries by folded text; null where a text stands for two of them at one rank. */
type TextIndex = Map<string, Country | null>

/** Codes are entered first: a name never takes a code's place. */
function indexEnglish(): TextIndex {
  const index: TextIndex = new Map()
  for (const country of COUNTRIES) index.set(country.code.toLowerCase(), country)
  for (const country of COUNTRIES) index.set(country.alpha3.toLowerCase(), country)
  COUNTRY_TABLE.forEach(([, , , ...names], position) => {
    const country = COUNTRIES[position]
    assert(country, 'every table line is a country')
    for (const name of names) if (!index.has(folded(name))) index.set(folded(name), country)
  })
  return index
}

/** Returns an index with the names of one rank behind those that it has. Rule: what a rank before has stays, and what two countries share in it names none. */
function withRank(index: TextIndex, names: readonly RankedName[]): TextIndex {
  const rank: TextIndex = new Map()
  for (const { code, name } of names) {
    const text = folded(name)
    const country = index.get(code.toLowerCase())
    assert(country, 'an index has the codes of all countries')
    const present = rank.get(text)
    if (text !== '') rank.set(text, present === undefined || present === country ? country : null)
  }
  return new Map([...rank, ...index])
}

/**
 * Makes the function that finds the country of a text: a code, an English name or a common variant of it, a name in the country's own language, in
 * German, or in another language of Europe, in that order; without case, accents and signs. The function gives undefined for a text that names no country,
 * or two of them at one rank; addresses may hold free text, so that is no error.
 */
export function countryFinder(languages: CountryLanguages): (text: string) => Country | undefined {
  let english: TextIndex | undefined
  let all: TextIndex | undefined
  return (text) => {
    const wanted = folded(text)
    if (wanted === '') return undefined
    english ??= indexEnglish()
    const found = english.get(wanted)
    if (found !== undefined) return found ?? undefined
    // Not before a text needs them: the names of all languages take a tenth of a second.
    all ??= rankedNames(languages).reduce(withRank, english)
    return all.get(wanted) ?? undefined
  }
}

/** Returns the country that a text names, by the languages of this runtime; see `countryFinder`. */
export const findCountry = countryFinder(runtimeLanguages)

let countriesById: Map<number, Country> | undefined
const statesByCountry = new Map<number, readonly CountryState[]>()

/** Returns the country of an ISO 3166-1 number. */
export function findCountryById(countryId: number): Country | undefined {
  countriesById ??= new Map(COUNTRIES.map((country) => [country.countryId, country]))
  return countriesById.get(countryId)
}

function readStates(country: Country): CountryState[] {
  const line = SUBDIVISION_TABLE[country.code]
  if (line === undefined) return []
  return line.split(';').map((pair) => {
    const [code = '', name = ''] = pair.split('=')
    return { countryStateId: country.countryId * 100_000 + Number.parseInt(code, 36), name, code }
  })
}

/**
 * Returns the top-level ISO 3166-2 subdivisions of a country, by code; none for an unknown country or one that has none.
 *
 * ISO gives subdivisions no number, so countryStateId is made from both codes and stays the same in every version: countryId × 100000 + the
 * subdivision's code read as a base-36 number. ZA-GP: 710 × 100000 + 601 = 71000601.
 */
export function statesOf(countryId: number): readonly CountryState[] {
  const known = statesByCountry.get(countryId)
  if (known) return known
  const country = findCountryById(countryId)
  if (!country) return []
  const states = readStates(country)
  statesByCountry.set(countryId, states)
  return states
}

/**
 * Returns the subdivision of a country that a text names: its code ('GP', 'ZA-GP') or its name, in any letter case. Undefined when it names
 * none, or two of the same name (Hsinchu is a city and a county): the wrong one would charge the wrong tax.
 */
export function findState(countryId: number, text: string): CountryState | undefined {
  const states = statesOf(countryId)
  const code = text.trim().toUpperCase()
  const prefix = `${findCountryById(countryId)?.code ?? ''}-`
  const local = code.startsWith(prefix) ? code.slice(prefix.length) : code
  const byCode = states.find((state) => state.code === local)
  if (byCode) return byCode
  const name = folded(text)
  if (name === '') return undefined
  const named = states.filter((state) => namesOf(state).includes(name))
  return named.length === 1 ? named[0] : undefined
}

/**
 * Returns the forms of an ISO name that people write. ISO has 'Madrid, Comunidad de', 'Puducherry (Pondicherry)' and 'Taita/Taveta'; people
 * write 'Madrid' or 'Comunidad de Madrid'.
 */
function namesOf({ name }: CountryState): string[] {
  const [head = '', tail = ''] = name.split(/, | \(|\//, 2)
  // The tail alone is no name: 'Comunidad' would pick Valencia.
  return [folded(name), folded(head), folded(`${tail} ${head}`)]
}
