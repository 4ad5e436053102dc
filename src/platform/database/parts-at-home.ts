/**
 * Statements of several parts, as Citus is sent them. A part that inserts what other parts have is not planned before it runs, so Citus sends what they have to every worker:
 * the statement is slow, and fails while any of them is away. Joined with the row of its account, the insert runs on the worker of the account alone.
 */

/** Defaults that a worker may not compute, because each asking gives another value: the part that reads computes them, where the statement arrives. */
const VOLATILE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  event_packs: { recorded_at: 'clock_timestamp()' },
  event_rows: { event_id: "nextval('event_rows_event_id_seq')", recorded_at: 'clock_timestamp()' },
  invoice_templates: { template_id: "nextval('invoice_templates_template_id_seq')" },
  ledger_rows: { entry_id: "nextval('ledger_rows_entry_id_seq')" },
  posting_templates: { posting_template_id: "nextval('posting_templates_posting_template_id_seq')" },
  record_changes: { changed_at: 'clock_timestamp()' },
  usage_rows: { usage_id: "nextval('usage_rows_usage_id_seq')" },
}

/** Splits a text, outside of quotes and parentheses, in front of each place where `pattern` (sticky) fits. */
function split(text: string, pattern: RegExp): string[] {
  const places = [0]
  for (let at = 0, depth = 0; at < text.length; at += 1) {
    const sign = text[at]
    if (sign === "'" || sign === '"') at = text.indexOf(sign, at + 1)
    else if (sign === '(' || sign === '[') depth += 1
    else if (sign === ')' || sign === ']') depth -= 1
    pattern.lastIndex = at
    if (depth === 0 && pattern.test(text)) places.push(at)
  }
  return places.map((place, index) => text.slice(place, places[index + 1]))
}

/** A part as it stands behind WITH, its comma in front. */
const PART = /^([\s,]*(?:with\s+)?)(\w+)((?:\s*\([^()]*\))?\s+as\s+(?:materialized\s+)?\()([^]*)\)\s*$/
const INSERT = /^\s*insert into (\w+) \(([^()]*)\)\s*(select\s[^]*)$/

/** Values that have no type of their own get that of their column only where they are inserted. */
const isBare = (value: string): boolean => /^\s*(?:\$\d+|null|true|false|\d+|'[^']*')\s*$/.test(value)

/** Returns a part whose insert reads parts before it as two: one that reads, and one that inserts what it has. Any other part is returned as it is. */
function atHome(part: string, before: readonly string[]): string {
  const [, lead, name, as, body] = PART.exec(part) ?? []
  const [, table = '', names = '', query = ''] = INSERT.exec(body ?? '') ?? []
  const [selected = '', ...clauses] = split(query, /\b(?:from|union|on conflict|returning)\b/y)
  const [account = '', ...values] = split(selected.replace(/^select\s/, ''), /,/y).map((value) =>
    value.replace(/^,/, '').trim(),
  )
  const columns = names
    .split(',')
    .slice(1)
    .map((column, place) => ({ name: column.trim(), value: values[place] ?? '' }))
  const isEnd = (clause: string) => /^(?:on conflict|returning)/.test(clause)
  const source = clauses.filter((clause) => !isEnd(clause)).join('')
  const isOfParts = before.some((other) => new RegExp(`\\b${other}\\b`).test(source))
  if (!isOfParts || clauses.some((clause) => clause.startsWith('union')) || columns.length !== values.length)
    return part
  const read = columns.filter(({ value }) => !isBare(value))
  const rows = `select ${read.map(({ value }) => value).join(', ')} ${source}`
  const left = Object.entries(VOLATILE[table] ?? {}).flatMap(([column, value]) =>
    columns.some((one) => one.name === column) ? [] : [{ name: column, value }],
  )
  const made = left.length === 0 ? rows : `select ${left.map(({ value }) => value).join(', ')}, m.* from (${rows}) m`
  const given = columns.map((column) => (isBare(column.value) ? column.value : `r.${column.name}`))
  return `${lead}${name}_rows (${namesOf([...left, ...read])}) as materialized (
      ${made}),
    ${name}${as}insert into ${table} as here (account_id, ${namesOf([...left, ...columns])})
      select home.account_id, ${[...left.map((column) => `r.${column.name}`), ...given].join(', ')}
        from ${name}_rows r cross join accounts home where home.account_id = ${account} ${clauses.filter(isEnd).join('')})
    `
}

const namesOf = (columns: readonly { name: string }[]): string => columns.map(({ name }) => name).join(', ')

/** Returns the text whose parts insert on the worker of the account alone; a text without such a part is returned as it is. */
export function withPartsAtHome(text: string): string {
  if (!/^\s*with\s/.test(text)) return text
  const before: string[] = []
  const pieces = split(text, /,|\b(?:select|insert|update|delete)\b/y)
  const end = pieces.findIndex((piece) => /^\w/.test(piece) && !/^with\s/.test(piece))
  const parts = pieces.slice(0, end === -1 ? undefined : end).map((part) => {
    const sent = atHome(part, before)
    const [, , name] = PART.exec(part) ?? []
    if (name !== undefined) before.push(name)
    return sent
  })
  return [...parts, ...(end === -1 ? [] : pieces.slice(end))].join('')
}
