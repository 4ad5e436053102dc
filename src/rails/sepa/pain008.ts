import type { IsoDate } from '../../kernel/calendar.ts'
import { minorText, sumMinor } from '../../kernel/money.ts'
import { sepaText } from './characters.ts'

/** Writing of pain.008, the file of direct debits that a creditor hands to its bank (ISO 20022; EPC130-08, EPC131-08). */

export const PAIN008_VERSIONS = ['08', '02'] as const
export type Pain008Version = (typeof PAIN008_VERSIONS)[number]
export const SEPA_SCHEMES = ['CORE', 'B2B'] as const
export type SepaScheme = (typeof SEPA_SCHEMES)[number]
export const SEQUENCE_TYPES = ['RCUR', 'FRST', 'OOFF', 'FNAL'] as const
export type SequenceType = (typeof SEQUENCE_TYPES)[number]

export const namespaceOf = (version: Pain008Version): string => `urn:iso:std:iso:20022:tech:xsd:pain.008.001.${version}`

/** Place of a payer as the scheme wants it: structured, with town and country at least. */
export interface PostalPlace {
  street: string | null
  postalCode: string | null
  town: string
  /** ISO 3166-1 alpha-2. */
  country: string
}

export interface DirectDebit {
  /** Comes back with every result; unique in the file. */
  reference: string
  /** In cents, 1 to 99,999,999,999. */
  amountMinor: bigint
  mandateReference: string
  mandateDate: IsoDate
  /** The mandate goes on with another account than the bank saw last. */
  hasAccountChanged: boolean
  accountHolder: string
  /** Null where the scheme asks for none. */
  address: PostalPlace | null
  iban: string
  bic: string
  remittance: string
}

export interface DirectDebits {
  version: Pain008Version
  /** `YYYY-MM-DDTHH:MM:SS` and a zone. */
  createdAt: string
  messageId: string
  paymentInformationId: string
  scheme: SepaScheme
  sequenceType: SequenceType
  collectionDate: IsoDate
  creditor: { name: string; iban: string; bic: string; identifier: string }
  debits: readonly DirectDebit[]
}

/** Returns the identifier of a batch's file: the token of the batch, a UUID, in 32 characters. */
export const messageIdOf = (token: string): string => token.replaceAll('-', '')

/** Returns the identifier of the one payment information that the file of a batch holds. */
export const paymentInformationIdOf = (token: string): string => `${messageIdOf(token)}-1`

/** Characters of a name, and of what a payer reads on the statement. */
export const NAME_MAX = 70
export const REMITTANCE_MAX = 140

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')

const leaf = (name: string, text: string): string => `<${name}>${escaped(text)}</${name}>`
const node = (name: string, ...children: readonly string[]): string => `<${name}>${children.join('')}</${name}>`

const account = (name: string, iban: string): string => node(name, node('Id', leaf('IBAN', iban)))
const agent = (name: string, bic: string, version: Pain008Version): string =>
  node(name, node('FinInstnId', leaf(version === '02' ? 'BIC' : 'BICFI', bic)))

/** Returns the name of an account that stands for the earlier one where a mandate goes on with another. */
const changedAccount = (): string =>
  leaf('AmdmntInd', 'true') +
  node('AmdmntInfDtls', node('OrgnlDbtrAcct', node('Id', node('Othr', leaf('Id', 'SMNDA')))))

const address = ({ street, postalCode, town, country }: PostalPlace): string =>
  node(
    'PstlAdr',
    street === null ? '' : leaf('StrtNm', sepaText(street, 70)),
    postalCode === null ? '' : leaf('PstCd', sepaText(postalCode, 16)),
    leaf('TwnNm', sepaText(town, 35)),
    leaf('Ctry', country),
  )

const transaction = (debit: DirectDebit, version: Pain008Version): string =>
  node(
    'DrctDbtTxInf',
    node('PmtId', leaf('InstrId', debit.reference), leaf('EndToEndId', debit.reference)),
    `<InstdAmt Ccy="EUR">${minorText(debit.amountMinor, 2)}</InstdAmt>`,
    node(
      'DrctDbtTx',
      node(
        'MndtRltdInf',
        leaf('MndtId', debit.mandateReference),
        leaf('DtOfSgntr', debit.mandateDate),
        debit.hasAccountChanged ? changedAccount() : '',
      ),
    ),
    agent('DbtrAgt', debit.bic, version),
    node(
      'Dbtr',
      leaf('Nm', sepaText(debit.accountHolder, NAME_MAX)),
      debit.address === null ? '' : address(debit.address),
    ),
    account('DbtrAcct', debit.iban),
    node('RmtInf', leaf('Ustrd', sepaText(debit.remittance, REMITTANCE_MAX))),
  )

const creditorScheme = (identifier: string): string =>
  node(
    'CdtrSchmeId',
    node('Id', node('PrvtId', node('Othr', leaf('Id', identifier), node('SchmeNm', leaf('Prtry', 'SEPA'))))),
  )

/** Writes the file of direct debits of one day. Texts are transliterated and cut; identifiers and numbers are written as they are. */
export function writePain008(file: DirectDebits): string {
  const { version, creditor, debits } = file
  const name = leaf('Nm', sepaText(creditor.name, NAME_MAX))
  const totals = leaf('NbOfTxs', String(debits.length)) + leaf('CtrlSum', minorText(sumMinor(debits), 2))
  const header = node(
    'GrpHdr',
    leaf('MsgId', file.messageId),
    leaf('CreDtTm', file.createdAt),
    totals,
    node('InitgPty', name),
  )
  const type = node(
    'PmtTpInf',
    node('SvcLvl', leaf('Cd', 'SEPA')),
    node('LclInstrm', leaf('Cd', file.scheme)),
    leaf('SeqTp', file.sequenceType),
  )
  const information = node(
    'PmtInf',
    leaf('PmtInfId', file.paymentInformationId),
    leaf('PmtMtd', 'DD'),
    totals,
    type,
    leaf('ReqdColltnDt', file.collectionDate),
    node('Cdtr', name),
    account('CdtrAcct', creditor.iban),
    agent('CdtrAgt', creditor.bic, version),
    leaf('ChrgBr', 'SLEV'),
    creditorScheme(creditor.identifier),
    ...debits.map((debit) => `\n${transaction(debit, version)}`),
    '\n',
  )
  const initiation = node('CstmrDrctDbtInitn', '\n', header, '\n', information, '\n')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespaceOf(version)}">${initiation}</Document>\n`
}
