import { leastOf } from '../src/platform/database/schema-numbers.ts'
import type { Release } from './releases.ts'

/**
 * Rolling migrations, beside which processes of the release before go on: such a one only adds. It is judged by its text, statement by statement; what is none of the
 * forms below is refused, because nobody can see that it adds.
 */

/** Line of a head that names functions which are replaced and answer as before, and `do` for a block that does that. */
const AS_BEFORE = /^-- answers as before: (.+)$/m

/** Tables, columns and functions that a rolling migration may do more with. */
interface Allowed {
  /** Tables that no process of the release before knows. */
  tables: ReadonlySet<string>
  /** Functions that it does not know, or goes on understanding. */
  functions: ReadonlySet<string>
  /** Names that the release before no longer needs. */
  drops: ReadonlySet<string>
}

const NAME = String.raw`(?:perennial\.)?(\w+)`
/** A default that PostgreSQL keeps beside the rows, instead of writing each. */
const CONSTANT = String.raw`(?:'[^']*'(?:::\w+)?|-?\d+(?:\.\d+)?|true|false|null)`

/** Returns the statements of a migration without comments, each on one line; bodies of functions are left out. */
export const statementsIn = (text: string): string[] =>
  text
    .replaceAll(/^\s*--.*$/gm, '')
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim().toLowerCase())
    .filter((statement) => statement !== '')

/** Splits the clauses of an ALTER TABLE: commas within brackets part nothing. */
const clausesOf = (text: string): string[] => text.split(/,(?![^(]*\))/).map((clause) => clause.trim())

/** None of the words behind a column's name by which PostgreSQL writes or reads every row, and keeps others waiting meanwhile. */
const FREE = String.raw`(?![\w ]*\b(?:references|check|unique|primary|generated|(?:small|big)?serial\d?)\b)`
const ADDED = String.raw`add (?:column )?(?:if not exists )?(?!constraint )\w+ ${FREE}`
const ADDED_COLUMN = new RegExp(
  String.raw`^${ADDED}[\w ]+?(?:\[\]|\([\d, ]+\))?(?: not null)? default ${CONSTANT}(?: not null)?$`,
)
const NULLABLE_COLUMN = new RegExp(String.raw`^${ADDED}(?!.*(?: not null| default ))[\w ]+(?:\[\]|\([\d, ]+\))?$`)

/** Returns whether a clause of ALTER TABLE adds to a table that is in use. */
const adds = (clause: string, table: string, { drops }: Allowed): boolean => {
  const [, column] = /^drop column (?:if exists )?(\w+)$/.exec(clause) ?? []
  if (column !== undefined) return drops.has(`${table}.${column}`)
  return (
    ADDED_COLUMN.test(clause) ||
    NULLABLE_COLUMN.test(clause) ||
    /^add constraint .* not valid$/.test(clause) ||
    /^validate constraint \w+$/.test(clause)
  )
}

const FORMS: readonly [RegExp, (found: readonly string[], allowed: Allowed) => boolean][] = [
  [new RegExp(`^create (?:table|view|sequence) (?:if not exists )?${NAME}`), () => true],
  [/^create function /, () => true],
  [new RegExp(`^create or replace function ${NAME}`), ([, name = ''], { functions }) => functions.has(name)],
  [new RegExp(`^alter function ${NAME}[^;]* set `), ([, name = ''], { functions }) => functions.has(name)],
  [/^do /, (_, { functions }) => functions.has('do')],
  [/^create (?:unique )?index concurrently /, () => true],
  [new RegExp(`^create (?:unique )?index .*? on ${NAME}`), ([, table = ''], { tables }) => tables.has(table)],
  [new RegExp(`^create policy \\w+ on ${NAME}`), ([, table = ''], { tables }) => tables.has(table)],
  [
    new RegExp(`^alter table (?:only )?${NAME} (.*)$`),
    ([, table = '', clauses = ''], allowed) =>
      allowed.tables.has(table) || clausesOf(clauses).every((clause) => adds(clause, table, allowed)),
  ],
  [
    new RegExp(`^drop (?:table|view|function|index) (?:if exists )?${NAME}`),
    ([, name = ''], { drops }) => drops.has(name),
  ],
  [new RegExp(`^(?:insert into|update|delete from) ${NAME}`), ([, table = ''], { tables }) => tables.has(table)],
  [/^(?:comment on|grant) /, () => true],
  [/^revoke all on function /, () => true],
  [/^set (?:local )?lock_timeout /, () => true],
]

/** Returns whether a statement only adds. */
function isAddition(statement: string, allowed: Allowed): boolean {
  for (const [form, judge] of FORMS) {
    const found = form.exec(statement)
    if (found) return judge(found, allowed)
  }
  return false
}

/** Returns the names of new things of a kind that statements make. */
const namesMade = (statements: readonly string[], kind: 'table' | 'function'): string[] => {
  const made = new RegExp(`^create ${kind} (?:if not exists )?${NAME}`)
  return statements.flatMap((statement) => made.exec(statement)?.[1] ?? [])
}

/**
 * Returns what stands against the numbers of migrations, a sentence each: a least that lies ahead, and statements of rolling migrations that do more than add.
 * Those up to the least of all are not rolling, whatever their heads read.
 */
export function rollingProblems(releases: readonly Release[], migrations: Readonly<Record<string, string>>): string[] {
  const released = new Set(releases.flatMap((one) => one.migrations.map(({ name }) => name)))
  const all = Object.entries(migrations).map(([name, text]) => {
    const version = Number(name.slice(0, 4))
    const asBefore =
      AS_BEFORE.exec(text)?.[1]
        ?.split(',')
        .map((one) => one.trim()) ?? []
    return { name, version, least: leastOf(version, text), statements: statementsIn(text), asBefore }
  })
  const fresh = all.filter(({ name }) => !released.has(name))
  const made = fresh.flatMap(({ statements }) => statements)
  const { uses = [], drops = [] } = releases.at(-1)?.next ?? {}
  const allowed: Allowed = {
    tables: new Set(namesMade(made, 'table')),
    functions: new Set([...namesMade(made, 'function'), ...uses]),
    drops: new Set(drops),
  }
  const least = Math.max(0, ...all.map((one) => one.least))
  return [
    ...all
      .filter((one) => one.least > one.version)
      .map((one) => `${one.name} names ${one.least} as its least, which comes after it.`),
    ...fresh
      .filter(({ version }) => version > least)
      .flatMap(({ name, statements, asBefore }) =>
        statements
          .filter(
            (statement) =>
              !isAddition(statement, { ...allowed, functions: new Set([...allowed.functions, ...asBefore]) }),
          )
          .map((statement) => `${name} is to be rolling, and does more than add: ${statement}`),
      ),
  ]
}
