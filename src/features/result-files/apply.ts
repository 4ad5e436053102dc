import { createHash } from 'node:crypto'
import type { RequestContext } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Lease, renewLease } from '../../platform/database/lease.ts'
import { applyLineResult } from '../batches/results.ts'
import { lockCustomers } from '../customers/queries.ts'
import type { Gateway } from '../gateways/queries.ts'
import { type LineToList, writeListedLines } from './list-lines.ts'
import { listPaymentsOfBatch, listSentBatches, listSentPayments } from './match-queries.ts'
import {
  type BankReference,
  type Counts,
  listReadReferences,
  type ReadReference,
  type ResultFile,
  sendFileProgress,
  sendLineBegun,
  sendReadReferences,
} from './queries.ts'
import { fileBusy, type ResultDeps } from './deps.ts'
import {
  accountOf,
  bankReferenceOf,
  batchTokenOf,
  dayOfResult,
  isAboutBatch,
  type KnownOfLine,
  type MoneyLine,
  paymentIdOf,
  type SentBatch,
  type SentPayment,
  type Decision,
  decisionOn,
} from './rules.ts'

/** Applying lines of a file, a portion in one transaction: what was read, found, applied and listed is committed together. */

/** File that is being worked on. */
export interface Reading {
  deps: ResultDeps
  context: RequestContext
  gateway: Gateway
  file: ResultFile
  lease: Lease
}

/** Line with the decision on it, and its bank reference. */
interface Decided {
  line: MoneyLine
  reference: BankReference | null
  verdict: Decision | { kind: 'known' }
}

/** Payments of a batch that get their result in one transaction. */
const PAYMENTS_AT_ONCE = 50

/** Applies lines. Where one of them cannot be applied after all, each is applied by itself, and that one is listed. */
export async function applyLines(reading: Reading, lines: readonly MoneyLine[]): Promise<void> {
  const [first] = lines
  if (first && isAboutBatch(reading.context.account.id, first)) return applyToBatch(reading, first)
  try {
    await inTransaction(reading, (tx) => applyPortion(tx, reading, lines))
  } catch (error) {
    if (!isRefusal(error)) throw error
    for (const line of lines)
      await inTransaction(reading, (tx) => applyPortion(tx, reading, [line])).catch((refusal: unknown) => {
        if (!isRefusal(refusal)) throw refusal
        return inTransaction(reading, (tx) => applyPortion(tx, reading, [line], true))
      })
  }
}

const isRefusal = (error: unknown): boolean => error instanceof Fault && error.kind === 'conflict'

