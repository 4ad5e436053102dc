/** Countries as taxes see them, by their numeric codes of ISO 3166-1. */

/** The member states of the European Union, with the prefix of their VAT numbers in ISO's spelling. */
export const EU_COUNTRIES = [
  [40, 'AT'],
  [56, 'BE'],
  [100, 'BG'],
  [191, 'HR'],
  [196, 'CY'],
  [203, 'CZ'],
  [208, 'DK'],
  [233, 'EE'],
  [246, 'FI'],
  [250, 'FR'],
  [276, 'DE'],
  [300, 'GR'],
  [348, 'HU'],
  [372, 'IE'],
  [380, 'IT'],
  [428, 'LV'],
  [440, 'LT'],
  [442, 'LU'],
  [470, 'MT'],
  [528, 'NL'],
  [616, 'PL'],
  [620, 'PT'],
  [642, 'RO'],
  [703, 'SK'],
  [705, 'SI'],
  [724, 'ES'],
  [752, 'SE'],
] as const

const FRANCE = 250
const MONACO = 492

/** Returns the country whose taxes a country has. Rule: Monaco counts as France. */
export const asTaxCountry = (countryId: number): number => (countryId === MONACO ? FRANCE : countryId)

const EU = new Set<number>(EU_COUNTRIES.map(([countryId]) => countryId))

export const isInEu = (countryId: number): boolean => EU.has(countryId)
