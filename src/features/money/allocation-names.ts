import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listCreditNotesAmong } from './credit-note-queries.ts'
import { labelOf } from './rules.ts'

/** Names allocations in a sentence for a refusal: "5 of payment 3 and 6 of credit note 4". */
export async function allocationNames(tx: Transaction, allocations: readonly AllocationState[]): Promise<string> {
  const negatives = allocations.filter(({ givenKind }) => givenKind === 'negative_adjustment')
  const notes = await listCreditNotesAmong(
    tx,
    tx.account,
    negatives.map(({ givenId }) => givenId),
  )
  const isNote = (id: bigint) => notes.some((note) => note.id === id)
  return sentenceList(
    allocations.map(({ id, givenKind, givenId }) =>
      givenKind === 'negative_adjustment' && isNote(givenId)
        ? `${id} of credit note ${givenId}`
        : `${id} of ${labelOf({ kind: givenKind, id: givenId })}`,
    ),
  )
}
