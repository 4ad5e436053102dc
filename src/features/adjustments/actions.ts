import { conflict, missing, type Problems } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { unknownCustomer } from '../customers/record.ts'
import { type Customer, lockCustomer } from '../customers/queries.ts'
import { findNegative, findPositive, type NewNegative, type NewPositive } from '../money/adjustment-queries.ts'
import type { Asked } from '../money/allocate.ts'
import { listAllocationsOfGiven, listAllocationsOfOwed } from '../money/allocation-queries.ts'
import { chooseAsked } from '../money/choose.ts'
import { addNegative, editNegative, lockedNegative, removeNegative } from '../money/negatives.ts'
import { chooseGivens } from './choose-givens.ts'
import { addPositive, editPositive, lockedPositive, type PositiveAsked, removePositive } from './positives.ts'
import {
  type AddBody,
  type AdjustmentKind,
  type AdjustmentRecord,
  type AdjustmentType,
  type CommonBody,
  type EditBody,
  isPositive,
  linkedNames,
  owedEntries,
  typeOf,
} from './wire.ts'

/** Adjustments of both kinds, as one door knows them: named by type, identifier and customer. */

export interface AdjustmentName {
  type: AdjustmentType
  id: Id
  customerId: CustomerId
}

const unknownAdjustment = ({ type, id, customerId }: AdjustmentName) =>
  missing('adjustment_unknown', `Customer ${customerId} has no ${type} adjustment ${id}.`, 'adjustmentID')

/** The record that a name names. Throws missing, also for another customer's. */
export async function foundAdjustment(
  db: Queryable,
  account: AccountId,
  name: AdjustmentName,
): Promise<AdjustmentRecord> {
  const { type, id, customerId } = name
  if (type === 'positive') {
    const [positive, allocations] = await Promise.all([
      findPositive(db, account, id),
      listAllocationsOfOwed(db, account, 'positive_adjustment', [id]),
    ])
    if (positive?.customerId !== customerId) throw unknownAdjustment(name)
    return { positive, allocations }
  }
  const [negative, allocations] = await Promise.all([
    findNegative(db, account, id),
    listAllocationsOfGiven(db, account, 'negative_adjustment', [id]),
  ])
  if (negative?.customerId !== customerId) throw unknownAdjustment(name)
  return { negative, allocations }
}

/** The same with its customer locked. */
export async function lockedAdjustment(tx: Transaction, name: AdjustmentName): Promise<AdjustmentRecord> {
  const { type, id, customerId } = name
  const record = type === 'positive' ? await lockedPositive(tx, id) : await lockedNegative(tx, id)
  if (record && (isPositive(record) ? record.positive : record.negative).customerId === customerId) return record
  throw unknownAdjustment(name)
}

/** The customer of a new adjustment, locked. Throws missing. */
export async function lockedOwner(tx: Transaction, id: CustomerId): Promise<Customer> {
  const customer = await lockCustomer(tx, tx.account, id)
  if (!customer) throw unknownCustomer(id)
  return customer
}

/** Rules of both bodies: the kind fits the type; a positive one has a due date that is not before its date. */
function checkCommon(body: Partial<CommonBody>, problems: Problems): void {
  const { Type, AdjustmentType, Date: dated, DueDate } = body
  if (Type !== undefined && AdjustmentType !== undefined && typeOf(AdjustmentType) !== Type)
    problems.add('kind_mismatch', 'AdjustmentType', `AdjustmentType ${AdjustmentType} is no ${Type} adjustment.`)
  if (Type !== 'positive') return
  if (DueDate == null) {
    // A date that could not be read has told its own problem.
    if (!problems.found.some(({ field }) => field === 'DueDate'))
      problems.add('required', 'DueDate', 'DueDate is required of a positive adjustment.')
  } else if (dated !== undefined && DueDate < dated)
    problems.add('due_before_date', 'DueDate', `DueDate ${DueDate} is before Date ${dated}.`)
}

/** What of an adjustment a body says, beside its kind and its allocations. */
interface Fields {
  amountMinor: bigint | undefined
  asked: Asked | undefined
  askedOfPositive: PositiveAsked | undefined
}

