/** Formats of result files: a namespace that is not in this table is not read. */

/** Kinds of messages: what an account was booked, or what became of debits that were sent. */
export type MessageKind = 'statements' | 'statuses'

export interface Format {
  /** As 'camt.053.001.08'. */
  name: string
  kind: MessageKind
  /** Name of the element right below the root. */
  body: string
  /** Name of the elements in the body that the file is read for. */
  record: string
}

const STATUS_REPORT = { kind: 'statuses', body: 'CstmrPmtStsRpt', record: 'CstmrPmtStsRpt' } as const
const ACCOUNT_REPORT = { kind: 'statements', body: 'BkToCstmrAcctRpt', record: 'Rpt' } as const
const STATEMENT = { kind: 'statements', body: 'BkToCstmrStmt', record: 'Stmt' } as const
const NOTIFICATION = { kind: 'statements', body: 'BkToCstmrDbtCdtNtfctn', record: 'Ntfctn' } as const

const ISO = 'urn:iso:std:iso:20022:tech:xsd:'
const SWISS = 'http://www.six-interbank-clearing.com/de/'

const ALL = ['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12', '13']
/** Of pain.002.001.02 the structure is another. */
const FROM_03 = ALL.slice(1)

const ROWS: readonly (readonly [namespace: string, Omit<Format, 'name'>])[] = [
  ...FROM_03.map((version) => [`${ISO}pain.002.001.${version}`, STATUS_REPORT] as const),
  // German and Swiss banks have versions of their own, whose elements are those of pain.002.001.03.
  [`${ISO}pain.002.002.03`, STATUS_REPORT],
  [`${ISO}pain.002.003.03`, STATUS_REPORT],
  [`${SWISS}pain.002.001.03.ch.02.xsd`, STATUS_REPORT],
  ...ALL.map((version) => [`${ISO}camt.052.001.${version}`, ACCOUNT_REPORT] as const),
  ...ALL.map((version) => [`${ISO}camt.053.001.${version}`, STATEMENT] as const),
  ...ALL.map((version) => [`${ISO}camt.054.001.${version}`, NOTIFICATION] as const),
]

const nameOf = (namespace: string): string => namespace.replace(/^.*[:/]/, '').replace(/\.xsd$/, '')

const FORMATS: ReadonlyMap<string, Format> = new Map(
  ROWS.map(([namespace, message]) => [namespace, { name: nameOf(namespace), ...message }]),
)

/** Returns the format of files whose root has a namespace; undefined of one that is not read. */
export const formatOf = (namespace: string): Format | undefined => FORMATS.get(namespace)
