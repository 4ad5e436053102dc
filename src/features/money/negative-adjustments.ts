import { type NegativeKind, type Posting, postingsOfNegative } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { sendChangedWords } from '../finding/words.ts'
import { addCredited } from '../invoices/state-queries.ts'
import {
  deleteNegative,
  findNegative,
  insertNegative,
  listCreditNoteCharges,
  listCreditNoteTaxes,
  listRecoveries,
  type NewNegative,
  sendRecovery,
  updateNegative,
} from './adjustment-queries.ts'
import { checkTarget, type GivenMoney, planAllocations } from './allocate.ts'
import { listAllocationsOfGiven } from './allocation-queries.ts'
import { coverRefunds } from './cover-refunds.ts'
import { loadCorrected } from './corrected.ts'
import { withRoom } from './release-pending-lines.ts'
import { lockedRecord, recordMoneyEvent, withAllocations } from './records.ts'
import { type AskedRelief, endReliefs, recoveryContext, relieve } from './relief.ts'
import { checkCurrencyEdit } from './rules.ts'
import { negativeEventShape } from './shapes.ts'
import { sendSettlementDeletes } from './settlement-queries.ts'
import { postingsOfSettlements, settleNote, settleWhole } from './settlements.ts'
import { writeEdit, writeMoney } from './write.ts'
import type { Asked, NegativeAdjustment, NegativeRecord, OwedDocument } from './types.ts'

/** Negative adjustments, of which credit notes are one kind: one set of rules for the two doors that show them. */

const WORDS = { credit_note: 'credit note', bad_debt: 'bad debt' } as const
const labelOf = ({ kind, id }: { kind: NegativeKind; id: Id }): string => `${WORDS[kind]} ${id}`
const capitalOf = (of: { kind: NegativeKind; id: Id }): string => labelOf(of).replace(/^./, (c) => c.toUpperCase())

/** Replaces the words of a credit note whose number has changed; bad debts bear none. */
const sendWordsOfNote = (
  tx: Transaction,
  { kind, id }: NegativeAdjustment,
  before: string | null,
  after: string | null,
) => (kind === 'credit_note' ? sendChangedWords(tx, 'credits', id, [before], [after]) : undefined)

/** Loads a negative adjustment with its allocations and what it corrects, in one exchange; undefined where there is none. */
export async function loadNegative(db: Queryable, account: AccountId, id: Id): Promise<NegativeRecord | undefined> {
  const [row, correctedOf] = await Promise.all([
    withAllocations(findNegative(db, account, id), listAllocationsOfGiven(db, account, 'negative_adjustment', [id])),
    loadCorrected(db, account, [id]),
  ])
  return row && { ...row, ...correctedOf(id) }
}

export async function reloadedNegative(
  tx: Transaction,
  negative: { kind: NegativeKind; id: Id },
): Promise<NegativeRecord> {
  const record = await loadNegative(tx, tx.account, negative.id)
  assert(record, `${labelOf(negative)} exists`)
  return record
}

/** Locks the customer of a negative adjustment, and loads the adjustment; undefined where there is none. */
export const lockedNegative = async (tx: Transaction, id: Id): Promise<NegativeRecord | undefined> =>
  lockedRecord(tx, await findNegative(tx, tx.account, id), () => loadNegative(tx, tx.account, id))

export const recordNegativeEvent = (
  tx: Transaction,
  context: RequestContext,
  what: 'created' | 'updated' | 'deleted',
  negative: NegativeRecord,
) => recordMoneyEvent(tx, context, negativeEventShape(negative), `${negative.kind}.${what}`, negative)

export const givenOfNegative = (negative: NegativeAdjustment): GivenMoney => ({
  kind: 'negative_adjustment',
  id: negative.id,
  customerId: negative.customerId,
  currency: negative.currency,
  dated: negative.dated,
  amountMinor: negative.amountMinor,
  counts: negative.kind === 'bad_debt' ? 'written_off' : 'negative',
  heldMinor: 0n,
})

/** Rule: numbers of credit notes are unique in the account whatever their letter case; references of bad debt are free. */
export const refusalsOfNumber = ({ ref }: Pick<NewNegative, 'ref'>): Record<string, () => Fault> => ({
  negative_adjustments_number_key: () =>
    conflict('credit_number_taken', `There is a credit note with the number ${ref} already.`, 'CreditNumber'),
})

