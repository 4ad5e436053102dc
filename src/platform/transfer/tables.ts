import type pg from 'pg'
import type { MigrationLine, SequenceLine, TableLine } from './format.ts'

/** Parts of a database that are carried to another one: everything but what is true of one place alone. */

/** Which migrations have run, which must be the same; who works there, and whether anybody may; where the tables lie. */
const OF_A_PLACE = ['migrations', 'processes', 'maintenance', 'distribution']

interface Found extends TableLine {
  /** Tables that its rows point to. */
  needs: string[]
}

/** Returns the tables in an order in which every row finds those that it points to. */
export async function listTables(client: pg.ClientBase): Promise<TableLine[]> {
  const { rows } = await client.query<Found>(
    `
    select c.relname as "table",
           array(select a.attname::text from pg_attribute a
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
                  order by a.attname collate "C") as "columns",
           array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
                  where f.conrelid = c.oid and f.contype = 'f' and r.oid <> c.oid) as "needs"
      from pg_class c
     where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'r' and c.relname::text <> all ($1::text[])
     order by c.relname collate "C"`,
    [OF_A_PLACE],
  )
  const sorted: Found[] = []
  const left = new Map(rows.map((row) => [row.table, row]))
  while (left.size > 0) {
    const ready = [...left.values()].filter(({ needs }) => !needs.some((table) => left.has(table)))
    if (ready.length === 0) throw new Error(`tables point to each other in a circle: ${[...left.keys()].join(', ')}`)
    sorted.push(...ready)
    for (const { table } of ready) left.delete(table)
  }
  return sorted.map(({ table, columns }) => ({ table, columns }))
}

export const listMigrations = async (client: pg.ClientBase): Promise<MigrationLine[]> =>
  (await client.query<MigrationLine>('select version, name, hash from perennial.migrations order by version')).rows

/** Returns where each sequence stands. No snapshot holds them: they stand at or after what a snapshot taken before sees. */
export async function listSequences(client: pg.ClientBase): Promise<SequenceLine[]> {
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as "name" from pg_class c
     where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'S' order by c.relname collate "C"`)
  const found: SequenceLine[] = []
  for (const { name } of rows) {
    const at = await client.query<Omit<SequenceLine, 'sequence'>>(
      `select last_value::text as "last", is_called as "isCalled" from ${qualified(name)}`,
    )
    found.push({ sequence: name, ...(at.rows[0] as Omit<SequenceLine, 'sequence'>) })
  }
  return found
}

/** Returns the name of a table or sequence of ours as statements write it. */
export const qualified = (name: string): string => `perennial.${quoted(name)}`

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Returns table and columns as COPY takes them. */
export const copied = ({ table, columns }: TableLine): string =>
  `${qualified(table)} (${columns.map(quoted).join(', ')})`
