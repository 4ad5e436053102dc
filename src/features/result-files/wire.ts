import { digitsOf } from '../../kernel/currencies.ts'
import { dayColumn, recordShape, arrivingColumn } from '../../platform/wire/columns.ts'
import { flag, reference, requiredReference } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outId,
  outInteger,
  outNumber,
  outText,
  outWord,
  type Portions,
} from '../../platform/wire/write.ts'
import { allocationsIn, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import type { LineTexts } from './list-lines.ts'
import type { ListedLine, ResultFile } from './queries.ts'
import { LINE_KINDS, LINE_STATES } from './rules.ts'

const fileColumns = {
  resultFileID: [outId(), ({ id }: ResultFile) => id],
  Sha256: [
    orNull(outText({ description: 'Of its bytes, in hex; null of a report of a gateway' })),
    ({ sha256 }: ResultFile) => sha256?.toString('hex') ?? null,
  ],
  Format: [outText({ description: 'As camt.053.001.08, or event' }), ({ format }: ResultFile) => format],
  Matched: [outInteger(), ({ matched }: ResultFile) => matched],
  Applied: [outInteger(), ({ applied }: ResultFile) => applied],
  AlreadyKnown: [outInteger(), ({ alreadyKnown }: ResultFile) => alreadyKnown],
  Unmatched: [outInteger(), ({ unmatched }: ResultFile) => unmatched],
} as const

const open = [
  outInteger({ description: 'Of its lines, those that still wait for a person' }),
  ({ open }: ResultFile) => open,
] as const

export const resultFileShape = recordShape<ResultFile>()('ResultFile', fileColumns)

export const listedFileShape = recordShape<ResultFile>()('ListedResultFile', { ...fileColumns, Open: open })

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
  AlreadyKnown: ofFile(fileColumns.AlreadyKnown),
  Unmatched: ofFile(fileColumns.Unmatched),
  Open: ofFile(open),
  Lines: arrivingColumn(resultLineShape, ({ lines }) => lines),
})

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
  isClosed: optional(flag()),
} satisfies Properties

export const ResultLineIn = withoutListWhereAutoApply(objectOf(answers, { name: 'ResultLineInput' }))
export type ResultLineBody = BodyOf<typeof answers>
