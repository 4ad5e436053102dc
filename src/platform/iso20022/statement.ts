import { asEnded, type EntryFacts, entryFactsOf } from './entry.ts'
import { elementAt, textAt, type XmlElement } from './elements.ts'
import type { Format } from './formats.ts'
import type { LineSink, MessageReader } from './message.ts'
import { partLineOf, partOf, placeIn, type RawPart, wholeOf } from './part.ts'
import { type EntrySums, PartSums } from './part-sums.ts'
import type { BankEntry, ReadingFor } from './result-lines.ts'
import { UnreadableFile } from './unreadable.ts'
import { dayAt } from './values.ts'
import type { IsoDate } from '../../kernel/calendar.ts'

/**
 * Statements (camt.053), reports of a day (camt.052) and notifications (camt.054): whole entries, whose parts stream. Parts of an entry are handed
 * over once its sums are known: when it ends as long as its parts are held, else in a second reading with the sums of the first.
 */

/** The statement that is being read. */
interface Statement {
  element: XmlElement
  account: string | null
  isOurs: boolean
  day: IsoDate | null
}

/** The entry that is being read. */
interface Current {
  element: XmlElement
  /** As they stood before its first part. */
  facts: EntryFacts
  /** How many elements in it they were read from. */
  read: number
  parts: PartSums
  /** Known from a first reading. */
  sums: EntrySums | undefined
  /** It, if its sums are known. */
  entry: BankEntry | undefined
  batch: XmlElement | undefined
}

/** Facts that a first reading keeps: sums of entries with more than one part, by their place in the file, and what was passed over. */
export interface StatementsRead {
  sums: Map<number, EntrySums>
  statements: number
  otherAccounts: number
  statusMissing: number
}

export class StatementReader implements MessageReader<StatementsRead> {
  readonly units: ReadonlySet<string>
  readonly read: StatementsRead = { sums: new Map(), statements: 0, otherAccounts: 0, statusMissing: 0 }
  readonly #format: Format
  readonly #sink: LineSink
  readonly #about: ReadingFor
  readonly #before: StatementsRead | undefined
  #statement: Statement | undefined
  #current: Current | undefined
  #entries = 0
  /** Parts of the present entry that wait for its end. */
  #held: RawPart[] = []

  constructor(format: Format, sink: LineSink, about: ReadingFor, before: StatementsRead | undefined) {
    this.units = new Set(['TxDtls', 'NtryDtls', 'Ntry', format.record])
    this.#format = format
    this.#sink = sink
    this.#about = about
    this.#before = before
  }

  take(unit: XmlElement): void {
    if (unit.name === 'TxDtls') this.#part(unit)
    if (unit.name === 'NtryDtls') this.#details(unit)
    if (unit.name === 'Ntry') this.#entry(unit)
    if (this.#isStatement(unit)) this.#endStatement(unit)
  }

  end(): void {
    if (this.read.statements === 0) throw new UnreadableFile('The file holds no statement.')
  }

  #isStatement(element: XmlElement | undefined): element is XmlElement {
    return element?.name === this.#format.record && element.parent?.name === this.#format.body
  }