/** Reads the body of a new adjustment against its customer's currency. */
export async function chooseAdded(
  tx: Transaction,
  body: Partial<AddBody>,
  customer: Customer | undefined,
  problems: Problems,
): Promise<Fields> {
  checkCommon(body, problems)
  const currency = customer?.currency
  const amountMinor = amountIn(problems, 'Amount', body.Amount, currency)
  if (body.Type !== 'negative') return { amountMinor, asked: undefined, askedOfPositive: undefined }
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'by_date' as const,
    entries: body.Allocations && owedEntries(body.Allocations),
  }
  const record = { currency, present: null }
  const asked = await chooseAsked(tx, wish, record, linkedNames('Allocations'), problems)
  return { amountMinor, asked, askedOfPositive: undefined }
}

/** Reads the body of an edit against the record. */
export async function chooseEdited(
  tx: Transaction,
  body: Partial<EditBody>,
  present: AdjustmentRecord | undefined,
  problems: Problems,
): Promise<Fields> {
  checkCommon(body, problems)
  const found = present && (isPositive(present) ? present.positive : present.negative)
  const amountMinor = amountIn(problems, 'Amount', body.Amount, found?.currency)
  const nothing = { amountMinor, asked: undefined, askedOfPositive: undefined }
  if (!present || !found) return nothing
  const record = { currency: found.currency, present: present.allocations }
  const names = linkedNames('LinkedAllocations')
  const list = body.LinkedAllocations
  if (!isPositive(present)) {
    const wish = { isAuto: body.isAutoApply === true, order: 'by_date' as const, entries: list && owedEntries(list) }
    return { ...nothing, asked: await chooseAsked(tx, wish, record, names, problems) }
  }
  if (body.isAutoApply === true) return { ...nothing, askedOfPositive: { auto: 'caller' } }
  if (list == null) return { ...nothing, askedOfPositive: { keep: true } }
  const chosen = await chooseGivens(tx, list, record, names.list, problems)
  return { ...nothing, askedOfPositive: chosen && { list: chosen } }
}

/** Adds what a right body says. */
export async function addAdjustment(
  tx: Transaction,
  context: RequestContext,
  body: AddBody,
  customer: Customer,
  { amountMinor, asked }: Fields,
): Promise<AdjustmentRecord> {
  const common = {
    customerId: customer.id,
    dated: body.Date,
    currency: customer.currency,
    amountMinor: amountMinor as bigint,
    ref: body.Ref,
    memo: body.Memo ?? null,
  }
  if (body.Type === 'positive') {
    const kind = body.AdjustmentType as NewPositive['kind']
    return addPositive(tx, context, { ...common, kind, dueDate: body.DueDate as NewPositive['dueDate'] })
  }
  const kind = body.AdjustmentType as NewNegative['kind']
  return addNegative(tx, context, { ...common, kind, invoiceId: null, subscriptionId: null }, asked as Asked)
}

/** Rule: a refund stays a refund, a credit note a credit note. */
function checkKind(now: AdjustmentKind, wanted: AdjustmentKind): void {
  if (now !== wanted)
    throw conflict('kind_fixed', `The kind of an adjustment cannot change from ${now} to ${wanted}.`, 'AdjustmentType')
}

/** Edits a record as a right body says. A credit note's number is generated: left out it stays. */
export async function editAdjustment(
  tx: Transaction,
  context: RequestContext,
  body: EditBody,
  present: AdjustmentRecord,
  { amountMinor, asked, askedOfPositive }: Fields,
): Promise<AdjustmentRecord> {
  const edit = { dated: body.Date, amountMinor: amountMinor as bigint, ref: body.Ref ?? null, memo: body.Memo ?? null }
  if (isPositive(present)) {
    checkKind(present.positive.kind, body.AdjustmentType)
    const dueDate = body.DueDate as NewPositive['dueDate']
    return editPositive(tx, context, present, { ...edit, dueDate }, askedOfPositive as PositiveAsked)
  }
  const { kind, currency, ref } = present.negative
  checkKind(kind, body.AdjustmentType)
  const kept = kind === 'credit_note' && edit.ref === null ? ref : edit.ref
  return editNegative(tx, context, present, { ...edit, currency, ref: kept }, asked as Asked)
}

export const removeAdjustment = (tx: Transaction, context: RequestContext, present: AdjustmentRecord) =>
  isPositive(present) ? removePositive(tx, context, present) : removeNegative(tx, context, present)
