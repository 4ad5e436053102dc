import type pg from 'pg'
import {
  first,
  isNode,
  nodesBelow,
  nodesOf,
  numberOf,
  readTree,
  type TreeNode,
  type TreeValue,
} from '../support/parse-tree.ts'

/** Rules for statements that an engine over many servers runs too, judged by the parse trees that PostgreSQL makes of them and by its catalogue. */

/** A statement that is judged: the tree, all queries in it, and the numbers of its parameters that are the account. */
export interface Judged {
  text: string
  queries: TreeNode[]
  accountParameters: ReadonlySet<number>
}

/** The kind of entries of a query's list that stand for rows of a relation. */
const RELATION = '0'

const SELECT = 1
const UPDATE = 2
const INSERT = 3
const DELETE = 4

export const isQuery = (node: TreeNode): boolean => node.type === 'QUERY'

const commandOf = (query: TreeNode): number => numberOf(query, 'commandType')
const isWrite = (query: TreeNode): boolean => [UPDATE, INSERT, DELETE].includes(commandOf(query))
const relationsOf = (query: TreeNode) =>
  nodesOf(query, 'rtable').filter((entry) => first(entry, 'rtekind') === RELATION)

interface KnownTable {
  name: string
  /** The number of the column that holds the account; null of a table without one. */
  column: number | null
  /** The number of the column that a sequence fills; null of a table without one. */
  identity: number | null
}

interface KnownFunction {
  name: string
  volatility: 'i' | 's' | 'v'
  isOurs: boolean
  isOfOwner: boolean
  readsTables: boolean
  /** It reads for which account the transaction is. */
  isOfScope: boolean
}

/** Tables and functions of a database, as the rules see them. */
export interface Catalogue {
  tables: ReadonlyMap<number, KnownTable>
  functions: ReadonlyMap<number, KnownFunction>
}

/** Reads the tables and views of the schema, and all functions. */
export async function readCatalogue(client: pg.Client): Promise<Catalogue> {
  const tables = await client.query<KnownTable & { id: number }>(`
    select c.oid::int as id, c.relname as name, a.attnum::int as "column", i.attnum::int as "identity" from pg_class c
      left join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
      left join pg_attribute i on i.attrelid = c.oid and i.attidentity <> ''
     where c.relnamespace = 'perennial'::regnamespace and c.relkind in ('r', 'v')`)
  const functions = await client.query<KnownFunction & { id: number }>(`
    select p.oid::int as id, p.proname as name, p.provolatile as volatility, p.pronamespace = 'perennial'::regnamespace as "isOurs",
           p.pronamespace = 'perennial'::regnamespace and p.prosecdef as "isOfOwner",
           p.pronamespace = 'perennial'::regnamespace and exists (
             select 1 from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relkind in ('r', 'v')
                and p.prosrc ~ ('\\m(from|join|update|into) ' || c.relname || '\\M')) as "readsTables",
           p.prosrc ~ 'app\\.account_id' as "isOfScope" from pg_proc p`)
  return {
    tables: new Map(tables.rows.map(({ id, ...table }) => [id, table])),
    functions: new Map(functions.rows.map(({ id, ...one }) => [id, one])),
  }
}

/** Lets PostgreSQL read a statement, as the body of a function that is not kept. Throws what PostgreSQL refuses. */
export async function judgedOf(
  client: pg.Client,
  text: string,
  accountParameters: ReadonlySet<number>,
): Promise<Judged> {
  await client.query(`prepare judged as ${text}`)
  const { rows } = await client.query<{ types: string }>(
    `select array_to_string(parameter_types, ', ') as types from pg_prepared_statements where name = 'judged'`,
  )
  await client.query('deallocate judged')
  await client.query(`create function judged(${rows[0]?.types}) returns void language sql begin atomic ${text}; end`)
  const tree = await client.query<{ body: string }>(`select prosqlbody as body from pg_proc where proname = 'judged'`)
  await client.query('drop function judged')
  const queries = [...nodesBelow(readTree(tree.rows[0]?.body ?? ''))].filter(isQuery)
  return { text: text.replace(/\s+/g, ' ').trim(), queries, accountParameters }
}

/** The conditions that all hold of a query's rows: joined by AND, in WHERE and in ON. */
function* conditions(query: TreeNode): Generator<TreeNode> {
  const joins = [...nodesBelow(query.fields.get('jointree') ?? [], (node) => !isQuery(node))]
  for (const node of joins.filter(({ type }) => type === 'FROMEXPR' || type === 'JOINEXPR')) {
    const quals = first(node, 'quals')
    if (quals !== undefined && isNode(quals)) yield* conjuncts(quals)
  }
}

function* conjuncts(condition: TreeNode): Generator<TreeNode> {
  if (condition.type === 'BOOLEXPR' && first(condition, 'boolop') === 'and')
    for (const inner of nodesOf(condition, 'args')) yield* conjuncts(inner)
  else yield condition
}

