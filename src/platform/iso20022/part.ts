import type { EntryFacts } from './entry.ts'
import { directionOf } from './entry.ts'
import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { BankAmount, BankEntry, BankReferences, PartLine, WrittenReference } from './result-lines.ts'
import { amountAt, codeAt, flagAt, isPlaceholder, nameAt, referenceAt, textsIn } from './values.ts'

/** Parts (TxDtls) of entries: as they stand in the file, and as they are once all of their entry is known. */

/** Family and sub-family of a payment. */
interface PaymentKind {
  family: string | null
  subFamily: string | null
}

export interface RawPart {
  index: number
  /** Amt or else TxAmt, in the entry's currency. */
  amount: BankAmount | null
  /** Its amount is there and cannot be used. */
  isAmountUnreadable: boolean
  /** InstdAmt, if it can be used. */
  original: BankAmount | null
  /** An amount in it is no number. */
  isMalformed: boolean
  /** Undefined if it has that of its entry, null if it cannot be used. */
  isCredit: boolean | null | undefined
  kind: PaymentKind | null
  kindOfEntry: PaymentKind | null
  isReversal: boolean
  hasReturnInformation: boolean
  code: string | null
  references: BankReferences
  bankReference: string | null
  written: WrittenReference | null
  name: string | null
  text: string | null
}

/** Reads a part of an entry. `batch` is the batch that it stands in. */
export function partOf(
  entry: XmlElement,
  facts: EntryFacts,
  part: XmlElement,
  batch: XmlElement | undefined,
  index: number,
): RawPart {
  const isCredit = directionOf(part)
  const original = amountAt(part, 'AmtDtls/InstdAmt/Amt')
  const hasReturnInformation = elementAt(part, 'RtrInf') !== undefined
  const amount = amountOf(part, facts)
  return {
    index,
    amount: amount.amount,
    isAmountUnreadable: amount.isAmountUnreadable,
    original: original?.amount ?? null,
    isMalformed: amount.isMalformed || (original?.isMalformed ?? false),
    isCredit,
    kind: kindAt(part),
    kindOfEntry: kindAt(entry),
    isReversal: flagAt(entry, 'RvslInd'),
    hasReturnInformation,
    code: codeAt(part, 'RtrInf/Rsn'),
    references: referencesOf(part, batch),
    bankReference: referenceAt(part, 'Refs/AcctSvcrRef') ?? placeIn(facts.bankReference, index),
    written: writtenIn(entry, part, index),
    name: nameOf(part, facts.isCredit === true || hasReturnInformation),
    text: remittanceOf(part) ?? textAt(part, 'AddtlTxInf'),
  }
}

/** Returns an entry as the part that it is if it has none, or is worked on as a whole. */
export const wholeOf = (entry: XmlElement, facts: EntryFacts, batch: XmlElement | undefined): RawPart => ({
  index: 1,
  amount: facts.amount,
  isAmountUnreadable: false,
  original: facts.original,
  isMalformed: false,
  isCredit: undefined,
  kind: null,
  kindOfEntry: kindAt(entry),
  isReversal: flagAt(entry, 'RvslInd'),
  hasReturnInformation: false,
  code: null,
  references: referencesOf(undefined, batch),
  bankReference: placeIn(facts.bankReference, 1),
  written: writtenIn(entry, undefined, 1),
  name: null,
  text: textAt(entry, 'AddtlNtryInf'),
})

function writtenIn(entry: XmlElement, part: XmlElement | undefined, index: number): WrittenReference | null {
  const own = textAt(part, 'Refs/AcctSvcrRef')
  const reference = own ?? textAt(entry, 'AcctSvcrRef')
  if (reference === null) return null
  return { text: own ?? `${reference}#${index}`, isPlaceholder: isPlaceholder(reference) }
}

/** Returns the bank's reference of something in an entry that has none of its own. */
export const placeIn = (reference: string | null, place: number | 'over'): string | null =>
  reference === null ? null : `${reference}#${place}`

/** Reads the amount that was booked: one in another currency is that of the payment before its exchange. */
function amountOf(part: XmlElement, { amount: ofEntry }: EntryFacts) {
  const found = [amountAt(part, 'Amt'), amountAt(part, 'AmtDtls/TxAmt/Amt')]
  const own = found.find((one) => one && (one.currency === undefined || one.currency === ofEntry?.currency))
  return {
    amount: own?.amount ?? null,
    isAmountUnreadable: own?.amount === null,
    isMalformed: found.some((one) => one?.isMalformed),
  }
}

const kindAt = (element: XmlElement): PaymentKind | null =>
  textAt(element, 'BkTxCd/Domn/Cd') === 'PMNT'
    ? { family: textAt(element, 'BkTxCd/Domn/Fmly/Cd'), subFamily: textAt(element, 'BkTxCd/Domn/Fmly/SubFmlyCd') }
    : null

const referencesOf = (part: XmlElement | undefined, batch: XmlElement | undefined): BankReferences => ({
  endToEnd: referenceAt(part, 'Refs/EndToEndId'),
  instruction: referenceAt(part, 'Refs/InstrId'),
  paymentInformation: referenceAt(part, 'Refs/PmtInfId') ?? referenceAt(batch, 'PmtInfId'),
  message: referenceAt(part, 'Refs/MsgId') ?? referenceAt(batch, 'MsgId'),
  mandate: referenceAt(part, 'Refs/MndtId'),
})

/** Returns the other party: of credits and returns the debtor goes first, because a return names the debtor of the collection. */
function nameOf(part: XmlElement, isOfDebtor: boolean): string | null {
  const parties = elementAt(part, 'RltdPties')
  for (const party of isOfDebtor ? ['Dbtr', 'UltmtDbtr', 'Cdtr'] : ['Cdtr', 'UltmtCdtr', 'Dbtr']) {
    const name = nameAt(parties, party)
    if (name !== null) return name
  }
  return null
}

function remittanceOf(part: XmlElement): string | null {
  const remittance = elementAt(part, 'RmtInf')
  const structured = elementsIn(remittance, 'Strd').map((block) =>
    [textAt(block, 'CdtrRefInf/Ref'), textsIn(block, 'AddtlRmtInf')].filter(Boolean).join(' '),
  )
  return [textsIn(remittance, 'Ustrd'), ...structured].filter(Boolean).join(' ') || null
}

/** Returns a part as a line, given its entry. `isByInstructed`: parts without an amount have that of InstdAmt. */
export function partLineOf(raw: RawPart, entry: BankEntry, isByInstructed: boolean): PartLine {
  const isOnly = entry.isWhole || entry.details === 1
  const own = raw.amount ?? (isOnly ? entry.amount : isByInstructed ? raw.original : null)
  const isEntryAmount = isOnly && own !== null && own.amountMinor === entry.amount?.amountMinor
  const isCredit = isEntryAmount || raw.isCredit === undefined ? entry.isCredit : raw.isCredit
  const isUnreadable = entry.isUnreadable || raw.isAmountUnreadable || isCredit === null
  const isContrary = !entry.isUnreadable && isCredit !== null && isCredit !== entry.isCredit
  const kind = raw.kind ?? (isContrary ? null : raw.kindOfEntry)
  const { index, original, isReversal, hasReturnInformation, code, references, bankReference, written, name, text } =
    raw
  return {
    kind: 'part',
    entry,
    index,
    amount: isUnreadable ? null : own,
    original,
    isCredit,
    isContrary,
    isUnreadable,
    isReversal,
    hasReturnInformation,
    family: kind?.family ?? null,
    subFamily: kind?.subFamily ?? null,
    code,
    references,
    bankReference,
    written,
    name,
    text,
  }
}
