import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { renewLease } from '../../platform/database/lease.ts'
import type { PartLine, ResultLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResults, type ResultOutcome } from '../batches/results.ts'
import { lockCustomers } from '../customers/queries.ts'
import { applyChange } from './apply-change.ts'
import { sendBookings } from './booking-queries.ts'
import { fileBusy, type Reading } from './deps.ts'
import { endPayment } from './end-payment.ts'
import { factsOfNamed, namedIn } from './facts.ts'
import { findKnown } from './known.ts'
import { applyFirstResults, resultOfRejection } from './line-results.ts'
import { listToCredit, listToEnd, type PaymentOfBatch } from './match-queries.ts'
import type { LineOfFile } from './nacha.ts'
import { LinePortion } from './portion.ts'
import { getFileProgress, sendLineBegun } from './progress-queries.ts'
import { isAboutBatch, paymentIdOf } from './references.ts'
import {
  dayOfResult,
  type Decision,
  decisionBehindAnswer,
  decisionOnPart,
  decisionOnStatus,
  type NamedByLine,
  type SentBatch,
} from './rules.ts'
import { findAnswered } from './sums.ts'

/** Applying lines of a file, a portion in one transaction: what was read, found, applied and listed is committed together. */

/** Payments of a batch that get their result in one transaction. */
const PAYMENTS_AT_ONCE = 50

/** Applies lines, or one that corrects an account. If one of them cannot be applied after all, each is applied individually, and that one is listed. */
export async function applyLines(reading: Reading, all: readonly LineOfFile[]): Promise<void> {
  const [corrects] = all
  if (corrects?.kind === 'change') return inTransaction(reading, (tx) => applyChange(tx, reading, corrects))
  const lines = all.filter((line) => line.kind !== 'change')
  const [first] = lines
  if (first && first.kind !== 'over' && isAboutBatch(reading.context.account.id, first))
    return applyToBatch(reading, first, lines)
  try {
    await inTransaction(reading, (tx) => applyPortion(tx, reading, lines))
  } catch (error) {
    if (!isRefusal(error)) throw error
    for (const some of oneByOne(lines))
      await inTransaction(reading, (tx) => applyPortion(tx, reading, some)).catch((refusal: unknown) => {
        if (!isRefusal(refusal)) throw refusal
        return inTransaction(reading, (tx) => applyPortion(tx, reading, some, { isListedOnly: true }))
      })
  }
}

/** Returns lines one by one, what is over an entry with its last part. */
function oneByOne(lines: readonly ResultLine[]): ResultLine[][] {
  const single: ResultLine[][] = []
  for (const line of lines)
    if (line.kind === 'over' && single.length > 0) single.at(-1)?.push(line)
    else single.push([line])
  return single
}

const isRefusal = (error: unknown): boolean => error instanceof Fault && error.kind === 'conflict'

