import { digitsOf } from '../../kernel/currencies.ts'
import { dayColumn, recordShape, arrivingColumn } from '../../platform/wire/columns.ts'
import { flag, reference, requiredReference } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type Portions,
} from '../../platform/wire/write.ts'
import { allocationsIn, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import type { LineTexts } from './list-lines.ts'
import type { ListedLine, ResultFile } from './queries.ts'
import { LINE_KINDS, LINE_STATES } from './kinds.ts'

const warningShape = outObject(
  {
    Code: outText({ description: 'status_missing: entries without a status, which count as not booked' }),
    Count: outInteger(),
  },
  'ResultFileWarning',
)

export const warningsOf = ({ statusMissing }: Pick<ResultFile, 'statusMissing'>) => {
  if (statusMissing === null) return null
  return statusMissing === 0 ? [] : [{ Code: 'status_missing', Count: statusMissing }]
}

/** Facts that a file, or an archive of several, answers of its bytes and its lines. */
export type CountedFile = Pick<
  ResultFile,
  | 'sha256'
  | 'format'
  | 'matched'
  | 'applied'
  | 'payments'
  | 'alreadyKnown'
  | 'unmatched'
  | 'otherAccounts'
  | 'statusMissing'
>

/** File of an archive: what came of it, or the code and message with which it was refused. */
export const archivedFileShape = outObject(
  {
    Name: outText({ description: 'As the archive has it' }),
    resultFileID: orNull(outId('Null of a file that was refused, as are the next eight')),
    Format: orNull(outText()),
    Matched: orNull(outInteger()),
    Applied: orNull(outInteger()),
    Payments: orNull(outInteger()),
    AlreadyKnown: orNull(outInteger()),
    Unmatched: orNull(outInteger()),
    OtherAccounts: orNull(outInteger()),
    Warnings: orNull(outList(warningShape)),
    Code: orNull(outText({ description: 'Of its refusal, as file_unreadable or other_account' })),
    Message: orNull(outText()),
  },
  'ArchivedResultFile',
)

export const countColumns = {
  Sha256: [
    orNull(outText({ description: 'Of its bytes, in hex; null of a report of a gateway' })),
    ({ sha256 }: CountedFile) => sha256?.toString('hex') ?? null,
  ],
  Format: [outText({ description: 'As camt.053.001.08, or event, or zip' }), ({ format }: CountedFile) => format],
  Matched: [outInteger(), ({ matched }: CountedFile) => matched],
  Applied: [outInteger(), ({ applied }: CountedFile) => applied],
  Payments: [
    orNull(outInteger({ description: 'Different payments that it changed' })),
    ({ payments }: CountedFile) => payments,
  ],
  AlreadyKnown: [outInteger(), ({ alreadyKnown }: CountedFile) => alreadyKnown],
  Unmatched: [outInteger(), ({ unmatched }: CountedFile) => unmatched],
  OtherAccounts: [
    orNull(outInteger({ description: 'Statements of other accounts, which were passed over' })),
    ({ otherAccounts }: CountedFile) => otherAccounts,
  ],
  Warnings: [orNull(outList(warningShape)), warningsOf],
} as const

const fileColumns = {
  resultFileID: [outId(), ({ id }: ResultFile) => id],
  ...countColumns,
  Files: [orNull(outList(archivedFileShape)), () => null],
} as const

const open = [
  outInteger({ description: 'Of its lines, those that still wait for a person' }),
  ({ open }: ResultFile) => open,
] as const

const toBeSentAgain = [
  outFlag(
    'Whether lines of it were taken for known before references of banks were held against amount and day: send its bytes once more',
  ),
  ({ isToBeSentAgain }: ResultFile) => isToBeSentAgain,
] as const

export const resultFileShape = recordShape<ResultFile>()('ResultFile', fileColumns)

export const listedFileShape = recordShape<ResultFile>()('ListedResultFile', {
  ...fileColumns,
  Open: open,
  isToBeSentAgain: toBeSentAgain,
})

/** Line with its texts, opened. */
export type OpenedLine = ListedLine & LineTexts

const lineColumns = {
  lineID: [outId(), ({ id }: ListedLine) => id],
  Kind: [outWord(LINE_KINDS), ({ kind }: ListedLine) => kind],
} as const

export const resultLineShape = recordShape<OpenedLine>()('ResultLine', {
  ...lineColumns,
  Date: dayColumn(({ dated }) => dated),
  Amount: [
    orNull(outNumber()),
    ({ amountMinor, currency }) =>
      amountMinor === null || currency === null ? null : minorDigits(amountMinor, digitsOf(currency)),
  ],
  CurrencyCode: [orNull(outText()), ({ currency }) => currency],
  isCredit: [
    orNull(
      outFlag('Whether the money came in; null of a status, and of lines that were read before directions were kept'),
    ),
    ({ isCredit }) => isCredit,
  ],
  EntryAmount: [
    orNull(outNumber('Of the entry that the line is a part of; null of an entry as a whole')),
    ({ entryMinor, currency }) =>
      entryMinor === null || currency === null ? null : minorDigits(entryMinor, digitsOf(currency)),
  ],
  Reference: [orNull(outText()), ({ reference: text }) => text],
  Name: [orNull(outText()), ({ name }) => name],
  Code: [orNull(outText()), ({ code }) => code],
  State: [outWord(LINE_STATES), ({ state }) => state],
  sameAs: [orNull(outId()), ({ sameAs }) => sameAs],
  paymentID: [orNull(outId()), ({ paymentId }) => paymentId],
  invoiceID: [orNull(outId()), ({ invoiceId }) => invoiceId],
})

/** Fields that an event keeps of a line: those that name nobody. */
export const lineEventShape = recordShape<ListedLine>()(undefined, {
  ...lineColumns,
  resultFileID: [outId(), ({ fileId }) => fileId],
  State: [outWord(LINE_STATES), ({ state }) => state],
  paymentID: [orNull(outId()), ({ paymentId }) => paymentId],
})

/** File with its lines, which arrive in portions. */
export interface FileWithLines {
  file: ResultFile
  lines: Portions<OpenedLine>
}

const ofFile = <T>([shape, valueOf]: readonly [T, (file: ResultFile) => any]) =>
  [shape, ({ file }: FileWithLines) => valueOf(file)] as const

export const resultFileWithLinesShape = recordShape<FileWithLines>()('ResultFileWithLines', {
  resultFileID: ofFile(fileColumns.resultFileID),
  Sha256: ofFile(fileColumns.Sha256),
  Format: ofFile(fileColumns.Format),
  Matched: ofFile(fileColumns.Matched),
  Applied: ofFile(fileColumns.Applied),
  Payments: ofFile(fileColumns.Payments),
  AlreadyKnown: ofFile(fileColumns.AlreadyKnown),
  Unmatched: ofFile(fileColumns.Unmatched),
  OtherAccounts: ofFile(fileColumns.OtherAccounts),
  Warnings: ofFile(fileColumns.Warnings),
  Files: ofFile(fileColumns.Files),
  Open: ofFile(open),
  isToBeSentAgain: ofFile(toBeSentAgain),
  Lines: arrivingColumn(resultLineShape, ({ lines }) => lines),
})

export const fileFilters = { isOpen: optional(flag()), isToBeSentAgain: optional(flag()) } satisfies Properties

export const GatewayQuery = objectOf({ gatewayID: required(requiredReference()) })

const answers = {
  paymentID: optional(reference()),
  customerID: optional(reference()),
  AutoApply: optional(flag(), 'isAutoApply'),
  Allocations: optional(
    allocationsIn('What the money of customerID pays; left out, nothing, unless AutoApply is true'),
    'allocations',
    'LinkedAllocations',
  ),
  isSeparate: optional(flag()),
  isClosed: optional(flag()),
} satisfies Properties

export const ResultLineIn = withoutListWhereAutoApply(objectOf(answers, { name: 'ResultLineInput' }))
export type ResultLineBody = BodyOf<typeof answers>
