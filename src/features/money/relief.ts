import { afterLock, type Posting } from '../../engine/money/postings.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { listSettlementsOfNotes, listToSettle } from './settlement-queries.ts'
import { endSettlements, invoiceOf, postingsOf, writeParts } from './settlements.ts'
import type { MoneyContext, NegativeAdjustment, NegativeRecord, Settlement, WantedState } from './types.ts'

/** Reliefs: settlements of a bad debt, by which the tax of what was written off comes back; their end is an event of its day. */

/** Day that a request gives to the relief of a bad debt; null ends it, undefined leaves it as it is. */
export type AskedRelief = IsoDate | null | undefined

/** Entries that a request makes of reliefs: those of new ones, and the reverse of those that end; with the day of what stands then. */
export interface Relieved {
  made: Posting[]
  ended: Posting[]
  reliefDate: IsoDate | null
}

const NONE: Relieved = { made: [], ended: [], reliefDate: null }

/**
 * Relieves a bad debt as a request asks for it, and writes that. Rules: on the day given for what of it is allocated to each invoice; a relief
 * ends where less of the bad debt is allocated to its invoice than it relieves, and what remains is relieved anew that day. `before` is null for
 * a new one.
 */
export async function relieve(
  tx: Transaction,
  context: MoneyContext,
  before: NegativeRecord | null,
  after: NegativeAdjustment,
  { allocations, asked }: { allocations: readonly WantedState[]; asked: AskedRelief },
): Promise<Relieved> {
  if (after.kind !== 'bad_debt') return NONE
  const { account, moment } = context
  const present = before === null ? [] : await listSettlementsOfNotes(tx, tx.account, [after.id])
  const isAnew = asked != null && asked !== (before?.reliefDate ?? null)
  if (present.length === 0 && !isAnew) return NONE
  if (isAnew) checkNotLocked(account.lockDate, [asked], 'the relief', 'TaxReliefDate')
  const allocated = allocatedTo(allocations)
  const isLower = (one: Settlement) => (allocated.get(one.invoiceId) ?? 0n) < one.amountMinor
  const gone = isAnew || asked === null ? present : present.filter(isLower)
  const today = afterLock(moment.today, account.lockDate)
  const ended = endSettlements(tx, context, gone)
  const invoiceIds = isAnew ? [...allocated.keys()] : asked === null ? [] : gone.map(({ invoiceId }) => invoiceId)
  const parts = invoiceIds.flatMap((invoiceId) => {
    const amountMinor = allocated.get(invoiceId) ?? 0n
    return amountMinor > 0n ? [{ invoiceId, amountMinor }] : []
  })
  const day = isAnew ? asked : today
  const made = await makeReliefs(tx, context, after, parts, day)
  const standing = [...present.filter((one) => !gone.includes(one)), ...made]
  checkDay(after, standing)
  const reliefDate =
    standing
      .map(({ dated }) => dated)
      .toSorted()
      .at(-1) ?? null
  return { made: postingsOf(made), ended, reliefDate }
}

/** Sums what is allocated to each invoice. */
function allocatedTo(allocations: readonly WantedState[]): Map<InvoiceId, bigint> {
  const sums = new Map<InvoiceId, bigint>()
  for (const { owedKind, owedId, amountMinor, endedOn } of allocations)
    if (owedKind === 'invoice' && endedOn === null) sums.set(owedId, (sums.get(owedId) ?? 0n) + amountMinor)
  return sums
}

/** Makes reliefs of one day. Rule: none is made of a day before its invoice. */
async function makeReliefs(
  tx: Transaction,
  context: MoneyContext,
  debt: NegativeAdjustment,
  parts: readonly { invoiceId: InvoiceId; amountMinor: bigint }[],
  day: IsoDate,
): Promise<Settlement[]> {
  const invoices = await listToSettle(
    tx,
    tx.account,
    parts.map(({ invoiceId }) => invoiceId),
  )
  for (const { invoiceId } of parts) {
    const { dated } = invoiceOf(invoices, invoiceId)
    if (day < dated)
      throw conflict(
        'relief_before_invoice',
        `Invoice ${invoiceId} is dated ${dated}; its tax cannot be taken back on ${day}, before that.`,
        'TaxReliefDate',
      )
  }
  return writeParts(tx, context, debt, parts, invoices, { basis: 'relief', dayOf: () => day })
}

/** Throws a conflict where a bad debt moves to a day after its relief. */
function checkDay({ id, dated }: NegativeAdjustment, reliefs: readonly Settlement[]): void {
  const early = reliefs.find((one) => one.dated < dated)
  if (early)
    throw conflict(
      'relief_before_debt',
      `Bad debt ${id} is relieved on ${early.dated}, before the Date ${dated}; send a TaxReliefDate from that day on, or null.`,
      'TaxReliefDate',
    )
}

/** Ends all reliefs of a bad debt that is deleted. Returns their entries. */
export async function endReliefs(tx: Transaction, context: MoneyContext, debt: NegativeAdjustment): Promise<Posting[]> {
  const standing = debt.kind === 'bad_debt' ? await listSettlementsOfNotes(tx, tx.account, [debt.id]) : []
  return endSettlements(tx, context, standing)
}

/**
 * Returns how a request is dated that lowers a bad debt whose books are closed: money came in, so the difference is of today, as if books were
 * closed up to yesterday. Returns undefined of any other request.
 */
export function recoveryContext(
  context: RequestContext,
  before: NegativeAdjustment,
  wanted: Pick<NegativeAdjustment, 'dated' | 'amountMinor'>,
): RequestContext | undefined {
  const { lockDate } = context.account
  const isClosed = before.kind === 'bad_debt' && lockDate !== null && before.dated <= lockDate
  if (!isClosed || wanted.dated !== before.dated || wanted.amountMinor >= before.amountMinor) return undefined
  return { ...context, account: { ...context.account, lockDate: addDays(context.moment.today, -1) } }
}
