import { type NegativeKind, type Posting, postingsOfNegative } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { addCredited } from '../invoices/issue-queries.ts'
import {
  deleteNegative,
  findNegative,
  insertNegative,
  listCreditNoteCharges,
  listCreditNoteTaxes,
  type NegativeAdjustment,
  type NewNegative,
  updateNegative,
} from './adjustment-queries.ts'
import { type Asked, type GivenMoney, planAllocations } from './allocate.ts'
import { listAllocationsOfGiven } from './allocation-queries.ts'
import { withRoom } from './give-way.ts'
import { lockedRecord, type NegativeRecord, recordMoneyEvent, withAllocations } from './records.ts'
import { checkCurrencyEdit } from './rules.ts'
import { negativeEventShape } from './shapes.ts'
import { postingsOfSettlements, settleNote } from './settlements.ts'
import { writeEdit, writeMoney } from './write.ts'

/** Negative adjustments, of which credit notes are one kind: one set of rules for the two doors that show them. */

const WORDS = { credit_note: 'credit note', bad_debt: 'bad debt' } as const
const labelOf = ({ kind, id }: { kind: NegativeKind; id: Id }): string => `${WORDS[kind]} ${id}`
const capitalOf = (of: { kind: NegativeKind; id: Id }): string => labelOf(of).replace(/^./, (c) => c.toUpperCase())

/** Loads a negative adjustment with its allocations, in one exchange; undefined where there is none. */
export const loadNegative = (db: Queryable, account: AccountId, id: Id): Promise<NegativeRecord | undefined> =>
  withAllocations(findNegative(db, account, id), listAllocationsOfGiven(db, account, 'negative_adjustment', [id]))

/** Locks the customer of a negative adjustment, and loads the adjustment; undefined where there is none. */
export const lockedNegative = async (tx: Transaction, id: Id): Promise<NegativeRecord | undefined> =>
  lockedRecord(tx, await findNegative(tx, tx.account, id), () => loadNegative(tx, tx.account, id))

const recordNegativeEvent = (
  tx: Transaction,
  context: RequestContext,
  what: 'created' | 'updated' | 'deleted',
  negative: NegativeRecord,
) => recordMoneyEvent(tx, context, negativeEventShape(negative), `${negative.kind}.${what}`, negative)

const givenOf = (negative: NegativeAdjustment): GivenMoney => ({
  kind: 'negative_adjustment',
  id: negative.id,
  customerId: negative.customerId,
  currency: negative.currency,
  dated: negative.dated,
  amountMinor: negative.amountMinor,
  counts: 'negative',
  heldMinor: 0n,
})

/** Rule: numbers of credit notes are unique in the account whatever their letter case; references of bad debt are free. */
const refusals = ({ ref }: NewNegative): Record<string, () => Fault> => ({
  negative_adjustments_number_key: () =>
    conflict('credit_number_taken', `There is a credit note with the number ${ref} already.`, 'CreditNumber'),
})

const postingsOf = async (tx: Transaction, negative: NegativeAdjustment): Promise<Posting[]> =>
  postingsOfNegative({
    ...negative,
    taxes: negative.invoiceId === null ? [] : await listCreditNoteTaxes(tx, tx.account, [negative.id]),
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
  const plan = await planAllocations(tx, context, givenOf(negative), [], asked)
  const allocations = await withRoom(tx, context, plan.room, async () => {
    const settled = await settleNote(tx, context, null, negative, plan.allocations)
    return writeMoney(tx, context, {
      customerId: wanted.customerId,
      currency: wanted.currency,
      after: await postingsOf(tx, negative),
      settled,
      allocations: { before: [], after: plan.allocations },
    })
  })
  const record = { ...negative, appliedMinor: sumMinor(allocations), allocations }
  await recordNegativeEvent(tx, context, 'created', record)
  return record
}

/** Fields of a negative adjustment that can be edited; whose it is, its kind and who made it never change. */
export type NegativeEdit = Pick<NegativeAdjustment, 'dated' | 'currency' | 'amountMinor' | 'ref' | 'memo'>

/** Names of what would differ, as the interface spells it. */
function differences(now: NegativeAdjustment, wanted: NegativeEdit): string[] {
  return [
    ...(wanted.amountMinor === now.amountMinor ? [] : ['Amount']),
    ...(wanted.currency === now.currency ? [] : ['CurrencyCode']),
    ...(wanted.dated === now.dated ? [] : ['Date']),
  ]
}

/** Corrects a negative adjustment and its allocations: the ledger follows what it is now, dated as what is corrected. */
export async function editNegative(
  tx: Transaction,
  context: RequestContext,
  before: NegativeRecord,
  wanted: NegativeEdit,
  asked: Asked,
): Promise<NegativeRecord> {
  const changed = differences(before, wanted)
  // Rule: of a note that the service made only number, memo and allocations change.
  if (before.invoiceId !== null && changed.length > 0)
    throw conflict(
      'service_made',
      `${capitalOf(before)} was made by the service; its ${sentenceList(changed)} cannot change.`,
      changed[0] ?? null,
    )
  const keepsSome = ('list' in asked ? asked.list : before.allocations).length > 0
  checkCurrencyEdit(capitalOf(before), before.currency, wanted.currency, keepsSome)
  const negative: NegativeAdjustment = { ...before, ...wanted }
  if (changed.length > 0) checkNotLocked(context.account.lockDate, [before.dated, negative.dated], labelOf(before))
  const kept = negative.currency === before.currency ? before.allocations : []
  const plan = await planAllocations(tx, context, givenOf(negative), kept, asked)
  await withRoom(tx, context, plan.room, async () => {
    const settled = await settleNote(tx, context, before, negative, plan.allocations)
    await writeEdit(tx, context, {
      before: { ...before, postings: await postingsOf(tx, before) },
      after: { ...negative, postings: await postingsOf(tx, negative), allocations: plan.allocations },
      settled,
      writeRow: () => refuseOn(updateNegative(tx, negative), refusals(negative)),
    })
  })
  const record = await loadNegative(tx, tx.account, before.id)
  assert(record, `${labelOf(before)} exists`)
  await recordNegativeEvent(tx, context, 'updated', record)
  return record
}

/** Deletes a negative adjustment: its entries are reversed, its allocations freed, and what it settled can be credited again. */
export async function removeNegative(
  tx: Transaction,
  context: RequestContext,
  negative: NegativeRecord,
): Promise<void> {
  checkNotLocked(context.account.lockDate, [negative.dated], labelOf(negative))
  await writeMoney(tx, context, {
    customerId: negative.customerId,
    currency: negative.currency,
    before: await postingsOf(tx, negative),
    settled: { before: await postingsOfSettlements(tx, negative), after: [] },
    allocations: { before: negative.allocations, after: [] },
  })
  await uncreditCharges(tx, negative.id)
  await deleteNegative(tx, negative.id)
  await recordNegativeEvent(tx, context, 'deleted', negative)
}

/** Makes what a note gave back of charges creditable again, as its money is undone; days that were given back stay so. */
async function uncreditCharges(tx: Transaction, id: Id): Promise<void> {
  const lines = await listCreditNoteCharges(tx, tx.account, id)
  if (lines.length === 0) return
  await addCredited(tx, tx.account, {
    chargeIds: column(lines, 'chargeId'),
    days: arrayLiteral(lines.map(() => null)),
    amountsMinor: arrayLiteral(lines.map(({ netMinor }) => -netMinor)),
  })
}