/** The places of the relations that a query reads, in its list of relations. */
function* placesRead(query: TreeNode): Generator<number> {
  const joined = nodesBelow(query.fields.get('jointree') ?? [], (node) => !isQuery(node))
  for (const node of joined) if (node.type === 'RANGETBLREF') yield numberOf(node, 'rtindex')
}

const isColumn = (node: TreeNode, place: number, column: number): boolean =>
  node.type === 'VAR' &&
  numberOf(node, 'varno') === place &&
  numberOf(node, 'varattno') === column &&
  numberOf(node, 'varlevelsup') === 0

/** Whether a query reads functions, values and other parts alone: such a part is run where the statement arrives. */
const readsNoTable = (query: TreeNode): boolean =>
  isQuery(query) &&
  commandOf(query) === SELECT &&
  [...nodesBelow(query)].every((node) => first(node, 'rtekind') !== RELATION)

/** Calls of functions and operators below a value, by object identifier; without those of parts that `passes` over. */
function* callsBelow(
  value: TreeValue,
  passes: (node: TreeNode) => boolean = () => false,
): Generator<{ id: number; node: TreeNode }> {
  for (const node of nodesBelow(value, (one) => !passes(one))) {
    if (node.fields.has('funcid')) yield { id: numberOf(node, 'funcid'), node }
    if (node.fields.has('opfuncid')) yield { id: numberOf(node, 'opfuncid'), node }
  }
}

const hasColumn = (call: TreeNode): boolean =>
  [...nodesBelow(call.fields.get('args') ?? [])].some(({ type }) => type === 'VAR')

export type Rule = (one: Judged, catalogue: Catalogue) => string[]

const targetOf = (query: TreeNode, { tables }: Catalogue): KnownTable | undefined => {
  const entry = nodesOf(query, 'rtable')[numberOf(query, 'resultRelation') - 1]
  return entry && tables.get(numberOf(entry, 'relid'))
}

const hasRows = (query: TreeNode, field: string): boolean => Array.isArray(first(query, field))

/** Queries of a statement that write, each with all that stands in it. */
const writesOf = ({ queries }: Judged): TreeNode[] => queries.filter(isWrite)

