import type { Journal } from '../../engine/books/journals.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { FileForm } from './file-writer.ts'
import type { MoveRow } from './moves-queries.ts'
import type { ExportDifference } from './queries.ts'

/** Form in which a batch is written. */

export interface FormedRow {
  text: string
  debitMinor: bigint
  creditMinor: bigint
  /** Reasons for which the row cannot be written, each a sentence. */
  refusals: readonly string[]
  differences: readonly Pick<ExportDifference, 'problem' | 'expected' | 'computed'>[]
}

export interface BatchForm extends FileForm {
  /** Loads what the rows of some moves need; left out: nothing. */
  load?(tx: Transaction, moves: readonly MoveRow[]): Promise<void>
  /** Writes the rows of a journal, whose first move is `about`; `place` counts the journals of the batch from 1. */
  rowsOf(journal: Journal, about: MoveRow, place: number): FormedRow[]
}
