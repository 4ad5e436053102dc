import { rangesAfter } from '../../engine/books/entry-ranges.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { LongRun } from '../../platform/http/operation.ts'
import { lockAccountSettings } from '../accounts/queries.ts'
import { announceAccountChange, editAccount } from '../accounts/settings.ts'
import { refuseUnknownCurrency } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import { lockGlCodes } from '../gl-codes/queries.ts'
import { takeLedgerMark } from '../ledger/mark-queries.ts'
import { type Chart, loadChart } from './codes.ts'
import { checkDatev, endOfFiscalYear, fiscalYearOf } from './datev-form.ts'
import { checkCodes } from './missing.ts'
import { countUses, hasEntriesFrom, type Use } from './moves-queries.ts'
import {
  deleteExport,
  type ExportWithDifferences,
  findClosing,
  findExport,
  findNewestExport,
  finishExport,
  highestOf,
  insertExport,
  listReaches,
} from './queries.ts'
import { insertUnsettled } from './unsettled-queries.ts'
import { exportShape } from './wire.ts'
import { type BatchToWrite, writeFiles } from './write.ts'
import type { WantedExport } from './types.ts'

/** Making and deleting batches. One of an account is made at a time: whoever makes one holds its codes. */

export interface ExportDeps {
  longDb: Database
  forgetAccount(account: AccountId): void
}

/** How long making a batch may take, in milliseconds. It posts no entries, so nobody's mark waits for it. */
const BATCH_MS = 60 * 60_000

/** Makes the refusal of a second batch of an account while one is made. */
export const exportBusy = (): Fault =>
  new Fault(
    'busy',
    [
      {
        code: 'export_busy',
        message:
          'Another export of this account is being made; try again when it is done, or after 30 seconds where it was cut off by a crash.',
        field: null,
      },
    ],
    1,
  )

function checkWanted({ from, to, isLock }: WantedExport, today: IsoDate): void {
  if (from > to) throw invalid('dates_reversed', `From ${from} is after To ${to}.`, 'From')
  if (isLock && to >= today)
    throw invalid(
      'out_of_range',
      `With isLock To must lie before today, ${today}: days that are not over cannot be closed.`,
      'To',
    )
}

/**
 * Makes a batch of all entries up to its last day that no batch of its currency has yet. Returns the newest batch where there are none; throws a Fault
 * (409) where that is not there either, or where codes are missing. Nothing of it is left where its caller has gone.
 */
export async function makeExport(
  deps: ExportDeps,
  context: RequestContext,
  wanted: WantedExport,
  about: LongRun,
): Promise<{ batch: ExportWithDifferences; isNew: boolean }> {
  checkWanted(wanted, context.moment.today)
  const account = context.account.id
  return deps.longDb.transaction(
    account,
    async (tx) => {
      await refuseUnknownCurrency(tx, account, wanted.currency, 'CurrencyCode')
      const codes = await lockGlCodes(tx)
      const chart = await loadChart(tx, codes)
      if (wanted.format === 'datev') checkDatev(codes.datev, wanted)
      const { isNew, below } = await makeBatch(tx, context, chart, wanted, about)
      const batch = await findNewestExport(tx, account, wanted.currency)
      if (!batch) throw nothingToExport(wanted, await hasEntriesFrom(tx, wanted, below))
      if (wanted.isLock) await closeBooks(tx, deps, context, wanted.to)
      if (isNew) await recordExport(tx, context, 'export.created', batch)
      return { batch, isNew }
    },
    { boundMs: BATCH_MS, ...(about.gone && { signal: about.gone }) },
  )
}

/** Makes the refusal of a first batch without entries; `hasYounger` if there are some which are not settled yet. */
const nothingToExport = ({ currency, to }: WantedExport, hasYounger: boolean): Fault =>
  conflict(
    'nothing_to_export',
    hasYounger
      ? `There are entries in ${currency} up to ${to}, but none can be exported yet: on Citus that takes 30 minutes from when an entry was written, on one server until the writes that were under way have ended. Try again then.`
      : `There are no entries in ${currency} up to ${to}, and no export before.`,
    'To',
  )