/** Columns that hold the end of a lease or of a wait after a failure are compared with these alone. */
const MOMENTS = /^moment\((?:|'-1 minute'|interval '[^']+' \+ '10 minutes')\)/

export const RULES: Record<string, Rule> = {
  'an insert of what a query reads returns something': (one, catalogue) =>
    writesOf(one).flatMap((query) => {
      const reads = [...placesRead(query)].some(
        (place) => first(nodesOf(query, 'rtable')[place - 1] as TreeNode, 'rtekind') === '1',
      )
      const target = targetOf(query, catalogue)
      const isBroken =
        commandOf(query) === INSERT && reads && target?.column != null && !hasRows(query, 'returningList')
      return isBroken ? [`${target.name} is inserted into`] : []
    }),

  'an insert computes nothing over all rows of a table': (one, catalogue) =>
    writesOf(one)
      .filter((query) => commandOf(query) === INSERT)
      .flatMap((query) => nodesOf(query, 'rtable').map((entry) => first(entry, 'subquery')))
      .filter((value) => value !== undefined)
      .filter(isNode)
      .filter((query) => first(query, 'hasAggs') === 'true' && !hasRows(query, 'groupClause'))
      .flatMap((query) =>
        relationsOf(query).map((entry) => `of ${catalogue.tables.get(numberOf(entry, 'relid'))?.name}`),
      ),

  'a write calls nothing volatile': (one, { functions }) =>
    writesOf(one).flatMap((query) =>
      [...callsBelow(query, readsNoTable)].flatMap(({ id }) =>
        functions.get(id)?.volatility === 'v' ? [`${functions.get(id)?.name}`] : [],
      ),
    ),

  'a write calls nothing stable in CASE, COALESCE, RETURNING or ON CONFLICT': (one, { functions }) =>
    writesOf(one).flatMap((query) => {
      const places: TreeValue[] = [
        ...[...nodesBelow(query)].filter(({ type }) =>
          /^(CASE|CASEEXPR|COALESCE|COALESCEEXPR|ONCONFLICTEXPR)$/.test(type),
        ),
        query.fields.get('returningList') ?? [],
      ]
      return places.flatMap((place) =>
        [...callsBelow(place)].flatMap(({ id }) =>
          functions.get(id)?.volatility === 's' ? [`${functions.get(id)?.name}`] : [],
        ),
      )
    }),

  'a part of a statement that inserts what tables have draws no identifiers by the default of a column': (
    { queries },
    catalogue,
  ) =>
    queries
      .flatMap((query) => nodesOf(query, 'cteList'))
      .flatMap((part) =>
        nodesOf(part, 'ctequery').concat(
          [first(part, 'ctequery')].filter((value) => value !== undefined).filter(isNode),
        ),
      )
      .filter((query) => isQuery(query) && commandOf(query) === INSERT)
      .flatMap((query) => {
        const target = targetOf(query, catalogue)
        const given = nodesOf(query, 'targetList').map((entry) => numberOf(entry, 'resno'))
        // The target is one of the relations.
        const isOfTables = [...nodesBelow(query)].filter((node) => first(node, 'rtekind') === RELATION).length > 1
        return isOfTables && target?.identity != null && !given.includes(target.identity) ? [target.name] : []
      }),

  'the time of a write is moment(), not of a column': (one, { functions }) =>
    writesOf(one).flatMap((query) => {
      const calls = [...callsBelow(query, readsNoTable)].flatMap(({ id, node }) => {
        const name = functions.get(id)?.name ?? ''
        if (/^(now|transaction_timestamp|statement_timestamp|clock_timestamp)$/.test(name)) return [name]
        return name === 'moment' && hasColumn(node) ? ['moment of a column'] : []
      })
      const values = [...nodesBelow(query)].filter(({ type }) => type === 'SQLVALUEFUNCTION')
      return [...calls, ...values.map(() => 'current_timestamp')]
    }),

  'a lease is held until ten minutes beyond its length, and taken by an update': (one, catalogue) => [
    ...[...one.text.matchAll(/\b(leased_until|held_until)\s+(between|[<>]=?)\s+(.{0,60})/g)].flatMap(
      ([all, , , value]) => (MOMENTS.test(value ?? '') ? [] : [all]),
    ),
    ...writesOf(one).flatMap((query) =>
      targetOf(query, catalogue)?.name === 'leases' &&
      [...nodesBelow(query.fields.get('onConflict') ?? [])].some((node) => hasRows(node, 'onConflictSet'))
        ? ['leases are updated on conflict']
        : [],
    ),
  ],

  'every relation is compared with the account’s parameter itself': (one, { tables }) =>
    one.queries.flatMap((query) => {
      const all = [...conditions(query)]
      return [...placesRead(query)].flatMap((place) => {
        const entry = nodesOf(query, 'rtable')[place - 1]
        const table = entry && first(entry, 'rtekind') === RELATION ? tables.get(numberOf(entry, 'relid')) : undefined
        if (table?.column == null) return []
        const isAccount = (node: TreeNode) =>
          node.type === 'PARAM' && one.accountParameters.has(numberOf(node, 'paramid'))
        const isCompared = all.some((condition) => {
          const sides = condition.type === 'OPEXPR' ? nodesOf(condition, 'args') : []
          return sides.some((side) => isColumn(side, place, table.column as number)) && sides.some(isAccount)
        })
        return isCompared ? [] : [table.name]
      })
    }),

  'a function that reads tables is not called in a statement about tables': (one, { functions }) =>
    one.queries.some((query) => relationsOf(query).length > 0)
      ? one.queries.flatMap((query) =>
          [...callsBelow(query)].flatMap(({ id }) =>
            functions.get(id)?.readsTables ? [`${functions.get(id)?.name}`] : [],
          ),
        )
      : [],

  'no select list is empty': ({ queries }) =>
    queries.flatMap((query) => (commandOf(query) === SELECT && !hasRows(query, 'targetList') ? ['an empty list'] : [])),

  'a transaction of an account calls no function of the owner': ({ queries }, { functions, tables }) => {
    const isAboutAccounts = queries.some((query) =>
      relationsOf(query).some((entry) => tables.get(numberOf(entry, 'relid'))?.column != null),
    )
    return queries.flatMap((query) =>
      [...callsBelow(query)].flatMap(({ id }) => {
        const known = functions.get(id)
        return known?.isOfOwner && (isAboutAccounts || known.isOfScope) ? [known.name] : []
      }),
    )
  },

  'a write for an account is into tables of accounts': (one, catalogue) =>
    one.accountParameters.size === 0
      ? []
      : writesOf(one).flatMap((query) => {
          const target = targetOf(query, catalogue)
          return target?.column === null ? [target.name] : []
        }),

  'a SET has no array subscript at its top': (one) =>
    writesOf(one)
      .filter((query) => commandOf(query) === UPDATE)
      .flatMap((query) => nodesOf(query, 'targetList'))
      .flatMap((entry) => {
        const value = first(entry, 'expr')
        return value !== undefined && isNode(value) && value.type === 'SUBSCRIPTINGREF' ? ['a subscript'] : []
      }),

  'an update or delete calls nothing stable of a column': (one, { functions }) =>
    writesOf(one)
      .filter((query) => commandOf(query) !== INSERT)
      .flatMap((query) =>
        [...callsBelow(query)].flatMap(({ id, node }) => {
          const known = functions.get(id)
          return known && known.volatility !== 'i' && hasColumn(node) ? [known.name] : []
        }),
      ),
}
