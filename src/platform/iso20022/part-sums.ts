import type { EntryFacts } from './entry.ts'
import type { RawPart } from './part.ts'
import type { BankReferences, ReadingFor } from './result-lines.ts'
import { UnreadableFile } from './unreadable.ts'

/** Sums of the parts of an entry: all that is kept of them until the entry has ended. */

/** Parts of one entry. */
const PARTS_MAX = 50_000

export interface EntrySums {
  /** False of an entry that is passed over. */
  isCounted: boolean
  isUnreadable: boolean
  details: number
  isWhole: boolean
  /** Parts without an amount have that of InstdAmt: every part has one in the entry's currency, and they add up to the entry. */
  isByInstructed: boolean
  knownMinor: bigint
  /** Parts whose amount is not given. */
  absent: number
  /** Parts that cannot be read. */
  unreadable: number
}

/** Adds up the parts of one entry. */
export class PartSums {
  /** Parts so far. */
  details = 0
  #knownMinor = 0n
  #absent = 0
  #unreadable = 0
  #instructed = 0
  #instructedMinor = 0n
  /** Of parts without an amount, the sum of InstdAmt. */
  #absentInstructedMinor = 0n
  #isMalformed = false
  #namesPayment = false
  #namesBatch = false
  /** The first part, or the first that names a payment of ours. */
  #standing: RawPart | undefined
  #paymentInformation: string | null | undefined
  #message: string | null | undefined
  #hasReturnInformation = false

  /** Counts a part that is not read, because its entry is passed over. */
  count(): void {
    this.details += 1
    if (this.details > PARTS_MAX) throw new UnreadableFile(`An entry of the file has more than ${PARTS_MAX} parts.`)
  }

  add(part: RawPart, { amount: ofEntry, isCredit }: EntryFacts, about: ReadingFor): void {
    this.count()
    const isOnly = this.details === 1
    const sign = (part.isCredit ?? isCredit) === isCredit ? 1n : -1n
    if (part.isAmountUnreadable || part.isCredit === null) this.#unreadable += 1
    else if (part.amount) this.#knownMinor += sign * part.amount.amountMinor
    else this.#absent += 1
    if (part.original && part.original.currency === ofEntry?.currency) {
      const minor = sign * part.original.amountMinor
      this.#instructed += 1
      this.#instructedMinor += minor
      if (!part.amount) this.#absentInstructedMinor += minor
    }
    this.#isMalformed ||= part.isMalformed
    const namesPayment = about.namesPayment(part.references)
    if (isOnly || (namesPayment && !this.#namesPayment)) this.#standing = part
    this.#namesPayment ||= namesPayment
    this.#namesBatch ||= about.namesBatch(part.references)
    const { paymentInformation, message } = part.references
    this.#paymentInformation = isOnly || this.#paymentInformation === paymentInformation ? paymentInformation : null
    this.#message = isOnly || this.#message === message ? message : null
    this.#hasReturnInformation ||= part.hasReturnInformation
  }

  /** Returns what the parts of an entry come to. `whole`: what it is without them. */
  end(entry: EntryFacts, whole: RawPart, about: ReadingFor): EntrySums {
    this.#refuseMalformed(entry, whole, about)
    const ofEntry = entry.amount?.amountMinor ?? 0n
    const isOnly = this.details === 1
    const isByInstructed =
      !isOnly && this.#absent > 0 && this.#instructed === this.details && this.#instructedMinor === ofEntry
    const absent = isOnly || isByInstructed ? 0 : this.#absent
    const isWhole = this.details === 0 || entry.isUnreadable || (absent > 0 && !this.#namesPayment)
    const isOfEntry = this.details === 0 || (isOnly && this.#isOfEntry(ofEntry))
    const known = this.#knownMinor + (isByInstructed ? this.#absentInstructedMinor : 0n)
    return {
      isCounted: true,
      isUnreadable: entry.isUnreadable,
      details: this.details,
      isWhole,
      isByInstructed,
      knownMinor: isOfEntry || isWhole ? ofEntry : known,
      absent: isWhole ? 0 : absent,
      unreadable: isOfEntry || isWhole ? 0 : this.#unreadable,
    }
  }

  /** Returns whether the only part stands for all of its entry, whichever direction it has. */
  #isOfEntry(ofEntryMinor: bigint): boolean {
    const { amount, isAmountUnreadable } = this.#standing ?? {}
    return !isAmountUnreadable && (amount?.amountMinor ?? ofEntryMinor) === ofEntryMinor
  }

  /** Returns what an entry that has parts, but is worked on as a whole, is: with the references that all of them have. */
  asWhole(whole: RawPart, entry: EntryFacts): RawPart {
    const standing = this.#standing
    if (!standing) return whole
    // Nothing of it is applied: it shows what a person recognises it by.
    if (entry.isUnreadable)
      return { ...standing, index: 1, bankReference: whole.bankReference, text: standing.text ?? whole.text }
    const references: BankReferences = {
      ...whole.references,
      paymentInformation: this.#paymentInformation ?? whole.references.paymentInformation,
      message: this.#message ?? whole.references.message,
    }
    return { ...whole, references, hasReturnInformation: this.#hasReturnInformation }
  }

  /** Rule: what is ours is not guessed, so a number that is none refuses the file; in what is not ours it is one line that cannot be read. */
  #refuseMalformed(entry: EntryFacts, { references }: RawPart, about: ReadingFor): void {
    if (!this.#isMalformed && !entry.isMalformed) return
    const isOurs =
      this.#namesPayment || this.#namesBatch || about.namesPayment(references) || about.namesBatch(references)
    if (isOurs)
      throw new UnreadableFile('An amount (Amt) of an entry that names a payment or batch is no decimal number.')
  }
}
