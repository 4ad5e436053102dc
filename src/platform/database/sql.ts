/** SQL is written as SQL, in tagged templates: every value becomes a parameter, every text a prepared statement of its own name. */

export interface Statement {
  text: string
  name: string
  values: unknown[]
  /** Its rows are text rows: see `asTexts`. */
  areTexts?: true
}

/** A piece of SQL to be put into a larger one: a list of columns, an optional condition. */
export interface Fragment {
  fragment: true
  strings: readonly string[]
  values: readonly unknown[]
}

const names = new Map<string, string>()
const plain = new WeakMap<TemplateStringsArray, { text: string; name: string }>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) names.set(text, (name = `p${names.size + 1}`))
  return name
}

const isFragment = (value: unknown): value is Fragment =>
  typeof value === 'object' && value !== null && 'fragment' in value

/** Makes a whole statement. Values become parameters; fragments are put in as they stand. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  const known = plain.get(strings)
  if (known) return { ...known, values }
  const flat = flatten(strings, values)
  const text = flat.strings.reduce((sofar, part, index) => (index === 0 ? part : `${sofar}$${index}${part}`), '')
  const named = { text, name: nameOf(text) }
  if (!values.some(isFragment)) plain.set(strings, named)
  return { ...named, values: flat.values }
}

/** Makes a piece of a statement, with parameters of its own. */
export const fragment = (strings: TemplateStringsArray, ...values: unknown[]): Fragment => {
  const flat = flatten(strings, values)
  return { fragment: true, ...flat }
}

/** Makes a piece of SQL of names that stand in the code, such as a list of columns; never of anything a caller sent. */
export const namesOf = (text: string): Fragment => ({ fragment: true, strings: [text], values: [] })

/** Joins pieces of a statement by commas: the values of an insert, the assignments of an update. */
export const listed = (parts: readonly Fragment[]): Fragment => ({
  fragment: true,
  ...flatten(['', ...parts.slice(1).map(() => ', '), ''], parts),
})

export const NOTHING: Fragment = { fragment: true, strings: [''], values: [] }

/** Returns the condition that a column, as it stands in the code, has a value; none where the value is null or left out. */
export const onlyWith = (name: string, value: unknown): Fragment =>
  value == null ? NOTHING : fragment`and ${namesOf(name)} = ${value}`

/** Returns the condition that a column, as it stands in the code, has one of these identifiers; none where there is no list. */
export const onlyAmong = (name: string, ids: readonly bigint[] | null | undefined): Fragment =>
  ids == null ? NOTHING : fragment`and ${namesOf(name)} = any(${arrayLiteral(ids)}::bigint[])`

function flatten(strings: readonly string[], values: readonly unknown[]): { strings: string[]; values: unknown[] } {
  const out = { strings: [strings[0] ?? ''], values: [] as unknown[] }
  const append = (text: string) => {
    out.strings[out.strings.length - 1] += text
  }
  values.forEach((value, index) => {
    const after = strings[index + 1] ?? ''
    if (!isFragment(value)) {
      out.values.push(value)
      out.strings.push(after)
      return
    }
    append(value.strings[0] ?? '')
    value.values.forEach((inner, position) => {
      out.values.push(inner)
      out.strings.push(value.strings[position + 1] ?? '')
    })
    append(after)
  })
  return out
}

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
