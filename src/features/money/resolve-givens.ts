import type { GivenRef } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import type { LinkedEntry } from './allocation-wire.ts'
import { listGiven } from './open-queries.ts'
import { presentOf } from './resolve.ts'

/** Resolves the list of a positive adjustment: which money given pays it. A reference that is not found is a 400 that names its place. */

export interface WantedGiven {
  /** The allocation that the entry edits; null for a new one. */
  id: Id | null
  given: GivenRef
  amountMinor: bigint
}

/** Resolves the entries of a list; returns undefined when something is wrong with it. `present` are the allocations of the record. */
export async function resolveGivens(
  tx: Transaction,
  entries: readonly LinkedEntry[],
  record: { currency: string; present: readonly AllocationState[] },
  list: string,
  problems: Problems,
): Promise<WantedGiven[] | undefined> {
  const before = problems.found.length
  const seen = new Set<Id>()
  const wanted = entries.flatMap((entry, index): WantedGiven[] => {
    const at = `${list}[${index}]`
    const present = presentOf(entry.allocationID, record.present, seen, at, problems)
    const given = givenOf(entry, present, at, problems)
    const amountMinor = amountIn(problems, `${at}.AmtAllocated`, entry.AmtAllocated, record.currency)
    return given && amountMinor !== undefined ? [{ id: present?.id ?? null, given, amountMinor }] : []
  })
  await checkGivensExist(tx, entries, list, problems)
  return problems.found.length > before ? undefined : wanted
}

const refOf = ({ objectID, isAdjustment }: LinkedEntry): GivenRef | null =>
  objectID == null ? null : { kind: isAdjustment === true ? 'negative_adjustment' : 'payment', id: objectID }

/** Rule: an entry that names no money keeps its own. */
function givenOf(
  entry: LinkedEntry,
  present: AllocationState | undefined,
  at: string,
  problems: Problems,
): GivenRef | undefined {
  const ref = refOf(entry)
  if (ref) return ref
  if (present) return { kind: present.givenKind, id: present.givenId }
  if (entry.allocationID == null)
    problems.add('required', `${at}.objectID`, `${at} must say which money it is of: objectID and isAdjustment.`)
  return undefined
}

async function checkGivensExist(
  tx: Transaction,
  entries: readonly LinkedEntry[],
  list: string,
  problems: Problems,
): Promise<void> {
  const refs = entries.map(refOf)
  const found = await listGiven(
    tx,
    tx.account,
    refs.filter((ref) => ref !== null),
  )
  refs.forEach((ref, index) => {
    if (ref === null || found.some(({ kind, id }) => kind === ref.kind && id === ref.id)) return
    const word = ref.kind === 'payment' ? 'payment' : 'negative adjustment'
    const code = ref.kind === 'payment' ? 'payment_unknown' : 'adjustment_unknown'
    problems.add(code, `${list}[${index}].objectID`, `There is no ${word} ${ref.id}.`)
  })
}
