import { assert } from '../kernel/assert.ts'
import { findCountry } from '../kernel/countries.ts'
import { vatNumberStatus } from '../kernel/vat-numbers.ts'
import type { Draw } from './draw.ts'
import { FIRM_WORDS, type Land, LANDS, TRADES } from './people-table.ts'

/** The customers of the demo: firms and people of several countries, with addresses that reach nobody. */

/** Shares of countries that customers come from, out of a hundred. */
const SHARES = { IE: 22, GB: 18, DE: 15, US: 14, FR: 9, NL: 8, ES: 5, CA: 4, JP: 3, ZA: 2 } as const
const MANAGERS = ['Maeve Corrigan', 'Luka Petrovic', 'Priya Raman'] as const
const FOUND_BY = ['Search', 'Recommendation', 'Trade fair', 'Newsletter', 'Partner'] as const

export interface Person {
  given: string
  family: string
  email: string
  phone: string | null
}

/** Facts of a future customer: those of the firm, and of the person to speak to there. */
export interface Prospect {
  isCompany: boolean
  currency: string
  body: Record<string, unknown>
  people: Person[]
}

/** Labels of the account for what it wants to know of its customers. */
export const CUSTOM_FIELDS = ['Industry', 'Account manager', 'Found us by'] as const

/** Letters and digits only, as addresses have them: "Élodie de Graaf" is "elodie.de.graaf". */
const addressable = (text: string, joint: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join(joint)

function digits(draw: Draw): string {
  let text = ''
  for (let n = 0; n < 9; n += 1) text += String(draw.between(0, 9))
  return text
}

function person(draw: Draw, land: Land, domain: string): Person {
  const given = draw.pick(land.given)
  const family = draw.pick(land.family)
  return {
    given,
    family,
    // The ending .example is kept free for such uses: no mail can ever arrive.
    email: `${addressable(`${given} ${family}`, '.')}@${domain}`,
    phone: land.phone && draw.chance(60) ? land.phone(digits(draw)) : null,
  }
}

function countryOf({ code }: Land) {
  const country = findCountry(code)
  assert(country, 'the demo names countries that there are')
  return country
}

/** More than there are numbers between two whose digits check. */
const NUMBERS_TRIED_MAX = 20_000

/** Returns the first tax number from some digits on whose digits check: only such a one makes its firm a business. */
function taxNumber(land: Land, from: string): string | undefined {
  const { countryId } = countryOf(land)
  for (let tried = 0; tried < NUMBERS_TRIED_MAX; tried += 1) {
    const text = land.taxNumber?.(String((Number(from) + tried) % 10 ** from.length).padStart(from.length, '0'))
    if (text === undefined || vatNumberStatus(text, countryId) === 'valid') return text
  }
  return undefined
}

function address(draw: Draw, land: Land): Record<string, unknown> {
  const [City, ZipCode, state] = draw.pick(land.cities)
  const street = draw.pick(land.streets)
  const house = draw.between(1, 120)
  return {
    Address1: land.isNumberLast ? `${street} ${house}` : `${house} ${street}`,
    ...(draw.chance(15) ? { Address2: `Unit ${draw.between(1, 9)}` } : {}),
    City,
    ZipCode,
    Country: countryOf(land).name,
    ...(state === undefined ? {} : { State: state }),
  }
}

/** Draws a customer whose name nobody has yet; `number` counts them and keeps their references distinct. */
export function prospectOf(draw: Draw, number: number, wish: { isFirm: boolean; taken: Set<unknown> }): Prospect {
  for (;;) {
    const code = draw.weighted(SHARES)
    const land = LANDS.find((candidate) => candidate.code === code) as Land
    const isCompany = wish.isFirm || draw.chance(45)
    const drawn = isCompany ? firm(draw, land, number) : single(draw, land, number)
    if (wish.taken.has(drawn.body['Email'])) continue
    wish.taken.add(drawn.body['Email'])
    return { isCompany, currency: land.currency, ...drawn }
  }
}

/** Americans who pay by no card have their bank accounts debited. */
const wayOfPaying = ({ code }: Land, drawn: string): string =>
  code === 'US' && drawn !== 'credit_card' ? 'bank_account' : drawn

const common = (draw: Draw, land: Land, number: number) => ({
  ...address(draw, land),
  Reference: `BQ-${1000 + number}`,
  CurrencyCode: land.currency,
  ...(land.locale === undefined ? {} : { Locale: land.locale }),
  PaymentMethod: wayOfPaying(land, draw.weighted({ eft: 5, credit_card: 4, debit_order: 2, cheque: 1 })),
})

function firm(draw: Draw, land: Land, number: number): Pick<Prospect, 'body' | 'people'> {
  const [industry, words] = draw.pick(TRADES)
  const root = draw.pick(draw.chance(30) ? land.family : FIRM_WORDS)
  const trade = draw.pick(words)
  const domain = `${addressable(`${root} ${trade}`, '-')}.example`
  const people = Array.from({ length: draw.chance(60) ? 1 : 2 }, () => person(draw, land, domain))
  const VatNo = land.taxNumber && taxNumber(land, digits(draw))
  const CustomFields = [
    { Key: 'Industry', Value: industry },
    { Key: 'Account manager', Value: draw.pick(MANAGERS) },
    ...(draw.chance(70) ? [{ Key: 'Found us by', Value: draw.pick(FOUND_BY) }] : []),
  ]
  const body = {
    ...common(draw, land, number),
    isCompany: true,
    Name: `${root} ${trade} ${draw.pick(land.legalForms)}`,
    Email: `accounts@${domain}`,
    ...(people[0]?.phone ? { Tel: people[0].phone } : {}),
    ...(VatNo === undefined ? {} : { VatNo }),
    ...(draw.chance(15) ? { PaymentTermDays: 30 } : {}),
    CustomFields,
  }
  return { body, people }
}

function single(draw: Draw, land: Land, number: number): Pick<Prospect, 'body' | 'people'> {
  const someone = person(draw, land, draw.pick(['inbox.example', 'postbox.example', 'letters.example']))
  const body = {
    ...common(draw, land, number),
    isCompany: false,
    Name: someone.given,
    LastName: someone.family,
    Email: someone.email,
    ...(someone.phone ? { Cell: someone.phone } : {}),
    ...(draw.chance(40) ? { CustomFields: [{ Key: 'Found us by', Value: draw.pick(FOUND_BY) }] } : {}),
  }
  return { body, people: [] }
}
