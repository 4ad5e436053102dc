import { recordKind } from '../../platform/http/record.ts'
import { loadNegative, lockedNegative } from '../money/negative-adjustments.ts'
import { moneyEtag } from '../money/records.ts'
import { creditNoteShape } from '../money/shapes.ts'
import type { NegativeRecord } from '../money/types.ts'

const onlyNotes = (record: NegativeRecord | undefined) => (record?.kind === 'credit_note' ? record : undefined)

/** Credit notes as paths name them; another negative adjustment is none. */
export const creditNote = recordKind({
  code: 'credit_note',
  name: 'credit note',
  param: 'creditNoteID',
  path: '/v1/credits',
  out: creditNoteShape,
  idOf: ({ id }) => id,
  find: async (db, { account }, id) => onlyNotes(await loadNegative(db, account.id, id)),
  lock: async (tx, _context, id) => onlyNotes(await lockedNegative(tx, id)),
  etag: (row) => moneyEtag(creditNoteShape, row),
})
