import type { GivenRef } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { Moment, RequestContext } from '../../kernel/context.ts'
import { conflict, missing, type Problems } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { unknownCustomer } from '../customers/record.ts'
import { type Customer, lockCustomer } from '../customers/queries.ts'
import { findPositive, type NewNegative, type NewPositive } from '../money/adjustment-queries.ts'
import type { LinkedEntry } from '../money/allocation-wire.ts'
import { listGiven } from '../money/open-queries.ts'
import type { Asked, OwedDocument } from '../money/types.ts'
import {
  addNegative,
  editNegative,
  loadNegative,
  lockedNegative,
  removeNegative,
} from '../money/negative-adjustments.ts'
import {
  addPositive,
  editPositive,
  loadPositive,
  lockedPositive,
  type PositiveAsked,
  removePositive,
  type WantedGiven,
} from '../money/positive-adjustments.ts'
import { presentOf, resolveAsked, resolveCredited } from '../money/resolve.ts'
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

/** Adjustments of both kinds behind one door: named by type, identifier and customer, and handed to money/ by their kind. */

export interface AdjustmentName {
  type: AdjustmentType
  id: Id
  customerId: CustomerId
}

const unknownAdjustment = ({ type, id, customerId }: AdjustmentName) =>
  missing('adjustment_unknown', `Customer ${customerId} has no ${type} adjustment ${id}.`, 'adjustmentID')

const ofName = <Row extends { customerId: CustomerId }>(name: AdjustmentName, record: Row | undefined): Row => {
  if (record?.customerId === name.customerId) return record
  throw unknownAdjustment(name)
}

/** Finds the record that a name names. Throws missing, also for another customer's. */
export const foundAdjustment = async (db: Queryable, account: AccountId, name: AdjustmentName) =>
  ofName(name, await (name.type === 'positive' ? loadPositive : loadNegative)(db, account, name.id))

/** Finds the positive adjustment that a name names, without its allocations. Throws missing, also for another customer's. */
export const foundPositive = async (db: Queryable, account: AccountId, name: AdjustmentName) =>
  ofName(name, await findPositive(db, account, name.id))

/** Finds the record that a name names, with its customer locked. Throws missing, also for another customer's. */
export const lockedAdjustment = async (tx: Transaction, name: AdjustmentName) =>
  ofName(name, await (name.type === 'positive' ? lockedPositive : lockedNegative)(tx, name.id))

/** Locks the customer of a new adjustment. Throws missing. */
export async function lockedOwner(tx: Transaction, id: CustomerId): Promise<Customer> {
  const customer = await lockCustomer(tx, tx.account, id)
  if (!customer) throw unknownCustomer(id)
  return customer
}

/** Adds problems of the relief: only of bad debt, neither before its date nor in the future. */
function checkRelief(
  { AdjustmentType, Date: dated, TaxReliefDate }: Partial<CommonBody>,
  { today }: Moment,
  problems: Problems,
): void {
  if (TaxReliefDate == null) return
  const refuse = (code: string, why: string) =>
    problems.add(code, 'TaxReliefDate', `TaxReliefDate ${TaxReliefDate} ${why}.`)
  if (AdjustmentType !== undefined && AdjustmentType !== 'bad_debt')
    refuse('relief_of_bad_debt', `was sent for ${AdjustmentType}; only bad_debt takes it`)
  if (TaxReliefDate > today) refuse('relief_in_future', `is after today, ${today}`)
  if (dated !== undefined && TaxReliefDate < dated) refuse('relief_before_date', `is before Date ${dated}`)
}

/** Adds problems of either body: the kind fits the type; a positive one has a due date that is not before its date. */
function checkCommon(body: Partial<CommonBody>, moment: Moment, problems: Problems): void {
  checkRelief(body, moment, problems)
  const { Type, AdjustmentType, Date: dated, DueDate } = body
  if (Type !== undefined && AdjustmentType !== undefined && typeOf(AdjustmentType) !== Type)
    problems.add('kind_mismatch', 'AdjustmentType', `AdjustmentType ${AdjustmentType} is no ${Type} adjustment.`)
  if (Type !== 'positive') return
  if (DueDate == null) {
    // A date that could not be read has a problem of its own.
    if (!problems.found.some(({ field }) => field === 'DueDate'))
      problems.add('required', 'DueDate', 'DueDate is required of a positive adjustment.')
  } else if (dated !== undefined && DueDate < dated)
    problems.add('due_before_date', 'DueDate', `DueDate ${DueDate} is before Date ${dated}.`)
}

