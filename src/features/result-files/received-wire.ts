import { described } from '../../platform/wire/described.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { orNull, outId, outList } from '../../platform/wire/write.ts'
import type { ResultFile } from './queries.ts'
import type { ReceivedArchive, ReceivedFile } from './receive-archive.ts'
import { archivedFileShape, type CountedFile, countColumns, warningsOf } from './wire.ts'

/** Answers to a body that was sent: a file, or an archive of several. */

interface Received extends CountedFile {
  id: ResultFile['id'] | null
  files: readonly ReceivedFile[] | null
}

export const receivedShape = recordShape<Received>()('ReceivedResultFile', {
  resultFileID: [orNull(outId('Null of an archive')), ({ id }) => id],
  ...countColumns,
  Files: [
    described(orNull(outList(archivedFileShape)), 'The files of an archive, in its order; null of a file alone.'),
    ({ files }) => files?.map(archivedFile) ?? null,
  ],
})

export const ofFile = (file: ResultFile): Received => ({ ...file, files: null })

/** Returns an archive with the sums over its files; one that is in it twice counts once. */
export function ofArchive({ sha256, files }: ReceivedArchive): Received {
  const different = new Map(files.flatMap(({ file }) => (file === null ? [] : [[file.id, file] as const])))
  const sum = (valueOf: (file: ResultFile) => number | null) =>
    [...different.values()].reduce((total, file) => total + (valueOf(file) ?? 0), 0)
  return {
    id: null,
    sha256,
    format: 'zip',
    matched: sum(({ matched }) => matched),
    applied: sum(({ applied }) => applied),
    payments: sum(({ payments }) => payments),
    alreadyKnown: sum(({ alreadyKnown }) => alreadyKnown),
    unmatched: sum(({ unmatched }) => unmatched),
    otherAccounts: sum(({ otherAccounts }) => otherAccounts),
    statusMissing: sum(({ statusMissing }) => statusMissing),
    linesPadded: sum(({ linesPadded }) => linesPadded),
    files,
  }
}

const archivedFile = ({ name, file, refusal }: ReceivedFile) => ({
  Name: name,
  resultFileID: file?.id ?? null,
  Format: file?.format ?? null,
  Matched: file?.matched ?? null,
  Applied: file?.applied ?? null,
  Payments: file?.payments ?? null,
  AlreadyKnown: file?.alreadyKnown ?? null,
  Unmatched: file?.unmatched ?? null,
  OtherAccounts: file?.otherAccounts ?? null,
  Warnings: file ? warningsOf(file) : null,
  Code: refusal?.problems[0]?.code ?? null,
  Message: refusal?.message ?? null,
})
