import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { createTestDatabase } from '../support/app.ts'
import { first, isNode, nodesBelow, nodesOf, numberOf, readTree, type TreeNode } from '../support/parse-tree.ts'
import { type Collected, collectStatements } from './statements.testing.ts'

/**
 * Conditions under which an engine that spreads accounts over servers can run our SQL. Statements are judged by the parse trees that PostgreSQL makes of
 * them, the schema by its catalogue.
 */

const client = new pg.Client(clientConfig(await createTestDatabase(), undefined))
await client.connect()
afterAll(() => client.end())

/** The tables of accounts, and the views of such, by object identifier: name, and the number of the column that holds the account. */
const tables = new Map(
  (
    await client.query<{ id: number; name: string; column: number }>(`
      select c.oid::int as id, c.relname as name, a.attnum::int as "column" from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
       where c.relnamespace = 'perennial'::regnamespace and c.relkind in ('r', 'v')`)
  ).rows.map(({ id, ...table }) => [id, table]),
)

interface Judged extends Collected {
  text: string
  queries: TreeNode[]
}

const UPDATE = 2
const DELETE = 4
const isQuery = (node: TreeNode): boolean => node.type === 'QUERY'

/** Lets PostgreSQL read every collected statement, as the body of a function that is not kept. */
async function judgeAll(): Promise<Judged[]> {
  const { statements } = await collectStatements()
  const judged: Judged[] = []
  await client.query('begin')
  for (const [position, [text, facts]] of [...statements].entries()) {
    await client.query('savepoint one')
    try {
      await client.query(`prepare s${position} as ${text}`)
    } catch (error) {
      if (facts.isComplete) throw error
      await client.query('rollback to one')
      continue
    }
    const { rows } = await client.query<{ types: string }>(
      `select array_to_string(parameter_types, ', ') as types from pg_prepared_statements where name = $1`,
      [`s${position}`],
    )
    await client.query(`create function judged(${rows[0]?.types}) returns void language sql begin atomic ${text}; end`)
    const tree = await client.query<{ body: string }>(`select prosqlbody as body from pg_proc where proname = 'judged'`)
    const queries = [...nodesBelow(readTree(tree.rows[0]?.body ?? ''))].filter(isQuery)
    judged.push({ ...facts, text: text.replace(/\s+/g, ' ').trim(), queries })
    await client.query('rollback to one')
  }
  await client.query('rollback')
  return judged
}

const judged = await judgeAll()

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

/** Tables of a query that no condition compares with the account's parameter itself. What is inserted into is not compared. */
function uncompared(query: TreeNode, accountParameters: ReadonlySet<number>): string[] {
  const all = [...conditions(query)]
  const joined = [...nodesBelow(query.fields.get('jointree') ?? [], (node) => !isQuery(node))]
  const places = joined.filter(({ type }) => type === 'RANGETBLREF').map((node) => numberOf(node, 'rtindex'))
  return places.flatMap((place) => {
    const entry = nodesOf(query, 'rtable')[place - 1]
    const table = entry && first(entry, 'rtekind') === '0' ? tables.get(numberOf(entry, 'relid')) : undefined
    if (!table) return []
    const isColumn = (node: TreeNode) =>
      node.type === 'VAR' &&
      numberOf(node, 'varno') === place &&
      numberOf(node, 'varattno') === table.column &&
      numberOf(node, 'varlevelsup') === 0
    const isAccount = (node: TreeNode) => node.type === 'PARAM' && accountParameters.has(numberOf(node, 'paramid'))
    const isCompared = all.some((condition) => {
      const sides = condition.type === 'OPEXPR' ? nodesOf(condition, 'args') : []
      return sides.some(isColumn) && sides.some(isAccount)
    })
    return isCompared ? [] : [table.name]
  })
}

/** The queries of a statement, the statement itself and those inside it, that change or delete rows. */
const writesOf = ({ queries }: Judged, ...commands: number[]): TreeNode[] =>
  queries.filter((query) => commands.includes(numberOf(query, 'commandType')))

