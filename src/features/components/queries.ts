import { onlyUpdated } from '../events/queries.ts'
import type { ComponentType } from '../../engine/subscription/components.ts'
import type { Instant, TermType } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type {
  AccountId,
  ComponentBracketId,
  ComponentId,
  ComponentVersionCurrencyId,
  ComponentVersionId,
  PackageGroupId,
} from '../../kernel/ids.ts'
import type { Scheme } from '../../engine/subscription/pricing.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import type { VersionChoice, VersionTree } from '../packages/types.ts'

/** quantity: a set number, charged in advance. metered: usage, charged in arrears. opt-in: there or not. */
/** Fields of a component that a caller can set, without its versions. */
export interface ComponentInput {
  groupId: PackageGroupId
  code: string
  name: string
  description: string | null
  isActive: boolean
  unitName: string
  term: number
  termType: TermType
  type: ComponentType
  scheme: Scheme
  glCode: string | null
}

export interface Component extends ComponentInput {
  id: ComponentId
  lastVersionNo: number
}

export interface ComponentBracket {
  id: ComponentBracketId
  price: Decimal
  from: bigint
  /** Null: no upper end. */
  till: bigint | null
}

export interface VersionCurrency {
  id: ComponentVersionCurrencyId
  currency: string
  brackets: ComponentBracket[]
}

export interface ComponentVersion {
  id: ComponentVersionId
  componentId: ComponentId
  versionNo: number
  name: string
  isDefault: boolean
  isActive: boolean
  currencies: VersionCurrency[]
}

/** A component with all its versions. */
export type ComponentTree = VersionTree<Component, ComponentVersion>

const COMPONENT = fragment`
  component_id as "id", package_group_id as "groupId", code, name, description, is_active as "isActive", unit_name as "unitName",
  term, term_type as "termType", type, scheme, gl_code as "glCode", last_version_no as "lastVersionNo"`

export const findComponent = (db: Queryable, account: AccountId, id: ComponentId) =>
  db.first<Component>(sql`select ${COMPONENT} from components where account_id = ${account} and component_id = ${id}`)

/** Locks a component: the first step of every change to it or to its versions; nobody can attach it from here on. */
export const lockComponent = (tx: Transaction, account: AccountId, id: ComponentId) =>
  tx.first<Component>(sql`
    select ${COMPONENT} from components where account_id = ${account} and component_id = ${id} for update`)

/** Locks all versions of a component, so that no subscription changes to one of them: what is in use is known from here on. */
export const lockComponentVersions = (tx: Transaction, account: AccountId, id: ComponentId) =>
  tx.rows(sql`
    select 1 from component_versions where account_id = ${account} and component_id = ${id} order by component_version_id for update`)

/** Conditions of the list of components; what is null or left out is none. */
export interface ComponentFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  /** Code in small letters. */
  codeKey?: string | null
}

