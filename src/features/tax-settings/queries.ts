import type { TaxRule, TaxRules } from '../../engine/tax.ts'
import { findCountry } from '../../kernel/countries.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { AccountId, TaxRuleId, TaxSettingId } from '../../kernel/ids.ts'
import {
  defaultCategory,
  defaultReasonCode,
  type TaxArea,
  type TaxCategory,
  type TaxReason,
  type TaxSubject,
} from '../../kernel/tax.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, listed, namesOf, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

export interface SettingRule {
  id: TaxRuleId
  rate: Decimal
  countryId: bigint | null
  countryStateId: bigint | null
  taxNumber: string | null
  /** Null: that of the rate. */
  category: TaxCategory | null
  area: TaxArea | null
  appliesTo: TaxSubject
  reason: TaxReason | null
  /** Null: that of the category. */
  reasonCode: string | null
  glCode: string | null
  revenueGlCode: string | null
  datevKey: string | null
}

export interface TaxSetting {
  id: TaxSettingId
  name: string
  rules: SettingRule[]
}

type SettingRow = Omit<TaxSetting, 'rules'>

type MatchedRule = Omit<TaxRule, 'category'> & { category: TaxCategory | null; home: string | null }

/** Lists every rule of the account with the name of its setting, and the account's country, as the engine matches them to places. */
export async function listTaxRules(db: Queryable, account: AccountId): Promise<TaxRules> {
  // The numbers of countries and states are below 2^53, so that a double holds each exactly.
  const rows = await db.rows<MatchedRule>(sql`
    select r.tax_rule_id as "id", s.tax_setting_id as "settingId", s.name as "settingName", r.rate, r.country_id::float8 as "countryId",
           r.country_state_id::float8 as "countryStateId", r.area, r.applies_to as "appliesTo", r.tax_number as "taxNumber", r.category,
           r.reason_code as "reasonCode", r.reason, a.country as "home"
      from tax_settings s join tax_rules r on r.account_id = ${account} and r.tax_setting_id = s.tax_setting_id
      join accounts a on a.account_id = ${account}
     where s.account_id = ${account} order by s.tax_setting_id, r.tax_rule_id`)
  const rules = rows.map((rule): TaxRule => {
    const category = rule.category ?? defaultCategory(rule.rate.coefficient === 0n)
    return { ...rule, category, reasonCode: rule.reasonCode ?? defaultReasonCode(category) }
  })
  const home = rows[0]?.home
  return { rules, homeCountryId: home ? (findCountry(home)?.countryId ?? null) : null }
}

const SETTING = fragment`tax_setting_id as "id", name`

export async function listTaxSettings(
  db: Queryable,
  account: AccountId,
  _all: object,
  start: PageStart,
  limit: number,
): Promise<TaxSetting[]> {
  const rows = await db.rows<SettingRow>(sql`
    select ${SETTING} from tax_settings where account_id = ${account} order by tax_setting_id ${inPage(start, limit)}`)
  return rows.length === 0 ? [] : withRules(db, account, rows)
}