const placeOf = ({ file, text }: Judged): string => `${file}: ${text.slice(0, 200)}`

/** The functions and operators that a query calls with a column among their arguments, by object identifier. */
function calledOfColumns(query: TreeNode): number[] {
  const calls = [...nodesBelow(query)].filter((node) => node.fields.has('funcid') || node.fields.has('opfuncid'))
  return calls
    .filter((call) => [...nodesBelow(call.fields.get('args') ?? [])].some(({ type }) => type === 'VAR'))
    .map((call) => numberOf(call, call.fields.has('funcid') ? 'funcid' : 'opfuncid'))
}

describe('statements', () => {
  test('compare every relation with the account’s parameter itself', () => {
    expect(judged.length).toBeGreaterThan(400)
    const broken = judged.flatMap((one) => {
      const names = one.queries.flatMap((query) => uncompared(query, one.accountParameters))
      return names.length > 0 ? [`${names.join(', ')} in ${placeOf(one)}`] : []
    })
    expect(broken).toEqual([])
  })

  test('have no array subscript at the top of a SET', () => {
    const broken = judged.filter((one) =>
      writesOf(one, UPDATE)
        .flatMap((query) => nodesOf(query, 'targetList'))
        .map((entry) => first(entry, 'expr') ?? '')
        .some((value) => isNode(value) && value.type === 'SUBSCRIPTINGREF'),
    )
    expect(broken.map(placeOf)).toEqual([])
  })

  test('call no stable function of a column in an UPDATE or DELETE', async () => {
    const calls = judged.flatMap((one) =>
      writesOf(one, UPDATE, DELETE)
        .flatMap(calledOfColumns)
        .map((id) => ({ id, one })),
    )
    const { rows } = await client.query<{ id: number; name: string }>(
      `select oid::int as id, proname as name from pg_proc where provolatile <> 'i' and oid = any ($1::oid[])`,
      [calls.map(({ id }) => id)],
    )
    const names = new Map(rows.map(({ id, name }) => [id, name]))
    expect(calls.flatMap(({ id, one }) => (names.has(id) ? [`${names.get(id)} in ${placeOf(one)}`] : []))).toEqual([])
  })
})

