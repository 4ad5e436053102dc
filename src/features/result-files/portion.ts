import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { OverLine, PartLine, ResultLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResult, type ResultOutcome } from '../batches/results.ts'
import { type NewBooking, sendBookings } from './booking-queries.ts'
import { withBooking } from './bookings.ts'
import type { Reading } from './deps.ts'
import { endPayment } from './end-payment.ts'
import { type NamedFacts, namedIn } from './facts.ts'
import { isOverKnown, ReadBookings } from './known.ts'
import { resultOfBooking } from './line-results.ts'
import { writeListedLines } from './list-lines.ts'
import { type FileProgress, sendFileProgress } from './progress-queries.ts'
import type { Counts } from './queries.ts'
import { batchTokenOf, entryKeyOf } from './references.ts'
import { type Decision, ENTRY_BEGUN, type EntryProgress, type Listed, overOf, progressBehind } from './rules.ts'
import { closeSumsOf } from './sums.ts'
import { type LineToList, lineToList, remainderToList } from './to-list.ts'

/** Lines of one transaction: what each of them does at once, and what is written for all of them at the end. */

interface PortionOf {
  facts: NamedFacts
  progress: FileProgress
  /** Outcomes of lines whose results have been applied. */
  outcomes: ReadonlyMap<ResultLine, ResultOutcome>
  /** Nothing is applied: what would be is listed. */
  isListedOnly: boolean
}

/** Stands for the batch of a block or file that names none of ours; no batch has it. */
const NO_BATCH: Id = 0n

type Of<Kind extends Decision['kind']> = Extract<Decision, { kind: Kind }>

export class LinePortion {
  readonly #tx: Transaction
  readonly #reading: Reading
  readonly #facts: NamedFacts
  readonly #outcomes: ReadonlyMap<ResultLine, ResultOutcome>
  readonly #isListedOnly: boolean
  readonly #hasBegun: boolean
  readonly #counts: Counts = { matched: 0, applied: 0, alreadyKnown: 0, unmatched: 0, payments: 0 }
  readonly #listed: LineToList[] = []
  readonly #kept: NewBooking[] = []
  readonly #bookings: ReadBookings
  /** Entries of which parts were worked on. */
  readonly #worked = new Set<string>()
  readonly #begunBatches: Set<Id>
  /** Lines that the first reading of the file counted as known. */
  #linesAgain = 0
  #entry: EntryProgress
  /** The payment that the last part names. */
  #lastPaymentId: Id | null = null

  constructor(tx: Transaction, reading: Reading, { facts, progress, outcomes, isListedOnly }: PortionOf) {
    this.#tx = tx
    this.#reading = reading
    this.#facts = facts
    this.#outcomes = outcomes
    this.#isListedOnly = isListedOnly
    this.#hasBegun = progress.isLineBegun
    this.#begunBatches = new Set(progress.begunBatches)
    this.#entry = progress
    this.#bookings = new ReadBookings(reading.file.gatewayId)
  }

  /** Takes a line that another file had. */
  takeKnown(line: PartLine | StatusLine): void {
    this.#counts.alreadyKnown += 1
    this.#note(line, { kind: 'known' })
  }

  /** Takes a line with the decision on it. */
  async take(line: PartLine | StatusLine, decision: Decision): Promise<void> {
    this.#note(line, await this.#work(line, decision))
  }

