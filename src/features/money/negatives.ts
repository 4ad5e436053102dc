import type { WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { type NegativeKind, type Posting, postingsOfNegative } from '../../engine/money/postings.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { lockCustomer } from '../customers/queries.ts'
import { recordEvent } from '../events/record.ts'
import { addCredited } from '../invoices/issue-queries.ts'
import {
  deleteNegative,
  findNegative,
  insertNegative,
  listNoteCharges,
  listNoteTaxes,
  type NegativeAdjustment,
  type NewNegative,
  updateNegative,
} from './adjustment-queries.ts'
import { type Asked, type GivenMoney, planAllocations } from './allocate.ts'
import { listAllocationsOfGiven } from './allocation-queries.ts'
import { negativeRecord } from './negative-wire.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { type MoneyChange, writeEdit, writeMoney } from './write.ts'

/** Negative adjustments, of which credit notes are one kind: one set of rules for the two doors that show them. */

/** One with what is allocated of it. */
export interface NegativeRecord {
  negative: NegativeAdjustment
  allocations: readonly AllocationState[]
}

const WORDS = { credit_note: 'credit note', bad_debt: 'bad debt' } as const
const labelOf = ({ kind, id }: { kind: NegativeKind; id: Id }): string => `${WORDS[kind]} ${id}`
const capitalOf = (of: { kind: NegativeKind; id: Id }): string => labelOf(of).replace(/^./, (c) => c.toUpperCase())

/** The record, its customer locked before it is read for good; undefined where there is none. */
export async function lockedNegative(tx: Transaction, id: Id): Promise<NegativeRecord | undefined> {
  const found = await findNegative(tx, tx.account, id)
  if (!found) return undefined
  await lockCustomer(tx, tx.account, found.customerId)
  const negative = await findNegative(tx, tx.account, id)
  return (
    negative && { negative, allocations: await listAllocationsOfGiven(tx, tx.account, 'negative_adjustment', [id]) }
  )
}

const recordNegative = (
  tx: Transaction,
  context: RequestContext,
  what: 'created' | 'updated' | 'deleted',
  { negative, allocations }: NegativeRecord,
) =>
  recordEvent(tx, context, {
    type: `${negative.kind}.${what}`,
    recordId: negative.id,
    customerId: negative.customerId,
    record: negativeRecord(negative, allocations, context.account.timeZone),
  })

const givenOf = (negative: NegativeAdjustment): GivenMoney => ({
  kind: 'negative_adjustment',
  id: negative.id,
  customerId: negative.customerId,
  currency: negative.currency,
  dated: negative.dated,
  amountMinor: negative.amountMinor,
  counts: 'negative',
  takesTax: negative.kind === 'credit_note' && negative.invoiceId === null,
})

/** Rule: numbers of credit notes are unique in the account whatever their letter case; references of bad debt are free. */
const refusals = ({ ref }: NewNegative): Record<string, () => Fault> => ({
  negative_adjustments_number_key: () =>
    conflict('credit_number_taken', `There is a credit note with the number ${ref} already.`, 'CreditNumber'),
})

const postingsOf = async (tx: Transaction, negative: NegativeAdjustment): Promise<Posting[]> =>
  postingsOfNegative({
    ...negative,
    taxes: negative.invoiceId === null ? [] : await listNoteTaxes(tx, tx.account, negative.id),
  })

/** Adds one of a locked customer. Throws conflicts: locked books, a number in use, and what stands against its allocations. */
export async function addNegative(
  tx: Transaction,
  context: RequestContext,
  wanted: NewNegative,
  asked: Asked,
): Promise<NegativeRecord> {
  const { now } = context.moment
  checkNotLocked(context.account.lockDate, [wanted.dated], `the ${WORDS[wanted.kind]}`)
  const id = await refuseOn(insertNegative(tx, wanted, now), refusals(wanted))
  const negative: NegativeAdjustment = { ...wanted, id, appliedMinor: 0n, createdAt: now }
  const after = await planAllocations(tx, context, givenOf(negative), [], asked)
  const allocations = await writeMoney(tx, context, {
    customerId: wanted.customerId,
    currency: wanted.currency,
    after: await postingsOf(tx, negative),
    allocations: { before: [], after },
  })
  const appliedMinor = allocations.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  const record = { negative: { ...negative, appliedMinor }, allocations }
  await recordNegative(tx, context, 'created', record)
  return record
}

/** What of it can be edited; who it is of, its kind and who made it never change. */
export type NegativeEdit = Pick<NegativeAdjustment, 'dated' | 'currency' | 'amountMinor' | 'ref' | 'memo'>

/** Names of what would differ, as the interface spells it. */
function differences(now: NegativeAdjustment, wanted: NegativeEdit): string[] {
  return [
    ...(wanted.amountMinor === now.amountMinor ? [] : ['Amount']),
    ...(wanted.currency === now.currency ? [] : ['CurrencyCode']),
    ...(wanted.dated === now.dated ? [] : ['Date']),
  ]
}

/** Rule: of a note that the service made only number, memo and allocations change; the currency only where nothing is allocated. */
function checkEdit(
  { negative, allocations }: NegativeRecord,
  changed: readonly string[],
  list: readonly WantedAllocation[] | null,
): void {
  if (negative.invoiceId !== null && changed.length > 0)
    throw conflict(
      'service_made',
      `${capitalOf(negative)} was made by the service; its ${sentenceList(changed)} cannot change.`,
      changed[0] ?? null,
    )
  const keepsSome = list === null ? allocations.length > 0 : list.length > 0
  if (changed.includes('CurrencyCode') && keepsSome)
    throw conflict(
      'currency_allocated',
      `${capitalOf(negative)} is in ${negative.currency}; its currency can change only with an empty list of allocations.`,
      'CurrencyCode',
    )
}

/** Corrects one and its allocations: the ledger says what it says now, dated as what is corrected. */
export async function editNegative(
  tx: Transaction,
  context: RequestContext,
  present: NegativeRecord,
  wanted: NegativeEdit,
  asked: Asked,
): Promise<NegativeRecord> {
  const { negative: before, allocations } = present
  const changed = differences(before, wanted)
  checkEdit(present, changed, 'list' in asked ? asked.list : null)
  const negative: NegativeAdjustment = { ...before, ...wanted }
  if (changed.length > 0) checkNotLocked(context.account.lockDate, [before.dated, negative.dated], labelOf(before))
  const kept = negative.currency === before.currency ? allocations : []
  const after = await planAllocations(tx, context, givenOf(negative), kept, asked)
  const write = () => refuseOn(updateNegative(tx, negative), refusals(negative))
  // The amount rises before what is allocated of it does, and falls after.
  const isRise = negative.amountMinor > before.amountMinor
  if (isRise) await write()
  await writeEdit(tx, context, before.customerId, {
    before: { currency: before.currency, postings: await postingsOf(tx, before), allocations },
    after: { currency: negative.currency, postings: await postingsOf(tx, negative), allocations: after },
  })
  if (!isRise) await write()
  const record = (await lockedNegative(tx, negative.id)) as NegativeRecord
  await recordNegative(tx, context, 'updated', record)
  return record
}

/** Deletes one: its entries are reversed and its allocations freed. What a note of the service took of an invoice's taxes is free again. */
export async function removeNegative(tx: Transaction, context: RequestContext, present: NegativeRecord): Promise<void> {
  const { negative, allocations } = present
  checkNotLocked(context.account.lockDate, [negative.dated], labelOf(negative))
  await writeMoney(tx, context, {
    customerId: negative.customerId,
    currency: negative.currency,
    before: await postingsOf(tx, negative),
    allocations: { before: allocations, after: [] },
    ...(await releasedOf(tx, negative)),
  })
  await uncreditCharges(tx, negative.id)
  await deleteNegative(tx, negative.id)
  await recordNegative(tx, context, 'deleted', present)
}

/** The money is undone, so what the note gave back of charges can be credited again; days that were given back stay so. */
async function uncreditCharges(tx: Transaction, id: Id): Promise<void> {
  const lines = await listNoteCharges(tx, tx.account, id)
  if (lines.length === 0) return
  await addCredited(tx, tx.account, {
    chargeIds: column(lines, 'chargeId'),
    days: arrayLiteral(lines.map(() => null)),
    amountsMinor: arrayLiteral(lines.map(({ netMinor }) => -netMinor)),
  })
}

async function releasedOf(
  tx: Transaction,
  { id, invoiceId }: NegativeAdjustment,
): Promise<Pick<MoneyChange, 'released'>> {
  if (invoiceId === null) return {}
  return { released: { invoiceId, taxes: await listNoteTaxes(tx, tx.account, id) } }
}