/** Functions of the owner that look at all accounts by their nature, and why. */
const ACROSS_ACCOUNTS: Record<string, string> = {
  account_exists: 'a first start asks whether there is any account',
  begin_days: 'the worker begins the days of accounts with nothing due',
  count_due: 'the metrics of the deployment',
  count_due_in_cycle: 'the metrics of the deployment',
  count_files_to_send_again: 'the doctor asks which bank files are to be sent again',
  count_unsettled_capture_sales: 'the doctor asks whether sales wait for a person',
  delete_old_bank_references: 'housekeeping of the whole database',
  delete_old_billing_runs: 'housekeeping of the whole database',
  delete_old_capture_sessions: 'housekeeping of the whole database',
  delete_old_card_intents: 'housekeeping of the whole database',
  delete_old_gateway_reports: 'housekeeping of the whole database',
  delete_old_idempotency_keys: 'housekeeping of the whole database',
  delete_old_leases: 'housekeeping of the whole database',
  delete_old_mail: 'housekeeping of the whole database',
  delete_old_result_lines: 'housekeeping of the whole database',
  delete_old_webhook_deliveries: 'housekeeping of the whole database',
  draw_account_id: 'identifiers of accounts are drawn for the whole deployment',
  find_gateway_by_token: 'a report names its gateway by nothing but a token',
  forget_batch_files: 'housekeeping of the whole database',
  key_exists: 'a first start asks whether the key it was given names anything',
  list_abandoned_card_intents: 'the worker asks which intents nobody comes back for',
  list_accounts_to_bring_back: 'the worker asks whose customers are to be brought back',
  list_accounts_to_collect: 'the worker asks where something is to be collected',
  list_accounts_to_remind: 'the worker asks whose reminders of the day are to go out',
  list_accounts_to_schedule: 'the worker asks whose day has begun',
  list_accounts_to_settle: 'the worker asks whose debits count as settled without a booking',
  list_accounts_to_verify: 'the worker asks whose books are to be verified',
  list_accounts_with_mail: 'the worker asks whose mail is to be sent',
  list_accounts_with_refunds_to_ask: 'the worker asks whose gateways are to be asked about refunds',
  list_accounts_with_sandbox_reports: 'the worker asks whose sandbox has something to report',
  list_all_accounts: 'the command line lists the accounts of the deployment',
  list_batch_figures: 'the metrics of the deployment',
  list_batches_at_work: 'the worker asks which batches are to be built',
  list_batches_day_passed: 'the batches whose day has passed, for metrics and "perennial doctor"',
  list_capture_sales_to_ask: 'the worker asks which charges of capture sessions gateways owe an answer about',
  list_capture_sessions_to_give_back: 'the worker asks what nobody has taken over in time',
  list_countries_in_words: 'the doctor asks how many customers have a country in words',
  list_emandates_without_pdf: 'the worker asks which signed mandates have no paper yet',
  list_failing_figures: 'records of all accounts that cannot be billed, as counts for /metrics',
  list_long_operations: 'the long operations of all processes, for metrics and "perennial running"',
  list_old_emandates: 'the worker asks which mandates have been kept for long enough',
  list_runs_with_parts: 'the worker asks which runs have parts to help with',
  list_schedule_zones: 'the worker asks in which zones days begin',
  list_unfinished_runs: 'the worker asks which runs nobody works on',
  list_waiting_card_removals: 'the worker asks which cards are to be removed at their gateways',
  list_waiting_gateway_reports: 'the worker asks which reports wait to be applied',
  list_webhook_figures: 'the metrics of the deployment',
  list_webhooks_to_serve: 'the worker asks to which endpoints something is due',
  seal_list: 'identifiers are drawn for all accounts together, so their blocks are sealed together',
  service_figures: 'the metrics of the deployment',
  sum_ledger_days: 'the worker sums the ledger of all accounts by day, some entries at a time',
  verification_state: 'the metrics of the deployment',
}

/** Triggers that only refuse something; none computes, counts or deletes, so nothing is wrong where they do not run. */
const GUARDS: readonly string[] = []

describe('the schema', () => {
  const namesOf = async (query: string): Promise<string[]> =>
    (await client.query<{ name: string }>(query)).rows.map(({ name }) => name)

  test('needs no trigger for being correct', async () => {
    const triggers = await namesOf('select tgname as name from pg_trigger where not tgisinternal order by tgname')
    expect(triggers).toEqual(GUARDS)
  })

  test('has names of constraints that leave room for what is appended to them', async () => {
    const long = `select conname as name from pg_constraint where connamespace = 'perennial'::regnamespace and length(conname) > 50`
    expect(await namesOf(long)).toEqual([])
  })

  test('has functions in plpgsql only, and those that look at all accounts are named with their reason', async () => {
    const { rows } = await client.query<{ name: string; language: string; body: string }>(`
      select p.proname as name, l.lanname as language, p.prosrc as body from pg_proc p join pg_language l on l.oid = p.prolang
       where p.pronamespace = 'perennial'::regnamespace order by p.proname`)
    expect(rows.filter(({ language }) => language !== 'plpgsql').map(({ name }) => name)).toEqual([])
    const ofAccounts = [...tables.values()].map((table) => table.name).join('|')
    const relation = new RegExp(`\\b(?:from|join|update|into)\\s+(?:${ofAccounts})\\b\\s*(\\w*)`, 'g')
    const isOfOneAccount = ({ body }: { body: string }) =>
      [...body.matchAll(relation)].every(([, alias]) => body.includes(`${alias}.account_id = account`))
    const others = rows.filter((row) => !isOfOneAccount(row)).map(({ name }) => name)
    expect(others).toEqual(Object.keys(ACROSS_ACCOUNTS))
  })
})
