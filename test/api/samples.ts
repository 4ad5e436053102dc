import type { DocumentedOperation, JsonSchema } from './document.ts'
import type { World } from './world.ts'

/** Bodies for operations, made from their schemas and the names of their fields: right ones, and all the ways to be wrong. */

/** The same sequence in every run: a failure can be looked at again. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const hashOf = (text: string): number =>
  [...text].reduce((hash, char) => (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0, 7)

let counter = 0
const unique = (prefix: string): string => `${prefix}${(counter += 1)}`

const FRESH_CURRENCIES = [
  'AED',
  'ARS',
  'AUD',
  'BRL',
  'CAD',
  'CHF',
  'CLP',
  'CZK',
  'DKK',
  'GBP',
  'HKD',
  'HUF',
  'ILS',
  'INR',
  'KWD',
  'MXN',
  'NOK',
  'NZD',
  'PLN',
  'SEK',
  'SGD',
  'THB',
  'TRY',
  'ZAR',
]

/** Right values by name, where the type alone does not tell one. A new field that needs one is added here. */
const VALUES: Record<string, () => unknown> = {
  CurrencyCode: () => 'USD',
  Email: () => 'someone@example.org',
  EmailCC: () => 'other@example.org',
  MailFrom: () => 'billing@example.org',
  Colour: () => '#1d4f73',
  TestMailTo: () => 'testers@example.org',
  TimeZone: () => 'Africa/Johannesburg',
  Locale: () => 'en',
  countryID: () => 710,
  StartDate: () => '2027-01-01',
  InvoiceDate: () => '2027-01-01',
  SupplyDate: () => '2027-01-01',
  EndDate: () => '2028-01-01',
  Now: () => '2027-01-02T00:00:00Z',
  UntilDate: () => '2027-01-01',
  Term: () => 1,
  TermType: () => 'months',
  Perc: () => 0.15,
  DaysAfterDue: () => 0,
  NextInvoiceNum: () => 10_000 + (counter += 1),
  WebPage: () => 'https://example.org',
  Url: () => 'https://example.org/hook',
  bank_DebitMethod: () => 'debit_order',
  Types: () => ['webhook.*', 'invoice.issued'],
  // What they may name depends on customer and currency; recipes do.
  Allocations: () => [],
  Methods: () => ({ eft: '1800' }),
  Datev: () => ({ Consultant: 29_098, Client: 55_003, AutomaticAccounts: ['4400'], Chart: '04' }),
  GatewayType: () => 'manual',
  CurrencyCodes: () => ['USD'],
  Settings: () => ({ CutOff: '16:00' }),
  CreditCard: () => ({
    CardType: 'Visa',
    Number: '4242424242424242',
    NameOnCard: 'Ada',
    LastNameOnCard: 'Lovelace',
    ExpiryMonth: 12,
    ExpiryYear: 2030,
  }),
  BankAccount: () => ({
    Method: 'debit_order',
    AccountType: 'Savings',
    AccountHolder: 'Ada',
    Bank: 'Bank',
    AccountNumber: '62001871490',
    BranchCode: '250655',
  }),
  LinkedAllocations: () => [],
  CountryISOCode: () => 'ZAF',
  bank_AccNumber: () => '62001871490',
  bank_BranchCode: () => '250655',
  debit_StartDate: () => '2027-01-01',
  debit_EndDate: () => '2028-01-01',
  debit_Amt: () => 100,
  debit_MaxAmt: () => 200,
  RedirectUrl: () => 'https://example.org/signed',
  AuthDomain: () => 'shop.example',
  DatevKey: () => '3',
}

/** Fields that a right body of these operations does not carry, or carries otherwise. */
const OMITTED = new Set([
  'PrimaryGatewayID',
  'gatewayID',
  'customerPaymentMethodID',
  'CustomFields',
  'componentUsage',
  'LockDate',
  'packageVersionID',
  'packageVersionNumber',
  'packageRateTermID',
  'firstProrataSyncDate',
  'taxRuleID',
  'countryStateID',
  // Why a tax is none, which does not go with a rate over 0; and the relief of a bad debt alone.
  'Category',
  'ReasonCode',
  'Area',
  'AppliesTo',
  'TaxReliefDate',
  'CollectionMethod',
  'page',
  'page_size',
])
const BY_OPERATION: Record<string, () => Record<string, unknown>> = {
  addCurrency: () => ({ CurrencyCode: FRESH_CURRENCIES[(counter += 1) % FRESH_CURRENCIES.length] }),
  deleteCurrency: () => ({ CurrencyCode: 'JPY' }),
  // Any invoice: it may have less left.
  addCredit: () => ({ invoiceID: undefined }),
  addAdjustment: () => ({ invoiceID: undefined, Reason: undefined }),
  editAdjustment: () => ({ Reason: undefined }),
  creditInvoice: () => ({ Amount: 1, Lines: undefined, isWhole: undefined, Refund: undefined, Date: undefined }),
  editGateway: () => ({ GatewayType: undefined }),
  addExport: () => ({ Format: 'csv', From: '2027-01-01', To: '2027-12-31', isLock: false }),
  editAccount: () => ({ CurrencyCode: undefined }),
}

