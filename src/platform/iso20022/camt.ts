import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { BankReferences, EntryLine, ResultLine } from './result-lines.ts'
import { amountAt, codeAt, dayAt, flagAt, nameAt, needed, textsIn } from './values.ts'
import { UnreadableFile } from './unreadable.ts'

/** Entries of statements (camt.053) and notifications (camt.054), versions .02 to .08. */

export const CAMT_UNITS: ReadonlySet<string> = new Set(['Acct', 'TxDtls', 'Ntry', 'Stmt', 'Ntfctn'])

/** Not provided, as banks write it. */
const NO_REFERENCE = 'NOTPROVIDED'

export class CamtReader {
  readonly #emit: (line: ResultLine) => void
  /** The present statement, whose account is known, and that account. */
  #statement: XmlElement | undefined
  #account: string | null = null
  /** Details of the present entry so far; the first waits, because it alone may stand for the whole entry. */
  #details = 0
  #first: EntryLine | undefined

  constructor(emit: (line: ResultLine) => void) {
    this.#emit = emit
  }

  take(unit: XmlElement): void {
    if (unit.name === 'Acct' && isStatement(unit.parent)) this.#begin(unit.parent, unit)
    if (unit.name === 'TxDtls') this.#detail(unit)
    if (unit.name === 'Ntry') this.#entry(unit)
    if (isStatement(unit) && unit !== this.#statement) this.#begin(unit)
  }

  #begin(statement: XmlElement, account?: XmlElement): void {
    this.#statement = statement
    this.#account = textAt(account, 'Id/IBAN') ?? textAt(account, 'Id/Othr/Id')
    this.#emit({ kind: 'statement', account: this.#account })
  }

  /** Begins the statement of an entry, unless its account stood before the entry: it has none then, and not that of the statement before. */
  #ofStatement({ parent }: XmlElement): void {
    if (isStatement(parent) && parent !== this.#statement) this.#begin(parent)
  }

  #detail(detail: XmlElement): void {
    const entry = detail.parent?.parent
    if (entry?.name !== 'Ntry') return
    this.#ofStatement(entry)
    this.#details += 1
    if (!isBooked(entry)) return
    this.#flush()
    const line = lineOf(entry, detail, this.#details, this.#account)
    if (this.#details === 1) this.#first = line
    else this.#emit(line)
  }

  #entry(entry: XmlElement): void {
    this.#ofStatement(entry)
    if (isBooked(entry)) {
      const line = lineOf(entry, undefined, 1, this.#account)
      if (this.#details === 0) this.#emit(line)
      if (this.#first) this.#emit(asWhole(this.#first, line))
    }
    this.#details = 0
    this.#first = undefined
  }

  #flush(): void {
    if (this.#first) this.#emit(this.#first)
    this.#first = undefined
  }
}

const isStatement = (element: XmlElement | undefined): element is XmlElement =>
  element?.name === 'Stmt' || element?.name === 'Ntfctn'

/** Returns the only detail of an entry, completed by what the entry has in its place. */
const asWhole = (detail: EntryLine, entry: EntryLine): EntryLine => ({
  ...detail,
  amount: detail.amount ?? entry.amount,
  original: detail.original ?? entry.original,
  text: detail.text ?? entry.text,
})

/** Returns whether an entry is booked: the text of Sts in versions up to .04, its code from then on. */
const isBooked = (entry: XmlElement): boolean =>
  (textAt(entry, 'Sts') ?? needed(codeAt(entry, 'Sts'), 'the status of an entry (Sts)')) === 'BOOK'

function lineOf(entry: XmlElement, detail: XmlElement | undefined, place: number, account: string | null): EntryLine {
  const kind = [detail, entry].find((one) => elementAt(one, 'BkTxCd/Domn/Cd')?.text === 'PMNT')
  const direction = directionOf(entry)
  const isCredit = needed(direction, 'the direction of an entry (CdtDbtInd)') === 'CRDT'
  const own = detail ?? entry
  const ofEntry = textAt(entry, 'AcctSvcrRef')
  return {
    kind: 'entry',
    account,
    on: needed(bookedOn(entry), 'the day of an entry (BookgDt)'),
    amount: detail
      ? (amountAt(detail, 'Amt') ?? amountAt(detail, 'AmtDtls/TxAmt/Amt'))
      : needed(amountAt(entry, 'Amt'), 'the amount of an entry (Amt)'),
    original: amountAt(own, 'AmtDtls/InstdAmt/Amt'),
    isCredit,
    isContrary: detail !== undefined && (directionOf(detail) ?? direction) !== direction,
    isReversal: flagAt(entry, 'RvslInd'),
    hasReturnInformation: elementAt(detail, 'RtrInf') !== undefined,
    family: textAt(kind, 'BkTxCd/Domn/Fmly/Cd'),
    subFamily: textAt(kind, 'BkTxCd/Domn/Fmly/SubFmlyCd'),
    code: codeAt(detail, 'RtrInf/Rsn'),
    references: referencesOf(detail, elementAt(detail?.parent ?? elementAt(entry, 'NtryDtls'), 'Btch')),
    bankReference: textAt(detail, 'Refs/AcctSvcrRef') ?? (ofEntry && `${ofEntry}#${place}`),
    name: nameOf(detail, isCredit),
    text: remittanceOf(detail) ?? textAt(detail, 'AddtlTxInf') ?? (detail ? null : textAt(entry, 'AddtlNtryInf')),
  }
}

function directionOf(element: XmlElement): 'CRDT' | 'DBIT' | null {
  const direction = textAt(element, 'CdtDbtInd')
  if (direction === null || direction === 'CRDT' || direction === 'DBIT') return direction
  throw new UnreadableFile('A direction (CdtDbtInd) is neither CRDT nor DBIT.')
}

const bookedOn = (entry: XmlElement) =>
  dayAt(entry, 'BookgDt/Dt', 'BookgDt/DtTm') ?? dayAt(entry, 'ValDt/Dt', 'ValDt/DtTm') ?? dayAt(entry.parent, 'CreDtTm')

function referencesOf(detail: XmlElement | undefined, batch: XmlElement | undefined): BankReferences {
  const at = (name: string) => {
    const text = textAt(detail, `Refs/${name}`)
    return text === NO_REFERENCE ? null : text
  }
  return {
    endToEnd: at('EndToEndId'),
    instruction: at('InstrId'),
    paymentInformation: at('PmtInfId') ?? textAt(batch, 'PmtInfId'),
    message: at('MsgId') ?? textAt(batch, 'MsgId'),
    mandate: at('MndtId'),
  }
}

/** Returns the other party. A return names the debtor of the collection, so it goes before the creditor there; of credits the payer is the debtor. */
function nameOf(detail: XmlElement | undefined, isCredit: boolean): string | null {
  const parties = elementAt(detail, 'RltdPties')
  const isReturn = elementAt(detail, 'RtrInf') !== undefined
  const order = isCredit || isReturn ? ['Dbtr', 'UltmtDbtr', 'Cdtr'] : ['Cdtr', 'UltmtCdtr', 'Dbtr']
  for (const party of order) {
    const name = nameAt(parties, party)
    if (name !== null) return name
  }
  return null
}

function remittanceOf(detail: XmlElement | undefined): string | null {
  const remittance = elementAt(detail, 'RmtInf')
  const structured = elementsIn(remittance, 'Strd').map((block) =>
    [textAt(block, 'CdtrRefInf/Ref'), textsIn(block, 'AddtlRmtInf')].filter(Boolean).join(' '),
  )
  return [textsIn(remittance, 'Ustrd'), ...structured].filter(Boolean).join(' ') || null
}
