import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../database/database.ts'
import { type Fragment, fragment, namesOf, sql } from '../database/sql.ts'

/** Templates: content that many records refer to, kept once under its hash and never changed (decision 52). Each kind has tables and an owner of its own. */

export interface KeptOnce {
  /** Null while no transaction that was committed has kept or found it. */
  id: Id | null
}

/** Table of the templates of a kind, and how they travel. */
export interface TemplateKind<One extends KeptOnce> {
  table: string
  /** The column of its identifiers. */
  id: string
  /** Further columns of the table, which `hashed` has too. */
  columns: readonly string[]
  /** Returns a text that only templates with the same content have in common. */
  keyOf(template: One): string
  send(account: AccountId, templates: readonly One[]): SentTemplates
}

/** Parts of a statement, which stand behind WITH. */
export interface SentTemplates {
  /** They end with the relation `hashed`: the position of each `template`, counted from 1, its `hash`, and the further columns. */
  hashed: Fragment
  /** They write the content of the `chosen`, of which each has its `id`, and the position of the `template` that has its content. */
  contents: Fragment
}

type Ask = (
  account: AccountId,
  of: { table: string; id: string; columns: readonly string[] },
  sent: SentTemplates,
) => Fragment

const namesAfter = (columns: readonly string[], write: (name: string) => string): Fragment =>
  namesOf(columns.map((name) => `, ${write(name)}`).join(''))

/**
 * Inserts what is not there. Whoever is just keeping the same is waited for, so everybody inserts in the order of hashes, and no two wait for each
 * other.
 */
const insertion: Ask = (account, { table, id, columns }, { hashed, contents }) => fragment`
  with ${hashed},
  added as (
    insert into ${namesOf(table)} (account_id, hash${namesAfter(columns, (name) => name)})
    select ${account}, h.hash${namesAfter(columns, (name) => `min(h.${name})`)} from hashed h group by h.hash order by h.hash
    on conflict (account_id, hash) do nothing returning ${namesOf(id)} as id, hash),
  chosen as (select a.id, min(h.template) as template from added a join hashed h on h.hash = a.hash group by a.id),
  ${contents}
  select h.template::integer as "template", a.id from added a join hashed h on h.hash = a.hash`

const lookUp: Ask = (account, { table, id }, { hashed }) => fragment`
  with ${hashed}
  select h.template::integer as "template", t.${namesOf(id)} as "id"
    from hashed h join ${namesOf(table)} t on t.account_id = ${account} and t.hash = h.hash`

/** Keeps templates that are not kept yet. Returns the identifier of each; those that nobody has kept before are mostly all of them, so they are not looked for first. */
export async function keepTemplates<One extends KeptOnce>(
  tx: Transaction,
  kind: TemplateKind<One>,
  templates: readonly One[],
): Promise<Map<One, Id>> {
  const alike = new Map<string, One[]>()
  for (const template of templates) {
    const key = kind.keyOf(template)
    alike.set(key, [...(alike.get(key) ?? []), template])
  }
  const found = new Map<One, Id>()
  let missing = [...alike.values()]
  for (const ask of [insertion, lookUp]) {
    if (missing.length === 0) break
    const sent = kind.send(
      tx.account,
      missing.map(([first]) => first!),
    )
    const rows = await tx.rows<{ template: number; id: Id }>(sql`${ask(tx.account, kind, sent)}`)
    for (const { template, id } of rows) for (const one of missing[template - 1]!) found.set(one, id)
    missing = missing.filter(([first]) => !found.has(first!))
  }
  assert(missing.length === 0, 'every template is kept')
  // Of what is rolled back nothing is kept.
  tx.afterCommit(() => {
    for (const [template, id] of found) template.id = id
  })
  return found
}
