import type { ApplyOrder, OwedRef, WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { listInvoicesByNumber, listOwed } from './open-queries.ts'
import type { Asked, AskedEntry, EntryNames, OwedDocument } from './types.ts'

/** Resolves a caller's list of allocations. A reference that is not found is a 400 that names its place in the list. */

/** Allocations of money given, as a body asks for them. */
export interface AskedOfGiven {
  isAuto: boolean
  /** Order in which AutoApply pays documents at this door. */
  order: ApplyOrder
  /** Absent or null where there is no list, or none that could be read. */
  entries: readonly AskedEntry[] | null | undefined
}

/** Resolves what a body asks for; returns undefined when something is wrong with it. Rule: a list is needed unless AutoApply is true; it may be empty. */
export async function resolveAsked(
  tx: Transaction,
  { isAuto, order, entries }: AskedOfGiven,
  record: { currency: string | undefined; present: readonly AllocationState[] | null },
  names: EntryNames,
  problems: Problems,
): Promise<Asked | undefined> {
  if (isAuto) return { auto: order }
  if (entries == null) {
    const { list } = names
    // A list that could not be read has a problem of its own.
    if (!problems.found.some(({ field }) => field?.startsWith(list)))
      problems.add('required', list, `${list} is required unless AutoApply is true; it may be empty.`)
    return undefined
  }
  if (record.currency === undefined) return undefined
  return resolveAllocations(tx, entries, { currency: record.currency, present: record.present }, names, problems)
}

/** Resolves the entries of a list; returns undefined when something is wrong with it. `present` are those of the record, null on add. */
async function resolveAllocations(
  tx: Transaction,
  asked: readonly AskedEntry[],
  record: { currency: string; present: readonly AllocationState[] | null },
  names: EntryNames,
  problems: Problems,
): Promise<Extract<Asked, { list: unknown }> | undefined> {
  const before = problems.found.length
  const numbers = asked.flatMap(({ invoiceId, invoiceNumber }) =>
    invoiceId === null && invoiceNumber !== null ? [invoiceNumber] : [],
  )
  const byNumber = new Map(
    (numbers.length === 0 ? [] : await listInvoicesByNumber(tx, tx.account, numbers)).map(({ id, number }) => [
      number,
      id,
    ]),
  )
  const seen = new Set<Id>()
  const wanted = asked.flatMap((entry, index): WantedAllocation[] => {
    const at = `${names.list}[${index}]`
    const present = presentOf(entry.allocationId, record.present, seen, at, problems)
    const target = targetOf(entry, present, byNumber, at, names, problems)
    const amountMinor = amountIn(problems, `${at}.${names.amount}`, entry.amount, record.currency)
    if (target === undefined || amountMinor === undefined) return []
    return [{ id: present?.id ?? null, target, amountMinor }]
  })
  const owed = await checkTargetsExist(tx, asked, wanted, names, problems)
  if (problems.found.length > before) return undefined
  return { list: wanted, owed, fieldOf: fieldsOf(asked, wanted, names), field: names.list }
}

/** Finds the invoice for which a credit note is to be made; null where none is named. Notes one that does not exist. */
export async function resolveCredited(
  tx: Transaction,
  invoiceId: Id | null | undefined,
  problems: Problems,
): Promise<OwedDocument | null> {
  if (invoiceId == null) return null
  const [invoice = null] = await listOwed(tx, tx.account, [{ kind: 'invoice', id: invoiceId }])
  if (invoice === null) problems.add('invoice_unknown', 'invoiceID', `There is no invoice ${invoiceId}.`)
  return invoice
}

/** Returns how an entry that names a document is called in what was sent: "Allocations[0].invoiceID", or by its number where that names it. */
function fieldsOf(
  asked: readonly AskedEntry[],
  wanted: readonly WantedAllocation[],
  names: EntryNames,
): (target: OwedRef) => string {
  return ({ kind, id }) => {
    const index = wanted.findIndex(({ target }) => target.kind === kind && target.id === id)
    if (index < 0) return names.list
    const isByNumber = asked[index]?.invoiceId === null && asked[index].invoiceNumber !== null
    const invoice = isByNumber ? (names.number ?? names.invoice) : names.invoice
    return `${names.list}[${index}].${kind === 'invoice' ? invoice : names.positive}`
  }
}

/** Finds the allocation of the record that an entry edits. `present` is null on add, where an identifier names nothing. */
export function presentOf(
  allocationId: Id | null | undefined,
  present: readonly AllocationState[] | null,
  seen: Set<Id>,
  at: string,
  problems: Problems,
): AllocationState | undefined {
  if (present === null || allocationId == null) return undefined
  const field = `${at}.allocationID`
  if (seen.has(allocationId)) problems.add('duplicate', field, `Allocation ${allocationId} stands in the list twice.`)
  seen.add(allocationId)
  const found = present.find(({ id }) => id === allocationId)
  if (!found) problems.add('allocation_unknown', field, `There is no allocation ${allocationId} of this record.`)
  return found
}

function targetOf(
  entry: AskedEntry,
  present: AllocationState | undefined,
  byNumber: ReadonlyMap<bigint, Id>,
  at: string,
  names: EntryNames,
  problems: Problems,
): OwedRef | undefined {
  const { invoiceId, invoiceNumber, positiveAdjustmentId } = entry
  if (positiveAdjustmentId !== null && (invoiceId !== null || invoiceNumber !== null)) {
    const field = `${at}.${names.positive}`
    problems.add('two_targets', field, `${field}: an allocation is for an invoice or a positive adjustment, not both.`)
    return undefined
  }
  if (invoiceId !== null) return { kind: 'invoice', id: invoiceId }
  if (positiveAdjustmentId !== null) return { kind: 'positive_adjustment', id: positiveAdjustmentId }
  if (invoiceNumber !== null) {
    const id = byNumber.get(invoiceNumber)
    if (id !== undefined) return { kind: 'invoice', id }
    const field = `${at}.${names.number ?? names.invoice}`
    problems.add('invoice_unknown', field, `There is no invoice with the number ${invoiceNumber}.`)
    return undefined
  }
  if (present) return { kind: present.owedKind, id: present.owedId }
  if (entry.allocationId !== null) return undefined
  const targets = [...new Set([names.invoice, names.number ?? names.invoice, names.positive])]
  const named = sentenceList(targets, 'or')
  problems.add('required', `${at}.${names.invoice}`, `${at} must say what it pays: ${named}.`)
  return undefined
}

async function checkTargetsExist(
  tx: Transaction,
  asked: readonly AskedEntry[],
  wanted: readonly WantedAllocation[],
  names: EntryNames,
  problems: Problems,
): Promise<OwedDocument[]> {
  // Also what is named beside an amount that could not be read: of that only the amount is wrong.
  const named = asked.flatMap(({ invoiceId, positiveAdjustmentId }): OwedRef[] => [
    ...(invoiceId === null ? [] : [{ kind: 'invoice' as const, id: invoiceId }]),
    ...(positiveAdjustmentId === null ? [] : [{ kind: 'positive_adjustment' as const, id: positiveAdjustmentId }]),
  ])
  const targets = [...wanted.map(({ target }) => target), ...named]
  const found = targets.length === 0 ? [] : await listOwed(tx, tx.account, targets)
  const isKnown = (kind: OwedRef['kind'], id: Id) =>
    found.some((document) => document.kind === kind && document.id === id)
  asked.forEach(({ invoiceId, invoiceNumber, positiveAdjustmentId }, index) => {
    const at = `${names.list}[${index}]`
    if (invoiceId !== null && positiveAdjustmentId === null && !isKnown('invoice', invoiceId))
      problems.add('invoice_unknown', `${at}.${names.invoice}`, `There is no invoice ${invoiceId}.`)
    if (
      invoiceId === null &&
      invoiceNumber === null &&
      positiveAdjustmentId !== null &&
      !isKnown('positive_adjustment', positiveAdjustmentId)
    )
      problems.add(
        'adjustment_unknown',
        `${at}.${names.positive}`,
        `There is no positive adjustment ${positiveAdjustmentId}.`,
      )
  })
  return found
}