/** Adds problems of fields that only a credit note has. */
function checkOfCreditNote(
  { AdjustmentType, invoiceID, Reason }: Pick<Partial<AddBody>, 'AdjustmentType' | 'invoiceID' | 'Reason'>,
  problems: Problems,
): void {
  if (AdjustmentType === undefined || AdjustmentType === 'credit_note') return
  for (const [field, value] of Object.entries({ invoiceID, Reason }))
    if (value != null)
      problems.add(
        'kind_mismatch',
        field,
        `${field} belongs to a credit_note; AdjustmentType ${AdjustmentType} was sent.`,
      )
}

/** The amount and the allocations that a body asks for, read against the record's currency; undefined where they are wrong. */
interface Fields {
  amountMinor: bigint | undefined
  asked: Asked | undefined
  askedOfPositive: PositiveAsked | undefined
  /** Invoice for which a credit note is to be made. */
  forInvoice: OwedDocument | null
}

/** Reads the body of a new adjustment against its customer's currency. */
export async function resolveAdded(
  tx: Transaction,
  body: Partial<AddBody>,
  customer: Customer | undefined,
  moment: Moment,
  problems: Problems,
): Promise<Fields> {
  checkCommon(body, moment, problems)
  checkOfCreditNote(body, problems)
  const currency = customer?.currency
  const amountMinor = amountIn(problems, 'Amount', body.Amount, currency)
  if (body.Type !== 'negative') return { amountMinor, asked: undefined, askedOfPositive: undefined, forInvoice: null }
  const forInvoice = await resolveCredited(tx, body.invoiceID, problems)
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'by_date' as const,
    entries: body.Allocations && owedEntries(body.Allocations),
  }
  const record = { currency, present: null }
  const asked = await resolveAsked(tx, wish, record, linkedNames('Allocations'), problems)
  return { amountMinor, asked, askedOfPositive: undefined, forInvoice }
}

/** Reads the body of an edit against the record. */
export async function resolveEdited(
  tx: Transaction,
  body: Partial<EditBody>,
  present: AdjustmentRecord | undefined,
  moment: Moment,
  problems: Problems,
): Promise<Fields> {
  checkCommon(body, moment, problems)
  checkOfCreditNote(body, problems)
  const amountMinor = amountIn(problems, 'Amount', body.Amount, present?.currency)
  const nothing = { amountMinor, asked: undefined, askedOfPositive: undefined, forInvoice: null }
  if (!present) return nothing
  const record = { currency: present.currency, present: present.allocations }
  const names = linkedNames('LinkedAllocations')
  const list = body.LinkedAllocations
  if (!isPositive(present)) {
    const wish = { isAuto: body.isAutoApply === true, order: 'by_date' as const, entries: list && owedEntries(list) }
    return { ...nothing, asked: await resolveAsked(tx, wish, record, names, problems) }
  }
  if (body.isAutoApply === true) return { ...nothing, askedOfPositive: { auto: 'caller' } }
  if (list == null) return { ...nothing, askedOfPositive: { keep: true } }
  const chosen = await resolveGivens(tx, list, record, names.list, problems)
  return { ...nothing, askedOfPositive: chosen && { list: chosen, field: names.list } }
}

/** Adds the adjustment that a body without problems describes. */
export async function addAdjustment(
  tx: Transaction,
  context: RequestContext,
  body: AddBody,
  customer: Customer,
  { amountMinor, asked, forInvoice }: Fields,
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
  const added = { ...common, kind, reason: body.Reason ?? null, forInvoice }
  return addNegative(tx, context, added, asked as Asked, body.TaxReliefDate)
}

