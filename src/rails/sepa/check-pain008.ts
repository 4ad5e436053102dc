import { isBankDay } from '../../kernel/bank-days.ts'
import { isBic, isCreditorIdentifier, isIban, isInSepa } from '../../kernel/bank-numbers.ts'
import { isDate } from '../../kernel/calendar.ts'
import { isSepaReference, isSepaText } from './characters.ts'
import { namespaceOf, PAIN008_VERSIONS, SEPA_SCHEMES, SEQUENCE_TYPES } from './pain008.ts'
import { readXml, type WrittenElement } from './read-xml.ts'

/**
 * Checks of a finished pain.008 from its text alone: structure, counts, sums, identifiers, characters, days, amounts. They know nothing of
 * the data that it was written from, and are stricter than the schema where the scheme is. No message repeats a bank number.
 */

/** A sentence about something wrong. */
type Complaint = string
type Leaf = (text: string, place: Place) => Complaint | undefined

/** Content of an element: its children in their order, "?" behind the name of one that may be missing, "+" of one that may repeat. */
interface Shape {
  [name: string]: Leaf | Shape
}

/** Facts of the whole file that leaves are compared with. */
interface Place {
  version: string
  collectionDate: string
}

const must =
  (isRight: (text: string, place: Place) => boolean, complaint: Complaint): Leaf =>
  (text, place) =>
    isRight(text, place) ? undefined : complaint
const oneOf = (...words: readonly string[]): Leaf =>
  must((text) => words.includes(text), `is not ${words.join(' or ')}`)
const text = (max: number): Leaf =>
  must((value) => isSepaText(value, max), `has not 1 to ${max} of the characters that SEPA allows`)
