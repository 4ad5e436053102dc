import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../src/platform/database/migrations.ts'
import { prepareRoles } from '../src/platform/database/roles.ts'
import { startEmbeddedPostgres } from '../src/platform/postgres/supervisor.ts'

/** The present shape of the database as one readable text, asked from the catalogue of a database that all migrations made. */

const HEADER = `-- The shape of the database after all migrations, made by "npm run generate" for reading; what runs is db/migrations.
`

export async function schemaText(root: string): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'perennial-schema-'))
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: silent,
    settings: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' },
  })
  const client = new pg.Client(postgres.connection)
  try {
    const roles = await prepareRoles(postgres.connection)
    await migrate(postgres.connection, roles.owner, join(root, 'db', 'migrations'))
    await client.connect()
    return await readSchema(client)
  } finally {
    await client.end()
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Returns the shape of the database that a client of its owner is connected to. */
export async function readSchema(client: pg.Client): Promise<string> {
  await client.query('set search_path = perennial')
  const sections = [await tables(client), await views(client), await functions(client), await triggers(client)]
  return `${[HEADER, ...sections.flat()].join('\n')}\n`
}

const texts = async (client: pg.Client, query: string, values: unknown[] = []): Promise<string[]> =>
  (await client.query<{ text: string }>(query, values)).rows.map(({ text }) => text)

async function tables(client: pg.Client): Promise<string[]> {
  const names = await texts(
    client,
    `select relname as text from pg_class where relnamespace = 'perennial'::regnamespace and relkind = 'r' order by relname collate "C"`,
  )
  const sections: string[] = []
  for (const name of names) sections.push(await table(client, name))
  return sections
}

async function table(client: pg.Client, name: string): Promise<string> {
  const parts = [...(await texts(client, COLUMNS, [name])), ...(await texts(client, CONSTRAINTS, [name]))]
  const after = [
    ...(await texts(client, OPTIONS, [name])),
    ...(await texts(client, INDEXES, [name])),
    ...(await texts(client, SECURITY, [name])),
    ...(await texts(client, POLICIES, [name])),
    ...(await texts(client, GRANTS, [name])),
  ]
  const lines = after.map((line) => `${line};\n`).join('')
  return `create table ${name} (\n${parts.map((part) => `  ${part}`).join(',\n')}\n);\n${lines}`
}

const COLUMNS = `
  select a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
         || coalesce((select ' collate ' || quote_ident(o.collname) from pg_collation o join pg_type y on y.oid = a.atttypid
                       where o.oid = a.attcollation and a.attcollation <> y.typcollation), '')
         || case when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity'
                 when a.attgenerated = 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
                 when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end
         || case when a.attnotnull then ' not null' else '' end as text
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`

/** Primary key first; "not null" stands with the columns. */
const CONSTRAINTS = `
  select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as text from pg_constraint
   where conrelid = $1::regclass and contype in ('p', 'u', 'f', 'c') order by position(contype::text in 'pufc'), conname collate "C"`

/** How full pages are made, and columns that are stored otherwise than their type is. */
const OPTIONS = `
  select 'alter table ' || relname || ' set (' || array_to_string(reloptions, ', ') || ')' as text from pg_class where oid = $1::regclass and reloptions is not null
  union all
  select 'alter index ' || c.relname || ' set (' || array_to_string(c.reloptions, ', ') || ')'
    from pg_constraint k join pg_class c on c.oid = k.conindid
   where k.conrelid = $1::regclass and k.contype in ('p', 'u') and c.reloptions is not null
  union all
  select 'alter table ' || $1 || ' alter column ' || a.attname || ' set storage '
         || case a.attstorage when 'e' then 'external' when 'm' then 'main' when 'p' then 'plain' else 'extended' end
    from pg_attribute a join pg_type t on t.oid = a.atttypid
   where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attstorage <> t.typstorage order by 1`

const INDEXES = `
  select replace(pg_get_indexdef(i.indexrelid), 'perennial.', '') as text
    from pg_index i join pg_class c on c.oid = i.indexrelid
   where i.indrelid = $1::regclass and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
   order by c.relname collate "C"`

const SECURITY = `
  select 'alter table ' || relname || ' enable row level security' as text from pg_class where oid = $1::regclass and relrowsecurity`

const POLICIES = `
  select 'create policy ' || polname || ' on ' || $1 || ' to '
         || (select string_agg(pg_get_userbyid(r), ', ') from unnest(polroles) r)
         || coalesce(' using (' || pg_get_expr(polqual, polrelid) || ')', '')
         || coalesce(' with check (' || pg_get_expr(polwithcheck, polrelid) || ')', '') as text
    from pg_policy where polrelid = $1::regclass order by polname collate "C"`

const GRANTS = `
  select 'grant ' || string_agg(lower(a.privilege_type), ', ' order by a.privilege_type) || ' on ' || $1 || ' to perennial_app' as text
    from pg_class c, aclexplode(c.relacl) a
   where c.oid = $1::regclass and a.grantee = 'perennial_app'::regrole having count(*) > 0
  union all
  select 'grant ' || lower(a.privilege_type) || ' (' || string_agg(t.attname, ', ' order by t.attnum) || ') on ' || $1 || ' to perennial_app'
    from pg_attribute t, aclexplode(t.attacl) a
   where t.attrelid = $1::regclass and a.grantee = 'perennial_app'::regrole group by a.privilege_type
  union all
  select 'grant ' || string_agg(lower(a.privilege_type), ', ') || ' on sequence ' || s.relname || ' to perennial_app'
    from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S', aclexplode(s.relacl) a
   where d.refobjid = $1::regclass and d.deptype = 'i' and a.grantee = 'perennial_app'::regrole group by s.relname`

async function views(client: pg.Client): Promise<string[]> {
  const found = await client.query<{ name: string; definition: string }>(`
    select c.relname as name, 'create view ' || c.relname || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') || ' as' || chr(10)
           || pg_get_viewdef(c.oid, true) || chr(10) as definition
      from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'v' order by c.relname collate "C"`)
  const sections: string[] = []
  for (const { name, definition } of found.rows)
    sections.push(definition + (await texts(client, GRANTS, [name])).map((line) => `${line};\n`).join(''))
  return sections
}

const functions = (client: pg.Client): Promise<string[]> =>
  texts(
    client,
    `select replace(pg_get_functiondef(oid), 'perennial.', '') || ';' || chr(10)
            || case when proacl is null then '' else 'revoke all on function ' || proname || ' from public;' || chr(10) end
            || coalesce((select 'grant execute on function ' || proname || ' to perennial_app;' || chr(10) from aclexplode(proacl) a
                          where a.grantee = 'perennial_app'::regrole), '') as text from pg_proc
      where pronamespace = 'perennial'::regnamespace order by proname collate "C"`,
  )

const triggers = (client: pg.Client): Promise<string[]> =>
  texts(
    client,
    `select replace(pg_get_triggerdef(t.oid), 'perennial.', '') || ';' as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'perennial'::regnamespace and not t.tgisinternal order by t.tgname collate "C"`,
  )