  #isEntry(element: XmlElement | undefined): element is XmlElement {
    return element?.name === 'Ntry' && this.#isStatement(element.parent)
  }

  #statementOf(element: XmlElement): Statement {
    if (this.#statement?.element === element) return this.#statement
    const account = accountOf(element)
    const { iban } = this.#about
    const isOurs = iban === null || plainAccount(account) === iban
    this.#statement = { element, account, isOurs, day: dayOf(element) }
    this.read.statements += 1
    if (!isOurs) this.read.otherAccounts += 1
    this.#sink.count()
    return this.#statement
  }

  #endStatement(element: XmlElement): void {
    const { account } = this.#statementOf(element)
    if (accountOf(element) !== account)
      throw new UnreadableFile('The file names the account (Acct) of a statement behind its entries.')
    this.#statement = undefined
  }

  /** Returns the entry that an element is in or is, as it was begun. */
  #currentOf(element: XmlElement, statement: Statement): Current {
    if (this.#current?.element === element) return this.#current
    const facts = entryFactsOf(element, statement.day)
    const sums = this.#before?.sums.get(this.#entries)
    const entry = sums?.isCounted && !sums.isWhole ? entryOf(statement, facts, sums) : undefined
    this.#current = {
      element,
      facts,
      read: element.children.length,
      parts: new PartSums(),
      sums,
      entry,
      batch: undefined,
    }
    return this.#current
  }

  #part(part: XmlElement): void {
    const element = part.parent?.parent
    if (part.parent?.name !== 'NtryDtls' || !this.#isEntry(element)) return
    const statement = this.#statementOf(element.parent as XmlElement)
    const { facts, parts, sums, entry } = this.#currentOf(element, statement)
    this.#sink.count()
    if (!statement.isOurs || facts.status !== 'booked') return parts.count()
    const raw = partOf(element, facts, part, elementAt(part.parent, 'Btch'), parts.details + 1)
    parts.add(raw, facts, this.#about)
    if (entry) this.#sink.emit(partLineOf(raw, entry, sums?.isByInstructed ?? false))
    else if (this.#before ? !sums : this.#sink.isKeeping) this.#held.push(raw)
    else this.#held = []
  }

  /** Notes the batch of an entry, which stands for itself if it has no parts. */
  #details(details: XmlElement): void {
    const element = details.parent
    if (!this.#isEntry(element)) return
    const current = this.#currentOf(element, this.#statementOf(element.parent as XmlElement))
    current.batch ??= elementAt(details, 'Btch')
  }

  #entry(element: XmlElement): void {
    if (!this.#isEntry(element)) return
    const statement = this.#statementOf(element.parent as XmlElement)
    const current = this.#currentOf(element, statement)
    const facts = hasMore(element, current)
      ? asEnded(current.facts, entryFactsOf(element, statement.day))
      : current.facts
    this.#end(statement, current, facts)
    this.#entries += 1
    this.#current = undefined
    this.#held = []
  }

  #end(statement: Statement, current: Current, facts: EntryFacts): void {
    const { element, parts } = current
    if (parts.details === 0) this.#sink.count()
    if (!statement.isOurs || facts.status !== 'booked') {
      if (statement.isOurs && facts.status === 'missing') this.read.statusMissing += 1
      return
    }
    const whole = wholeOf(element, facts, current.batch)
    const sums = parts.end(facts, whole, this.#about)
    if (sums.details > 1) this.read.sums.set(this.#entries, sums)
    const entry = current.entry ?? entryOf(statement, facts, sums)
    if (sums.isWhole) this.#sink.emit(partLineOf(parts.asWhole(whole, facts), entry, false))
    else if (!current.entry)
      for (const raw of this.#held) this.#sink.emit(partLineOf(asOnly(raw, whole, sums), entry, sums.isByInstructed))
    if (hasOver(entry, sums))
      this.#sink.emit({ kind: 'over', entry, bankReference: placeIn(facts.bankReference, 'over') })
  }
}

/** Elements that may stand behind the parts of an entry. */
const BEHIND: ReadonlySet<string> = new Set(['AddtlNtryInf', 'NtryDtls', ''])

/** Returns whether something about an entry itself stands behind its first part. */
const hasMore = ({ children }: XmlElement, { read }: Current): boolean =>
  children.slice(Math.max(0, read - 1)).some(({ name }) => !BEHIND.has(name))

const entryOf = (statement: Statement, facts: EntryFacts, sums: EntrySums): BankEntry => ({
  account: statement.account,
  on: facts.on,
  amount: facts.amount,
  isCredit: facts.isCredit,
  isUnreadable: sums.isUnreadable,
  bankReference: facts.bankReference,
  details: sums.details,
  isWhole: sums.isWhole,
  knownMinor: sums.knownMinor,
  unknownParts: sums.absent + sums.unreadable,
})

/** Returns the only part of an entry, completed by what the entry has in its place. */
const asOnly = (raw: RawPart, whole: RawPart, { details }: EntrySums): RawPart =>
  details === 1 ? { ...raw, original: raw.original ?? whole.original, text: raw.text ?? whole.text } : raw

/** Returns whether something may be over: not if a part cannot be read, which stands for what is left. */
const hasOver = ({ amount, knownMinor }: BankEntry, { isWhole, absent, unreadable }: EntrySums): boolean =>
  !isWhole && unreadable === 0 && (absent > 0 || amount?.amountMinor !== knownMinor)

const accountOf = (statement: XmlElement): string | null =>
  textAt(statement, 'Acct/Id/IBAN') ?? textAt(statement, 'Acct/Id/Othr/Id')

/** Returns the day of a statement: when it was made, else the end of what it covers, else the day of its file. */
const dayOf = (statement: XmlElement): IsoDate | null =>
  dayAt(statement, 'CreDtTm')?.day ??
  dayAt(statement, 'FrToDt/ToDtTm')?.day ??
  dayAt(statement.parent, 'GrpHdr/CreDtTm')?.day ??
  null

/** Returns an account's number without its spaces and in capitals. */
export const plainAccount = (account: string | null): string | null =>
  account?.replaceAll(' ', '').toUpperCase() ?? null