const postingsOf = async (tx: Transaction, negative: NegativeAdjustment): Promise<Posting[]> =>
  postingsOfNegative({
    ...negative,
    taxes: negative.invoiceId === null ? [] : await listCreditNoteTaxes(tx, tx.account, [negative.id]),
    recovered: negative.kind === 'bad_debt' ? await listRecoveries(tx, tx.account, [negative.id]) : [],
  })

/** Negative adjustment of a caller, as it is to be added. */
export type AddedNegative = Omit<NewNegative, 'invoiceId' | 'subscriptionId' | 'closedAt'> & {
  /** Invoice for which a credit note is made and settled whole; null where it is made for none. */
  forInvoice: OwedDocument | null
}

/**
 * Adds one of a locked customer, settled whole for an invoice where it is made for one. Throws conflicts: locked books, a number in use, an
 * invoice that cannot be credited by as much, and what stands against its allocations and its relief.
 */
export async function addNegative(
  tx: Transaction,
  context: RequestContext,
  { forInvoice, ...added }: AddedNegative,
  asked: Asked,
  relief?: AskedRelief,
): Promise<NegativeRecord> {
  const { now } = context.moment
  const wanted: NewNegative = { ...added, invoiceId: null, subscriptionId: null, closedAt: forInvoice ? now : null }
  checkNotLocked(context.account.lockDate, [wanted.dated], `the ${WORDS[wanted.kind]}`)
  const id = await refuseOn(insertNegative(tx, wanted, now), refusalsOfNumber(wanted))
  const negative: NegativeAdjustment = {
    ...wanted,
    id,
    appliedMinor: 0n,
    createdAt: now,
    sentAt: null,
    reliefDate: null,
  }
  if (forInvoice) checkTarget(negative, forInvoice, 'invoiceID')
  const plan = await planAllocations(tx, context, givenOfNegative(negative), [], asked)
  await withRoom(tx, context, plan.room, async () => {
    const settled = forInvoice
      ? await settleWhole(tx, context, negative, forInvoice.id)
      : await settleNote(tx, context, null, negative, plan.allocations)
    const relieved = await relieve(tx, context, null, negative, { allocations: plan.allocations, asked: relief })
    await writeMoney(tx, context, {
      customerId: wanted.customerId,
      currency: wanted.currency,
      after: await postingsOf(tx, negative),
      settled: { before: [], after: [...settled.after, ...relieved.made] },
      allocations: { before: [], after: plan.allocations },
    })
  })
  if (negative.kind === 'credit_note') await coverRefunds(tx, context, negative.customerId)
  const record = await reloadedNegative(tx, negative)
  await recordNegativeEvent(tx, context, 'created', record)
  return record
}

/**
 * Fields of a negative adjustment that can be edited; whose it is, its kind and who made it never change. A reason that is left out stays, for
 * programs that do not know of it; a memo that is left out goes, but that of a note that was sent, which cannot change.
 */
export type NegativeEdit = Pick<NegativeAdjustment, 'dated' | 'currency' | 'amountMinor' | 'ref'> & {
  memo: string | null | undefined
  reason: string | null | undefined
}

const MONEY_FIELDS = { amountMinor: 'Amount', currency: 'CurrencyCode', dated: 'Date' } as const
const OF_CLOSED = { ...MONEY_FIELDS, reason: 'Reason' } as const
const OF_SENT = { ...OF_CLOSED, memo: 'Memo', ref: 'CreditNumber' } as const

/** Returns the names of fields that would differ, as the interface spells them. */
const differences = (
  now: NegativeAdjustment,
  wanted: NegativeAdjustment,
  fields: Partial<Record<keyof typeof OF_SENT, string>>,
): string[] =>
  Object.entries(fields).flatMap(([field, name]) =>
    now[field as keyof typeof OF_SENT] === wanted[field as keyof typeof OF_SENT] ? [] : [name],
  )

/**
 * Throws a conflict where an edit changes what is fixed of a closed note. Rule: only its allocations, its memo and its number can change, and of
 * a sent one only the allocations.
 */
function checkClosed(before: NegativeAdjustment, wanted: NegativeAdjustment): void {
  if (before.closedAt === null) return
  const fixed = differences(before, wanted, before.sentAt === null ? OF_CLOSED : OF_SENT)
  if (fixed.length === 0) return
  const why =
    before.sentAt !== null
      ? 'was sent'
      : before.invoiceId !== null
        ? 'was made by the service'
        : 'was made for an invoice'
  throw conflict(
    'note_closed',
    `${capitalOf(before)} ${why}; its ${sentenceList(fixed)} cannot change.`,
    fixed[0] ?? null,
  )
}

