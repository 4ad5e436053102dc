import type { IsoDate } from '../../kernel/calendar.ts'
import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { Format } from './formats.ts'
import type { LineSink, MessageReader } from './message.ts'
import type { BankReferences, ReadingFor, StatusLine } from './result-lines.ts'
import { UnreadableFile } from './unreadable.ts'
import { amountAt, codeAt, dayAt, nameAt, referenceAt } from './values.ts'

/**
 * Statuses of debits (pain.002). A payment has its own status, else its block's, else the file's, and its reason alike, in whatever order they stand:
 * lines are handed over when the file has ended as long as they are held, else in a second reading with the statuses of blocks and file known.
 */

/** Statuses that end a debit. */
const ENDING: ReadonlySet<string> = new Set(['RJCT', 'CANC'])

/** Statuses that change nothing, whether the debit is on its way or was carried out. */
const NOTHING: ReadonlySet<string> = new Set(
  'ACTC ACCP ACSP ACSC ACCC ACFC ACIS ACPD ACWC ACWP PATC PDNG PRES RCVD PART RCVC RCVM RVMC RVNA RVNC RVNM'.split(' '),
)

/** Returns whether a status changes nothing and is listed nowhere. */
export const changesNothing = (status: string): boolean => NOTHING.has(status)

const PARTLY = 'PART'

/** Status and reason, as they stand in one place. */
interface Stated {
  status: string | null
  code: string | null
  /** Whether its references name a batch. */
  namesBatch: boolean
}

/** Line before what stands around it is known; `block` is the place of its block in the file. */
type RawLine = Omit<StatusLine, 'kind' | 'status' | 'isInherited'> & { status: string | null; block: number }

/** Statuses that a first reading keeps. */
export interface StatusesRead {
  blocks: Stated[]
  file: Stated
}

const UNSTATED: Stated = { status: null, code: null, namesBatch: false }

export class StatusReader implements MessageReader<StatusesRead> {
  readonly units: ReadonlySet<string>
  readonly read: StatusesRead = { blocks: [], file: UNSTATED }
  readonly #format: Format
  readonly #sink: LineSink
  readonly #about: ReadingFor
  readonly #before: StatusesRead | undefined
  #hasStatus = false
  /** Payments of ours in the present block, and in the file, whose own status ends nothing. */
  #apartOfBlock: BankReferences[] = []
  readonly #apartOfFile: BankReferences[] = []
  #held: RawLine[] = []

  constructor(format: Format, sink: LineSink, about: ReadingFor, before: StatusesRead | undefined) {
    this.units = new Set(['TxInfAndSts', 'OrgnlPmtInfAndSts', format.body])
    this.#format = format
    this.#sink = sink
    this.#about = about
    this.#before = before
  }

