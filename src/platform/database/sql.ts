/** SQL is written as SQL, in tagged templates: every value becomes a parameter, every text a prepared statement of its own name. */

export interface Statement {
  text: string
  name: string
  values: unknown[]
  /** Its rows are text rows: see `asTexts`. */
  areTexts?: true
  /** Its one row has the number of rows that it changed: see `asCount`. */
  isCounted?: true
  /** It inserts what a query reads: see `ofQuery`. */
  isOfQuery?: true
}

/**
 * Asks for the number of rows that a statement without a result changes, as `count` reads it. The answer of the server has it anyway; counting rows that an update returns
 * costs a seventh of the update.
 */
export const asCount = (statement: Statement): Statement => ({ ...statement, isCounted: true })

/**
 * Marks an insert of many rows that a query reads. Citus takes one only if it returns something, under row security, so there it does. An insert of few rows
 * ends with `returning 1` on both engines, as does one in a part of a statement.
 */
export const ofQuery = (statement: Statement): Statement => ({ ...statement, isOfQuery: true })

/** A piece of SQL to be put into a larger one: a list of columns, an optional condition. */
export interface Fragment {
  fragment: true
  strings: readonly string[]
  values: readonly unknown[]
}

const names = new Map<string, string>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) names.set(text, (name = `p${names.size + 1}`))
  return name
}

const isFragment = (value: unknown): value is Fragment =>
  typeof value === 'object' && value !== null && 'fragment' in value

/**
 * Text of a template with fragments of certain texts in it. Texts are put together once for each mix of fragments, and found again by walking
 * from value to value: equal mixes have one array of strings, by which what they stand in finds them again.
 */
interface Mix {
  /** By the strings of the fragment that comes next, or `VALUE`. */
  next: Map<readonly string[], Mix>
  strings: readonly string[] | undefined
  named: { text: string; name: string } | undefined
}

const VALUE: readonly string[] = []
const mixes = new WeakMap<readonly string[], Mix>()
const newMix = (): Mix => ({ next: new Map(), strings: undefined, named: undefined })

function mixOf(template: readonly string[]): Mix {
  let mix = mixes.get(template)
  if (!mix) mixes.set(template, (mix = newMix()))
  return mix
}

/** Returns the mix of a template with these values, and the parameters in their order. */
function flatten(strings: readonly string[], values: readonly unknown[]): { mix: Mix; parameters: unknown[] } {
  let mix = mixOf(strings)
  const parameters: unknown[] = []
  for (const value of values) {
    const part = isFragment(value) ? value : undefined
    if (part) for (const inner of part.values) parameters.push(inner)
    else parameters.push(value)
    const key = part ? part.strings : VALUE
    const before = mix
    mix = before.next.get(key) ?? newMix()
    if (!before.next.has(key)) before.next.set(key, mix)
  }
  mix.strings ??= putTogether(strings, values)
  return { mix, parameters }
}

/** Returns the texts between parameters. */
function putTogether(strings: readonly string[], values: readonly unknown[]): readonly string[] {
  const out = [strings[0] ?? '']
  values.forEach((value, index) => {
    const [first = '', ...others] = isFragment(value) ? value.strings : ['', '']
    out[out.length - 1] += first
    out.push(...others)
    out[out.length - 1] += strings[index + 1] ?? ''
  })
  return out
}

/** Makes a whole statement. Values become parameters; fragments are put in as they stand. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  const { mix, parameters } = flatten(strings, values)
  if (!mix.named) {
    const text = mix.strings?.reduce((sofar, part, index) => `${sofar}$${index}${part}`) ?? ''
    mix.named = { text, name: nameOf(text) }
  }
  return { text: mix.named.text, name: mix.named.name, values: parameters }
}

const fragmentOf = (strings: readonly string[], values: readonly unknown[]): Fragment => {
  const { mix, parameters } = flatten(strings, values)
  return { fragment: true, strings: mix.strings as readonly string[], values: parameters }
}

/** Makes a piece of a statement, with parameters of its own. */
export const fragment = (strings: TemplateStringsArray, ...values: unknown[]): Fragment => fragmentOf(strings, values)

const plain = new Map<string, Fragment>()

/** Makes a piece of SQL of names that stand in the code, such as a list of columns; never of anything a caller sent. */
export function namesOf(text: string): Fragment {
  let names = plain.get(text)
  if (!names) plain.set(text, (names = { fragment: true, strings: [text], values: [] }))
  return names
}

const commas: (readonly string[])[] = []

/** Joins pieces of a statement by commas: the values of an insert, the assignments of an update. */
export function listed(parts: readonly Fragment[]): Fragment {
  const between = (commas[parts.length] ??= ['', ...parts.slice(1).map(() => ', '), ''])
  return fragmentOf(between, parts)
}

export const NOTHING: Fragment = { fragment: true, strings: [''], values: [] }

/** Returns the condition that a column, as it stands in the code, has a value; none where the value is null or left out. */
export const onlyWith = (name: string, value: unknown): Fragment =>
  value == null ? NOTHING : fragment`and ${namesOf(name)} = ${value}`

/** Returns the condition that a column, as it stands in the code, has one of these identifiers; none where there is no list. */
export const onlyAmong = (name: string, ids: readonly bigint[] | null | undefined): Fragment =>
  ids == null ? NOTHING : fragment`and ${namesOf(name)} = any(${arrayLiteral(ids)}::bigint[])`

/** Returns a further function for `rows from` from which the planner sees that there are many rows: for arrays it assumes ten. */
export const counted = (rows: readonly unknown[]): Fragment => fragment`, generate_series(1, ${rows.length}::integer)`

const NEEDS_QUOTES = /[",{}\\\s]|^$|^null$/i

function element(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  const text = typeof value === 'string' ? value : String(value)
  return NEEDS_QUOTES.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text
}

/** Writes a PostgreSQL array literal. Columns of bulk statements travel as one parameter each, for one row as for ten thousand. */
export const arrayLiteral = (values: readonly unknown[]): string => `{${values.map(element).join(',')}}`

/** Returns the named property of every row, as one array parameter. */
export const column = <Row, Key extends keyof Row>(rows: readonly Row[], key: Key): string => {
  let text = '{'
  let last: unknown
  let written = ''
  for (let index = 0; index < rows.length; index += 1) {
    const value = (rows[index] as Row)[key]
    // Most columns of many rows hold one value: a date, a currency, a name. It is written out once.
    if (index === 0 || value !== last) written = element((last = value))
    text += index === 0 ? written : `,${written}`
  }
  return `${text}}`
}

/** Writes rows as one parameter for `json_to_recordset`: of rows with many columns, which would be as many arrays. */
export const jsonRows = (rows: readonly object[]): string =>
  JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
