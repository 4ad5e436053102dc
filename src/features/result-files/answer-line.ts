import { afterLock } from '../../engine/money/postings.ts'
import { amountText } from '../../kernel/currencies.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { midnightOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { applyLineResult } from '../batches/results.ts'
import { hasCurrency } from '../currencies/queries.ts'
import { checkCustomerReference } from '../customers/record.ts'
import { recordChange } from '../events/record.ts'
import { recordReturnRates } from '../gateways/actions.ts'
import type { Asked } from '../money/types.ts'
import { entriesFromWire, ENTRY_NAMES } from '../money/allocation-wire.ts'
import { addPayment, lockedPayment } from '../money/payments.ts'
import { resolveAsked } from '../money/resolve.ts'
import { sendBookings } from './booking-queries.ts'
import type { ResultDeps } from './deps.ts'
import { openTexts, sealTexts } from './list-lines.ts'
import type { SentPayment } from './bookings.ts'
import { listSentPayments } from './match-queries.ts'
import { NOT_COMPARED } from './not-compared.ts'
import { drawLineIds, type ListedLine, sendListedLines, sendOneMoreListed, updateListedLine } from './queries.ts'
import { lineHash } from './line-hash.ts'
import { checkNotRecorded } from './recorded-before.ts'
import { resultLineKind } from './record.ts'
import { CHARGE, dayOfResult } from './rules.ts'
import type { ResultLineBody } from './wire.ts'

/** Answers of a person to a line that waits: the payment that it returns, the customer whose money it is, or that it is none of these. */

export type LineAnswer =
  | { kind: 'closed' }
  | { kind: 'return'; paymentId: Id }
  /** With `isSeparate` it is another booking than those that it may be the same as. */
  | { kind: 'credit'; customerId: CustomerId; asked: Asked; isSeparate: boolean }

/** Finds what a body refers to; returns undefined when something is wrong with it. */
export async function resolveAnswer(
  tx: Transaction,
  line: ListedLine,
  body: Partial<ResultLineBody>,
  problems: Problems,
): Promise<LineAnswer | undefined> {
  const { paymentID, customerID, isClosed } = body
  const given = [paymentID != null, customerID != null, isClosed === true].filter(Boolean).length
  if (given !== 1) {
    problems.add('one_answer', 'paymentID', 'Send just one of paymentID, customerID and isClosed true.')
    return undefined
  }
  if (paymentID != null) {
    if (await lockedPayment(tx, paymentID)) return { kind: 'return', paymentId: paymentID }
    problems.add('payment_unknown', 'paymentID', `There is no payment ${paymentID}.`)
    return undefined
  }
  if (customerID == null) return { kind: 'closed' }
  const isAuto = body.AutoApply === true
  const wish = { isAuto, order: 'invoices_first' as const, entries: entriesFromWire(body.Allocations ?? []) }
  const { currency } = line
  const [, asked] = await Promise.all([
    checkCustomerReference(tx, customerID, problems),
    // A line without an amount is no credit, which is refused later: nothing of it could be allocated.
    currency === null ? { list: [] } : resolveAsked(tx, wish, { currency, present: null }, ENTRY_NAMES, problems),
  ])
  return asked && { kind: 'credit', customerId: customerID, asked, isSeparate: body.isSeparate === true }
}

/** Does what a person answered. Throws a conflict for a line that was answered before, or that the answer does not fit. */
export async function answerLine(
  tx: Transaction,
  context: RequestContext,
  deps: Pick<ResultDeps, 'envelope' | 'linesOfService'>,
  line: ListedLine,
  answer: LineAnswer,
): Promise<void> {
  if (line.state !== 'open') throw conflict('line_answered', `Line ${line.id} is ${line.state} already.`)
  if (answer.kind === 'closed') return write(tx, context, { ...line, state: 'closed' })
  if (answer.kind === 'return') {
    await write(tx, context, await returned(tx, context, deps, line, answer.paymentId))
    return recordReturnRates(tx, context, line.gatewayId)
  }
  await write(tx, context, await recorded(tx, context, deps, line, answer))
}

async function write(tx: Transaction, context: RequestContext, line: ListedLine): Promise<void> {
  await updateListedLine(tx, line)
  const type = line.state === 'closed' ? 'result_line.closed' : 'result_line.applied'
  await recordChange(tx, context, resultLineKind, { type, row: line })
}

