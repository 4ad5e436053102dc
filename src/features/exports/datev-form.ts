import type { DatevSettings } from '../../engine/books/codes.ts'
import { type GrossRow, grossRowsOf } from '../../engine/books/gross-rows.ts'
import { addDays, addMonths, dateOf, type Instant, type IsoDate, later, partsOf } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import { roundToMinor, minorText } from '../../kernel/money.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { straight } from '../../kernel/text.ts'
import { heldText, writeWindows } from '../../rails/datev/code-page.ts'
import { writeHead, writeRow } from '../../rails/datev/stack.ts'
import type { BatchForm, FormedRow } from './form.ts'
import { journalText } from './journal-text.ts'
import type { MoveRow } from './moves-queries.ts'
import { writtenNumbers } from './numbers.ts'

/** Batches as stacks of bookings for DATEV. */

export interface DatevBatch {
  id: Id
  number: number
  from: IsoDate
  to: IsoDate
  isLock: boolean
  createdAt: Instant
}

/** Returns the first day of the fiscal year of a day. */
export function fiscalYearOf(day: IsoDate, { yearStartMonth }: Pick<DatevSettings, 'yearStartMonth'>): IsoDate {
  const { year, month } = partsOf(day)
  return dateOf(month < yearStartMonth ? year - 1 : year, yearStartMonth, 1)
}

/** Returns the last day of the fiscal year that begins on a day. */
export const endOfFiscalYear = (start: IsoDate): IsoDate => addDays(addMonths(start, 12), -1)

/** Refuses what no stack can be written of: another currency, days of two fiscal years, and numbers that are not set. */
export function checkDatev(
  settings: DatevSettings,
  { from, to, currency }: { from: IsoDate; to: IsoDate; currency: string },
): asserts settings is DatevSettings & { consultant: number; client: number } {
  if (currency !== 'EUR')
    throw invalid(
      'datev_currency',
      `Files of DATEV have euros only, as ${currency} would need a rate for each row.`,
      'CurrencyCode',
    )
  if (settings.consultant === null || settings.client === null)
    throw conflict(
      'datev_settings_missing',
      'Set Datev.Consultant and Datev.Client by PUT /v1/glcodes first.',
      'Format',
    )
  const year = fiscalYearOf(from, settings)
  if (fiscalYearOf(to, settings) !== year)
    throw conflict(
      'two_fiscal_years',
      `From and To lie in two fiscal years; that of From ends on ${endOfFiscalYear(year)}.`,
      'To',
    )
}

const AMOUNT_MAX = 10n ** 12n

const refusalsOf = ({ account, contra, amountMinor }: GrossRow, digitsMax: number): string[] => [
  ...[account, contra]
    .filter((code) => !/^\d+$/.test(code) || code.length > digitsMax)
    .map((code) => `DATEV takes no account ${code}: it has at most ${digitsMax} digits, and nothing else.`),
  ...(amountMinor < AMOUNT_MAX && amountMinor > -AMOUNT_MAX
    ? []
    : ['DATEV takes no amount of 10,000,000,000.00 or more.']),
]

const amountText = (amountMinor: bigint): string => minorText(amountMinor, 2)

/** Returns what of a row is otherwise in the program of the accountant. */
function differencesOf(
  { tax }: GrossRow,
  { named, document, text }: { named: string; document: string; text: string },
) {
  const held = heldText(text)
  return [
    ...(tax && tax.ownMinor !== tax.computedMinor
      ? [{ problem: 'tax', expected: amountText(tax.ownMinor), computed: amountText(tax.computedMinor) }]
      : []),
    ...(named === document ? [] : [{ problem: 'number', expected: named, computed: document }]),
    ...(held === text ? [] : [{ problem: 'text', expected: text, computed: held }]),
  ]
}

function euFieldsOf({ tax }: GrossRow): { euVatNumber: string | null; euRate: string | null } {
  if (!tax?.first) return { euVatNumber: null, euRate: null }
  const { euVatNumber, isOfOtherState, rate } = tax.first
  const percent = minorText(roundToMinor(rate, 4), 2).replace('.', ',')
  return { euVatNumber, euRate: isOfOtherState ? percent : null }
}

const namedOf = ({ number, reference }: MoveRow): string => straight(number ?? reference ?? '')

/** Makes the form of a batch, whose settings are checked; `rates` are those by which automatic accounts are computed. */
export function datevForm(
  settings: DatevSettings & { consultant: number; client: number },
  batch: DatevBatch,
  rates: ReadonlyMap<string, Decimal>,
): BatchForm {
  const { from, to, number, isLock, createdAt } = batch
  let documents: ReadonlyMap<string, string> = new Map()
  const rowOf = (row: GrossRow, about: MoveRow): FormedRow => {
    const named = namedOf(about)
    const document = documents.get(named) ?? named
    const shown = later(about.dated, from)
    const text = straight(journalText(about, shown))
    const amountMinor = row.amountMinor < 0n ? -row.amountMinor : row.amountMinor
    const side = row.amountMinor > 0n ? 'S' : 'H'
    const { account, contra, key } = row
    return {
      text: writeRow({ amountMinor, side, account, contra, key, day: shown, document, text, ...euFieldsOf(row) }),
      debitMinor: amountMinor,
      creditMinor: amountMinor,
      refusals: refusalsOf(row, settings.accountLength + 1),
      differences: differencesOf(row, { named, document, text }),
    }
  }
  return {
    head: writeHead({
      ...settings,
      madeAt: createdAt.replace(/\D/g, '').slice(0, 17),
      yearStart: fiscalYearOf(from, settings),
      from,
      to,
      name: `Export ${number}`,
      isFixed: isLock,
    }),
    encode: writeWindows,
    load: async (tx, moves) => {
      documents = await writtenNumbers(tx, batch.id, moves.map(namedOf))
    },
    rowsOf: (journal, about) => grossRowsOf(journal, { ...settings, rates }).map((row) => rowOf(row, about)),
  }
}
