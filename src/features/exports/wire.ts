import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { Id } from '../../kernel/ids.ts'
import { amountColumn, dayColumn, recordShape, recordsColumn } from '../../platform/wire/columns.ts'
import { currencyCode, date, flag, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { orNull, outFlag, outId, outInstant, outInteger, outText, outWord } from '../../platform/wire/write.ts'
import type { WantedExport } from './types.ts'
import { type ExportDifference, EXPORT_FORMATS, type ExportRow, type ExportWithDifferences } from './queries.ts'

const columns = {
  exportID: [outId(identifies('export')), ({ id }: ExportRow): Id => id],
  Number: [outInteger('Of the exports of the account, counted from 1'), ({ number }: ExportRow) => number],
  Format: [outWord(EXPORT_FORMATS, 'The form of the files.'), ({ format }: ExportRow) => format],
  From: dayColumn(({ from }: ExportRow) => from, 'The first day.'),
  To: dayColumn(({ to }: ExportRow) => to, 'The last day.'),
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }: ExportRow) => currency],
  isLock: [outFlag('The books were closed up to To with it'), ({ isLock }: ExportRow) => isLock],
  Entries: [outInteger('Entries of the ledger that are in it'), ({ entries }: ExportRow) => entries],
  Debit: amountColumn(({ debitMinor }: ExportRow) => debitMinor, 'Sum of the debits of its rows'),
  Credit: amountColumn(({ creditMinor }: ExportRow) => creditMinor, 'Sum of the credits of its rows, the same'),
  Sha256: [
    outText('Of the bytes of its files, one after the other, in hex'),
    ({ sha256 }: ExportRow) => sha256.toString('hex'),
  ],
  Files: [outInteger('How many files it has'), ({ files }: ExportRow) => files],
  DifferenceCount: [
    outInteger('How many differences there are in all, of which Differences has the first'),
    ({ differenceCount }: ExportRow) => differenceCount,
  ],
  DateCreated: [outInstant(SHARED.DateCreated), ({ createdAt }: ExportRow) => createdAt],
} as const

export const listedExportShape = recordShape<ExportRow>()('ListedExport', columns)

const differenceShape = recordShape<ExportDifference>()('ExportDifference', {
  Part: [outInteger('File of the row'), ({ part }) => part],
  Row: [outInteger('Row of the file, the first one after the titles being 1'), ({ row }) => row],
  Number: [orNull(outText('Number of the document')), ({ number }) => number],
  Problem: [outText('What differs: tax, number or text'), ({ problem }) => problem],
  Expected: [outText('As it is here'), ({ expected }) => expected],
  Computed: [outText('As the program of the accountant computes or takes it'), ({ computed }) => computed],
})

export const exportShape = recordShape<ExportWithDifferences>()('Export', {
  ...columns,
  Differences: recordsColumn(
    differenceShape,
    ({ differences }: ExportWithDifferences) => differences,
    'The rows of which the program of the accountant will compute another tax than their own.',
  ),
})

const inputs = {
  Format: required(
    described(
      word(EXPORT_FORMATS, { anyCase: true }),
      'csv is a plain general journal, datev a stack of bookings for DATEV (EXTF)',
    ),
  ),
  From: required(described(date(), 'Day that rows of entries of days before it are given')),
  To: required(described(date(), 'Last day whose entries are exported')),
  CurrencyCode: required(described(currencyCode(), 'Entries of this currency are exported')),
  isLock: optional(
    described(flag(), 'Closes the books up to To (LockDate), which must be before today; left out, false'),
  ),
} satisfies Properties

export const ExportIn = objectOf(inputs, { name: 'ExportInput' })

export const exportFromWire = (body: BodyOf<typeof inputs>): WantedExport => ({
  format: body.Format,
  from: body.From,
  to: body.To,
  currency: body.CurrencyCode,
  isLock: body.isLock ?? false,
})

const PARTS_MAX = 1_000_000

export const FileQuery = objectOf({
  part: optional(described(whole(1, PARTS_MAX), 'Number of the file, from 1; left out, the first')),
})
