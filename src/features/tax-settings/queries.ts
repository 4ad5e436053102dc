import type { TaxRule } from '../../engine/tax.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { AccountId, TaxRuleId, TaxSettingId } from '../../kernel/ids.ts'
import { countOf, firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, fragment, sql } from '../../platform/database/sql.ts'
import type { PageStart } from '../../platform/http/paging.ts'

export interface SettingRule {
  id: TaxRuleId
  rate: Decimal
  countryId: bigint | null
  countryStateId: bigint | null
  taxNumber: string | null
}

export interface TaxSetting {
  id: TaxSettingId
  name: string
  rules: SettingRule[]
}

type SettingRow = Omit<TaxSetting, 'rules'>

/** Lists every rule of the account with the name of its setting, as the engine matches them to places. */
export const listTaxRules = (db: Queryable, account: AccountId) =>
  // The numbers of countries and states are below 2^53, so that a double holds each exactly.
  db.rows<TaxRule>(sql`
    select s.tax_setting_id as "settingId", s.name as "settingName", r.rate, r.country_id::float8 as "countryId",
           r.country_state_id::float8 as "countryStateId", r.tax_number as "taxNumber"
      from tax_settings s join tax_rules r on r.account_id = ${account} and r.tax_setting_id = s.tax_setting_id
     where s.account_id = ${account} order by s.tax_setting_id, r.tax_rule_id`)

const SETTING = fragment`tax_setting_id as "id", name`

export async function listTaxSettings(
  db: Queryable,
  account: AccountId,
  _all: object,
  start: PageStart,
  limit: number,
): Promise<TaxSetting[]> {
  const rows = await db.rows<SettingRow>(sql`
    select ${SETTING} from tax_settings where account_id = ${account} order by tax_setting_id offset ${start.skip} limit ${limit}`)
  return rows.length === 0 ? [] : withRules(db, account, rows)
}

export const countTaxSettings = (db: Queryable, account: AccountId) =>
  countOf(db, sql`select count(*) as "n" from tax_settings where account_id = ${account}`)

export async function findTaxSetting(
  db: Queryable,
  account: AccountId,
  id: TaxSettingId,
): Promise<TaxSetting | undefined> {
  const [row, rules] = await Promise.all([
    firstRow<SettingRow>(
      db,
      sql`select ${SETTING} from tax_settings where account_id = ${account} and tax_setting_id = ${id}`,
    ),
    listRulesOf(db, account, [{ id }]),
  ])
  return row && grouped([row], rules)[0]
}

/** Locks a setting: two edits of its rules come one after the other. */
export async function lockTaxSetting(
  tx: Transaction,
  account: AccountId,
  id: TaxSettingId,
): Promise<TaxSetting | undefined> {
  const row = await firstRow<SettingRow>(
    tx,
    sql`select ${SETTING} from tax_settings where account_id = ${account} and tax_setting_id = ${id} for update`,
  )
  return row && (await withRules(tx, account, [row]))[0]
}

type RuleOfSetting = SettingRule & { settingId: TaxSettingId }

const listRulesOf = (db: Queryable, account: AccountId, settings: readonly Pick<SettingRow, 'id'>[]) =>
  db.rows<RuleOfSetting>(sql`
    select tax_setting_id as "settingId", tax_rule_id as "id", rate, country_id as "countryId", country_state_id as "countryStateId",
           tax_number as "taxNumber"
      from tax_rules where account_id = ${account} and tax_setting_id = any (${column(settings, 'id')}::bigint[]) order by tax_rule_id`)

const withRules = async (db: Queryable, account: AccountId, rows: readonly SettingRow[]): Promise<TaxSetting[]> =>
  grouped(rows, await listRulesOf(db, account, rows))

function grouped(rows: readonly SettingRow[], rules: readonly RuleOfSetting[]): TaxSetting[] {
  const settings = new Map(rows.map((row): [TaxSettingId, TaxSetting] => [row.id, { ...row, rules: [] }]))
  for (const { settingId, ...rule } of rules) settings.get(settingId)?.rules.push(rule)
  return [...settings.values()]
}

export const insertTaxSetting = async (tx: Transaction, account: AccountId, name: string): Promise<TaxSettingId> =>
  (
    await oneRow<{ id: TaxSettingId }>(
      tx,
      sql`insert into tax_settings (account_id, name) values (${account}, ${name}) returning tax_setting_id as "id"`,
    )
  ).id

export const updateTaxSetting = (tx: Transaction, account: AccountId, id: TaxSettingId, name: string) =>
  tx.rows(sql`update tax_settings set name = ${name} where account_id = ${account} and tax_setting_id = ${id}`)

/** Deletes a setting with its rules; invoices keep the taxes they were issued with. */
export const deleteTaxSetting = (tx: Transaction, account: AccountId, id: TaxSettingId) =>
  tx.rows(sql`delete from tax_settings where account_id = ${account} and tax_setting_id = ${id}`)

/** Replaces the rules of a setting: those with an identifier are edited, the others added, and what is not in it goes. */
export async function replaceRules(
  tx: Transaction,
  account: AccountId,
  settingId: TaxSettingId,
  rules: readonly (Omit<SettingRule, 'id'> & { id: TaxRuleId | null })[],
): Promise<void> {
  const edited = rules.filter(({ id }) => id !== null)
  const added = rules.filter(({ id }) => id === null)
  const rates = (some: typeof rules) => arrayLiteral(some.map(({ rate }) => decimalText(rate)))
  await tx.rows(sql`
    delete from tax_rules where account_id = ${account} and tax_setting_id = ${settingId}
       and tax_rule_id <> all (${column(edited, 'id')}::bigint[])`)
  await tx.rows(sql`
    update tax_rules r set rate = w.rate, country_id = w.country, country_state_id = w.state, tax_number = w.number
      from unnest(${column(edited, 'id')}::bigint[], ${rates(edited)}::numeric[], ${column(edited, 'countryId')}::bigint[],
                  ${column(edited, 'countryStateId')}::bigint[], ${column(edited, 'taxNumber')}::text[]) as w(id, rate, country, state, number)
     where r.account_id = ${account} and r.tax_setting_id = ${settingId} and r.tax_rule_id = w.id`)
  await tx.rows(sql`
    insert into tax_rules (account_id, tax_setting_id, rate, country_id, country_state_id, tax_number)
    select ${account}, ${settingId}::bigint, rate, country, state, number
      from unnest(${rates(added)}::numeric[], ${column(added, 'countryId')}::bigint[], ${column(added, 'countryStateId')}::bigint[],
                  ${column(added, 'taxNumber')}::text[]) with ordinality as w(rate, country, state, number, place)
     order by place`)
}
