import { describe, expect, test } from 'vitest'
import { COUNTRIES, findCountry, findState, statesOf } from './countries.ts'

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