const inTransaction = <T>({ deps, context, lease }: Reading, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  deps.db.transaction(context.account.id, async (tx) => {
    // Proves that nobody else works on the file, and keeps it so until the commit.
    if (!(await renewLease(tx, lease))) throw fileBusy()
    return work(tx)
  })

async function applyPortion(
  tx: Transaction,
  reading: Reading,
  lines: readonly MoneyLine[],
  isListedOnly = false,
): Promise<void> {
  const decided = await decide(tx, reading, lines)
  const results = decided.flatMap(({ verdict }) => (verdict.kind === 'result' ? [verdict.payment.customerId] : []))
  if (results.length > 0) await lockCustomers(tx, [...new Set(results)], true)
  const counts: Counts = { matched: 0, applied: 0, alreadyKnown: 0, unmatched: 0 }
  const listed: LineToList[] = []
  for (const { line, verdict } of decided) {
    if (verdict.kind === 'known') counts.alreadyKnown += 1
    if (verdict.kind === 'listed') listed.push({ line, kind: verdict.as, proposed: verdict.proposed, amount: null })
    if (verdict.kind === 'passed' && verdict.isMatched) counts.matched += 1
    if (verdict.kind === 'result') {
      const outcome = isListedOnly ? 'refused' : await applyOne(tx, reading, line, verdict.payment, verdict.isSuccess)
      if (outcome === 'refused' || outcome === 'contradiction') listed.push(contradicted(line, verdict))
      else {
        counts.matched += 1
        if (outcome === 'applied') counts.applied += 1
        if (verdict.beyondMinor > 0n) listed.push(feeOf(line, verdict))
      }
    }
  }
  await writeEnd(tx, reading, decided, listed, counts)
}

type ResultVerdict = Extract<Decision, { kind: 'result' }>

const contradicted = (line: MoneyLine, { payment, isSuccess }: ResultVerdict): LineToList => ({
  line,
  kind: isSuccess ? 'credit' : 'return',
  proposed: payment.id,
  amount: null,
})

/** Returns the part of an entry that is the bank's fee, as a line of its own. */
const feeOf = (line: MoneyLine, { payment, beyondMinor }: ResultVerdict): LineToList => ({
  line,
  kind: 'other',
  proposed: payment.id,
  amount: { amountMinor: beyondMinor, currency: payment.currency },
})

/** Writes what was read and listed in a portion, and how far the file has been worked on. */
async function writeEnd(
  tx: Transaction,
  { deps, context, file }: Reading,
  decided: readonly Decided[],
  listed: readonly LineToList[],
  counts: Counts,
): Promise<void> {
  const { now } = context.moment
  await writeListedLines(tx, deps, { file, now }, listed)
  const references = decided.flatMap(({ reference }) => (reference === null ? [] : [reference]))
  sendReadReferences(tx, file, references, now)
  sendFileProgress(tx, file.id, decided.length, { ...counts, unmatched: listed.length })
}

/** Finds what lines are about, and decides on each. */
async function decide(tx: Transaction, { context, file }: Reading, lines: readonly MoneyLine[]): Promise<Decided[]> {
  const account = context.account.id
  const references = lines.map(referenceIn)
  const named = lines.map(({ references: own }) => ({ id: paymentIdOf(account, own), token: batchTokenOf(own) }))
  const ids = named.flatMap(({ id }) => (id === null ? [] : [id]))
  const tokens = named.flatMap(({ id, token }) => (id === null && token !== null ? [token] : []))
  const asked = references.flatMap((reference, index) => (reference ? [{ ...reference, place: BigInt(index) }] : []))
  const [read, payments, batches] = await Promise.all([
    asked.length === 0 ? [] : listReadReferences(tx, file, asked),
    ids.length === 0 ? [] : listSentPayments(tx, ids),
    tokens.length === 0 ? [] : listSentBatches(tx, tokens),
  ])
  const readAt = new Map(read.map((one) => [Number(one.place), one]))
  const paymentOf = new Map<unknown, SentPayment>(payments.map((payment) => [payment.id, payment]))
  const batchOf = new Map<unknown, SentBatch>(batches.map((batch) => [batch.token, batch]))
  return lines.map((line, index): Decided => {
    const reference = references[index] ?? null
    const { id, token } = named[index] ?? { id: null, token: null }
    const about = knownOf(file, paymentOf.get(id), batchOf.get(token))
    return { line, reference, verdict: isKnown(readAt.get(index), about) ? { kind: 'known' } : decisionOn(line, about) }
  })
}

const knownOf = (
  { gatewayId }: ResultFile,
  payment: SentPayment | undefined,
  batch: SentBatch | undefined,
): KnownOfLine => {
  const own = <T extends { gatewayId: Id }>(one: T | undefined) => (one?.gatewayId === gatewayId ? one : undefined)
  return {
    payment: own(payment),
    batch: own(batch),
    isOfOtherGateway: !own(payment ?? batch) && (payment ?? batch) !== undefined,
  }
}

/** Rule: what another gateway's file had is known, but not what that gateway could not apply because it is this one's. */
const isKnown = (read: ReadReference | undefined, { payment, batch }: KnownOfLine): boolean =>
  read !== undefined && (read.isOfGateway || !(payment ?? batch))

/** Returns the bank reference of a line with its account, as hashes. */
function referenceIn(line: MoneyLine): BankReference | null {
  const reference = bankReferenceOf(line)
  const account = accountOf(line)
  return reference === null
    ? null
    : { reference: hashOf(reference), ofAccount: account === null ? null : hashOf(account) }
}

/** Returns the first half of a hash: it only has to be distinct. */
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest().subarray(0, 16)

/** Applies a line that may be about all payments of a batch: to some of them at a time, then the line itself is done. */
async function applyToBatch(reading: Reading, line: MoneyLine): Promise<void> {
  const [first] = await inTransaction(reading, (tx) => decide(tx, reading, [line]))
  if (first?.verdict.kind !== 'results') return inTransaction(reading, (tx) => applyPortion(tx, reading, [line]))
  const { batch, isSuccess } = first.verdict
  let after = 0n
  for (;;) {
    const some = await listPaymentsOfBatch(
      reading.deps.db.reader(reading.context.account.id),
      reading.context.account.id,
      batch.id,
      { isSuccess, after, limit: PAYMENTS_AT_ONCE },
    )
    const last = some.at(-1)
    if (last === undefined) break
    after = last.id
    await inTransaction(reading, async (tx) => {
      await lockCustomers(tx, [...new Set(some.map(({ customerId }) => customerId))], true)
      for (const payment of some)
        if (
          (await applyOne(tx, reading, line, { id: payment.id, actionDate: batch.actionDate }, isSuccess)) === 'applied'
        )
          sendLineBegun(tx, reading.file.id)
    })
  }
  await inTransaction(reading, (tx) =>
    writeEnd(tx, reading, [first], [], { matched: 1, applied: 0, alreadyKnown: 0, unmatched: 0 }),
  )
}

const applyOne = (
  tx: Transaction,
  { deps, context }: Reading,
  line: MoneyLine,
  { id, actionDate }: Pick<SentPayment, 'id' | 'actionDate'>,
  isSuccess: boolean,
) => {
  const on = dayOfResult(line.on, { actionDate, today: context.moment.today })
  return applyLineResult(tx, context, id, { isSuccess, reason: line.code, on, source: 'file' }, deps.linesOfService)
}