/** Refuses a stack of DATEV for a fiscal year that an export has closed up to its end. */
async function checkYearOpen(tx: Transaction, { codes }: Chart, batch: BatchToWrite): Promise<void> {
  const end = endOfFiscalYear(fiscalYearOf(batch.from, codes.datev))
  const closing = await findClosing(tx, batch, end)
  if (closing)
    throw conflict(
      'fiscal_year_closed',
      `Export ${closing.number} has closed the fiscal year that ends on ${end}; take From and To of the one after.`,
      'From',
    )
}

/** Thrown inside of a savepoint where a batch would be empty. */
class NothingNew extends Error {}

/** Moves that only exports know. */
const UNSETTLED: Use = { debit: 'revenue', credit: 'unsettled', entries: 0 }

async function makeBatch(
  tx: Transaction,
  context: RequestContext,
  chart: Chart,
  wanted: WantedExport,
  about: LongRun,
): Promise<{ isNew: boolean; below: bigint }> {
  const createdAt = context.moment.now
  const marked = await takeLedgerMark(tx)
  // Who makes an export holds the account's codes, so that no other takes the number meanwhile.
  const before = await highestOf(tx, tx.account)
  const number = before.number + 1
  const below = marked > before.below ? marked : before.below
  const ranges = rangesAfter(await listReaches(tx, tx.account, wanted.currency), { below, to: wanted.to })
  try {
    await tx.savepoint(async () => {
      const id = await insertExport(tx, { ...wanted, number, below, createdAt })
      const batch = { ...wanted, id, number, below, ranges, createdAt }
      about.isAbout(String(id))
      const isChanged = await insertUnsettled(tx, batch)
      const uses = await countUses(tx, batch)
      if (!isChanged && uses.length === 0) throw new NothingNew()
      if (wanted.format === 'datev') await checkYearOpen(tx, chart, batch)
      await checkCodes(tx, chart.codes, batch, isChanged ? [...uses, UNSETTLED] : uses)
      const entries = uses.reduce((sum, use) => sum + use.entries, 0)
      await finishExport(tx, id, {
        entries,
        ...(await writeFiles(tx, chart, batch, (done) => about.progress(Math.min(done, entries), entries))),
      })
    })
    return { isNew: true, below }
  } catch (error) {
    if (error instanceof NothingNew) return { isNew: false, below }
    throw error
  }
}

/** Moves LockDate to a day; never back. */
async function closeBooks(tx: Transaction, deps: ExportDeps, context: RequestContext, day: IsoDate): Promise<void> {
  const present = await lockAccountSettings(tx, tx.account)
  if (present.lockDate !== null && present.lockDate >= day) return
  await editAccount(tx, context, present, { LockDate: day })
  await announceAccountChange(tx, deps.forgetAccount)
}

const recordExport = (
  tx: Transaction,
  context: RequestContext,
  type: 'export.created' | 'export.deleted',
  batch: ExportWithDifferences,
) => recordEvent(tx, context, { type, recordId: batch.id, record: exportShape.write(batch, writingOf(context)) })

/** Deletes a batch, so that its entries are in none. Throws a Fault (409) unless it is the newest of its currency. */
export async function removeExport(
  tx: Transaction,
  context: RequestContext,
  batch: ExportWithDifferences,
): Promise<void> {
  await lockGlCodes(tx)
  const newest = await findNewestExport(tx, tx.account, batch.currency)
  assert(newest, `export ${batch.id} is there, so there is a newest one`)
  if (newest.id !== batch.id)
    throw conflict(
      'export_not_newest',
      `Export ${batch.number} is not the newest of ${batch.currency}, which is ${newest.number}: later ones go on from it.`,
      'exportID',
    )
  const present = await findExport(tx, tx.account, batch.id)
  assert(present, `export ${batch.id} is there`)
  await deleteExport(tx, batch.id)
  await recordExport(tx, context, 'export.deleted', present)
}