const reference = must(isSepaReference, 'is no reference of 1 to 35 characters that SEPA allows')
const count = must((value) => /^[1-9]\d{0,14}$/.test(value), 'is not a count')
const sum = must((value) => /^(?:0|[1-9]\d*)\.\d\d$/.test(value), 'is not a sum with two decimals')
const amount = must(
  (value) => /^(?:0|[1-9]\d{0,8})\.\d\d$/.test(value) && !/^0\.00$/.test(value),
  'is not an amount from 0.01 to 999999999.99',
)
const iban = must(
  (value, { collectionDate }) => isIban(value) && isInSepa(value.slice(0, 2), collectionDate),
  'is not an IBAN of a country in SEPA',
)
/** The older version takes no BIC whose place is "0" or "1" at first or "O" at last. */
const bic = must(
  (value, { version }) => isBic(value) && (version !== '02' || /^.{6}[A-Z2-9][A-NP-Z0-9]/.test(value)),
  'is not a BIC',
)
const collectionDay = must(
  (value) => isDate(value) && isBankDay('target', value),
  'is not a day on which TARGET settles',
)
const signatureDay = must(
  (value, { collectionDate }) => isDate(value) && value <= collectionDate,
  'is not a day up to the collection',
)
const moment = must(
  (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(value),
  'is not a moment',
)

const NAME = text(70)
const accountShape: Shape = { Id: { IBAN: iban } }
const agentShape = (version: string): Shape => ({ FinInstnId: { [version === '02' ? 'BIC' : 'BICFI']: bic } })

const debitShape = (version: string): Shape => ({
  PmtId: { InstrId: reference, EndToEndId: reference },
  InstdAmt: amount,
  DrctDbtTx: {
    MndtRltdInf: {
      MndtId: reference,
      DtOfSgntr: signatureDay,
      'AmdmntInd?': oneOf('true'),
      'AmdmntInfDtls?': { OrgnlDbtrAcct: { Id: { Othr: { Id: oneOf('SMNDA') } } } },
    },
  },
  DbtrAgt: agentShape(version),
  Dbtr: {
    Nm: NAME,
    'PstlAdr?': {
      'StrtNm?': text(70),
      'PstCd?': text(16),
      TwnNm: text(35),
      Ctry: must((value) => /^[A-Z]{2}$/.test(value), 'is not a country'),
    },
  },
  DbtrAcct: accountShape,
  RmtInf: { Ustrd: text(140) },
})

const fileShape = (version: string): Shape => ({
  CstmrDrctDbtInitn: {
    GrpHdr: { MsgId: reference, CreDtTm: moment, NbOfTxs: count, CtrlSum: sum, InitgPty: { Nm: NAME } },
    PmtInf: {
      PmtInfId: reference,
      PmtMtd: oneOf('DD'),
      NbOfTxs: count,
      CtrlSum: sum,
      PmtTpInf: {
        SvcLvl: { Cd: oneOf('SEPA') },
        LclInstrm: { Cd: oneOf(...SEPA_SCHEMES) },
        SeqTp: oneOf(...SEQUENCE_TYPES),
      },
      ReqdColltnDt: collectionDay,
      Cdtr: { Nm: NAME },
      CdtrAcct: accountShape,
      CdtrAgt: agentShape(version),
      ChrgBr: oneOf('SLEV'),
      CdtrSchmeId: {
        Id: {
          PrvtId: {
            Othr: {
              Id: must(isCreditorIdentifier, 'is not a creditor identifier'),
              SchmeNm: { Prtry: oneOf('SEPA') },
            },
          },
        },
      },
      'DrctDbtTxInf+': debitShape(version),
    },
  },
})

/** A thing that is wrong with a file; `reference` names the debit that it is in, null where it is in none. */
export interface FileProblem {
  reference: string | null
  message: string
}

const childOf = (element: WrittenElement | undefined, name: string): WrittenElement | undefined =>
  element?.children.find((child) => child.name === name)
const at = (element: WrittenElement | undefined, ...path: readonly string[]): WrittenElement | undefined =>
  path.reduce<WrittenElement | undefined>(childOf, element)

const debitReference = (debit: WrittenElement): string | null => at(debit, 'PmtId', 'EndToEndId')?.text ?? null

/** Compares an element and everything in it with a shape. */
function checkShape(
  element: WrittenElement,
  shape: Leaf | Shape,
  place: Place,
  note: (message: string, reference: string | null) => void,
  reference: string | null = null,
): void {
  const { name, children, attributes } = element
  const own = name === 'DrctDbtTxInf' ? debitReference(element) : reference
  if (name !== 'Document' && name !== 'InstdAmt' && attributes.size > 0) note(`${name} has an attribute`, own)
  if (typeof shape === 'function') {
    const complaint = children.length > 0 ? 'holds elements' : shape(element.text, place)
    if (complaint !== undefined) note(`${name} ${complaint}`, own)
    return
  }
  if (element.text.trim() !== '') note(`${name} holds text`, own)
  let next = 0
  for (const [declared, inner] of Object.entries(shape)) {
    const wanted = declared.replace(/[?+]$/, '')
    const first = next
    while (children[next]?.name === wanted && (next === first || declared.endsWith('+'))) {
      const child = children[next]
      if (child) checkShape(child, inner, place, note, own)
      next += 1
    }
    if (next === first && !declared.endsWith('?')) note(`${name} has no ${wanted} where it belongs`, own)
  }
  const rest = children[next]
  if (rest) note(`${name} holds ${rest.name} where it does not belong`, own)
}

const centsOf = (value: string | undefined): bigint =>
  /^\d+\.\d\d$/.test(value ?? '') ? BigInt((value ?? '').replace('.', '')) : -1n

/** Compares count and control sum of a header with the debits below it. */
function checkTotals(
  header: WrittenElement | undefined,
  debits: readonly WrittenElement[],
  note: (message: string) => void,
) {
  const where = header?.name ?? ''
  if (childOf(header, 'NbOfTxs')?.text !== String(debits.length))
    note(`NbOfTxs of ${where} is not the number of its debits`)
  const total = debits.reduce((cents, debit) => cents + centsOf(childOf(debit, 'InstdAmt')?.text), 0n)
  if (centsOf(childOf(header, 'CtrlSum')?.text) !== total) note(`CtrlSum of ${where} is not the sum of its debits`)
}

function checkRepeated(debits: readonly WrittenElement[], note: (message: string, reference: string | null) => void) {
  for (const name of ['EndToEndId', 'InstrId']) {
    const seen = new Set<string>()
    for (const debit of debits) {
      const value = at(debit, 'PmtId', name)?.text ?? ''
      if (seen.has(value)) note(`${name} is that of another debit`, debitReference(debit))
      seen.add(value)
    }
  }
}

function checkDebit(debit: WrittenElement, note: (message: string, reference: string | null) => void): void {
  const reference = debitReference(debit)
  const currency = childOf(debit, 'InstdAmt')?.attributes
  if (currency?.get('Ccy') !== 'EUR' || currency.size !== 1) note('InstdAmt is not in EUR', reference)
  const mandate = at(debit, 'DrctDbtTx', 'MndtRltdInf')
  if ((childOf(mandate, 'AmdmntInd') === undefined) !== (childOf(mandate, 'AmdmntInfDtls') === undefined))
    note('MndtRltdInf names an amendment by half', reference)
}

/** Lists what is wrong with a finished file of direct debits, in the order of the file; nothing when it may be offered. */
export function checkPain008(xml: string): FileProblem[] {
  const problems: FileProblem[] = []
  const note = (message: string, reference: string | null = null) => problems.push({ reference, message })
  const root = readXml(xml)
  if (typeof root === 'string') return [{ reference: null, message: `The file cannot be read: ${root}` }]
  const version = PAIN008_VERSIONS.find((version) => root.attributes.get('xmlns') === namespaceOf(version))
  if (root.name !== 'Document' || version === undefined || root.attributes.size !== 1)
    return [{ reference: null, message: 'The file is no pain.008.001.08 or pain.008.001.02' }]
  const initiation = childOf(root, 'CstmrDrctDbtInitn')
  const information = childOf(initiation, 'PmtInf')
  const collectionDate = childOf(information, 'ReqdColltnDt')?.text ?? ''
  checkShape(root, fileShape(version), { version, collectionDate }, note)
  const debits = information?.children.filter(({ name }) => name === 'DrctDbtTxInf') ?? []
  for (const header of [childOf(initiation, 'GrpHdr'), information]) checkTotals(header, debits, note)
  checkRepeated(debits, note)
  for (const debit of debits) checkDebit(debit, note)
  return problems
}