  take(unit: XmlElement): void {
    const { parent } = unit
    if (unit.name === 'TxInfAndSts' && (this.#isBlock(parent) || this.#isReport(parent))) this.#payment(unit)
    if (this.#isBlock(unit)) this.#block(unit)
    if (this.#isReport(unit)) this.#report(unit)
  }

  end(): void {
    if (!this.#hasStatus) throw new UnreadableFile('The file holds no status.')
    for (const raw of this.#held) this.#emit(raw, this.read)
  }

  #isReport(element: XmlElement | undefined): boolean {
    return element?.name === this.#format.body && element.parent?.parent === undefined
  }

  #isBlock(element: XmlElement | undefined): boolean {
    return element?.name === 'OrgnlPmtInfAndSts' && this.#isReport(element.parent)
  }

  #payment(payment: XmlElement): void {
    const block = this.#isBlock(payment.parent) ? payment.parent : undefined
    const report = block?.parent ?? payment.parent
    const original = elementAt(payment, 'OrgnlTxRef')
    const references: BankReferences = {
      endToEnd: referenceAt(payment, 'OrgnlEndToEndId'),
      instruction: referenceAt(payment, 'OrgnlInstrId'),
      paymentInformation: referenceAt(block, 'OrgnlPmtInfId'),
      message: messageOf(report),
      mandate: referenceAt(original, 'MndtRltdInf/MndtId') ?? referenceAt(original, 'MndtRltdInf/DrctDbtMndt/MndtId'),
    }
    const amount = amountAt(original, 'Amt/InstdAmt') ?? amountAt(original, 'IntrBkSttlmAmt')
    if (amount?.isMalformed && (this.#about.namesPayment(references) || this.#about.namesBatch(references)))
      throw new UnreadableFile('An amount (InstdAmt) of a status that names a payment or batch is no decimal number.')
    const stated = statedAt(payment, 'TxSts')
    if (stated.status !== null && !ENDING.has(stated.status) && this.#about.namesPayment(references)) {
      this.#apartOfBlock.push(references)
      this.#apartOfFile.push(references)
    }
    this.#hold({
      scope: 'payment',
      ...stated,
      on: dayOf(report),
      original: amount?.amount ?? null,
      references,
      name: nameAt(original, 'Dbtr'),
      apart: [],
      block: block ? this.read.blocks.length : -1,
    })
  }

  #block(block: XmlElement): void {
    const references = { ...NO_REFERENCES, paymentInformation: referenceAt(block, 'OrgnlPmtInfId') }
    const stated = statedAt(block, 'PmtInfSts')
    this.#hold({
      scope: 'payments',
      ...stated,
      on: dayOf(block.parent),
      original: null,
      references: { ...references, message: messageOf(block.parent) },
      name: null,
      apart: this.#apartOfBlock,
      block: this.read.blocks.length,
    })
    this.#apartOfBlock = []
    this.read.blocks.push({ ...stated, namesBatch: this.#about.namesBatch(references) })
  }

  #report(report: XmlElement): void {
    const group = elementAt(report, 'OrgnlGrpInfAndSts')
    const references = { ...NO_REFERENCES, message: messageOf(report) }
    const stated = statedAt(group, 'GrpSts')
    this.read.file = { ...stated, namesBatch: this.#about.namesBatch(references) }
    this.#hold({
      scope: 'message',
      ...stated,
      on: dayOf(report),
      original: null,
      references,
      name: null,
      apart: this.#apartOfFile,
      block: -1,
    })
  }

  /** Hands a line over at once if what stands around it is known, else when the file has ended. */
  #hold(raw: RawLine): void {
    this.#sink.count()
    this.#hasStatus ||= raw.status !== null
    if (this.#before) this.#emit(raw, this.#before)
    else if (this.#sink.isKeeping) this.#held.push(raw)
    else this.#held = []
  }

  #emit({ block, ...raw }: RawLine, { blocks, file }: StatusesRead): void {
    const around = raw.scope === 'payment' ? [blocks[block] ?? UNSTATED, file] : [file]
    const above = raw.scope === 'message' ? [] : around
    const from = above.find(({ status }) => status !== null)
    const reason = raw.code ?? above.find(({ code }) => code !== null)?.code ?? null
    const status = raw.status ?? inherited(raw, from)
    if (status !== null)
      this.#sink.emit({ kind: 'status', ...raw, status, isInherited: raw.status === null, code: reason })
  }
}

/** Returns the status that a line without one has from above; null if it gives no line. */
function inherited({ scope, code }: Pick<RawLine, 'scope' | 'code'>, from: Stated | undefined): string | null {
  if (from?.status && ENDING.has(from.status)) return from.status
  const hasReasonAlone = scope === 'payment' && code !== null
  if (!from?.status || from.status === PARTLY) return hasReasonAlone ? PARTLY : null
  // Its payments are found by the batch that it names, else only by their own references.
  return changesNothing(from.status) || from.namesBatch ? null : from.status
}

const NO_REFERENCES: BankReferences = {
  endToEnd: null,
  instruction: null,
  paymentInformation: null,
  message: null,
  mandate: null,
}

const messageOf = (report: XmlElement | undefined) => referenceAt(report, 'OrgnlGrpInfAndSts/OrgnlMsgId')

const dayOf = (report: XmlElement | undefined): IsoDate | null => dayAt(report, 'GrpHdr/CreDtTm')?.day ?? null

/** Reads the status of an element and the first code of its reasons. */
const statedAt = (element: XmlElement | undefined, path: string) => ({
  status: textAt(element, path),
  code: elementsIn(element, 'StsRsnInf').reduce<string | null>((found, one) => found ?? codeAt(one, 'Rsn'), null),
})
