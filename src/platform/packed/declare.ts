import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type Fragment, fragment, namesOf } from '../database/sql.ts'

/** Lists whose records have identifiers in the order of creation, and how a list is kept that has many records in one row (decision 52). */

/** A list whose blocks of identifiers are counted, as the table counted_lists has it. */
export interface CountedList {
  /** Its name, which is that of the table or view of all its records. */
  list: string
  /** The column of its identifiers. */
  id: string
}

interface PackedNames extends CountedList {
  /** The table with one record a row. */
  rows: string
  /** The table with many records a row; a record stands in one of the two. */
  packs: string
  /** The column of a pack's first identifier. */
  first: string
  /** The column of a pack's last identifier, if every identifier between belongs to the pack. */
  last?: string
  /** The column of a pack's first member, if identifiers of members follow each other without a gap. */
  member?: string
  /** Most members of a pack. */
  maxMembers?: number
  /** Most identifiers from a pack's first to its last; left out if nobody looks for a record by its identifier. */
  maxIds?: number
}

/** The column of a view that has the first identifier of the pack which a record is in, or the identifier of a record in a row of its own. */
export const PACK_ID = 'pack_id'

/** Declares a list that is kept in rows and packs. All bounds are constants or parameters, because row security keeps anything else from an index. */
export function packed<Names extends PackedNames>(names: Names) {
  const { id, first, last, member, maxMembers, maxIds } = names
  const columnOf = (row: string, name: string | undefined): Fragment => {
    assert(name, `a column of ${names.list} is declared`)
    return namesOf(`${row}.${name}`)
  }
  const less = (value: Fragment, most: number | undefined): Fragment => {
    assert(most, `a bound of ${names.list} is declared`)
    return fragment`${value} - ${most}`
  }
  const reaches = (column: Fragment, value: Fragment, most: number | undefined) =>
    fragment`${column} <= ${value} and ${column} > ${less(value, most)}`
  return {
    ...names,
    /** Returns the condition that a row of the view is one of the identifiers from one on. */
    fromId: (row: string, from: Fragment): Fragment =>
      fragment`${columnOf(row, id)} >= ${from} and ${columnOf(row, PACK_ID)} > ${less(from, maxIds)}`,
    /** Returns the condition that a row of the view is below an identifier. */
    belowId: (row: string, below: Fragment): Fragment =>
      fragment`${columnOf(row, id)} < ${below} and ${columnOf(row, PACK_ID)} < ${below}`,
    /** Returns the condition that a row of the view has an identifier. */
    isId: (row: string, value: Fragment): Fragment =>
      fragment`${columnOf(row, id)} = ${value} and ${reaches(columnOf(row, PACK_ID), value, maxIds)}`,
    /** Returns the condition that a pack has an identifier. */
    hasId: (row: string, value: Fragment): Fragment =>
      fragment`${reaches(columnOf(row, first), value, maxIds)} and ${columnOf(row, last)} >= ${value}`,
    /** Returns the condition that a pack begins with an identifier. */
    beginsWith: (row: string, value: Fragment): Fragment => fragment`${columnOf(row, first)} = ${value}`,
    /** Returns the condition that a pack begins so little before a member that it may have it. */
    mayHaveMember: (row: string, value: Fragment): Fragment => reaches(columnOf(row, member), value, maxMembers),
  }
}

export type Packed = ReturnType<typeof packed>

const isPacked = (list: CountedList): list is Packed => 'packs' in list

/** Returns the number of an account's records of a list from an identifier on. */
export function countedFrom(account: AccountId, list: CountedList, fromId: bigint): Fragment {
  assert(typeof list.list === 'string', 'a counted list is declared')
  const from = fragment`${fromId}::bigint`
  const inRelation = (relation: string, condition: Fragment) =>
    fragment`(select count(*) from ${namesOf(relation)} r where r.account_id = ${account} and ${condition})`
  const onward = fragment`r.${namesOf(list.id)} >= ${from}`
  if (!isPacked(list)) return inRelation(list.list, onward)
  if (list.last === undefined) return inRelation(list.list, list.fromId('r', from))
  // Such packs are counted by their ends; none is opened.
  const [first, last] = [namesOf(`p.${list.first}`), namesOf(`p.${list.last}`)]
  return fragment`
    ${inRelation(list.rows, onward)} + (
      select coalesce(sum(${last} - greatest(${first}, ${from}) + 1), 0)::bigint from ${namesOf(list.packs)} p
       where p.account_id = ${account} and ${first} > ${from} - ${list.maxIds} and ${last} >= ${from})`
}