/** Throws a conflict where the kind changes: a refund stays a refund, a credit note a credit note. */
function checkKind(now: AdjustmentKind, wanted: AdjustmentKind): void {
  if (now !== wanted)
    throw conflict('kind_fixed', `The kind of an adjustment cannot change from ${now} to ${wanted}.`, 'AdjustmentType')
}

/** Edits a record as a body without problems describes it. A credit note's number is generated: left out it stays. */
export async function editAdjustment(
  tx: Transaction,
  context: RequestContext,
  body: EditBody,
  present: AdjustmentRecord,
  { amountMinor, asked, askedOfPositive }: Fields,
): Promise<AdjustmentRecord> {
  checkKind(present.kind, body.AdjustmentType)
  const edit = { dated: body.Date, amountMinor: amountMinor as bigint, ref: body.Ref ?? null }
  if (isPositive(present)) {
    const dueDate = body.DueDate as NewPositive['dueDate']
    const positive = { ...edit, memo: body.Memo ?? null, dueDate }
    return editPositive(tx, context, present, positive, askedOfPositive as PositiveAsked)
  }
  const { kind, currency, ref } = present
  const kept = kind === 'credit_note' && edit.ref === null ? ref : edit.ref
  const negative = { ...edit, currency, ref: kept, memo: body.Memo, reason: body.Reason }
  return editNegative(tx, context, present, negative, asked as Asked, body.TaxReliefDate)
}

export const removeAdjustment = (tx: Transaction, context: RequestContext, present: AdjustmentRecord) =>
  isPositive(present) ? removePositive(tx, context, present) : removeNegative(tx, context, present)

/** Resolves the entries of a list; returns undefined when something is wrong with it. `present` are the allocations of the record. */
async function resolveGivens(
  tx: Transaction,
  entries: readonly LinkedEntry[],
  record: { currency: string; present: readonly AllocationState[] },
  list: string,
  problems: Problems,
): Promise<WantedGiven[] | undefined> {
  const before = problems.found.length
  const seen = new Set<Id>()
  const wanted = entries.flatMap((entry, index): WantedGiven[] => {
    const at = `${list}[${index}]`
    const present = presentOf(entry.allocationID, record.present, seen, at, problems)
    const given = givenOf(entry, present, at, problems)
    const amountMinor = amountIn(problems, `${at}.AmtAllocated`, entry.AmtAllocated, record.currency)
    return given && amountMinor !== undefined ? [{ id: present?.id ?? null, given, amountMinor }] : []
  })
  await checkGivensExist(tx, entries, list, problems)
  return problems.found.length > before ? undefined : wanted
}

const refOf = ({ objectID, isAdjustment }: LinkedEntry): GivenRef | null =>
  objectID == null ? null : { kind: isAdjustment === true ? 'negative_adjustment' : 'payment', id: objectID }

/** Rule: an entry that names no money keeps its own. */
function givenOf(
  entry: LinkedEntry,
  present: AllocationState | undefined,
  at: string,
  problems: Problems,
): GivenRef | undefined {
  const ref = refOf(entry)
  if (ref) return ref
  if (present) return { kind: present.givenKind, id: present.givenId }
  if (entry.allocationID == null)
    problems.add('required', `${at}.objectID`, `${at} must say which money it is of: objectID and isAdjustment.`)
  return undefined
}

async function checkGivensExist(
  tx: Transaction,
  entries: readonly LinkedEntry[],
  list: string,
  problems: Problems,
): Promise<void> {
  const refs = entries.map(refOf)
  const found = await listGiven(
    tx,
    tx.account,
    refs.filter((ref) => ref !== null),
  )
  refs.forEach((ref, index) => {
    if (ref === null || found.some(({ kind, id }) => kind === ref.kind && id === ref.id)) return
    const word = ref.kind === 'payment' ? 'payment' : 'negative adjustment'
    const code = ref.kind === 'payment' ? 'payment_unknown' : 'adjustment_unknown'
    problems.add(code, `${list}[${index}].objectID`, `There is no ${word} ${ref.id}.`)
  })
}
