import { findCountry, findState } from '../kernel/countries.ts'
import { assert } from '../kernel/assert.ts'
import type { DemoClient } from './client.ts'
import { CUSTOM_FIELDS } from './people.ts'

/** Catalogue of the firm of the demo: telephone lines and messages for small firms, in four currencies. */

export const DEMO_NAME = 'Brightquay Telecom'
export const DEMO_ZONE = 'Europe/Dublin'
export const DEMO_CURRENCY = 'EUR'

type Currency = 'EUR' | 'USD' | 'GBP' | 'JPY'
/** A price in each currency, in major units; the yen has no decimals. */
type Prices = readonly [eur: number, usd: number, gbp: number, jpy: number]
const CURRENCIES: readonly Currency[] = ['EUR', 'USD', 'GBP', 'JPY']

export type Plan = 'starter' | 'team' | 'business' | 'line'
export type Extra = 'seats' | 'messages' | 'storage' | 'support' | 'numbers'

/** Identifiers of what is sold. */
export interface Shop {
  plans: Record<Plan, number>
  extras: Record<Extra, number>
}

interface PlanTerms {
  setup: Prices
  trialDays: number
  /** [every n, of what, price]. */
  terms: readonly (readonly [number, 'months' | 'days', Prices])[]
}

const STARTER: PlanTerms = {
  setup: [0, 0, 0, 0],
  trialDays: 14,
  terms: [
    [1, 'months', [19, 21, 16.5, 3100]],
    [12, 'months', [190, 210, 165, 31000]],
  ],
}
const TEAM: PlanTerms = {
  setup: [25, 25, 20, 4000],
  trialDays: 14,
  terms: [
    [1, 'months', [49, 54, 42, 7900]],
    [12, 'months', [490, 540, 420, 79000]],
  ],
}
/** From the middle of the year on, for those who come then; who was there keeps what was agreed. */
const TEAM_LATER: PlanTerms = {
  setup: [25, 25, 20, 4000],
  trialDays: 14,
  terms: [
    [1, 'months', [54.9, 59.9, 46.9, 8800]],
    [12, 'months', [549, 599, 469, 88000]],
  ],
}
const BUSINESS: PlanTerms = {
  setup: [99, 110, 85, 16000],
  trialDays: 0,
  terms: [
    [1, 'months', [129, 139, 109, 20500]],
    [3, 'months', [375, 405, 318, 59500]],
    [12, 'months', [1290, 1390, 1090, 205000]],
  ],
}
const LINE: PlanTerms = {
  setup: [0, 0, 0, 0],
  trialDays: 0,
  terms: [[30, 'days', [8.9, 9.9, 7.5, 1400]]],
}

const PLANS: Record<Plan, { code: string; name: string; about: string; terms: PlanTerms }> = {
  starter: { code: 'START', name: 'Starter', about: 'One number, calls at home, a mailbox', terms: STARTER },
  team: { code: 'TEAM', name: 'Team', about: 'Shared numbers, queues and a menu for callers', terms: TEAM },
  business: {
    code: 'BIZ',
    name: 'Business',
    about: 'Several sites, reports, answers within the hour',
    terms: BUSINESS,
  },
  line: { code: 'LINE30', name: 'Extra line', about: 'One more line, thirty days at a time', terms: LINE },
}

type Brackets = readonly (readonly [till: number | null, price: Prices])[]

interface ExtraTerms {
  code: string
  name: string
  about: string
  type: 'quantity' | 'metered' | 'opt-in'
  scheme: 'unit' | 'volume' | 'tiered' | 'stairstep'
  unit: string
  brackets: Brackets
}

/** Name of the extra that is sold by steps. */
export const STAIRSTEP_NAME = 'Numbers'