async function returned(
  tx: Transaction,
  context: RequestContext,
  deps: Pick<ResultDeps, 'envelope' | 'linesOfService'>,
  line: ListedLine,
  paymentId: Id,
): Promise<ListedLine> {
  if (line.kind !== 'return')
    throw conflict('line_unfit', `Line ${line.id} is no return; a payment cannot fail by it.`, 'paymentID')
  const [sent] = await listSentPayments(tx, [paymentId])
  const payment = sent?.gatewayId === line.gatewayId ? sent : undefined
  const refuse = (why: string) => conflict('payment_unfit', `Payment ${paymentId} ${why}.`, 'paymentID')
  if (!payment) throw refuse('is in no batch that was submitted to the gateway of this file')
  const { amountMinor, currency } = line
  if (amountMinor !== null && (currency !== payment.currency || amountMinor < payment.amountMinor))
    throw refuse(
      `is ${amountText(payment.amountMinor, payment.currency)}, and the line ${amountText(amountMinor, currency ?? payment.currency)}`,
    )
  const { code: reason } = line
  const on = dayOfResult(line.dated, { actionDate: payment.actionDate, today: context.moment.today })
  const result = { isSuccess: false, reason, on, source: 'file' as const }
  const outcome = await applyLineResult(tx, context, paymentId, result, deps.linesOfService)
  if (outcome !== 'applied') throw refuse('has failed already')
  sendBookings(tx, [{ paymentId, isCredit: false, on: line.dated, fileId: line.fileId, hasChanged: true }])
  if (amountMinor !== null && amountMinor > payment.amountMinor)
    await listOver(tx, context, deps, line, { payment, overMinor: amountMinor - payment.amountMinor })
  return { ...line, state: 'applied', paymentId, invoiceId: null }
}

/** Lists what is over a return whose payment is of a smaller amount: the bank's charge. */
async function listOver(
  tx: Transaction,
  { moment: { now } }: RequestContext,
  deps: Pick<ResultDeps, 'envelope'>,
  line: ListedLine,
  { payment, overMinor }: { payment: Pick<SentPayment, 'id' | 'currency'>; overMinor: bigint },
): Promise<void> {
  const [id] = (await drawLineIds(tx, 1)) as [Id]
  const over = {
    id,
    kind: 'other' as const,
    dated: line.dated,
    amountMinor: overMinor,
    currency: payment.currency,
    code: CHARGE,
    sealedTexts: sealTexts(deps, tx.account, id, openTexts(deps, tx.account, line)),
    isCredit: false,
    paymentId: payment.id,
    // It comes from an answer, not from a file: no line of another file is like it.
    likeness: lineHash(deps.envelope, tx.account)(`over\n${line.id}`),
    ...NOT_COMPARED,
  }
  sendListedLines(tx, line.fileId, [over], now)
  sendOneMoreListed(tx, line.fileId)
}

async function recorded(
  tx: Transaction,
  context: RequestContext,
  deps: Pick<ResultDeps, 'envelope' | 'linesOfService'>,
  line: ListedLine,
  { customerId, asked, isSeparate }: Extract<LineAnswer, { kind: 'credit' }>,
): Promise<ListedLine> {
  const { amountMinor, currency } = line
  if (line.kind !== 'credit' || amountMinor === null || currency === null || amountMinor === 0n)
    throw conflict('line_unfit', `Line ${line.id} is no money that came in; it cannot be recorded.`, 'customerID')
  if (!(await hasCurrency(tx, tx.account, currency)))
    throw conflict(
      'currency_unknown',
      `This account does not have the currency ${currency}; add it with POST /v1/currencies first.`,
    )
  if (!isSeparate) await checkNotRecorded(tx, line)
  const dated = afterLock(line.dated, context.account.lockDate)
  const payment = await addPayment(
    tx,
    context,
    {
      customerId,
      paidAt: midnightOf(dated, context.account.timeZone),
      dated,
      currency,
      amountMinor,
      method: 'eft',
      origin: 'recorded',
      ref: openTexts(deps, tx.account, line).reference?.slice(0, REF_MAX) ?? null,
      memo: null,
    },
    asked,
  )
  const invoice = payment.allocations.find(({ owedKind }) => owedKind === 'invoice')
  return { ...line, state: 'applied', paymentId: payment.id, invoiceId: invoice?.owedId ?? null }
}

/** Characters of the Ref of a payment. */
const REF_MAX = 255
