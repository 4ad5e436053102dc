import type { CycleUsage } from '../../engine/subscription/components.ts'
import type { AccountId, ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Fragment, fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import type { ComponentFacts } from './queries.ts'

/**
 * Components of subscriptions by their facts: a row for each combination that there is, with the subscriptions that have it. Numbers are distinguished as
 * texts, because 1 and 1.0 are equal and yet are not stored alike.
 */

/** The subscriptions that have the same: their identifiers with commas between them. */
interface Shared {
  subscriptionIds: string
}

/** Numbers are texts here. */
export interface AlikeComponent extends Omit<ComponentFacts, 'quantity'>, Shared {
  quantity: string
}

export interface AlikeUsage extends Pick<CycleUsage, 'from' | 'until' | 'nextPart' | 'isFree'>, Shared {
  componentId: ComponentId
  total: string
  invoiced: string | null
}

const FACTS =
  namesOf(`"componentId", quantity, anchor, "anchorDay", stretch, "chargesFrom", "leftOutOn", "nextFrom", "lastFrom", versions,
  invoiced, owed`)

/** Returns the statement that lists components by their facts; `more` are facts beside those of planning, with the names that they are given. */
const alikeComponents = (
  account: AccountId,
  ids: readonly SubscriptionId[],
  more = { names: NOTHING, facts: NOTHING },
): Fragment => fragment`
    select g.*, c.name, c.type, c.term, c.term_type as "termType"
      from (select ${FACTS}${more.names}, string_agg(id::text, ',') as "subscriptionIds"
              from (select s.subscription_id as id, s.component_id as "componentId", s.quantity::text as quantity, s.anchor,
                           s.anchor_day as "anchorDay", s.stretch, s.charges_from as "chargesFrom", s.left_out_on as "leftOutOn",
                           s.next_from as "nextFrom", s.last_from as "lastFrom", s.versions::text as versions, s.invoiced::text as invoiced,
                           s.owed::text as owed${more.facts}
                      from subscription_components s
                     where s.account_id = ${account} and s.subscription_id = any(${bigintList(ids)}::bigint[])) x
             group by ${FACTS}${more.names}) g
      join components c on c.account_id = ${account} and c.component_id = g."componentId"
     order by g."componentId"`

/** Lists the components of subscriptions by their facts, in the order of the components' identifiers. */
export const listAlikeComponents = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<AlikeComponent>(sql`${alikeComponents(account, ids)}`)

/** Lists the same, apart by whether the last report set their units, and by the days on which they were away. */
export const listAlikeCounted = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<AlikeComponent & { isSetUnits: boolean }>(
    sql`${alikeComponents(account, ids, {
      names: fragment`, "isSetUnits", absences`,
      facts: fragment`, s.is_set_units as "isSetUnits", s.absences::text as absences`,
    })}`,
  )

const USAGE = namesOf(`"componentId", "from", "until", total, invoiced, "nextPart", "isFree"`)

/** Lists the usage of subscriptions that is not invoiced yet, or differs from what was, by its facts, in the order of its cycles. */
export const listAlikeUsage = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<AlikeUsage>(sql`
    select ${USAGE}, string_agg(id::text, ',') as "subscriptionIds"
      from (select u.subscription_id as id, u.component_id as "componentId", u.cycle_from as "from", u.cycle_until as "until",
                   u.total::text as total, u.invoiced::text as invoiced, u.next_part as "nextPart", u.is_free as "isFree"
              from usage_cycles u
             where u.account_id = ${account} and u.subscription_id = any(${bigintList(ids)}::bigint[])
               and (u.invoiced is null or u.invoiced <> u.total)) x
     group by ${USAGE} order by "from"`)
