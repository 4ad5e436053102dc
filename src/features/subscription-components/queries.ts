import type {
  TimeAway,
  ComponentState,
  CycleUsage,
  InvoicedCycle,
  OwedRise,
} from '../../engine/subscription/components.ts'
import type { Scheme } from '../../engine/subscription/pricing.ts'
import type { IsoDate, TermType } from '../../kernel/calendar.ts'
import { type Decimal, decimal, decimalText, equals } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, ComponentVersionId, SubscriptionId } from '../../kernel/ids.ts'
import { bigints, dates, rangeOf, deduplicated } from '../../platform/database/columns.ts'
import { type OfMany, type Queryable, rowsOfMany, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, counted, fragment, NOTHING, ofQuery, sql } from '../../platform/database/sql.ts'
import { bracketFromJson, type BracketJson, bracketToJson } from '../components/brackets.ts'
import { isOfSubscription, listOpenUsage } from './cycle-queries.ts'

/** The components of subscriptions: whole chunks a statement. */

/** A component on a subscription: what planning needs of it, and what only answers show. */
export interface StoredComponent {
  subscriptionId: SubscriptionId
  state: ComponentState
  memo: string | null
  isSetUnits: boolean
  /** The version set last; it may count only from the next cycle. */
  versionId: ComponentVersionId
  versionNo: number
}

interface InvoicedJson extends Omit<InvoicedCycle, 'highest'> {
  highest: string
}
interface OwedJson extends Omit<OwedRise, 'quantity' | 'before'> {
  quantity: string
  before: string
}
interface VersionJson {
  versionId: string
  from: IsoDate | null
  scheme: Scheme
  list: BracketJson[]
}

/** The facts of a component that planning reads, as rows keep them; its usage stands elsewhere. They do not name the subscription. */
export interface ComponentFacts {
  componentId: ComponentId
  name: string
  type: ComponentState['type']
  term: number
  termType: TermType
  quantity: Decimal
  anchor: IsoDate
  anchorDay: number
  stretch: number
  chargesFrom: IsoDate
  leftOutOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  /** JSON texts: many subscriptions share them, so each is read once. */
  versions: string
  /** Null: what follows from the other facts. */
  invoiced: string | null
  owed: string
  /** Null, or left out by readers that need none: it was never away. */
  absences?: string | null
}

interface ComponentRow extends ComponentFacts {
  subscriptionId: SubscriptionId
  memo: string | null
  isSetUnits: boolean
  versionId: ComponentVersionId
  versionNo: number
}

const components: OfMany<SubscriptionId> = (account, ids) => sql`
    select s.subscription_id as "subscriptionId", s.component_id as "componentId", c.name, c.type, c.term, c.term_type as "termType", s.memo,
           s.is_set_units as "isSetUnits", v.component_version_id as "versionId", v.version_no as "versionNo", s.quantity, s.anchor,
           s.anchor_day as "anchorDay", s.stretch, s.charges_from as "chargesFrom", s.left_out_on as "leftOutOn", s.next_from as "nextFrom",
           s.last_from as "lastFrom", s.versions::text as "versions", s.invoiced::text as "invoiced", s.owed::text as "owed",
           s.absences::text as "absences"
      from subscription_components s
      join components c on c.account_id = ${account} and c.component_id = s.component_id
      join component_versions v
        on v.account_id = ${account} and v.component_version_id = coalesce(s.pending_component_version_id, s.component_version_id)
     where s.account_id = ${account} and s.subscription_id = any(${arrayLiteral(ids)}::bigint[])
     order by s.subscription_id, s.component_id`

/** Lists the components of subscriptions by subscription, in the order of their identifiers. */
export async function listStoredComponents(
  db: Queryable,
  account: AccountId,
  ids: readonly SubscriptionId[],
): Promise<Map<SubscriptionId, StoredComponent[]>> {
  const found = new Map<SubscriptionId, StoredComponent[]>()
  if (ids.length === 0) return found
  const reading = rowsOfMany<SubscriptionId, ComponentRow>(db, account, components, ids, isOfSubscription)
  // Asked for at once, metered or not: what is not has none, and nobody waits twice.
  const [rows, usage] = await Promise.all([reading, listOpenUsage(db, account, ids)])
  const read = stateReader()
  const usageOf = new Map<string, CycleUsage[]>()
  for (const { subscriptionId, componentId, ...cycle } of usage) {
    const key = `${subscriptionId}/${componentId}`
    const known = usageOf.get(key)
    if (known) known.push(cycle)
    else usageOf.set(key, [cycle])
  }
  for (const row of rows) {
    const { subscriptionId, memo, isSetUnits, versionId, versionNo } = row
    const state = read(row, usageOf.get(`${subscriptionId}/${row.componentId}`) ?? [])
    const stored = { subscriptionId, memo, isSetUnits, versionId, versionNo, state }
    const known = found.get(row.subscriptionId)
    if (known) known.push(stored)
    else found.set(row.subscriptionId, [stored])
  }
  return found
}