/** A right value of a field that has one of its own. */
export const valueOf = (name: string): unknown => VALUES[name]?.()

function sampleOf(schema: JsonSchema, name: string, world: World): unknown {
  const own = VALUES[name]
  if (own) return own()
  if (/\bCalendar date\b/.test(schema.description ?? '')) return '2027-02-01'
  if (/\bInstant\b/.test(schema.description ?? '')) return '2027-01-02T00:00:00Z'
  const known = world.ids.get(name)
  if (known?.length && schema.format === 'uuid') return known[world.random(known.length)]
  if (known?.length && (schema.type === 'integer' || schema.type?.includes('integer')))
    return known[world.random(known.length)]
  if (schema.enum) return schema.enum[0]
  if (schema.examples) return schema.examples[0]
  const types = ([] as string[]).concat(schema.type ?? [])
  // Texts by language have no names of their own.
  if (types.includes('object') && !schema.properties) return { en: unique('Text ') }
  if (types.includes('object')) return objectSample(schema, world)
  if (types.includes('array')) {
    const entry = sampleOf(schema.items ?? {}, name === 'ids' ? 'customerID' : name, world)
    return [entry]
  }
  if (types.includes('string')) return unique(`${name.slice(0, 12)} `)
  if (types.includes('boolean')) return true
  return 1
}

/** Codes of records whose identifier is sent beside them: one of both is enough. */
const IDENTIFIED: Record<string, string> = { packageCode: 'packageID', ComponentCode: 'componentID' }

function objectSample(schema: JsonSchema, world: World): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const { properties = {} } = schema
  const isIdentified = (name: string) => Object.hasOwn(properties, IDENTIFIED[name] ?? '')
  for (const [name, inner] of Object.entries(properties))
    if (!OMITTED.has(name) && !isIdentified(name)) found[name] = sampleOf(inner, name, world)
  return found
}

/** A body that the operation should accept; undefined for operations without one. */
export function rightBody(operation: DocumentedOperation, world: World): Record<string, unknown> | undefined {
  if (!operation.body) return undefined
  return { ...objectSample(operation.body, world), ...BY_OPERATION[operation.id]?.() }
}

/** JSON texts that no field takes all of; most fields take none of most kinds. */
const HOSTILE = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '1',
    '-1',
    '1.5',
    '-0.0',
    '1e2',
    '1e400',
    '-1e400',
    '1e-400',
    '999999999',
    '2147483648',
    '-2147483649',
    '9007199254740993',
  ],
  ...[
    '9223372036854775808',
    '123456789012345678901234567890',
    '0.30000000000000004',
    '19.989999999999998',
    '12.345678901',
    '1000000000000',
    '999999999999.99',
  ],
  ...['""', '" "', '"x"', '"5"', '"12.5"', '"true"', '[]', '{}', '[null]', '[[]]', '[{}]', '{"a":1}', '[1,"2",null]'],
  ...[
    '"\\u0000"',
    '"a\\u0007b"',
    '"a\\nb"',
    '"\\ud800"',
    '"\\u202e\\ufeff"',
    '"😀"',
    '"\\u0130"',
    `"${'x'.repeat(256)}"`,
    `"${'x'.repeat(65_536)}"`,
  ],
  ...[
    '"__proto__"',
    '"constructor"',
    `"'; drop table customers; --"`,
    '"%s%n%x"',
    '"../../etc/passwd"',
    '"$1"',
    '"null"',
  ],
  ...[
    '"31 Feb 2027"',
    '"2027-13-45"',
    '"0000-00-00"',
    '"99999-01-01"',
    '"2027-01-01T25:61:00Z"',
    '"1900-01-01"',
    '"1899-12-31"',
    '"2999-12-31"',
    '"20270101"',
    '"3 apr 2027"',
    '"2027-06-15T12:00:00-11:00"',
    '"tomorrow"',
  ],
  ...['"USD"', '"usd"', '"XAU"', '"ZZZ"', '"months"', '"weeks"', '"Renewal"', '"a@b"', '"UTC"', '"Mars/Phobos"'],
]

