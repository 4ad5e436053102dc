import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APP_ROLE } from './roles.ts'
import { sql, type Statement } from './sql.ts'

/** Tables and sequences that the service works on, with its rights: what db/schema.sql lists is looked up in the catalogue of a database. */

interface Grant {
  relation: string
  right: string
  /** Column that the right is for; null: all. */
  attribute: string | null
}

const GRANT = new RegExp(String.raw`^grant (.+) on (?:sequence )?(\w+) to ${APP_ROLE};$`, 'gm')
const RIGHT = /(\w+)(?: \(([^)]+)\))?/g

/** Reads the grants of a text in the form of db/schema.sql. */
const grantsIn = (text: string): Grant[] =>
  [...text.matchAll(GRANT)].flatMap(([, rights = '', relation = '']) =>
    [...rights.matchAll(RIGHT)].flatMap(([, right = '', columns]): Grant[] =>
      columns === undefined
        ? [{ relation, right, attribute: null }]
        : columns.split(', ').map((attribute) => ({ relation, right, attribute })),
    ),
  )

/** Something that the schema gives the service, and a database does not. */
export interface MissingGrant extends Grant {
  /** The table or sequence itself is missing. */
  isGone: boolean
}

/** Asks for the first thing, tables before views, that is missing in a database which has all migrations of this program; a row, or none. */
export async function firstMissing(root: string): Promise<Statement> {
  const grants = grantsIn(await readFile(join(root, 'db', 'schema.sql'), 'utf8'))
  return sql`
    select g.relation, g.right, g.attribute, c.oid is null as "isGone"
      from json_to_recordset(${JSON.stringify(grants.map((grant, place) => ({ ...grant, place })))}::json)
             as g(place integer, relation text, "right" text, attribute text)
      left join pg_namespace n on n.nspname = 'perennial'
      left join pg_class c on c.relnamespace = n.oid and c.relname = g.relation
      left join pg_attribute a on a.attrelid = c.oid and a.attname = g.attribute
     where (case when c.relkind = 'S' then has_sequence_privilege(${APP_ROLE}, c.oid, g.right)
                 when g.attribute is null then has_table_privilege(${APP_ROLE}, c.oid, g.right)
                 else has_column_privilege(${APP_ROLE}, c.oid, a.attnum, g.right) end) is not true
     order by c.oid is not null, g.place limit 1`
}

/** Words what is missing, and what mends it. */
export const missingInWords = ({ relation, right, attribute, isGone }: MissingGrant): [text: string, mend: string] => {
  if (isGone) return [`relation "${relation}" does not exist`, 'restore it whole, or use another database']
  const what = `${right}${attribute === null ? '' : ` (${attribute})`}`
  return [
    `the role ${APP_ROLE} has no right to ${what} on ${relation}`,
    `restore it whole, or have its owner run: grant ${what} on perennial.${relation} to ${APP_ROLE};`,
  ]
}