/** Reads texts that come again and again once; what it answers is shared and never changed. */
function readOnce<T>(read: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    let value = known.get(text)
    if (value === undefined) known.set(text, (value = read(text)))
    return value
  }
}

const readVersions = (text: string): ComponentState['versions'] =>
  (JSON.parse(text) as VersionJson[]).map(({ versionId, from, scheme, list }) => ({
    versionId: BigInt(versionId),
    from,
    scheme,
    list: list.map(bracketFromJson),
  }))

const readInvoiced = (text: string): InvoicedCycle[] =>
  (JSON.parse(text) as InvoicedJson[]).map((cycle) => ({ ...cycle, highest: decimal(cycle.highest) }))

const readOwed = (text: string): OwedRise[] =>
  (JSON.parse(text) as OwedJson[]).map((rise) => ({
    ...rise,
    quantity: decimal(rise.quantity),
    before: decimal(rise.before),
  }))

/** Returns a reader of components, which reads each text once. */
export function stateReader(): (facts: ComponentFacts, usage: readonly CycleUsage[]) => ComponentState {
  const read = { versions: readOnce(readVersions), invoiced: readOnce(readInvoiced), owed: readOnce(readOwed) }
  return (facts, usage) => ({
    ...(facts.absences == null ? {} : { absences: JSON.parse(facts.absences) as TimeAway[] }),
    componentId: facts.componentId,
    name: facts.name,
    type: facts.type,
    versions: read.versions(facts.versions),
    cycle: { anchor: facts.anchor, dayOfMonth: facts.anchorDay, term: facts.term, termType: facts.termType },
    stretch: facts.stretch,
    quantity: facts.quantity,
    chargesFrom: facts.chargesFrom,
    leftOutOn: facts.leftOutOn,
    nextFrom: facts.nextFrom,
    lastFrom: facts.lastFrom,
    invoiced: facts.invoiced === null ? plainlyInvoiced(facts) : read.invoiced(facts.invoiced),
    owed: read.owed(facts.owed),
    usage,
  })
}

const rowOf = ({ subscriptionId, state: c, areVersionsKept }: ComponentChange, today: IsoDate) => {
  const newest = c.versions.at(-1)!
  const before = c.versions.at(-2)
  // A version that counts only from a later cycle is named beside the one that still counts.
  const isPending = before !== undefined && newest.from !== null && newest.from > today
  return {
    subscriptionId,
    componentId: c.componentId,
    versionId: isPending ? before.versionId : newest.versionId,
    pendingId: isPending ? newest.versionId : null,
    quantity: decimalText(c.quantity),
    anchor: c.cycle.anchor,
    anchorDay: c.cycle.dayOfMonth,
    stretch: c.stretch,
    chargesFrom: c.chargesFrom,
    leftOutOn: c.leftOutOn,
    nextFrom: c.nextFrom,
    lastFrom: c.lastFrom,
    versions: areVersionsKept
      ? null
      : JSON.stringify(
          c.versions.map((version): VersionJson => ({
            versionId: String(version.versionId),
            from: version.from,
            scheme: version.scheme,
            list: version.list.map(bracketToJson),
          })),
        ),
    invoiced: invoicedText(c),
    owed: owedText(c.owed),
    absences: c.absences ? JSON.stringify(c.absences) : null,
  }
}

/** Returns what is invoiced of a component of which nothing special happened in its cycle: that cycle, with the number set; nothing where it is metered. */
function plainlyInvoiced({
  type,
  nextFrom,
  lastFrom,
  quantity,
}: Pick<ComponentState, 'type' | 'nextFrom' | 'lastFrom' | 'quantity'>): InvoicedCycle[] {
  if (type === 'metered' || lastFrom === null) return []
  return [{ from: lastFrom, wholeFrom: lastFrom, wholeUntil: nextFrom, highest: quantity, nextPart: 1 }]
}

/** Returns the JSON text of what is invoiced of a component; null where it follows from the other facts of its row. */
function invoicedText(component: ComponentState): string | null {
  const { invoiced } = component
  const plain = plainlyInvoiced(component)
  const isPlain = invoiced.length === plain.length && invoiced.every((cycle, at) => isSameCycle(cycle, plain[at]!))
  if (isPlain) return null
  return JSON.stringify(invoiced.map((cycle): InvoicedJson => ({ ...cycle, highest: decimalText(cycle.highest) })))
}