const EXTRAS: Record<Extra, ExtraTerms> = {
  seats: {
    code: 'SEAT',
    name: 'Seats',
    about: 'People who may take calls; the more, the less each costs',
    type: 'quantity',
    scheme: 'volume',
    unit: 'per seat',
    brackets: [
      [10, [8, 9, 7, 1300]],
      [50, [7, 8, 6, 1150]],
      [null, [6, 7, 5.2, 990]],
    ],
  },
  messages: {
    code: 'MSG',
    name: 'Messages',
    about: 'Text messages sent; the first 500 of a month are free',
    type: 'metered',
    scheme: 'tiered',
    unit: 'per message',
    brackets: [
      [500, [0, 0, 0, 0]],
      [5000, [0.021, 0.023, 0.018, 3.4]],
      [null, [0.0145, 0.016, 0.0125, 2.35]],
    ],
  },
  storage: {
    code: 'REC',
    name: 'Recordings',
    about: 'Room for recorded calls',
    type: 'metered',
    scheme: 'volume',
    unit: 'per GB',
    brackets: [
      [50, [0.2, 0.22, 0.17, 32]],
      [null, [0.15, 0.165, 0.13, 24]],
    ],
  },
  support: {
    code: 'CARE',
    name: 'Care plan',
    about: 'A person of its own to call, also on Sundays',
    type: 'opt-in',
    scheme: 'unit',
    unit: 'each',
    brackets: [[null, [39, 42, 33, 6200]]],
  },
  numbers: {
    code: 'NUM',
    name: STAIRSTEP_NAME,
    about: 'More telephone numbers, in blocks',
    type: 'quantity',
    scheme: 'stairstep',
    unit: 'per block',
    brackets: [
      [5, [15, 16, 13, 2400]],
      [20, [40, 44, 34, 6400]],
      [null, [100, 110, 85, 16000]],
    ],
  },
}

const priceIn = (prices: Prices, currency: Currency): number => prices[CURRENCIES.indexOf(currency)] as number

const rates = ({ setup, trialDays, terms }: PlanTerms) =>
  CURRENCIES.map((currency) => ({
    CurrencyCode: currency,
    SetupFee: priceIn(setup, currency),
    TrialFee: 0,
    TrialPeriod: trialDays,
    TrialPeriodType: 'days',
    PackageRateTerms: terms.map(([ChargeTerm, ChargeTermType, prices]) => ({
      ChargePrice: priceIn(prices, currency),
      ChargeTerm,
      ChargeTermType,
    })),
  }))

const bracketsIn = (brackets: Brackets) =>
  CURRENCIES.map((currency) => ({
    CurrencyCode: currency,
    ComponentBracketPrices: brackets.map(([QtyTill, prices], index) => ({
      Price: priceIn(prices, currency),
      QtyFrom: index === 0 ? 0 : Number(brackets[index - 1]?.[0]) + 1,
      QtyTill,
    })),
  }))

const ACCOUNT = {
  Name: DEMO_NAME,
  TimeZone: DEMO_ZONE,
  Email: 'accounts@brightquay.example',
  MailFrom: 'accounts@brightquay.example',
  Tel: '+353 20 910 4471',
  WebPage: 'https://brightquay.example',
  Address1: '4 Ropewalk Place',
  City: 'Dublin',
  Country: 'IE',
  VatNo: 'IE9700125TH',
  BankDetails: 'Please pay into the account of Brightquay Telecom and name the number of the invoice.',
  Terms: 'Payable without deduction by the due date.',
  Texts: {
    de: {
      Terms: 'Zahlbar ohne Abzug bis zum Fälligkeitstag.',
      BankDetails: 'Bitte überweisen Sie auf das Konto von Brightquay Telecom und nennen Sie die Nummer der Rechnung.',
    },
  },
  PaymentTermDays: 14,
  numDaysBeforeToInv: 0,
}

const placeOf = (country: string, state?: string) => {
  const found = findCountry(country)
  assert(found, 'the demo names countries that there are')
  if (state === undefined) return { countryID: found.countryId }
  const part = findState(found.countryId, state)
  assert(part, 'the demo names states that there are')
  return { countryID: found.countryId, countryStateID: part.countryStateId }
}