/**
 * Corrects a negative adjustment and its allocations: the ledger follows what it is now, dated as what is corrected. A bad debt whose books are
 * closed is recovered instead where its amount falls.
 */
export async function editNegative(
  tx: Transaction,
  context: RequestContext,
  before: NegativeRecord,
  wanted: NegativeEdit,
  asked: Asked,
  relief?: AskedRelief,
): Promise<NegativeRecord> {
  const { memo = before.sentAt === null ? null : before.memo, reason = before.reason } = wanted
  const negative: NegativeAdjustment = { ...before, ...wanted, memo, reason }
  checkClosed(before, negative)
  const changed = differences(before, negative, MONEY_FIELDS)
  const keepsSome = ('list' in asked ? asked.list : before.allocations).length > 0
  checkCurrencyEdit(capitalOf(before), before.currency, wanted.currency, keepsSome)
  const recovering = recoveryContext(context, before, wanted)
  if (changed.length > 0 && !recovering)
    checkNotLocked(context.account.lockDate, [before.dated, negative.dated], labelOf(before))
  const kept = negative.currency === before.currency ? before.allocations : []
  const dating = recovering ?? context
  const { allocations, room } = await planAllocations(tx, dating, givenOfNegative(negative), kept, asked)
  await withRoom(tx, dating, room, async () => {
    const settled = await settleNote(tx, context, before, negative, allocations)
    const relieved = await relieve(tx, context, before, negative, { allocations, asked: relief })
    const postings = await postingsOf(tx, before)
    if (recovering) {
      const amountMinor = before.amountMinor - negative.amountMinor
      sendRecovery(tx, negative.id, { amountMinor, dated: context.moment.today })
    }
    await writeEdit(tx, dating, {
      before: { ...before, postings },
      after: { ...negative, postings: await postingsOf(tx, negative), allocations },
      settled: { before: settled.before, after: [...settled.after, ...relieved.made] },
      happened: relieved.ended,
      writeRow: async () => {
        await refuseOn(updateNegative(tx, negative), refusalsOfNumber(negative))
        sendWordsOfNote(tx, negative, before.ref, negative.ref)
      },
    })
  })
  if (negative.kind === 'credit_note') await coverRefunds(tx, context, negative.customerId)
  const record = await reloadedNegative(tx, before)
  await recordNegativeEvent(tx, context, 'updated', record)
  return record
}

/** Deletes a negative adjustment that was not sent: its entries are reversed, its allocations freed, and what it settled can be credited again. */
export async function removeNegative(
  tx: Transaction,
  context: RequestContext,
  negative: NegativeRecord,
): Promise<void> {
  if (negative.sentAt !== null)
    throw conflict(
      'note_sent',
      `${capitalOf(negative)} was sent and cannot be deleted. An invoice by hand corrects it.`,
    )
  checkNotLocked(context.account.lockDate, [negative.dated], labelOf(negative))
  await writeMoney(tx, context, {
    customerId: negative.customerId,
    currency: negative.currency,
    before: await postingsOf(tx, negative),
    settled: { before: postingsOfSettlements(negative), after: [] },
    allocations: { before: negative.allocations, after: [] },
    happened: await endReliefs(tx, context, negative),
  })
  await uncreditCharges(tx, negative)
  if (negative.kind === 'credit_note') sendSettlementDeletes(tx, negative.settlements, context.moment.now)
  await deleteNegative(tx, negative.id)
  sendWordsOfNote(tx, negative, negative.ref, null)
  await recordNegativeEvent(tx, context, 'deleted', negative)
  // A refund that it had paid is open again.
  if (negative.allocations.some(({ owedKind }) => owedKind === 'positive_adjustment'))
    await coverRefunds(tx, context, negative.customerId)
}

/** Makes what a note gave back of charges creditable again, as its money is undone; days that were given back stay so. */
async function uncreditCharges(tx: Transaction, { id, customerId }: NegativeAdjustment): Promise<void> {
  const lines = await listCreditNoteCharges(tx, tx.account, id)
  if (lines.length === 0) return
  await addCredited(tx, customerId, {
    chargeIds: column(lines, 'chargeId'),
    days: arrayLiteral(lines.map(() => null)),
    amountsMinor: arrayLiteral(lines.map(({ netMinor }) => -netMinor)),
  })
}
