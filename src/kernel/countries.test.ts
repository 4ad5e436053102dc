import { describe, expect, test } from 'vitest'
import { languagesMissing, missingLanguages, rankedNames, runtimeLanguages } from './country-names.ts'
import { COUNTRIES, countryFinder, findCountry, findState, statesOf } from './countries.ts'

const codeOf = (text: string) => findCountry(text)?.code

describe('countries', () => {
  test('each of the 249 countries is found by its name and by its codes, in any case', () => {
    expect(COUNTRIES).toHaveLength(249)
    for (const country of COUNTRIES)
      for (const text of [country.name, country.code, country.alpha3, country.name.toUpperCase()])
        expect(findCountry(text)).toBe(country)
    expect(new Set(COUNTRIES.map((each) => each.countryId)).size).toBe(249)
  })

  test('the id is the ISO numeric code', () => {
    expect(findCountry('ZA')).toEqual({ countryId: 710, name: 'South Africa', code: 'ZA', alpha3: 'ZAF' })
    expect(findCountry('Albania')?.countryId).toBe(8)
  })

  test.each([
    ['US', ['United States', 'united states of america', 'The United States', 'USA', 'U.S.A.', 'us']],
    ['GB', ['UK', 'U.K.', 'Great Britain', 'United Kingdom of Great Britain and Northern Ireland', 'gbr']],
    ['ZA', [' south africa ', 'South  Africa', 'zaf', 'RSA']],
    ['CI', ['Ivory Coast', 'Cote d’Ivoire', "COTE D'IVOIRE"]],
    ['KR', ['Korea, Republic of', 'Republic of Korea', 'South Korea']],
    ['CD', ['Democratic Republic of the Congo', 'Congo, Democratic Republic of the', 'DRC']],
    ['TR', ['Turkey', 'Türkiye', 'turkiye']],
    ['LC', ['St. Lucia', 'Saint Lucia', 'st lucia']],
    ['TT', ['Trinidad & Tobago']],
    ['NL', ['The Netherlands', 'Holland']],
    ['VN', ['Vietnam', 'Viet Nam']],
  ])('%s is known by the names people write', (code, texts) => {
    expect(texts.map(codeOf)).toEqual(texts.map(() => code))
  })

  test('free text and ambiguous names are no country', () => {
    for (const text of ['', '  ', 'Korea', 'Atlantis', 'XX', 'South', '710', 'constructor'])
      expect(codeOf(text)).toBeUndefined()
  })
})

