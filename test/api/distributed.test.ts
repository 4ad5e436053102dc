import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { createTestDatabase } from '../support/app.ts'
import { BREAKING } from './engine-cases.testing.ts'
import { judgedOf, readCatalogue, RULES } from './engine-rules.testing.ts'
import { collectStatements } from './statements.testing.ts'

/**
 * Conditions under which an engine that spreads accounts over servers can run our SQL. Statements are judged by the parse trees that PostgreSQL makes of
 * them, the schema by its catalogue.
 */

const client = new pg.Client(clientConfig(await createTestDatabase(), undefined))
await client.connect()
afterAll(() => client.end())
const catalogue = await readCatalogue(client)

/** The tables of accounts, and the views of such. */
const tables = new Map([...catalogue.tables].filter(([, { column }]) => column !== null))

/** Judges every collected statement that such an engine is sent: what breaks each rule, and where it stands. */
async function judgeAll() {
  const { statements } = await collectStatements()
  const broken = new Map<string, string[]>(Object.keys(RULES).map((name) => [name, []]))
  const unread: string[] = []
  let judged = 0
  for (const [text, { file, isComplete, isPlainOnly, accountParameters }] of statements) {
    if (isPlainOnly) continue
    await client.query('begin')
    try {
      const one = await judgedOf(client, text, accountParameters)
      judged += 1
      for (const [name, rule] of Object.entries(RULES))
        for (const what of new Set(rule(one, catalogue)))
          broken.get(name)?.push(`${what} in ${file}: ${one.text.slice(0, 200)}`)
    } catch (error) {
      // A made-up input may have left out a piece of SQL.
      if (isComplete) unread.push(`${String(error)} in ${file}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`)
    } finally {
      await client.query('rollback')
    }
  }
  return { judged, unread, broken }
}

const { judged, unread, broken } = await judgeAll()

describe('statements', () => {
  test('are read by PostgreSQL, and judged', () => {
    expect(unread).toEqual([])
    expect(judged).toBeGreaterThan(1000)
  })

  test.each(Object.keys(RULES))('keep the rule: %s', (name) => {
    expect(broken.get(name)).toEqual([])
  })

  test.each(Object.entries(BREAKING))('that break the rule are found: %s', async (name, text) => {
    await client.query('begin')
    try {
      expect(RULES[name]?.(await judgedOf(client, text, new Set([1])), catalogue)).not.toEqual([])
    } finally {
      await client.query('rollback')
    }
  })

  test('there is one that breaks each rule', () => {
    expect(Object.keys(BREAKING)).toEqual(Object.keys(RULES))
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
  hold_live_gateways: 'a failover that lost something holds the gateways of all live accounts',
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
  list_failover_notes: 'the command line lists what a failover has lost, of all accounts',
  list_failover_numbers: 'numbers are raised, account by account, where a failover has lost some',
  list_gateway_keys_to_ask: 'the worker asks which keys gateways have not accepted',
  list_gateway_report_ages: 'the metrics of the deployment',
  list_gateways_to_poll: 'the worker asks which gateways have not been asked for their reports',
  list_gateways_with_keys: 'the doctor lists the gateways with keys',
  list_held_gateways: 'the command line and the doctor list the gateways that are held',
  list_left_card_fields: 'the worker asks which card fields were left alone',
  list_long_operations: 'the long operations of all processes, for metrics and "perennial running"',
  list_mandate_setups_at_work: 'the worker asks which set-ups of mandates are to be looked at',
  list_old_emandates: 'the worker asks which mandates have been kept for long enough',
  list_runs_with_parts: 'the worker asks which runs have parts to help with',
  list_schedule_zones: 'the worker asks in which zones days begin',
  list_unfinished_runs: 'the worker asks which runs nobody works on',
  list_waiting_card_removals: 'the worker asks which cards are to be removed at their gateways',
  list_waiting_gateway_reports: 'the worker asks which reports wait to be applied',
  list_webhook_figures: 'the metrics of the deployment',
  list_webhooks_to_serve: 'the worker asks to which endpoints something is due',
  moved_here: 'a failover is noticed by a number that an account here would give again',
  note_failover: 'a process writes what it remembers of all accounts; the same again adds nothing',
  seal_list: 'identifiers are drawn for all accounts together, so their blocks are sealed together',
  service_figures: 'the metrics of the deployment',
  sum_ledger_days: 'the worker sums the ledger of all accounts by day, some entries at a time',
  verification_state: 'the metrics of the deployment',
}

/** Functions that write tables of accounts and others, and why what is half committed there harms nothing. */
const BOTH: Record<string, string> = {
  seal_list: 'blocks are counted anew by whoever does it again',
  sum_ledger_days: 'its mark is a reference table, so that it commits with the sums',
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

  test('has keys of accounts in all keys, unique indexes and foreign keys of their tables, and no foreign key from elsewhere to them', async () => {
    const isOfAccounts = (relation: string) =>
      `exists (select 1 from pg_attribute a where a.attrelid = ${relation} and a.attname = 'account_id')`
    const unkeyed = `
      select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relnamespace = 'perennial'::regnamespace and i.indisunique and ${isOfAccounts('c.oid')}
         and not exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and a.attnum = any(i.indkey::smallint[]))`
    const loose = `
      select n.conname as name from pg_constraint n
       where n.contype = 'f' and n.connamespace = 'perennial'::regnamespace and ${isOfAccounts('n.confrelid')}
         and not exists (select 1 from pg_attribute a where a.attrelid = n.conrelid and a.attname = 'account_id' and a.attnum = any(n.conkey))`
    expect([await namesOf(unkeyed), await namesOf(loose)]).toEqual([[], []])
  })

  test('has functions that write tables of accounts and others in one transaction only where that can be done again', async () => {
    const { rows } = await client.query<{ name: string; body: string }>(
      `select proname as name, prosrc as body from pg_proc where pronamespace = 'perennial'::regnamespace order by proname`,
    )
    const writes = (body: string) =>
      [...body.matchAll(/\b(?:insert into|update|delete from) ([a-z_]+)/g)].map(([, name]) => name)
    const ofAccounts = new Set([...tables.values()].map(({ name }) => name))
    const others = new Set(
      [...catalogue.tables.values()].filter(({ column }) => column === null).map(({ name }) => name),
    )
    const both = rows.filter(
      ({ body }) =>
        writes(body).some((name) => ofAccounts.has(name ?? '')) && writes(body).some((name) => others.has(name ?? '')),
    )
    expect(both.map(({ name }) => name)).toEqual(Object.keys(BOTH))
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