/** Taxes as the demo needs them to show rules by country, by state, for firms of the EU (reverse charge), and two on one invoice; nobody should file them. */
const TAXES = [
  {
    Name: 'VAT',
    rules: [
      { Perc: 0.23, ...placeOf('IE'), TaxNumber: 'IE9700125TH' },
      { Perc: 0.2, ...placeOf('GB') },
      { Perc: 0.19, ...placeOf('DE'), AppliesTo: 'consumer' },
      { Perc: 0.2, ...placeOf('FR'), AppliesTo: 'consumer' },
      { Perc: 0.21, ...placeOf('NL'), AppliesTo: 'consumer' },
      { Perc: 0.21, ...placeOf('ES'), AppliesTo: 'consumer' },
      { Perc: 0, Area: 'EU', AppliesTo: 'business', Category: 'AE' },
    ],
  },
  {
    Name: 'Sales tax',
    rules: [
      { Perc: 0.0625, ...placeOf('US', 'Texas') },
      { Perc: 0.08875, ...placeOf('US', 'New York') },
    ],
  },
  { Name: 'GST', rules: [{ Perc: 0.05, ...placeOf('CA') }] },
  { Name: 'QST', rules: [{ Perc: 0.09975, ...placeOf('CA', 'Quebec') }] },
]

/** Rules by which unpaid invoices are collected: four tries in three weeks, and a word before a card ends. */
const COLLECTION_RULES = {
  Attempts: [
    { DaysAfterDue: 0, Action: 'payment_unsuccessful' },
    { DaysAfterDue: 4, Action: 'warning' },
    { DaysAfterDue: 10, Action: 'final_warning' },
    { DaysAfterDue: 21, Action: 'suspend' },
  ],
  Reminders: [{ Kind: 'card_expiring', DaysBefore: 30, isActive: true }],
}

/** Sets the account up as a shop: settings, currencies, taxes, rules of collection, custom fields, groups, packages and components. */
export async function openShop(client: DemoClient): Promise<Shop> {
  await client.put('/v1/account', ACCOUNT)
  for (const CurrencyCode of CURRENCIES)
    if (CurrencyCode !== DEMO_CURRENCY) await client.post('/v1/currencies', { CurrencyCode })
  for (const setting of TAXES) await client.post('/v1/tax', setting)
  await client.put('/v1/collectionrules', COLLECTION_RULES)
  for (const Key of CUSTOM_FIELDS) await client.post('/v1/customfields', { Key })
  const groupOf = async (GroupName: string): Promise<number> =>
    (await client.post('/v1/packagegroups', { GroupName })).packageGroupID
  const plans = await groupOf('Plans')
  const lines = await groupOf('Lines')
  const extras = await groupOf('Extras')
  const shop = { plans: {}, extras: {} } as Shop
  for (const plan of Object.keys(PLANS) as Plan[])
    shop.plans[plan] = await addPlan(client, plan, plan === 'line' ? lines : plans)
  for (const extra of Object.keys(EXTRAS) as Extra[]) shop.extras[extra] = await addExtra(client, extra, extras)
  return shop
}

async function addPlan(client: DemoClient, plan: Plan, packageGroupID: number): Promise<number> {
  const { code, name, about, terms } = PLANS[plan]
  const { packageID } = await client.post('/v1/packages', {
    packageGroupID,
    packageCode: code,
    Name: name,
    Descrip: about,
    isActive: true,
    PackageVersion: {
      VersionName: 'Opening prices',
      isActive: true,
      isDefault: true,
      packageVersionRates: rates(terms),
    },
  })
  return packageID
}

async function addExtra(client: DemoClient, extra: Extra, packageGroupID: number): Promise<number> {
  const { code, name, about, type, scheme, unit, brackets } = EXTRAS[extra]
  const { componentID } = await client.post('/v1/components', {
    packageGroupID,
    ComponentCode: code,
    Name: name,
    Descrip: about,
    Type: type,
    Scheme: scheme,
    UnitName: unit,
    Term: 1,
    TermType: 'months',
    isActive: true,
    ComponentVersion: { VersionName: 'Opening prices', ComponentVersionCurrencies: bracketsIn(brackets) },
  })
  return componentID
}

/** Sets the new price of the Team plan: a new version, which running subscriptions do not see. */
export const raiseTeamPrice = (client: DemoClient, shop: Shop) =>
  client.post(`/v1/packages/${shop.plans.team}/versions`, {
    VersionName: 'Prices of the second half-year',
    isActive: true,
    isDefault: true,
    packageVersionRates: rates(TEAM_LATER),
  })
