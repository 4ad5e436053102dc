import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
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
import type { ListedLine, ResultFile, ShownLine } from './queries.ts'
import { LINE_KINDS, LINE_STATES } from './kinds.ts'

const warningShape = outObject(
  {
    Code: outText(
      'status_missing: entries without a status, which count as not booked; line_padded: lines of a NACHA file whose blanks at the end were cut off',
    ),
    Count: outInteger('How often it was found.'),
  },
  'ResultFileWarning',
)

export const warningsOf = ({ statusMissing, linesPadded }: Pick<ResultFile, 'statusMissing' | 'linesPadded'>) => {
  if (statusMissing === null) return null
  const found = [
    { Code: 'status_missing', Count: statusMissing },
    { Code: 'line_padded', Count: linesPadded ?? 0 },
  ]
  return found.filter(({ Count }) => Count > 0)
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
  | 'linesPadded'
>

/** File of an archive: what came of it, or the code and message with which it was refused. */
export const archivedFileShape = outObject(
  {
    Name: outText('As the archive has it'),
    resultFileID: orNull(outId('Null of a file that was refused, as are the next eight')),
    Format: orNull(
      outText('The message and its version, as camt.053.001.08, or nacha; null of a file that was refused.'),
    ),
    Matched: orNull(outInteger('How many of its lines belong to a payment.')),
    Applied: orNull(outInteger('How many of its lines changed something automatically.')),
    Payments: orNull(outInteger('How many different payments it changed.')),
    AlreadyKnown: orNull(outInteger('How many of its lines said what an earlier file had said.')),
    Unmatched: orNull(outInteger('How many of its lines belong to no payment.')),
    OtherAccounts: orNull(
      outInteger('Statements of other accounts, or batches of other companies, which were passed over.'),
    ),
    Warnings: described(
      orNull(outList(warningShape)),
      'Everything that was passed over because of a fault of the file; null where it was not counted.',
    ),
    Code: orNull(outText('Of its refusal, as file_unreadable or other_account')),
    Message: orNull(outText(SHARED.Problem)),
  },
  'ArchivedResultFile',
)

export const countColumns = {
  Sha256: [
    orNull(outText('Of its bytes, in hex; null of a report of a gateway')),
    ({ sha256 }: CountedFile) => sha256?.toString('hex') ?? null,
  ],
  Format: [outText('As camt.053.001.08, or nacha, event or zip'), ({ format }: CountedFile) => format],
  Matched: [outInteger('How many of its lines belong to a payment.'), ({ matched }: CountedFile) => matched],
  Applied: [
    outInteger('How many of its lines changed something automatically.'),
    ({ applied }: CountedFile) => applied,
  ],
  Payments: [orNull(outInteger('Different payments that it changed')), ({ payments }: CountedFile) => payments],
  AlreadyKnown: [
    outInteger('How many of its lines said what an earlier file had said.'),
    ({ alreadyKnown }: CountedFile) => alreadyKnown,
  ],
  Unmatched: [outInteger('How many of its lines belong to no payment.'), ({ unmatched }: CountedFile) => unmatched],
  OtherAccounts: [
    orNull(outInteger('Statements of other accounts, or batches of other companies, which were passed over')),
    ({ otherAccounts }: CountedFile) => otherAccounts,
  ],
  Warnings: [
    described(
      orNull(outList(warningShape)),
      'Everything that was passed over because of a fault of the file; null where it was not counted.',
    ),
    warningsOf,
  ],
} as const

const fileColumns = {
  resultFileID: [outId(identifies('result file')), ({ id }: ResultFile) => id],
  ...countColumns,
  Files: [
    described(orNull(outList(archivedFileShape)), 'The files of an archive, in its order; null of a file alone.'),
    () => null,
  ],
} as const

const open = [outInteger('Of its lines, those that still wait for a person'), ({ open }: ResultFile) => open] as const

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
export type OpenedLine = ShownLine & LineTexts

const lineColumns = {
  lineID: [outId(identifies('line of the result file')), ({ id }: ListedLine) => id],
  Kind: [
    outWord(
      LINE_KINDS,
      'What the line says: a debit came back, money came in, a bank corrects an account, money was refunded at the console of a gateway that nothing covers, or something else.',
    ),
    ({ kind }: ListedLine) => kind,
  ],
} as const

export const resultLineShape = recordShape<OpenedLine>()('ResultLine', {
  ...lineColumns,
  Date: dayColumn(({ dated }) => dated, 'The day of the line.'),
  Amount: [
    orNull(outNumber('The amount of the line; null where the file names none, or one that cannot be used.')),
    ({ amountMinor, currency }) =>
      amountMinor === null || currency === null ? null : minorDigits(amountMinor, digitsOf(currency)),
  ],
  CurrencyCode: [orNull(outText(SHARED.CurrencyCode)), ({ currency }) => currency],
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
  Reference: [
    orNull(outText('The reference of the other side; null where the file names none.')),
    ({ reference: text }) => text,
  ],
  Name: [orNull(outText('The name of the other side; null where the file names none.')), ({ name }) => name],
  Code: [
    orNull(
      outText(
        'The code of the bank for the reason; CHRG or difference of what is over, unreadable of what cannot be used, the word of a status; null where the file names none.',
      ),
    ),
    ({ code }) => code,
  ],
  State: [
    outWord(LINE_STATES, 'Whether the line waits for a person, changed something, or was closed without.'),
    ({ state }) => state,
  ],
  sameAs: [orNull(outId('A line of another file that may be the same money.')), ({ sameAs }) => sameAs],
  paymentID: [
    orNull(
      outId('The payment that the line names, or that is proposed for it; once applied, the one it was applied to.'),
    ),
    ({ paymentId }) => paymentId,
  ],
  invoiceID: [
    orNull(outId('The invoice that is proposed for the line; once applied, the one that it paid.')),
    ({ invoiceId }) => invoiceId,
  ],
  invoiceNum: [orNull(outId(SHARED.invoiceNum)), ({ invoiceNumber }) => invoiceNumber],
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
  Lines: arrivingColumn(resultLineShape, ({ lines }) => lines, 'The lines that wait, or waited, for a person.'),
})

export const fileFilters = {
  isOpen: optional(
    flag(),
    'With true only files with lines that wait for a person, with false only those without.',
    LEFT_OUT.all,
  ),
  isToBeSentAgain: optional(
    flag(),
    'With true only files whose bytes are to be sent once more, with false all others.',
    LEFT_OUT.all,
  ),
} satisfies Properties

export const GatewayQuery = objectOf({ gatewayID: required(requiredReference(), identifies('gateway')) })

const answers = {
  paymentID: optional(
    reference(),
    'The payment that the line returns. Just one of this, customerID and isClosed is sent.',
    'Left out, customerID or isClosed answers the line.',
  ),
  customerID: optional(
    reference(),
    'The customer whose payment the line is. Just one of paymentID, this and isClosed is sent.',
    'Left out, paymentID or isClosed answers the line.',
  ),
  AutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['isAutoApply']),
  Allocations: optional(
    allocationsIn('What the money of customerID pays; left out, nothing, unless AutoApply is true'),
    undefined,
    undefined,
    ['allocations', 'LinkedAllocations'],
  ),
  isSeparate: optional(
    flag(),
    'True records the line although a line that may be the same money was recorded: it is another booking.',
    LEFT_OUT.false,
  ),
  isClosed: optional(
    flag(),
    'True closes the line without doing anything. Just one of paymentID, customerID and this is sent.',
    'Left out, paymentID or customerID answers the line.',
  ),
} satisfies Properties

export const ResultLineIn = withoutListWhereAutoApply(objectOf(answers, { name: 'ResultLineInput' }))
export type ResultLineBody = BodyOf<typeof answers>