interface Leaf {
  path: (string | number)[]
  name: string
  schema: JsonSchema
}

/** Every field of a schema, those inside lists by their first entry. */
export function leavesOf(schema: JsonSchema, path: (string | number)[] = []): Leaf[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const here = [...path, name]
    const own: Leaf = { path: here, name, schema: inner }
    if (inner.items)
      return [own, { path: [...here, 0], name, schema: inner.items }, ...leavesOf(inner.items, [...here, 0])]
    return [own, ...leavesOf(inner, here)]
  })
}

class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** JSON of a value in which some parts are texts already: digits that JSON.stringify would lose. */
export function writeJson(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map((entry) => writeJson(entry ?? null)).join(',')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => `${JSON.stringify(name)}:${writeJson(inner)}`)
      .join(',')}}`
  return JSON.stringify(value)
}

const GONE = Symbol('gone')

/** A value with one part of it replaced; the empty path is the whole. */
export function withValue(value: unknown, path: (string | number)[], wanted: unknown): unknown {
  const [first, ...rest] = path
  if (first === undefined) return wanted
  if (typeof first === 'number') {
    const list = Array.isArray(value) ? [...value] : []
    list[first] = withValue(list[first], rest, wanted)
    return list
  }
  const object: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...(value as object) } : {}
  const inner = withValue(object[first], rest, wanted)
  if (inner === GONE) delete object[first]
  else object[first] = inner
  return object
}

/** Bodies that are wrong as a whole. */
export const WRONG_BODIES = [
  '',
  ' ',
  '{',
  '[]',
  'null',
  '5',
  '"x"',
  'true',
  '{"a":1}{',
  '{"a":1,"a":2}',
  '\u0000',
  '['.repeat(5000),
  `{"x":${'9'.repeat(3000)}}`,
  '{"__proto__":{"isActive":true}}',
  '{}',
  '\ufeff{}',
]

/** Returns a hostile body: a right one with one field changed, sometimes several. */
export function hostileBody(operation: DocumentedOperation, world: World): { payload: string; note: string } {
  const leaves = leavesOf(operation.body as JsonSchema)
  let body: unknown = rightBody(operation, world)
  const changes = world.random(6) === 0 ? 3 : 1
  const notes: string[] = []
  for (let change = 0; change < changes; change += 1) {
    const leaf = leaves[world.random(leaves.length)]
    if (!leaf) continue
    const value = hostileValue(leaf, world)
    body = withValue(body, leaf.path, value)
    notes.push(`${leaf.path.join('.')} = ${typeof value === 'symbol' ? 'left out' : writeJson(value).slice(0, 60)}`)
  }
  if (world.random(20) === 0) {
    const name = Object.keys(body as object)[0] ?? 'x'
    body = { ...(body as object), [name.toUpperCase() === name ? name.toLowerCase() : name.toUpperCase()]: 1 }
  }
  return { payload: writeJson(body), note: notes.join(', ') }
}

function hostileValue({ name, schema }: Leaf, world: World): unknown {
  const kind = world.random(10)
  if (kind === 0) return GONE
  const foreign = world.foreignIds.get(name)
  if (kind === 1 && foreign?.length) return foreign[world.random(foreign.length)]
  if (kind === 2 && world.anyId.length > 0) return world.anyId[world.random(world.anyId.length)]
  if (kind === 3 && schema.type?.includes('array'))
    return Array.from({ length: [2, 101, 1001][world.random(3)] ?? 2 }, () => sampleOf(schema.items ?? {}, name, world))
  return new Raw(HOSTILE[world.random(HOSTILE.length)] as string)
}

/** Texts for paths and queries. */
export const HOSTILE_TEXTS = [
  '0',
  '-1',
  '1.5',
  '1e3',
  'x',
  '',
  '%00',
  '%zz',
  '%2F',
  'null',
  'undefined',
  'NaN',
  '999999999',
  '9007199254740993',
  '123456789012345678901234567890',
  '%F0%9F%98%80',
  "'--",
  '__proto__',
  'constructor',
  '2027-13-45',
  '31 Feb 2027',
  '20270101',
  '2027-01-01T00:00:00%2B02:00',
  'Active',
  'x'.repeat(300),
  '%ed%a0%80',
  'true',
  '[]',
  '1,2',
]
