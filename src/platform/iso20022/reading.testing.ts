import { checkResultFile } from './read.ts'
import type { CheckedResultFile, PartLine, ReadingFor, ResultLine } from './result-lines.ts'

/** Readings of files in tests. */

const OURS = /^P1-[1-9]\d*$/
const BATCH = /^[0-9a-f]{32}(-\d)?$/

/** References in the form of account 1. */
export const READING: ReadingFor = {
  iban: null,
  namesPayment: ({ endToEnd, instruction }) => OURS.test(endToEnd ?? '') || OURS.test(instruction ?? ''),
  namesBatch: ({ paymentInformation, message }) => BATCH.test(paymentInformation ?? '') || BATCH.test(message ?? ''),
}

export function check(file: string | Buffer, about: Partial<ReadingFor> = {}): CheckedResultFile {
  const reading = checkResultFile(typeof file === 'string' ? Buffer.from(file) : file, { ...READING, ...about })
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
  }
}

export const linesOf = (file: string | Buffer, about: Partial<ReadingFor> = {}): ResultLine[] =>
  [...check(file, about).lines()].flat()

export const partsOf = (file: string | Buffer, about: Partial<ReadingFor> = {}): PartLine[] =>
  linesOf(file, about).filter((line): line is PartLine => line.kind === 'part')

export const IBAN = 'DE89370400440532013000'

export const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'

/** Writes a statement of camt.053. */
export const statementXml = (
  inside: string,
  {
    before = '',
    namespace = NAMESPACE,
    iban = IBAN,
  }: { before?: string; namespace?: string; iban?: string | null } = {},
): string =>
  `${before}<Document xmlns="${namespace}"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr>${recordXml(inside, iban)}</BkToCstmrStmt></Document>`

export const recordXml = (inside: string, iban: string | null = IBAN): string =>
  `<Stmt><CreDtTm>2027-02-01T18:00:00</CreDtTm>${iban === null ? '' : `<Acct><Id><IBAN>${iban}</IBAN></Id></Acct>`}${inside}</Stmt>`

export interface EntryText {
  amount?: string
  status?: string
  direction?: string
  currency?: string
  reference?: string
}

/** Writes an entry of 29 January 2027. */
export const entryXml = (
  inside = '',
  { amount = '115.00', status = 'BOOK', direction = 'CRDT', currency = 'EUR', reference }: EntryText = {},
): string =>
  `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd><Sts>${status}</Sts>
   <BookgDt><Dt>2027-01-29</Dt></BookgDt>${reference === undefined ? '' : `<AcctSvcrRef>${reference}</AcctSvcrRef>`}${inside}</Ntry>`

export interface PartText {
  endToEnd?: string
  amount?: string
  transaction?: string
  instructed?: string
  direction?: string
  currency?: string
  reference?: string
  more?: string
}

const tag = (name: string, inside: string | undefined) => (inside ? `<${name}>${inside}</${name}>` : '')

/** Writes a part of an entry. */
export function partXml(facts: PartText = {}): string {
  const { currency = 'EUR', amount, transaction, instructed } = facts
  const money = (text: string | undefined) => text && `<Amt Ccy="${currency}">${text}</Amt>`
  return tag(
    'TxDtls',
    [
      tag('Refs', tag('AcctSvcrRef', facts.reference) + tag('EndToEndId', facts.endToEnd)),
      money(amount) ?? '',
      tag('CdtDbtInd', facts.direction),
      tag('AmtDtls', tag('InstdAmt', money(instructed)) + tag('TxAmt', money(transaction))),
      facts.more || ' ',
    ].join(''),
  )
}

export const detailsXml = (...parts: PartText[]): string => tag('NtryDtls', parts.map(partXml).join(''))
