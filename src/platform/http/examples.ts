import { resolved, type Schema } from '../wire/schema.ts'

/** Examples of answers that are not recorded, made from their schemas: a plausible value by the name of a field, else one of its type. */

const PLAUSIBLE: Record<string, unknown> = {
  Name: 'Ada',
  LastName: 'Lovelace',
  Company: 'Analytical Engines Ltd',
  CustomerName: 'Ada Lovelace',
  Email: 'ada@example.org',
  EmailCC: 'accounts@example.org',
  Cell: '+27 82 555 0100',
  Tel: '+27 21 555 0100',
  Fax: '+27 21 555 0101',
  Address1: '12 Long Street',
  Address2: 'Unit 4',
  City: 'Cape Town',
  State: 'Western Cape',
  Country: 'South Africa',
  ZipCode: '8001',
  countryID: 710,
  VatNo: '4123456784',
  TaxNumber: '4123456784',
  RegistrationNumber: '2015/123456/07',
  Reference: 'C1001',
  CurrencyCode: 'USD',
  TimeZone: 'Africa/Johannesburg',
  Locale: 'en',
  WebPage: 'https://example.org',
  packageCode: 'PRO',
  PackageName: 'Professional',
  ComponentCode: 'SEATS',
  GroupName: 'Hosting',
  VersionName: '2027 prices',
  UnitName: 'per seat',
  Descrip: 'Monthly plan',
  ChargePrice: 31,
  ChargeTerm: 1,
  Term: 1,
  Perc: 0.15,
  UnitCostEx: 31,
  AmountEx: 31,
  AmountInc: 35.65,
  Total: 35.65,
  Qty: 1,
  Message: 'Name is required.',
  Code: 'required',
  Field: 'Name',
}

/** States that most records are not in. */
const UNUSUAL =
  /^is(Cancelled|Expired|Suspended|Draft|FutureChange|WaiveTaxes|CollectionHold|Adjustment|ProRata|AwaitingRelease)$/

const DEPTH_MAX = 20

const typeOf = (schema: Schema): unknown =>
  ([] as unknown[]).concat(schema['type'] ?? []).find((type) => type !== 'null')

function plainExample(schema: Schema, name: string): unknown {
  const words = schema['enum'] as unknown[] | undefined
  if (words?.length) return words[0]
  switch (typeOf(schema)) {
    case 'boolean':
      return !UNUSUAL.test(name)
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 1), 1)
    case 'string':
      if (schema['format'] === 'uuid') return '7c9e6679-7425-40de-944b-e07fc1f90ae7'
      return schema['format'] === 'date-time' ? '2027-01-01T00:00:00Z' : name
    default:
      return null
  }
}

function fits(value: unknown, schema: Schema): boolean {
  const types = ([] as unknown[]).concat(schema['type'] ?? [])
  const own = Number.isInteger(value) ? ['integer', 'number'] : [typeof value]
  return !schema['enum'] && !schema['format'] && own.some((type) => types.includes(type))
}

/** Returns an example of a schema; of a choice the first. */
export function exampleOf(schema: Schema, name = '', depth = 0): unknown {
  if (depth > DEPTH_MAX) return null
  const again = (inner: Schema, innerName = name) => exampleOf(inner, innerName, depth + 1)
  if (schema['$ref']) return again(resolved(schema))
  const [first] = (schema['anyOf'] ?? []) as Schema[]
  if (first) return again(first)
  const properties = schema['properties'] as Record<string, Schema> | undefined
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([field, inner]) => [field, again(inner, field)]))
  if (schema['items']) return [again(schema['items'] as Schema)]
  const plausible = PLAUSIBLE[name]
  return plausible !== undefined && fits(plausible, schema) ? plausible : plainExample(schema, name)
}