const inTransaction = <T>({ deps, context, lease }: Reading, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  deps.db.transaction(
    context.account.id,
    async (tx) => {
      // Proves that nobody else works on the file, and keeps it so until the commit.
      if (!(await renewLease(tx, lease))) throw fileBusy()
      return work(tx)
    },
    // Planning its statements costs more than running them, and payments take their steps at the same time.
    { plans: 'lasting', gathered: {} },
  )

type NamingLine = PartLine | StatusLine

const decisionOn = (line: NamingLine, named: NamedByLine, { file }: Reading): Decision =>
  line.kind === 'part' ? decisionOnPart(line, named, file.id) : decisionOnStatus(line, named)

/**
 * Decides on lines one after the other, each by what those before it have changed. With `isListedOnly` what would be applied is listed; `whole`
 * is the decision on the first line, which has been carried out for all payments of its batch.
 */
async function applyPortion(
  tx: Transaction,
  reading: Reading,
  lines: readonly ResultLine[],
  { isListedOnly = false, whole = null }: { isListedOnly?: boolean; whole?: WholeDecision | null } = {},
): Promise<void> {
  const { file } = reading
  const progress = await getFileProgress(tx, file.id)
  const facts = await factsOfNamed(tx, file.gatewayId, lines)
  const named = lines.map((line) => namedIn(facts, line))
  const known = await findKnown(tx, reading, lines, named)
  const answered = await findAnswered(tx, reading, lines, named)
  const decide = (line: NamingLine, index: number): Decision => {
    if (whole && index === 0) return whole
    const about = namedIn(facts, line)
    const decision = decisionOn(line, about, reading)
    return line.kind === 'part' && answered.has(index) ? decisionBehindAnswer(decision, line, about) : decision
  }
  const decided = lines.flatMap((line, index) =>
    isListedOnly || line.kind === 'over' || known.has(index) ? [] : [{ line, decision: decide(line, index) }],
  )
  const outcomes = await applyFirstResults(tx, reading, decided)
  const portion = new LinePortion(tx, reading, { facts, progress, outcomes, isListedOnly })
  for (const [index, line] of lines.entries()) {
    if (line.kind === 'over') await portion.takeOver(line)
    else if (known.has(index)) portion.takeKnown(line)
    else await portion.take(line, decide(line, index))
  }
  await portion.end(lines.length)
}

/** Decision on a line about all payments of a batch. */
type WholeDecision = Extract<Decision, { kind: 'collected' | 'batch_ended' }>

/** Applies a line that may be about all payments of a batch: to some of them at a time, then the line itself is done, with what is over its entry. */
async function applyToBatch(reading: Reading, line: NamingLine, lines: readonly ResultLine[]): Promise<void> {
  const whole = await inTransaction(reading, (tx) => wholeDecision(tx, reading, line))
  if (whole) await applyToPayments(reading, line, whole)
  await inTransaction(reading, (tx) => applyPortion(tx, reading, lines, { whole }))
}

/** Returns the decision on a line if it is about all payments of a batch; one that has begun goes on, whatever has changed since. */
async function wholeDecision(tx: Transaction, reading: Reading, line: NamingLine): Promise<WholeDecision | null> {
  const { isLineStarted } = await getFileProgress(tx, reading.file.id)
  const named = namedIn(await factsOfNamed(tx, reading.file.gatewayId, [line]), line)
  if (isLineStarted && line.kind === 'part') {
    assert(named.batch, 'a line that was begun names a batch')
    return { kind: 'collected', batch: named.batch }
  }
  if (!isLineStarted && (await findKnown(tx, reading, [line], [named])).has(0)) return null
  if (!isLineStarted && (await findAnswered(tx, reading, [line], [named])).has(0)) return null
  const decision = decisionOn(line, named, reading)
  return decision.kind === 'collected' || decision.kind === 'batch_ended' ? decision : null
}

async function applyToPayments(reading: Reading, line: NamingLine, whole: WholeDecision): Promise<void> {
  const { account } = reading.context
  const db = reading.deps.db.reader(account.id)
  const list = whole.kind === 'collected' ? listToCredit : listToEnd
  const apart = line.kind === 'status' ? line.apart.map((references) => paymentIdOf(account.id, references)) : []
  let after = 0n
  for (;;) {
    const some = await list(db, account.id, whole.batch.id, after, PAYMENTS_AT_ONCE)
    const last = some.at(-1)
    if (last === undefined) return
    after = last.id
    const payments = some.filter(({ id }) => !apart.includes(id))
    await inTransaction(reading, (tx) => applyToSome(tx, reading, line, { whole, payments }))
  }
}

async function applyToSome(
  tx: Transaction,
  reading: Reading,
  line: NamingLine,
  { whole, payments }: { whole: WholeDecision; payments: readonly PaymentOfBatch[] },
): Promise<void> {
  await lockCustomers(tx, [...new Set(payments.map(({ customerId }) => customerId))], true)
  const changed =
    whole.kind === 'collected'
      ? await creditAll(tx, reading, line as PartLine, whole.batch, payments)
      : await endAll(tx, reading, line as StatusLine, whole, payments)
  const isCounted = line.kind === 'part' || !line.isInherited
  sendLineBegun(tx, reading.file.id, { payments: changed, isCounted })
}

/** Keeps a booking of a whole collection as the credit of its payments, and settles those that wait. Returns how many did. */
async function creditAll(
  tx: Transaction,
  { deps, context, file }: Reading,
  line: PartLine,
  { actionDate }: SentBatch,
  payments: readonly PaymentOfBatch[],
): Promise<number> {
  const booked = line.entry.on ?? actionDate
  const on = dayOfResult(booked, { actionDate, today: context.moment.today })
  const result = { isSuccess: true, reason: null, on, source: 'file' as const }
  const results = payments.map(({ id }) => ({ paymentId: id, result }))
  const outcomes = await applyLineResults(tx, context, results, deps.linesOfService)
  const kept = payments.flatMap(({ id: paymentId }, index) => {
    const hasChanged = outcomes[index] === 'applied'
    const isKept = hasChanged || outcomes[index] === 'already'
    return isKept ? [{ paymentId, isCredit: true, on: booked, fileId: file.id, hasChanged }] : []
  })
  sendBookings(tx, kept)
  return kept.filter(({ hasChanged }) => hasChanged).length
}

/** Ends payments of a batch that was rejected or cancelled. Returns how many were changed. */
async function endAll(
  tx: Transaction,
  reading: Reading,
  line: StatusLine,
  { batch, ending }: Extract<WholeDecision, { kind: 'batch_ended' }>,
  payments: readonly PaymentOfBatch[],
): Promise<number> {
  const { actionDate } = batch
  const ended: ResultOutcome[] = []
  if (ending === 'rejected') {
    const { deps, context } = reading
    const result = resultOfRejection(line, { actionDate, today: context.moment.today })
    const results = payments.map(({ id }) => ({ paymentId: id, result }))
    ended.push(...(await applyLineResults(tx, context, results, deps.linesOfService)))
  } else for (const { id } of payments) ended.push(await endPayment(tx, reading, { id, actionDate }, { line, ending }))
  return ended.filter((outcome) => outcome === 'applied').length
}