const isSameCycle = (a: InvoicedCycle, b: InvoicedCycle): boolean =>
  a.from === b.from &&
  a.wholeFrom === b.wholeFrom &&
  a.wholeUntil === b.wholeUntil &&
  a.nextPart === b.nextPart &&
  equals(a.highest, b.highest)

const owedText = (rises: readonly OwedRise[]): string =>
  rises.length === 0
    ? '[]'
    : JSON.stringify(
        rises.map((rise): OwedJson => ({
          ...rise,
          quantity: decimalText(rise.quantity),
          before: decimalText(rise.before),
        })),
      )

/** Returns the columns of components that billing writes. */
export const movesOf = (changes: readonly ComponentChange[]): ComponentMove[] =>
  changes.map(({ subscriptionId, state }) => ({
    subscriptionId,
    componentId: state.componentId,
    nextFrom: state.nextFrom,
    lastFrom: state.lastFrom,
    invoiced: invoicedText(state),
    owed: owedText(state.owed),
  }))

export interface ComponentChange {
  subscriptionId: SubscriptionId
  state: ComponentState
  /** Billing never changes versions: then they are not written again. */
  areVersionsKept?: boolean
}

/** Adds components to subscriptions. */
export async function insertComponents(
  tx: Transaction,
  account: AccountId,
  changes: readonly ComponentChange[],
  today: IsoDate,
): Promise<void> {
  if (changes.length === 0) return
  const rows = changes.map((change) => rowOf(change, today))
  await tx.rows(
    ofQuery(sql`
    insert into subscription_components (account_id, subscription_id, component_id, component_version_id, pending_component_version_id, quantity,
      anchor, anchor_day, stretch, charges_from, left_out_on, next_from, last_from, versions, invoiced, owed)
    select ${account}, * from unnest(${column(rows, 'subscriptionId')}::bigint[], ${column(rows, 'componentId')}::bigint[],
      ${column(rows, 'versionId')}::bigint[], ${column(rows, 'pendingId')}::bigint[], ${column(rows, 'quantity')}::numeric[],
      ${column(rows, 'anchor')}::date[], ${column(rows, 'anchorDay')}::smallint[], ${column(rows, 'stretch')}::integer[],
      ${column(rows, 'chargesFrom')}::date[], ${column(rows, 'leftOutOn')}::date[], ${column(rows, 'nextFrom')}::date[],
      ${column(rows, 'lastFrom')}::date[], ${column(rows, 'versions')}::json[], ${column(rows, 'invoiced')}::json[],
      ${column(rows, 'owed')}::json[])`),
  )
}

/** Writes where components stand after billing or a change. A run has not read on which days they were away: those stay. */
export async function updateComponents(
  tx: Transaction,
  account: AccountId,
  changes: readonly ComponentChange[],
  today: IsoDate,
): Promise<void> {
  if (changes.length === 0) return
  const rows = changes.map((change) => rowOf(change, today))
  await tx.rows(sql`
    update subscription_components c set component_version_id = r.version, pending_component_version_id = r.pending, quantity = r.quantity,
      anchor = r.anchor, anchor_day = r.anchor_day, stretch = r.stretch, charges_from = r.charges_from, left_out_on = r.left_out_on,
      next_from = r.next_from, last_from = r.last_from, versions = coalesce(r.versions, c.versions), invoiced = r.invoiced, owed = r.owed,
      absences = coalesce(r.absences, c.absences)
      from unnest(${column(rows, 'subscriptionId')}::bigint[], ${column(rows, 'componentId')}::bigint[],
        ${column(rows, 'versionId')}::bigint[], ${column(rows, 'pendingId')}::bigint[], ${column(rows, 'quantity')}::numeric[],
        ${column(rows, 'anchor')}::date[], ${column(rows, 'anchorDay')}::smallint[], ${column(rows, 'stretch')}::integer[],
        ${column(rows, 'chargesFrom')}::date[], ${column(rows, 'leftOutOn')}::date[], ${column(rows, 'nextFrom')}::date[],
        ${column(rows, 'lastFrom')}::date[], ${column(rows, 'versions')}::json[], ${column(rows, 'invoiced')}::json[],
        ${column(rows, 'owed')}::json[], ${column(rows, 'absences')}::json[])
        as r(subscription, component, version, pending, quantity, anchor, anchor_day, stretch, charges_from, left_out_on, next_from, last_from,
             versions, invoiced, owed, absences)
     where c.account_id = ${account} and c.subscription_id = r.subscription and c.component_id = r.component`)
}

/** Position of a component after billing that changed nothing else of it. */
export interface ComponentMove {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  /** JSON texts; null where what is invoiced follows from the rest. */
  invoiced: string | null
  owed: string
}

const MOVE_SHAPE = ['componentId', 'nextFrom', 'lastFrom', 'invoiced', 'owed'] as const