  /** Takes what is over the entry whose parts were taken before. */
  async takeOver(line: OverLine): Promise<void> {
    const remainder = overOf(line, this.#entry)
    if (remainder === null) return
    this.#bookings.addOver(line, remainder)
    if (this.#entry.isKnown || (await isOverKnown(this.#tx, this.#reading, line, remainder))) {
      this.#counts.alreadyKnown += 1
      return
    }
    const id = line.entry.details === 1 ? this.#lastPaymentId : null
    this.#listed.push(remainderToList(line, remainder, id === null ? null : { id }))
  }

  /** Writes what was read and listed, and how far the file has been worked on. */
  async end(linesDone: number): Promise<void> {
    const tx = this.#tx
    await closeSumsOf(tx, this.#reading, this.#worked)
    await writeListedLines(tx, this.#reading, this.#listed)
    sendBookings(tx, this.#kept)
    this.#bookings.send(tx, this.#reading)
    const alreadyKnown = this.#counts.alreadyKnown - this.#linesAgain
    sendFileProgress(tx, this.#reading.file.id, {
      linesDone,
      counts: { ...this.#counts, alreadyKnown, unmatched: this.#listed.length },
      progress: { ...this.#entry, begunBatches: [...this.#begunBatches] },
    })
  }

  /** Notes what later lines and files are compared with. */
  #note(line: PartLine | StatusLine, decision: Decision | { kind: 'known' }): void {
    if (line.kind === 'status') return
    if (this.#reading.isAgain) this.#linesAgain += 1
    const named = namedIn(this.#facts, line)
    this.#entry = progressBehind(line.index === 1 ? ENTRY_BEGUN : this.#entry, line, decision)
    this.#lastPaymentId = (named.payment ?? named.otherPayment)?.id ?? null
    const isWorkedOn = isWork(decision)
    this.#bookings.add(line, named, isWorkedOn)
    const key = isWorkedOn && !line.entry.isWhole ? entryKeyOf(line, this.#reading.file.gatewayId) : null
    if (key !== null) this.#worked.add(key)
  }

  async #work(line: PartLine | StatusLine, decision: Decision): Promise<Decision> {
    switch (decision.kind) {
      case 'passed':
        if (decision.isMatched && !isInherited(line)) this.#counts.matched += 1
        return decision
      case 'again':
        this.#counts.matched += 1
        return decision
      case 'booking':
        return this.#book(line as PartLine, decision)
      case 'ended':
        return this.#end(line as StatusLine, decision)
      case 'collected':
      case 'batch_ended':
        this.#countBatch(line, decision.batch.id)
        return decision
      case 'listed':
        return this.#list(line, decision)
    }
  }

  async #book(line: PartLine, decision: Of<'booking'>): Promise<Decision> {
    const { payment, isCredit, hasChanged, difference } = decision
    const { deps, context, file } = this.#reading
    const as = isCredit ? 'credit' : 'return'
    const refused: Listed = { kind: 'listed', as, code: line.code, named: payment }
    const { on } = line.entry
    if (on === null) return this.#list(line, refused)
    if (hasChanged) {
      const result = resultOfBooking(line, isCredit, { ...payment, today: context.moment.today })
      const apply = () => applyLineResult(this.#tx, context, payment.id, result, deps.linesOfService)
      const isApplied = !this.#isListedOnly && (this.#outcomes.get(line) ?? (await apply())) === 'applied'
      if (!isApplied) return this.#list(line, refused)
      this.#counts.applied += 1
      // One that this file settled and takes back is one payment.
      if (!(payment.credit?.hasChanged && payment.credit.fileId === file.id)) this.#counts.payments += 1
    }
    this.#counts.matched += 1
    this.#kept.push({ paymentId: payment.id, isCredit, on, fileId: file.id, hasChanged })
    const kept = { on, fileId: file.id, hasChanged }
    this.#facts.payments.set(payment.id, withBooking(payment, { isCredit, kept }))
    if (difference) this.#listed.push(remainderToList(line, difference, payment))
    return decision
  }

  async #end(line: StatusLine, decision: Of<'ended'>): Promise<Decision> {
    const { payment, ending } = decision
    const outcome = this.#isListedOnly
      ? 'unknown'
      : (this.#outcomes.get(line) ?? (await endPayment(this.#tx, this.#reading, payment, { line, ending })))
    if (outcome !== 'applied')
      return this.#list(line, { kind: 'listed', as: 'return', code: line.code, named: payment })
    this.#counts.payments += 1
    if (line.isInherited) this.#begunBatches.add(this.#batchAbove(line, payment.batchToken))
    else {
      this.#counts.matched += 1
      this.#counts.applied += 1
    }
    const { today } = this.#reading.context.moment
    const result = payment.result ?? 'failed'
    this.#facts.payments.set(payment.id, { ...payment, failedOn: today, failedBy: 'file', result })
    return decision
  }

  /** Returns the batch for whose line a payment counts that has its status from there. */
  #batchAbove(line: StatusLine, token: string): Id {
    const { batch } = namedIn(this.#facts, {
      ...line,
      references: { ...line.references, endToEnd: null, instruction: null },
    })
    return batch?.token === token ? batch.id : NO_BATCH
  }

  /** Counts a line about a whole batch, whose payments have been worked on. */
  #countBatch(line: PartLine | StatusLine, batchId: Id): void {
    if (isInherited(line)) {
      if (this.#hasBegun) this.#begunBatches.add(batchId)
      return
    }
    this.#counts.matched += 1
    const hasBegunAbove = this.#begunBatches.delete(batchId)
    if (hasBegunAbove && !this.#hasBegun) this.#counts.applied += 1
  }

  #list(line: PartLine | StatusLine, decision: Listed): Decision {
    if (line.kind === 'status' && line.scope !== 'payment' && this.#isOfPayments(line)) return decision
    // Also one of another gateway, which does not settle it meanwhile.
    const batch = this.#facts.batches.get(batchTokenOf(line.references) ?? '')
    const { gatewayId } = this.#reading.file
    this.#listed.push(lineToList(line, decision, { gatewayId, batchId: batch?.id ?? null }))
    return decision
  }

  /** Returns whether a block or file that names no batch of ours is about payments alone which were found; counts it then. */
  #isOfPayments(line: StatusLine): boolean {
    if (!this.#begunBatches.has(NO_BATCH)) return false
    if (line.isInherited) return true
    this.#begunBatches.delete(NO_BATCH)
    this.#counts.matched += 1
    this.#counts.applied += 1
    return true
  }
}

const isInherited = (line: PartLine | StatusLine): boolean => line.kind === 'status' && line.isInherited

/** Returns whether a part was worked on as a return or a settlement: its sum is known from then on. */
const isWork = (decision: Decision | { kind: 'known' }): boolean =>
  decision.kind === 'booking' ||
  decision.kind === 'again' ||
  decision.kind === 'collected' ||
  (decision.kind === 'listed' && decision.as === 'return')