export const countTaxSettings = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from tax_settings where account_id = ${account}`)

export async function findTaxSetting(
  db: Queryable,
  account: AccountId,
  id: TaxSettingId,
): Promise<TaxSetting | undefined> {
  const [row, rules] = await Promise.all([
    db.first<SettingRow>(sql`
      select ${SETTING} from tax_settings where account_id = ${account} and tax_setting_id = ${id}`),
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
  const row = await tx.first<SettingRow>(sql`
    select ${SETTING} from tax_settings where account_id = ${account} and tax_setting_id = ${id} for update`)
  return row && (await withRules(tx, account, [row]))[0]
}

type RuleOfSetting = SettingRule & { settingId: TaxSettingId }

const listRulesOf = (db: Queryable, account: AccountId, settings: readonly Pick<SettingRow, 'id'>[]) =>
  db.rows<RuleOfSetting>(sql`
    select tax_setting_id as "settingId", tax_rule_id as "id", rate, country_id as "countryId", country_state_id as "countryStateId",
           tax_number as "taxNumber", category, area, applies_to as "appliesTo", reason, reason_code as "reasonCode", gl_code as "glCode",
           revenue_gl_code as "revenueGlCode", datev_key as "datevKey"
      from tax_rules where account_id = ${account} and tax_setting_id = any (${column(settings, 'id')}::bigint[]) order by tax_rule_id`)

const withRules = async (db: Queryable, account: AccountId, rows: readonly SettingRow[]): Promise<TaxSetting[]> =>
  grouped(rows, await listRulesOf(db, account, rows))

function grouped(rows: readonly SettingRow[], rules: readonly RuleOfSetting[]): TaxSetting[] {
  const settings = new Map(rows.map((row): [TaxSettingId, TaxSetting] => [row.id, { ...row, rules: [] }]))
  for (const { settingId, ...rule } of rules) settings.get(settingId)?.rules.push(rule)
  return [...settings.values()]
}

export const insertTaxSetting = (tx: Transaction, account: AccountId, name: string): Promise<TaxSettingId> =>
  tx.value<TaxSettingId>(sql`
    insert into tax_settings (account_id, name) values (${account}, ${name}) returning tax_setting_id as "id"`)

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
  rules: readonly NewRule[],
): Promise<void> {
  const edited = rules.filter(({ id }) => id !== null)
  const added = rules.filter(({ id }) => id === null)
  await tx.rows(sql`
    delete from tax_rules where account_id = ${account} and tax_setting_id = ${settingId}
       and tax_rule_id <> all (${column(edited, 'id')}::bigint[])`)
  await tx.rows(sql`
    update tax_rules r set (${COLUMNS}) = (select ${namesOf(NAMES.map((name) => `w.${name}`).join(', '))})
      from unnest(${column(edited, 'id')}::bigint[], ${valuesOf(edited)}) as w(id, ${COLUMNS})
     where r.account_id = ${account} and r.tax_setting_id = ${settingId} and r.tax_rule_id = w.id`)
  await tx.rows(sql`
    insert into tax_rules (account_id, tax_setting_id, ${COLUMNS})
    select ${account}, ${settingId}::bigint, ${COLUMNS}
      from unnest(${valuesOf(added)}) with ordinality as w(${COLUMNS}, place)
     order by place returning 1`)
}

type NewRule = Omit<SettingRule, 'id'> & { id: TaxRuleId | null }

/** The columns of what a caller sets of a rule, with their types. */
const RULE_COLUMNS = {
  rate: ['rate', 'numeric'],
  countryId: ['country_id', 'bigint'],
  countryStateId: ['country_state_id', 'bigint'],
  taxNumber: ['tax_number', 'text'],
  category: ['category', 'text'],
  area: ['area', 'text'],
  appliesTo: ['applies_to', 'text'],
  reason: ['reason', 'jsonb'],
  reasonCode: ['reason_code', 'text'],
  glCode: ['gl_code', 'text'],
  revenueGlCode: ['revenue_gl_code', 'text'],
  datevKey: ['datev_key', 'text'],
} as const satisfies Record<Exclude<keyof SettingRule, 'id'>, readonly [string, string]>

const NAMES = Object.values(RULE_COLUMNS).map(([name]) => name)
const COLUMNS = namesOf(NAMES.join(', '))

/** Returns the columns of rules as the arguments of unnest, in the order of COLUMNS. */
const valuesOf = (rules: readonly NewRule[]): Fragment =>
  listed(
    Object.entries(RULE_COLUMNS).map(([key, [, type]]) => {
      const values = rules.map((rule) => {
        if (key === 'rate') return decimalText(rule.rate)
        return key === 'reason' ? rule.reason && JSON.stringify(rule.reason) : rule[key as keyof NewRule]
      })
      return fragment`${column(
        values.map((value) => ({ value: value as string | bigint | null })),
        'value',
      )}::${namesOf(type)}[]`
    }),
  )
