import { assert } from '../../kernel/assert.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, ComponentVersionCurrencyId, ComponentVersionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'
import type { Version } from '../packages/types.ts'
import type { BracketInput, CurrencyInput, PricesPlan } from './rules.ts'

/** Statements that write component versions, their currencies and brackets: a whole list in each. */

export const insertComponentVersion = (
  tx: Transaction,
  account: AccountId,
  v: Omit<Version, 'id'> & { ownerId: ComponentId },
): Promise<ComponentVersionId> =>
  tx.value<ComponentVersionId>(sql`
    insert into component_versions (account_id, component_id, version_no, name, is_default, is_active)
    values (${account}, ${v.ownerId}, ${v.versionNo}, ${v.name}, ${v.isDefault}, ${v.isActive})
    returning component_version_id as "id"`)

export const updateComponentVersion = (tx: Transaction, account: AccountId, v: Omit<Version, 'versionNo'>) =>
  tx.rows(sql`
    update component_versions set name = ${v.name}, is_default = ${v.isDefault}, is_active = ${v.isActive}
     where account_id = ${account} and component_version_id = ${v.id}`)

/** Takes the default from the version that has it: before another gets it, since a component never has two. */
export const unsetDefaultComponentVersion = (tx: Transaction, account: AccountId, componentId: ComponentId) =>
  tx.rows(sql`
    update component_versions set is_default = false where account_id = ${account} and component_id = ${componentId} and is_default`)

export const deleteComponentVersion = (tx: Transaction, account: AccountId, id: ComponentVersionId) =>
  tx.rows(sql`delete from component_versions where account_id = ${account} and component_version_id = ${id}`)

/** Adds currencies with their brackets, in the order given: identifiers follow it, and so do answers. */
export async function insertVersionCurrencies(
  tx: Transaction,
  account: AccountId,
  versionId: ComponentVersionId,
  currencies: readonly CurrencyInput[],
): Promise<void> {
  if (currencies.length === 0) return
  const added = await tx.rows<{ id: ComponentVersionCurrencyId; currency: string }>(sql`
    insert into component_version_currencies (account_id, component_version_id, currency)
    select ${account}, ${versionId}::bigint, currency
      from unnest(${column(currencies, 'currency')}::text[]) with ordinality as c(currency, place)
     order by place
    returning component_version_currency_id as "id", currency`)
  const idOf = new Map(added.map(({ id, currency }) => [currency, id]))
  await insertBrackets(
    tx,
    account,
    currencies.flatMap(({ currency, brackets }) => {
      const currencyId = idOf.get(currency)
      assert(currencyId !== undefined && brackets, `the new currency ${currency} has an identifier and brackets`)
      return brackets.map((bracket) => ({ ...bracket, currencyId }))
    }),
  )
}

const pricesOf = (brackets: readonly BracketInput[]): string =>
  arrayLiteral(brackets.map(({ price }) => decimalText(price)))

async function insertBrackets(
  tx: Transaction,
  account: AccountId,
  brackets: readonly (BracketInput & { currencyId: ComponentVersionCurrencyId })[],
): Promise<void> {
  if (brackets.length === 0) return
  await tx.rows(sql`
    insert into component_brackets (account_id, component_version_currency_id, price, qty_from, qty_till)
    select ${account}, currency_id, price, qty_from, qty_till
      from unnest(${column(brackets, 'currencyId')}::bigint[], ${pricesOf(brackets)}::numeric[],
                  ${column(brackets, 'from')}::bigint[], ${column(brackets, 'till')}::bigint[])
           with ordinality as b(currency_id, price, qty_from, qty_till, place)
     order by place returning 1`)
}

/** Writes the changed prices of a version; identifiers of what stays are kept. */
export async function applyPricesPlan(
  tx: Transaction,
  account: AccountId,
  versionId: ComponentVersionId,
  plan: PricesPlan,
): Promise<void> {
  await tx.rows(sql`
    delete from component_version_currencies
     where account_id = ${account} and component_version_currency_id = any (${arrayLiteral(plan.dropCurrencies)}::bigint[])`)
  await tx.rows(sql`
    delete from component_brackets where account_id = ${account} and component_bracket_id = any (${arrayLiteral(plan.dropBrackets)}::bigint[])`)
  await tx.rows(sql`
    update component_brackets b set price = w.price, qty_from = w.qty_from, qty_till = w.qty_till
      from unnest(${column(plan.editBrackets, 'id')}::bigint[], ${pricesOf(plan.editBrackets)}::numeric[],
                  ${column(plan.editBrackets, 'from')}::bigint[], ${column(plan.editBrackets, 'till')}::bigint[])
           as w(id, price, qty_from, qty_till)
     where b.account_id = ${account} and b.component_bracket_id = w.id`)
  await insertBrackets(tx, account, plan.addBrackets)
  await insertVersionCurrencies(tx, account, versionId, plan.addCurrencies)
}
