import fc from 'fast-check'

/** Bodies of usage in bulk as texts: mostly plain ones, with whatever else programs send among them. */

/** Two keys that PostgreSQL's hashtextextended gives one hash. */
export const ONE_HASH = ['usage-2745224X6q6png1Q4o', 'usage-729825paMBlT27z786'] as const

/** Identifiers that the entries are about. */
export interface Subjects {
  subscriptions: readonly number[]
  components: readonly number[]
  code: string
}

const seldom = <T>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<T>, weight = 60) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: unusual })

const KEYS = seldom(
  fc
    .oneof(
      { weight: 20, arbitrary: fc.integer({ min: 1, max: 5000 }).map((n) => `k ${n}`) },
      { weight: 20, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: fc.constantFrom(...ONE_HASH) },
      { weight: 1, arbitrary: fc.constantFrom('Zähler 7', '{a,b}', 'NULL', "it's", '%s') },
    )
    .map((key) => `"${key}"`),
  fc.constantFrom('""', '" k 1"', '"k\\u0020 1"', '"a\\tb"', '"日本"', '7', 'null', '"\\""', `"${'x'.repeat(256)}"`),
)
const UNITS = seldom(
  fc.oneof(
    fc.constantFrom('1.5', '1', '0', '1.50', '2.00', '0.00000001', '999999999999', '12345.678'),
    fc.integer({ min: 0, max: 9999 }).map(String),
  ),
  fc.constantFrom(
    '1e2',
    '-1',
    '"1"',
    '123456789012.1234',
    '19.989999999999998',
    '1000000000000',
    '0.123456789',
    '-0',
    'null',
  ),
)
const DATES = seldom(
  fc.constantFrom('"2027-01-15"', '"2027-02-03"', '"2027-02-10"', 'null'),
  fc.constantFrom(
    '"2027-02-11"',
    '"2026-12-31"',
    '"2027-02-30"',
    '"20270203"',
    '"2027-02-03T23:30:00-05:00"',
    '""',
    '7',
  ),
)
const MEMOS = seldom(
  fc.constantFrom('"night, shift"', '"Größe"', 'null'),
  fc.constantFrom('"a\\nb"', '" x "', '"\\u00e9"'),
)
const BLANKS = fc.constantFrom('', '', '', '', ' ', '\n  ')

type Names = Record<string, fc.Arbitrary<string>>

const entryOf = ({ subscriptions, components, code }: Subjects) => {
  const [ids, parts] = [subscriptions.map(String), components.map(String)]
  const needed: Names = {
    subscriptionID: seldom(
      fc.constantFrom(...ids.slice(0, 2)),
      fc.constantFrom(...ids, '999999', '0', '"1"', `${ids[0]}.0`),
      30,
    ),
    componentID: seldom(fc.constantFrom(...parts.slice(0, 2)), fc.constantFrom(...parts, '999999', 'null')),
    NumUnits: UNITS,
    UsageKey: KEYS,
  }
  const optional: Names = { Date: DATES, Memo: MEMOS }
  const unusual: Names = {
    isSetUnits: fc.constantFrom('false', 'true', '0'),
    ComponentCode: fc.constantFrom(`"${code}"`, '"nobody"'),
    Quantity: fc.constantFrom('1'),
    numUnits: fc.constantFrom('1'),
  }
  const given = (names: Names, of: readonly string[]) =>
    of.map((name) => (names[name] as fc.Arbitrary<string>).map((value) => [name, value] as const))
  return fc
    .record({
      has: fc.subarray(Object.keys(optional)),
      also: seldom(fc.constant<string[]>([]), fc.subarray(Object.keys(unusual), { minLength: 1, maxLength: 1 })),
      without: seldom(fc.constant(''), fc.constantFrom(...Object.keys(needed)), 80),
    })
    .chain(({ has, also, without }) =>
      fc.tuple(
        ...given({ ...needed, ...optional, ...unusual }, [
          ...Object.keys(needed).filter((name) => name !== without),
          ...has,
          ...also,
        ]),
      ),
    )
}

/** Texts of bodies. Entries of one body have their names in one order, mostly. */
export const bulkBodies = (subjects: Subjects) =>
  fc
    .record({
      entries: fc.array(entryOf(subjects), { maxLength: 8, minLength: 1 }),
      order: fc.shuffledSubarray(['subscriptionID', 'componentID', 'NumUnits', 'Date', 'UsageKey', 'Memo'], {
        minLength: 6,
      }),
      blank: BLANKS,
      after: seldom(fc.constant(''), fc.constantFrom(',"page":1', ',"More":{}', 'x', ',"Usage":[]')),
    })
    .map(({ entries, order, blank, after }) => {
      const texts = entries.map((entry) => {
        const sorted = entry.toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b))
        return `{${sorted.map(([name, value]) => `${blank}"${name}":${blank}${value}`).join(`${blank},`)}${blank}}`
      })
      return `{${blank}"Usage":${blank}[${texts.join(`,${blank}`)}]${after}}`
    })

/** Returns the same body as no program writes it, so that it is not plain. */
export const inOtherLetters = (body: string): string => body.replace('"Usage"', '"\\u0055sage"')