describe('names of countries in other languages', () => {
  test.each([
    ['AT', ['Österreich', 'osterreich', 'OESTERREICH', 'Autriche', 'Rakousko', 'Österrike']],
    ['BE', ['België', 'Belgique', 'Belgien', 'belgie']],
    ['GR', ['Ελλάδα', 'ΕΛΛΑΔΑ', 'Griechenland', 'Grecia', 'EL']],
    ['CH', ['Schweiz', 'Suisse', 'Svizzera', 'Švýcarsko']],
    ['CZ', ['Česko', 'Tschechien', 'Tschechische Republik', 'cesko']],
    ['GB', ['Großbritannien', 'Gran Bretaña', 'Vereinigtes Königreich', 'Royaume-Uni', 'Wielka Brytania']],
    ['AL', ['Shqipëria', 'Shqipëri', 'Albanien']],
    ['US', ['Vereinigte Staaten', 'Estados Unidos', 'США']],
    ['NO', ['Norge', 'Noreg', 'Norwegen']],
    ['IS', ['Ísland', 'Island']],
    ['TR', ['Türkiye', 'Türkei', 'Tuerkei']],
    ['UA', ['Україна', 'Ukrajina']],
    ['RS', ['Србија', 'Srbija']],
    ['JP', ['日本', 'Japonsko']],
    ['IE', ['Éire', 'Irland']],
    ['DE', ['Deutschland', 'Deutsch\u00ADland', '\u200EAllemagne', 'Niemcy', 'Bundesrepublik Deutschland']],
  ])('%s is known by them, without case, accents and signs', (code, texts) => {
    expect(texts.map(codeOf)).toEqual(texts.map(() => code))
  })

  test('each of them names its own country, but for what two countries share in languages of one rank', () => {
    const wrong = rankedNames(runtimeLanguages).flatMap((names) =>
      names.filter(({ code, name }) => codeOf(name) !== code).map(({ name }) => [name, codeOf(name)]),
    )
    expect(new Set(wrong.map(([name]) => name))).toEqual(new Set(['Kongo']))
    expect(codeOf('Kongo')).toBeUndefined()
  })

  test('a rank before decides, and what two countries share at one rank is no country in a later one either', () => {
    const languages = (language: string) => (code: string) => {
      const names: Record<string, string[]> = {
        // A code and an English name of Austria, and names that others have in German and Italian.
        'da DK': ['AT', 'Austria', 'Ostland', 'Danmark'],
        'de PL': ['Ostland', 'Zweiland'],
        'de PT': ['Zweiland'],
        'it FI': ['Zweiland', 'Ostland', 'Danmark'],
      }
      return names[`${language} ${code}`] ?? names[`${language.slice(0, 2)} ${code}`] ?? []
    }
    const find = countryFinder(languages)
    expect(['AT', 'Austria'].map((text) => find(text)?.code)).toEqual(['AT', 'AT'])
    // Danish is Denmark's own language, which stands before German and French.
    expect(['Ostland', 'Danmark'].map((text) => find(text)?.code)).toEqual(['DK', 'DK'])
    expect(find('Zweiland')).toBeUndefined()
  })

  test('a runtime without languages knows English and what is typed here, and says what it lacks', () => {
    const small = (language: string) => (language.startsWith('en') ? runtimeLanguages(language) : undefined)
    const find = countryFinder(small)
    expect(['Austria', 'Deutschland', 'Großbritannien', 'Shqipëria'].map((text) => find(text)?.code)).toEqual([
      'AT',
      'DE',
      'GB',
      'AL',
    ])
    expect(find('Österreich')).toBeUndefined()
    expect(missingLanguages(small)).toHaveLength(30)
    expect(languagesMissing(small)).toMatch(
      /^this Node\.js lacks the names of countries in 30 languages \(de, bg, cs, /,
    )
    expect(languagesMissing(() => undefined)).toContain('31 languages (en, de')
    expect(languagesMissing()).toBeUndefined()
  })
})

describe('states', () => {
  test('every id is one of a kind worldwide and a safe 32-bit number', () => {
    const ids = COUNTRIES.flatMap((country) => statesOf(country.countryId).map((state) => state.countryStateId))
    expect(ids.length).toBeGreaterThan(3000)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)).toBe(true)
  })

  test('ids are a lasting function of the ISO codes', () => {
    expect(findState(710, 'GP')).toEqual({ countryStateId: 71_000_601, name: 'Gauteng', code: 'GP' })
    expect(findState(840, 'CA')?.countryStateId).toBe(84_000_442)
    expect(findState(392, '13')?.countryStateId).toBe(39_200_039)
  })

  test('only the top level is listed where places nest', () => {
    expect(statesOf(710)).toHaveLength(9)
    expect(statesOf(826).map((state) => state.code)).toEqual(['ENG', 'NIR', 'SCT', 'WLS'])
    expect(statesOf(56)).toHaveLength(3)
    expect(statesOf(724)).toHaveLength(19)
    expect(statesOf(208)).toHaveLength(5)
    expect(statesOf(442)).toHaveLength(12)
  })

  test.each([
    [710, 'gauteng', 'GP'],
    [710, 'KwaZulu Natal', 'KZN'],
    [710, ' za-wc ', 'WC'],
    [840, 'new york', 'NY'],
    [724, 'Comunidad de Madrid', 'MD'],
    [724, 'andalucia', 'AN'],
    [356, 'Tamil Nadu', 'TN'],
    [356, 'Puducherry', 'PY'],
  ])('in country %i "%s" is %s', (countryId, text, code) => {
    expect(findState(countryId, text)?.code).toBe(code)
  })

  test('a state is not guessed: two places of one name, another country and free text find none', () => {
    for (const text of ['Hsinchu', '', ' ', 'somewhere']) expect(findState(158, text)).toBeUndefined()
    expect(findState(724, 'Comunidad')).toBeUndefined()
    expect(findState(840, 'Gauteng')).toBeUndefined()
    expect(statesOf(999)).toEqual([])
    expect(findState(999, 'GP')).toBeUndefined()
  })
})
