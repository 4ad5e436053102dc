import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { renewLease } from '../../platform/database/lease.ts'
import type { PartLine, ResultLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResult } from '../batches/results.ts'
import { lockCustomers } from '../customers/queries.ts'
import { sendBooking } from './booking-queries.ts'
import { fileBusy, type Reading } from './deps.ts'
import { endPayment } from './end-payment.ts'
import { factsOfNamed, namedIn } from './facts.ts'
import { findKnown } from './known.ts'
import { listToCredit, listToEnd, type PaymentOfBatch } from './match-queries.ts'
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
} from './rules.ts'
import { findAnswered } from './sums.ts'

/** Applying lines of a file, a portion in one transaction: what was read, found, applied and listed is committed together. */

/** Payments of a batch that get their result in one transaction. */
const PAYMENTS_AT_ONCE = 50

/** Applies lines. If one of them cannot be applied after all, each is applied individually, and that one is listed. */
export async function applyLines(reading: Reading, lines: readonly ResultLine[]): Promise<void> {
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
    // Most of its statements are about one payment: planning them costs more than running them.
    { plans: 'lasting' },
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
  const portion = new LinePortion(tx, reading, { facts, progress, isListedOnly })
  for (const [index, line] of lines.entries()) {
    if (line.kind === 'over') await portion.takeOver(line)
    else if (whole && index === 0) await portion.take(line, whole)
    else if (known.has(index)) portion.takeKnown(line)
    else {
      const about = namedIn(facts, line)
      const decision = decisionOn(line, about, reading)
      const isAnswered = line.kind === 'part' && answered.has(index)
      await portion.take(line, isAnswered ? decisionBehindAnswer(decision, line, about) : decision)
    }
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
  const { actionDate } = whole.batch
  let changed = 0
  for (const { id } of payments) {
    const isChanged =
      whole.kind === 'collected'
        ? await credit(tx, reading, line as PartLine, { id, actionDate })
        : (await endPayment(tx, reading, { id, actionDate }, { line: line as StatusLine, ending: whole.ending })) ===
          'applied'
    if (isChanged) changed += 1
  }
  const isCounted = line.kind === 'part' || !line.isInherited
  sendLineBegun(tx, reading.file.id, { payments: changed, isCounted })
}

/** Keeps a booking of a whole collection as the credit of one of its payments, and settles that if it waits. Returns whether it did. */
async function credit(
  tx: Transaction,
  { deps, context, file }: Reading,
  line: PartLine,
  { id, actionDate }: Pick<NonNullable<NamedByLine['payment']>, 'id' | 'actionDate'>,
): Promise<boolean> {
  const booked = line.entry.on ?? actionDate
  const on = dayOfResult(booked, { actionDate, today: context.moment.today })
  const result = { isSuccess: true, reason: null, on, source: 'file' as const }
  const outcome = await applyLineResult(tx, context, id, result, deps.linesOfService)
  const hasChanged = outcome === 'applied'
  if (hasChanged || outcome === 'already')
    sendBooking(tx, { paymentId: id, isCredit: true, on: booked, fileId: file.id, hasChanged })
  return hasChanged
}