export const listComponents = (
  db: Queryable,
  account: AccountId,
  filter: ComponentFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<Component>(sql`
    select ${COMPONENT} from components where account_id = ${account} ${onward(start, 'component_id')} ${onlyUpdated(account, 'component', 'component_id', filter.since)} ${onlyWith('code_key', filter.codeKey)} order by component_id ${inPage(start, limit)}`)

export const countComponents = (db: Queryable, account: AccountId, filter: ComponentFilter) =>
  db.count(sql`
    select count(*) as "n" from components where account_id = ${account} ${onlyUpdated(account, 'component', 'component_id', filter.since)} ${onlyWith('code_key', filter.codeKey)}`)

function chosen(account: AccountId, choice: VersionChoice | { componentIds: readonly ComponentId[] }): Fragment {
  if ('componentIds' in choice)
    return fragment`v.account_id = ${account} and v.component_id = any (${arrayLiteral(choice.componentIds)}::bigint[])`
  if ('versionNo' in choice)
    return fragment`v.account_id = ${account} and v.component_id = ${choice.ownerId} and v.version_no = ${choice.versionNo}::bigint`
  return fragment`v.account_id = ${account} and v.component_id = ${choice.ownerId}
    order by v.component_version_id ${inPage(choice.start, choice.limit)}`
}

interface VersionRow extends Omit<ComponentVersion, 'currencies'> {
  /** Null, with all that follows, for a version without prices yet. */
  currencyId: ComponentVersionCurrencyId | null
  currency: string
  bracketId: ComponentBracketId
  price: Decimal
  from: bigint
  till: bigint | null
}

/**
 * Lists versions with their currencies in the order of creation and brackets from the lowest quantity up: one statement however many there
 * are.
 */
export async function listComponentVersions(
  db: Queryable,
  account: AccountId,
  choice: VersionChoice | { componentIds: readonly ComponentId[] },
): Promise<ComponentVersion[]> {
  const rows = await db.rows<VersionRow>(sql`
    with chosen as materialized (select v.* from component_versions v where ${chosen(account, choice)})
    select v.component_version_id as "id", v.component_id as "componentId", v.version_no as "versionNo", v.name,
           v.is_default as "isDefault", v.is_active as "isActive", c.component_version_currency_id as "currencyId", c.currency,
           b.component_bracket_id as "bracketId", b.price, b.qty_from as "from", b.qty_till as "till"
      from chosen v
      left join component_version_currencies c on c.account_id = ${account} and c.component_version_id = v.component_version_id
      left join component_brackets b
             on b.account_id = ${account} and b.component_version_currency_id = c.component_version_currency_id
     order by v.component_version_id ${'start' in choice ? direction(choice.start) : NOTHING}, c.component_version_currency_id, b.qty_from`)
  return treeOf(rows)
}

function treeOf(rows: readonly VersionRow[]): ComponentVersion[] {
  const versions: ComponentVersion[] = []
  for (const row of rows) {
    let version = versions.at(-1)
    if (version?.id !== row.id) versions.push((version = versionOf(row)))
    if (row.currencyId === null) continue
    let currency = version.currencies.at(-1)
    if (currency?.id !== row.currencyId)
      version.currencies.push((currency = { id: row.currencyId, currency: row.currency, brackets: [] }))
    currency.brackets.push({ id: row.bracketId, price: row.price, from: row.from, till: row.till })
  }
  return versions
}

const versionOf = ({ id, componentId, versionNo, name, isDefault, isActive }: VersionRow): ComponentVersion => ({
  id,
  componentId,
  versionNo,
  name,
  isDefault,
  isActive,
  currencies: [],
})

export const countComponentVersions = (db: Queryable, account: AccountId, id: ComponentId) =>
  db.count(sql`select count(*) as "n" from component_versions where account_id = ${account} and component_id = ${id}`)

/** Completes components by their versions. */
export async function listComponentTrees(
  db: Queryable,
  account: AccountId,
  components: readonly Component[],
): Promise<ComponentTree[]> {
  if (components.length === 0) return []
  const versions = await listComponentVersions(db, account, { componentIds: components.map(({ id }) => id) })
  const byComponent = groupBy(versions, ({ componentId }) => componentId)
  return components.map((owner) => ({ owner, versions: byComponent.get(owner.id) ?? [] }))
}

/** Returns whether any subscription names the component, ended ones too. */
export const isComponentUsed = (db: Queryable, account: AccountId, id: ComponentId): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (select 1 from subscription_components where account_id = ${account} and component_id = ${id}) as "used"`)

/** Returns whether any subscription names the version, now or by a pending change, ended ones too. */
export const isComponentVersionUsed = (db: Queryable, account: AccountId, id: ComponentVersionId): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (select 1 from subscription_components where account_id = ${account} and component_version_id = ${id})
        or exists (select 1 from subscription_components where account_id = ${account} and pending_component_version_id = ${id})
        as "used"`)

export const insertComponent = (tx: Transaction, account: AccountId, c: ComponentInput, lastVersionNo: number) =>
  tx.one<Component>(sql`
    insert into components (account_id, package_group_id, code, name, description, is_active, unit_name, term, term_type, type, scheme,
      gl_code, last_version_no)
    values (${account}, ${c.groupId}, ${c.code}, ${c.name}, ${c.description}, ${c.isActive}, ${c.unitName}, ${c.term}, ${c.termType},
      ${c.type}, ${c.scheme}, ${c.glCode}, ${lastVersionNo})
    returning ${COMPONENT}`)

export const updateComponent = (tx: Transaction, account: AccountId, c: Component) =>
  tx.rows(sql`
    update components set package_group_id = ${c.groupId}, code = ${c.code}, name = ${c.name}, description = ${c.description},
      is_active = ${c.isActive}, unit_name = ${c.unitName}, term = ${c.term}, term_type = ${c.termType}, type = ${c.type},
      scheme = ${c.scheme}, gl_code = ${c.glCode}, last_version_no = ${c.lastVersionNo}
    where account_id = ${account} and component_id = ${c.id}`)

/** Deletes a component with its versions, currencies and brackets. */
export const deleteComponent = (tx: Transaction, account: AccountId, id: ComponentId) =>
  tx.rows(sql`delete from components where account_id = ${account} and component_id = ${id}`)