/** Writes where components stand after billing, one or thousands. */
export async function moveComponents(
  tx: Transaction,
  account: AccountId,
  moves: readonly ComponentMove[],
): Promise<void> {
  for (const { rows, distinct: s, positions } of deduplicated(moves, MOVE_SHAPE)) {
    const range = rangeOf(rows, 'subscriptionId')
    await tx.rows(sql`
      update subscription_components c set next_from = r.next_from, last_from = r.last_from, invoiced = r.invoiced, owed = r.owed
        from (select p.subscription, p.component, (${dates(s, 'nextFrom')}::date[])[p.shape] as next_from,
                     (${dates(s, 'lastFrom')}::date[])[p.shape] as last_from, (${column(s, 'invoiced')}::json[])[p.shape] as invoiced,
                     (${column(s, 'owed')}::json[])[p.shape] as owed
                from rows from (unnest(${bigints(rows, 'subscriptionId')}::bigint[]), unnest(${bigints(rows, 'componentId')}::bigint[]),
                  unnest(${positions}::integer[])${range ? counted(rows) : NOTHING}) as p(subscription, component, shape)) r
       where c.account_id = ${account} and c.subscription_id = r.subscription and c.component_id = r.component
         ${range ? fragment`and c.subscription_id between ${range.first} and ${range.last}` : NOTHING}`)
  }
}

/** Tells that the last report of components added to their units. */
export const clearSetUnits = (
  tx: Transaction,
  account: AccountId,
  rows: readonly { subscriptionId: SubscriptionId; componentId: ComponentId }[],
) =>
  tx.rows(sql`
    update subscription_components c set is_set_units = false
      from unnest(${column(rows, 'subscriptionId')}::bigint[], ${column(rows, 'componentId')}::bigint[]) as r(subscription, component)
     where c.account_id = ${account} and c.subscription_id = r.subscription and c.component_id = r.component`)

/** Fields of a component that callers see and billing does not need. */
export const updateShown = (
  tx: Transaction,
  account: AccountId,
  subscriptionId: SubscriptionId,
  shown: readonly { componentId: ComponentId; memo: string | null; isSetUnits: boolean }[],
) =>
  tx.rows(sql`
    update subscription_components c set memo = r.memo, is_set_units = r.is_set
      from unnest(${column(shown, 'componentId')}::bigint[], ${column(shown, 'memo')}::text[], ${column(shown, 'isSetUnits')}::boolean[])
        as r(component, memo, is_set)
     where c.account_id = ${account} and c.subscription_id = ${subscriptionId} and c.component_id = r.component`)

/** A component that may be attached: one row for each version in question, with its prices in the customer's currency. */
export interface AttachableVersion {
  componentId: ComponentId
  name: string
  type: ComponentState['type']
  scheme: Scheme
  term: number
  termType: TermType
  isComponentActive: boolean
  versionId: ComponentVersionId
  versionNo: number
  isVersionActive: boolean
  isDefault: boolean
  list: BracketJson[] | null
}

/**
 * Lists all versions of components with their brackets in a currency. Locked, in identifier order, against changes of their prices by a
 * statement of its own: one that waits goes on with what it saw before.
 */
export async function listAttachable(
  tx: Transaction,
  account: AccountId,
  ids: readonly ComponentId[],
  currency: string,
): Promise<AttachableVersion[]> {
  if (ids.length === 0) return []
  const wanted = arrayLiteral(ids)
  await tx.rows(sql`
    select 1 from components where account_id = ${account} and component_id = any(${wanted}::bigint[]) order by component_id for share`)
  await tx.rows(sql`
    select 1 from component_versions where account_id = ${account} and component_id = any(${wanted}::bigint[])
     order by component_version_id for share`)
  return tx.rows<AttachableVersion>(sql`
    select c.component_id as "componentId", c.name, c.type, c.scheme, c.term, c.term_type as "termType", c.is_active as "isComponentActive",
           v.component_version_id as "versionId", v.version_no as "versionNo", v.is_active as "isVersionActive", v.is_default as "isDefault",
           (select jsonb_agg(jsonb_build_object('from', b.qty_from::text, 'till', b.qty_till::text, 'price', b.price::text) order by b.qty_from)
              from component_version_currencies r
              join component_brackets b on b.account_id = ${account} and b.component_version_currency_id = r.component_version_currency_id
             where r.account_id = ${account} and r.component_version_id = v.component_version_id and r.currency = ${currency}) as "list"
      from components c join component_versions v on v.account_id = ${account} and v.component_id = c.component_id
     where c.account_id = ${account} and c.component_id = any(${wanted}::bigint[])
     order by c.component_id, v.component_version_id`)
}
